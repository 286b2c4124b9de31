"""Reads texts of messages and offered tools in the formats of OpenAI, Anthropic, Inspect, OpenTelemetry and MCP."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.text.jsonable import clean_text, to_jsonable

_THOUGHTS = ('reasoning', 'thinking', 'redacted_thinking')
_TEXTS = {'text': ('text', 'content'), 'input_text': ('text',), 'output_text': ('text',), 'refusal': ('refusal',)}
"""Type of a part -> where its text is."""


def text_of(content: Any) -> str:
    """Returns the text of a message's content: text, or parts; a part that is no text is shown as its type."""
    if content is None or isinstance(content, str):
        return clean_text(content or '')
    parts = content if isinstance(content, list) else [content]
    return '\n'.join(filter(None, map(_text_of_part, parts)))


def _text_of_part(part: Any) -> str:
    if not isinstance(part, dict):
        return text_of(part) if isinstance(part, str) else clean_text(str(to_jsonable(part)))
    kind = str(part.get('type', 'text'))[:MAX_NAME_CHARS]
    if kind in _THOUGHTS:
        return ''
    text = next((part[key] for key in _TEXTS.get(kind, ()) if isinstance(part.get(key), str)), None)
    return f'[{clean_text(kind)}]' if text is None else clean_text(text)


def tool_schemas(value: Any) -> tuple[ToolSchema, ...] | None:
    """Reads offered tools: of OpenAI's API, of Anthropic's, of Inspect, of OpenTelemetry, or of MCP.

    Returns:
        The functions; of several with one name the last. None if ``value`` is no list. Tools of the server itself, such
        as ``{"type": "web_search"}``, have no name and are left out.
    """
    if not isinstance(value, list):
        return None
    tools: dict[str, ToolSchema] = {}
    for raw in value:
        inner = raw.get('function', raw) if isinstance(raw, dict) else None
        name = inner.get('name') if isinstance(inner, dict) else None
        if isinstance(inner, dict) and isinstance(name, str) and name:
            schemas = (
                inner[key] for key in ('parameters', 'inputSchema', 'input_schema') if isinstance(inner.get(key), dict)
            )
            tools[name[:MAX_NAME_CHARS]] = ToolSchema(
                name[:MAX_NAME_CHARS], text_of(inner.get('description')), _object_schema(to_jsonable(next(schemas, {})))
            )
    return tuple(tools.values())


def _object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns a schema whose ``properties`` are an object of objects, and whose ``required`` is a list of names."""
    properties, required = schema.get('properties'), schema.get('required')
    schemas = properties if isinstance(properties, dict) else {}
    names = required if isinstance(required, list) else []
    return {
        **schema,
        'type': 'object',
        'properties': {name: value for name, value in schemas.items() if isinstance(value, dict)},
        'required': [name for name in names if isinstance(name, str)],
    }
