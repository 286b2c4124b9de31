"""Shared code of the tools: checks parameters as described, and formats responses as recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opencompass_tooleval.core.text.jsonable import MAX_CHARS, bounded_text, clean_text
from opencompass_tooleval.core.text.reading import parse_literal
from opencompass_tooleval.environments.environment import FunctionAnswer

MAX_TEXT = MAX_CHARS
"""Maximum number of characters of one argument."""

MAX_THINGS = 1_000
"""Maximum number of files, emails, pages or bookings of a task."""

NO_SPACE = '[Errno 28] No space left on device'

_MOST_NAME = 80

Api = Callable[[Mapping[str, str]], FunctionAnswer]


def answer_of(**fields: Any) -> FunctionAnswer:
    """Formats a response as T-Eval records it: as Python writes a dict."""
    return FunctionAnswer(str(fields))


def recorded_fields(response: str) -> Mapping[str, Any]:
    """Parses the fields of a recorded response; returns an empty dict if it is not a dict."""
    value = parse_literal(response).value
    return value if isinstance(value, dict) else {}


class DescribedTool:
    """A tool whose APIs take texts; parameters are checked as for a Python function.

    Args:
        tool: Name of the tool.
        apis: API -> its function, its required and its optional parameters. The function gets numbers and booleans as
            text.
    """

    def __init__(self, tool: str, apis: Mapping[str, tuple[Api, tuple[str, ...], tuple[str, ...]]]) -> None:
        self._apis = {f'{tool}.{name}': (name, *api) for name, api in apis.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """``TOOL.API`` of each API."""
        return tuple(self._apis)

    def call(self, name: str, arguments: Mapping[str, Any]) -> FunctionAnswer:
        """Answers a call."""
        api, answer, required, optional = self._apis[name]
        for key in arguments:
            if key not in (*required, *optional):
                shown = bounded_text(key, _MOST_NAME)
                return _wrong(f'{api}() got an unexpected keyword argument {shown!r}')
        missing = [repr(key) for key in required if arguments.get(key) is None]
        if missing:
            plural = 's' if len(missing) > 1 else ''
            return _wrong(f'{api}() missing {len(missing)} required argument{plural}: {" and ".join(missing)}')
        texts = {key: _text(value) for key, value in arguments.items() if value is not None}
        if any(len(text) > MAX_TEXT for text in texts.values()):
            return FunctionAnswer(NO_SPACE)
        return answer(texts)

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Learns nothing, unless a subclass overrides it."""


def _wrong(text: str) -> FunctionAnswer:
    return FunctionAnswer(text, is_wrong_call=True)


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # room 101.0
    return clean_text(value[: MAX_TEXT + 1]) if isinstance(value, str) else bounded_text(value, MAX_TEXT + 1)
