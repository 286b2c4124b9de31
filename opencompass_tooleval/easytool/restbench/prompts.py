"""The prompt: the tools, by their documentation or by their EasyTool instructions, and the request.

The frame is ours, and the same for both: the paper's prompt is not published in full (see the room's README).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from opencompass_tooleval.easytool.instruction import ABSENT, Parameter
from opencompass_tooleval.easytool.tool_doc import FunctionDoc

FRAME = """You plan how to fulfil a user's request with the tools of a web service. These are the tools. A tool is named by its HTTP method and its path, such as GET /items; a part of a path in braces, such as {{item_id}}, stands for a value that an earlier call or the request gives.

{tools}

Which tools have to be called, and in which order, to fulfil the request below? Use only tools from the list above and name each exactly as the list does. Name a tool once for every call of it. Answer with nothing but a JSON list of names in the order of the calls, such as ["GET /items", "PUT /items/{{item_id}}"].

Request: {query}
Answer:"""


def _parameter(parameter: Parameter, required: bool) -> str:
    """``query (string, required): What to look for.``"""
    kind = ', '.join(filter(None, (parameter.type, 'required' if required else 'optional')))
    default = '' if parameter.default is ABSENT else f' E.g. {json.dumps(parameter.default, ensure_ascii=False)}.'
    description = ' '.join(parameter.description.split())
    return f'  - {parameter.name} ({kind}):{" " if description else ""}{description}{default}'.rstrip(':')


def _parameters(required: Iterable[Parameter], optional: Iterable[Parameter]) -> list[str]:
    lines = [_parameter(parameter, True) for parameter in required]
    lines += [_parameter(parameter, False) for parameter in optional]
    return ['Parameters:', *lines] if lines else []


def documentation_text(function: FunctionDoc) -> str:
    """One tool as its OpenAPI document has it: name, whole description, parameters; no responses."""
    description = function.description.strip()
    lines = [function.name, *([f'Description: {description}'] if description else [])]
    return '\n'.join([*lines, *_parameters(function.required, function.optional)])


def build_prompt(tools: Iterable[str], query: str) -> str:
    """Writes the prompt of one request; the gold path is not looked at.

    Args:
        tools: What :func:`documentation_text` or :func:`~opencompass_tooleval.easytool.render.render_instruction` says of
            each tool.
        query: The request, as published.
    """
    return FRAME.format(tools='\n\n'.join(tools), query=query)
