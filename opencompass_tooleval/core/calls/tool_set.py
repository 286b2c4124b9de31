"""Natively offered tools, under names that servers accept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from opencompass_tooleval.core.text.jsonable import to_jsonable

_MOST_CHARS = 64
_ALLOWED = re.compile(r'[A-Za-z_][A-Za-z0-9_-]{0,63}')
"""OpenAI accepts ``[A-Za-z0-9_-]{1,64}``; Gemini requires a letter or an underscore first."""
_REFUSED = re.compile(r'[^A-Za-z0-9_-]+')
_NO_NAME = 'tool'

MAX_DESCRIPTION = 1_024
"""Maximum length of a description on OpenAI's servers."""


@dataclass(frozen=True)
class ToolSchema:
    """An offered tool.

    Attributes:
        name: The benchmark's name, unique among the tools that are offered together.
        description: Description for the model.
        parameters: JSON Schema of the arguments, which are an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


def describe_tool(name: str, description: str, returned: Any = None) -> str:
    """Returns a tool's description with its documented result, for which the schema of arguments has no place.

    Args:
        name: The tool. If its sent name lacks some letters, the sent description begins with the name.
        description: Description of the tool.
        returned: Documentation of the result, as JSON values. If it is empty, nothing is added.

    Returns:
        Text of at most :data:`MAX_DESCRIPTION` characters, including the name. If it is longer, the descriptions of
        returned fields are removed, and then the text is cut.
    """
    most = MAX_DESCRIPTION - len(f'{name}: ')
    if not returned:
        return _cut(description, most)
    documented = to_jsonable(returned)
    whole, short = (
        f'{description}\nReturns: {json.dumps(shown, ensure_ascii=False)}'.lstrip()
        for shown in (documented, _without_descriptions(documented))
    )
    return _cut(whole if len(whole) <= most else short, most)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f'{text[: length - 4]} ...'


def _without_descriptions(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_descriptions(item) for item in value]
    if not isinstance(value, dict):
        return value
    # A field may be named 'description'; then its value is a schema, not text.
    return {
        key: _without_descriptions(item)
        for key, item in value.items()
        if key != 'description' or not isinstance(item, str)
    }


_COMBINED = ('anyOf', 'oneOf', 'allOf')
_BY_NAME = ('properties', '$defs', 'definitions')
_PLAIN = ('string', 'integer', 'number', 'boolean')
_PARTS = frozenset({*_BY_NAME, *_COMBINED, 'items', 'additionalProperties', '$schema', 'required'})
_MAX_DEPTH = 60
_TYPES = ((bool, 'boolean'), (int, 'integer'), (float, 'number'), (str, 'string'), (list, 'array'), (dict, 'object'))


def complete_schema(schema: Any, depth: int = 0) -> Any:
    """Returns a JSON Schema with the members that strict servers require, and without those that they refuse.

    An array gets ``items``. A parameter gets a ``type``: that of its values, default or parts, else ``string``.
    ``$schema`` is removed, and ``required`` if it is not a list.

    Args:
        schema: The schema, which is not changed.
        depth: Its depth; schemas deeper than 60 are returned unchanged.
    """
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return schema
    if schema.get('type') in _PLAIN and _PARTS.isdisjoint(schema):  # most parameters
        return schema
    whole: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _BY_NAME and isinstance(value, Mapping):
            parts = {name: complete_schema(part, depth + 1) for name, part in value.items()}
            whole[key] = {name: _typed(part) for name, part in parts.items()} if key == _BY_NAME[0] else parts
        elif key in _COMBINED and isinstance(value, list):
            whole[key] = [complete_schema(part, depth + 1) for part in value]
        elif key in ('items', 'additionalProperties'):
            whole[key] = complete_schema(value, depth + 1)
        elif key != '$schema' and (key != 'required' or isinstance(value, list)):
            whole[key] = value
    kinds = whole.get('type')
    if 'items' not in whole and (kinds == 'array' or (isinstance(kinds, list) and 'array' in kinds)):
        whole['items'] = {}
    return whole


def _typed(schema: Any) -> Any:
    """Returns the schema of a parameter with a ``type`` added, unless another member defines the type."""
    if not isinstance(schema, Mapping) or any(key in schema for key in ('type', '$ref', 'not', *_COMBINED)):
        return schema
    if 'properties' in schema or 'items' in schema:
        return {'type': 'object' if 'properties' in schema else 'array', **schema}
    values = schema['enum'] if isinstance(schema.get('enum'), list) else [schema.get('const', schema.get('default'))]
    kinds = {next((name for kind, name in _TYPES if isinstance(value, kind)), 'string') for value in values}
    if len(kinds) != 1:
        return schema
    kind = kinds.pop()
    return {'type': kind, **schema, **({'items': {}} if kind == 'array' else {})}


class ToolSet:
    """Tools offered together.

    Names that servers refuse (``A.b``, ``/x/{y}``, Chinese) are replaced: refused characters become underscores, and a
    repeated name gets a number at its end. If letters are lost, the description begins with the original name.

    Args:
        tools: The tools, in the order in which they are shown.
        parallel: True to allow several calls per answer, False to allow one; None leaves it to the server.

    Raises:
        ValueError: Two tools have the same name.
    """

    def __init__(self, tools: Sequence[ToolSchema], parallel: bool | None = None) -> None:
        self.tools = tuple(tools)
        self.parallel = parallel
        self._sent = _sent_names([tool.name for tool in tools])
        self._originals = {sent: name for name, sent in self._sent.items()}

    def sent_name(self, name: str) -> str:
        """Returns the name under which a tool is sent; for an unknown tool, a name that servers accept."""
        return self._sent.get(name) or _tidied(name)

    def original_name(self, sent: str) -> str:
        """Returns the tool's original name; an unknown name is returned unchanged."""
        return self._originals.get(sent, sent)

    def as_request(self) -> list[dict[str, Any]]:
        """Returns the tools as ``tools`` of a chat completion, with complete schemas (scores use the originals)."""
        return self._request

    @cached_property
    def _request(self) -> list[dict[str, Any]]:
        return [
            {
                'type': 'function',
                'function': {
                    'name': self._sent[tool.name],
                    'description': _description(tool, self._sent[tool.name]),
                    'parameters': complete_schema({'type': 'object', 'properties': {}, **tool.parameters}),
                },
            }
            for tool in self.tools
        ]

    @cached_property
    def schemas(self) -> Mapping[str, Mapping[str, Any]]:
        """The JSON Schema of each tool's arguments, by the name under which it is sent."""
        return {self._sent[tool.name]: tool.parameters for tool in self.tools}

    def __deepcopy__(self, memo: Any) -> ToolSet:
        """Returns the set itself, which never changes: OpenCompass's wrappers deep-copy every prompt."""
        return self

    def to_text(self) -> str:
        """Converts the set to text for a dataset's column. Encoded once, since each round of a dialogue needs it."""
        return self._text

    @cached_property
    def _text(self) -> str:
        # Not asdict, which copies every schema: each row of a dataset has such a text.
        content: dict[str, Any] = {
            'tools': [{**vars(tool), 'parameters': dict(tool.parameters)} for tool in self.tools]
        }
        return json.dumps(content if self.parallel is None else {**content, 'parallel': self.parallel})

    @classmethod
    @lru_cache(maxsize=64)
    def of_text(cls, text: str) -> ToolSet:
        """Reads the text of :meth:`to_text`."""
        content = json.loads(text)
        return cls([ToolSchema(**tool) for tool in content['tools']], content.get('parallel'))


