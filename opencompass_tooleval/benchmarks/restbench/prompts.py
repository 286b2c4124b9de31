"""Builds prompts from the tools, with documentation or EasyTool instructions, and the request.

``FRAME`` is ours, the same for documentation and instructions. ``FUNCTION_CALLING`` is ours, and mentions neither tools
nor calls. ``PUBLISHED`` is the prompt of EasyTool's runs, word for word: it says ``spotify`` for both services, and has
one example although it announces two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc

FRAME = """You plan how to fulfil a user's request with the tools of a web service. These are the tools. A tool is named by its HTTP method and its path, such as GET /items; a part of a path in braces, such as {{item_id}}, stands for a value that an earlier call or the request gives.

{tools}

Which tools have to be called, and in which order, to fulfil the request below? Use only tools from the list above and name each exactly as the list does. Name a tool once for every call of it. Answer with nothing but a JSON list of names in the order of the calls, such as ["GET /items", "PUT /items/{{item_id}}"].

Request: {query}
Answer:"""

FUNCTION_CALLING = """You plan how to fulfil a user's request with the tools of a web service. Call all tools that have to be called to fulfil the request, in their order, one call for each time that a tool is needed. Your calls are noted and not carried out: take a value that an earlier call would return for a plausible one. When you have made all calls, answer without a call."""

PUBLISHED_SYSTEM = 'You are a helpful assistant.'

PUBLISHED = """We have spotify database and the following tools:
{tools}You need to decompose a complex user's question into some simple subtasks and let the model execute it step by step with these tools.
Please note that:\x20
1. you should break down tasks into appropriate subtasks to use the tools mentioned above.
2. You should not only list the subtask, but also list the ID of the tool used to solve this subtask.
3. If you think you do not need to use the tool to solve the subtask, just leave it as {{"ID": -1}}
4. You must consider the logical connections, order and constraints among the tools to achieve a correct tool path.5. You must ONLY output the ID of the tool you chose in a parsible JSON format. Two examples output look like:
'''
Question: Pause the playerExample 1: [{{"Task":"Get information about the user’s current playback state", "ID":15}}, {{"Task":"Pause playback on the user's account", "ID":19}}]
'''
This is the user's question: {query}
Output:"""


def _parameter(parameter: Parameter, required: bool) -> str:
    """Formats a parameter: ``query (string, required): What to look for.``"""
    kind = ', '.join(filter(None, (parameter.type, 'required' if required else 'optional')))
    default = '' if parameter.default is ABSENT else f' E.g. {json.dumps(parameter.default, ensure_ascii=False)}.'
    description = ' '.join(parameter.description.split())
    return f'  - {parameter.name} ({kind}):{" " if description else ""}{description}{default}'.rstrip(':')


def _parameters(required: Iterable[Parameter], optional: Iterable[Parameter]) -> list[str]:
    lines = [_parameter(parameter, True) for parameter in required]
    lines += [_parameter(parameter, False) for parameter in optional]
    return ['Parameters:', *lines] if lines else []


def documentation_text(function: FunctionDoc) -> str:
    """Formats one tool of an OpenAPI document: name, complete description and parameters, without responses."""
    description = function.description.strip()
    lines = [function.name, *([f'Description: {description}'] if description else [])]
    return '\n'.join([*lines, *_parameters(function.required, function.optional)])


def build_prompt(tools: Iterable[str], query: str) -> str:
    """Builds the prompt of one request, without its gold path.

    Args:
        tools: Texts of the tools, from :func:`documentation_text` or
            :func:`~opencompass_tooleval.tool_docs.render.render_instruction`.
        query: The request, as published.
    """
    return FRAME.format(tools='\n\n'.join(tools), query=query)


def function_calling_prompt(query: str) -> tuple[Message, ...]:
    """Builds the prompt of one request with native tools.

    Args:
        query: The request, as published.
    """
    return (Message('system', FUNCTION_CALLING), Message('user', query))


def published_prompt(tools: Sequence[Mapping[str, Any]], query: str) -> tuple[Message, ...]:
    """Builds the prompt of EasyTool's runs.

    Args:
        tools: The complete entries of ``tmdb_tool.json``; the prompt contains them as Python formats a list.
        query: The request, as published.
    """
    text = PUBLISHED.format(tools=[dict(tool) for tool in tools], query=query)
    return (Message('system', PUBLISHED_SYSTEM), Message('user', text))
