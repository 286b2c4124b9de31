"""The prompts, with documentation or with EasyTool instructions.

The frames are ours, and the same for both: the paper's prompts for ToolBench are not published (see the room's README).
"""

from __future__ import annotations

from collections.abc import Iterable

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


def selection_prompt(tools: Iterable[str], query: str) -> str:
    """Writes the prompt of one choice.

    Args:
        tools: Name and description of each candidate, in the order in which they are shown.
        query: The request, as published.
    """
    shown = list(tools)
    return SELECTION.format(tools='\n\n'.join(shown), count=len(shown), query=query)


def calls_prompt(tools: Iterable[str], query: str) -> str:
    """Writes the prompt of one request to be fulfilled with calls; the relevant APIs are not looked at.

    Args:
        tools: What is shown of each tool of the request.
        query: The request, as published.
    """
    return CALLS.format(tools='\n\n'.join(tools), query=query)