def _tidied(name: str) -> str:
    """Returns a name that servers accept; it may equal another tool's name."""
    tidy = _REFUSED.sub('_', name[: 8 * _MOST_CHARS]).strip('_')[:_MOST_CHARS]
    if not any(letter.isalnum() for letter in tidy):
        return _NO_NAME
    return tidy if _ALLOWED.fullmatch(tidy) else f'_{tidy}'[:_MOST_CHARS]


def _sent_names(names: Iterable[str]) -> dict[str, str]:
    names = list(names)
    if len(set(names)) < len(names):
        doubled = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'two tools are called {doubled!r}')
    sent = {name: name for name in names if _ALLOWED.fullmatch(name)}
    taken = set(sent)
    for name in names:
        if name in sent:
            continue
        free = tidy = _tidied(name)
        number = 1
        while free in taken:
            number += 1
            end = f'_{number}'
            free = f'{tidy[: _MOST_CHARS - len(end)]}{end}'
        sent[name] = free
        taken.add(free)
    return sent


def _description(tool: ToolSchema, sent: str) -> str:
    """Returns the description, preceded by the tool's name if the sent name lacks some of its letters."""
    # The length counts too: all letters of a truncated name may occur in the rest.
    lost = len(tool.name) > _MOST_CHARS or any(letter.isalnum() and letter not in sent for letter in tool.name)
    return f'{tool.name}: {tool.description}' if lost else tool.description
