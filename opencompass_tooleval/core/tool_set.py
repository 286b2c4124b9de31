"""The tools that a model is offered natively, under names that servers take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from opencompass_tooleval.core.jsonable import to_jsonable

_MOST_CHARS = 64
_ALLOWED = re.compile(r'[A-Za-z_][A-Za-z0-9_-]{0,63}')
"""OpenAI takes ``[A-Za-z0-9_-]{1,64}``; Gemini wants a letter or an underscore first."""
_REFUSED = re.compile(r'[^A-Za-z0-9_-]+')
_NO_NAME = 'tool'

MAX_DESCRIPTION = 1_024
"""OpenAI's servers refuse a tool with a longer description."""


@dataclass(frozen=True)
class ToolSchema:
    """A tool as it is offered.

    Attributes:
        name: As the benchmark has it; unique among those offered together.
        description: For the model.
        parameters: JSON Schema of the arguments: an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


def describe_tool(name: str, description: str, returned: Any = None) -> str:
    """A tool's description with what it returns, which a schema of its arguments has no place for.

    Args:
        name: The tool; where letters of its name are lost, the description that is sent begins with it.
        description: What the tool does.
        returned: What its documentation says of the result, as JSON values; nothing is added where it says nothing.

    Returns:
        Text of at most :data:`MAX_DESCRIPTION` characters with the name. What is too long goes without the descriptions
        of returned fields, and what is still too long is cut.
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
    # A field may be called 'description': what it holds is a schema, and no text.
    return {
        key: _without_descriptions(item)
        for key, item in value.items()
        if key != 'description' or not isinstance(item, str)
    }


class ToolSet:
    """Tools offered together.

    A name that servers refuse (``A.b``, ``/x/{y}``, Chinese) is sent as another: what is refused becomes an
    underscore, and where that is taken a number follows. Where letters are lost so, the description begins with the
    name.

    Args:
        tools: In the order in which they are shown.
        parallel: Whether several calls in one answer are wanted; None leaves it to the server.

    Raises:
        ValueError: Two have one name.
    """

    def __init__(self, tools: Sequence[ToolSchema], parallel: bool | None = None) -> None:
        self.tools = tuple(tools)
        self.parallel = parallel
        self._sent = _sent_names([tool.name for tool in tools])
        self._originals = {sent: name for name, sent in self._sent.items()}

    def sent_name(self, name: str) -> str:
        """The name under which a tool is sent; of an unknown one, what a server would take."""
        return self._sent.get(name) or _tidied(name)

    def original_name(self, sent: str) -> str:
        """The tool's own name; a name that belongs to none stays as it is."""
        return self._originals.get(sent, sent)

    def as_request(self) -> list[dict[str, Any]]:
        """The tools as ``tools`` of a chat completion."""
        return [
            {
                'type': 'function',
                'function': {
                    'name': self._sent[tool.name],
                    'description': _description(tool, self._sent[tool.name]),
                    'parameters': dict(tool.parameters),
                },
            }
            for tool in self.tools
        ]

    def __deepcopy__(self, memo: Any) -> ToolSet:
        """Itself: nothing of it changes, and wrappers of OpenCompass copy every prompt with all that it holds."""
        return self

    def to_text(self) -> str:
        """The set as a data set's column has it; made once, since each round of a dialogue asks for it."""
        return self._text

    @cached_property
    def _text(self) -> str:
        # Not asdict, which copies every schema: a data set has the text of a set in each row.
        content: dict[str, Any] = {
            'tools': [{**vars(tool), 'parameters': dict(tool.parameters)} for tool in self.tools]
        }
        return json.dumps(content if self.parallel is None else {**content, 'parallel': self.parallel})

    @classmethod
    def of_text(cls, text: str) -> ToolSet:
        """The inverse of :meth:`to_text`."""
        content = json.loads(text)
        return cls([ToolSchema(**tool) for tool in content['tools']], content.get('parallel'))


def _tidied(name: str) -> str:
    """A name that servers take, though it may be another tool's."""
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
    """Begins with the tool's name where letters of it are lost."""
    # Not only by the letters: those of a name that is cut may all stand in what is left.
    lost = len(tool.name) > _MOST_CHARS or any(letter.isalnum() and letter not in sent for letter in tool.name)
    return f'{tool.name}: {tool.description}' if lost else tool.description
