"""Builds prompts with documentation or EasyTool instructions.

``SELECTION`` and ``CALLS`` are ours, the same for both. ``FUNCTION_CALLING`` is ours, and mentions neither tools nor
calls. ``PUBLISHED_SELECTION`` is the prompt that EasyTool's ToolBench runs use to choose a tool (``choose_tool``), word
for word. ``SUCCESS`` is the judge's prompt (EasyTool, Appendix B.1, List 1), word for word, with the stray quotation
mark before "Example 2". Its line breaks are ours: the listing breaks lines by width.
"""

from __future__ import annotations

from collections.abc import Iterable

from opencompass_tooleval.core.calls.messages import Message

SELECTION = """You are given a user's request and {count} tools. Exactly one of the tools can fulfil the request.

{tools}

Which tool fulfils the request below? Answer with nothing but a JSON object with the tool's name, written exactly as above, such as {{"tool": "Name of the tool"}}.

Request: {query}
Answer:"""

CALLS = """You fulfil a user's request by calling APIs of tools. These are the tools and the APIs that they have:

{tools}

Which calls have to be made to fulfil the request below? Use only the APIs above, and write the names of tools, APIs and parameters exactly as above. Give every required parameter a value, and take a value that an earlier call will return for a plausible one. Answer with nothing but a JSON list of the calls in their order, such as [{{"tool": "Name of the tool", "api": "Name of the API", "parameters": {{"city": "Rome", "days": 3}}}}].

Request: {query}
Answer:"""

FUNCTION_CALLING = """You fulfil a user's request by calling APIs of tools. Make all calls that have to be made to fulfil the request, in their order. Your calls are noted and not carried out: take a value that an earlier call would return for a plausible one. When you have made all calls, answer without a call."""

PUBLISHED_SYSTEM = 'You are a helpful assistant.'

PUBLISHED_SELECTION = """This is the user's question: {query}
These are the tools you can select to solve the question:
Tool List:
{tools}

Please note that:\x20
1. You should only chooce one tool the Tool List to solve this question.
2. You must ONLY output the ID of the tool you chose in a parsible JSON format. An example output looks like:
'''
Example: {{"ID": XX}}
'''
Output:"""


def selection_prompt(tools: Iterable[str], query: str) -> str:
    """Builds the prompt of one choice.

    Args:
        tools: Name and description of each candidate, in the order of the prompt.
        query: The request, as published.
    """
    shown = list(tools)
    return SELECTION.format(tools='\n\n'.join(shown), count=len(shown), query=query)


def calls_prompt(tools: Iterable[str], query: str) -> str:
    """Builds the prompt of one request that needs calls, without its relevant APIs.

    Args:
        tools: Texts of the tools of the request.
        query: The request, as published.
    """
    return CALLS.format(tools='\n\n'.join(tools), query=query)


def function_calling_prompt(query: str) -> tuple[Message, ...]:
    """Builds the prompt of one request with native APIs.

    Args:
        query: The request, as published.
    """
    return (Message('system', FUNCTION_CALLING), Message('user', query))


def published_selection(tools: Iterable[tuple[int | str, str]], query: str) -> tuple[Message, ...]:
    """Builds the prompt of one choice in EasyTool's runs.

    Args:
        tools: Number and description of each candidate, in the order of the prompt.
        query: The request, as published.
    """
    listed = '\n'.join(f'ID: {number}\n{description}' for number, description in tools)
    text = PUBLISHED_SELECTION.format(tools=listed, query=query)
    return (Message('system', PUBLISHED_SYSTEM), Message('user', text))


SUCCESS = """Please check whether the response can reasonably and accurately answer the question. If it can, please output 'YES'; If not, please output 'NO'

You need to give reasons first and then decide whether the response can reasonably and accurately answer the question. You must only output in a parsible JSON format. Two example outputs look like:

Example 1: {"Reason": "The reason why you think the response can reasonably and accurately answer the question", "Choice": "Yes"}
"Example 2: {"Reason": "The reason why you think the response cannot reasonably and accurately answer the question", "Choice": "No"}

This is the user's question: {question}
This is the response: {answer}
Output:"""
