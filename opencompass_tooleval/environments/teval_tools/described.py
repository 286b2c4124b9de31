"""What the tools share: parameters as their descriptions have them, and responses as they were recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opencompass_tooleval.core.bounds import MAX_CHARS
from opencompass_tooleval.core.jsonable import bounded_text, clean_text
from opencompass_tooleval.core.reading import parse_literal
from opencompass_tooleval.environments.functions import FunctionAnswer

MAX_TEXT = MAX_CHARS
"""Characters of one argument that a tool takes."""

MAX_THINGS = 1_000
"""Files, emails, pages or bookings that a task may have."""

NO_SPACE = '[Errno 28] No space left on device'

_MOST_NAME = 80

Api = Callable[[Mapping[str, str]], FunctionAnswer]


def said(**fields: Any) -> FunctionAnswer:
    """A response as T-Eval records them: a dict as Python writes it."""
    return FunctionAnswer(str(fields))


def recorded_fields(response: str) -> Mapping[str, Any]:
    """The fields of a recorded response; of one that is no dict, none."""
    value = parse_literal(response).value
    return value if isinstance(value, dict) else {}


class DescribedTool:
    """A tool whose APIs take texts, checked as Python checks the parameters of a function.

    Args:
        tool: Its name.
        apis: API -> what answers it, its required and its optional parameters. Numbers and booleans reach it as text.
    """

    def __init__(self, tool: str, apis: Mapping[str, tuple[Api, tuple[str, ...], tuple[str, ...]]]) -> None:
        self._apis = {f'{tool}.{name}': (name, *api) for name, api in apis.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """``TOOL.API`` of each."""
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
        """Nothing is learned, unless a tool says what."""


def _wrong(text: str) -> FunctionAnswer:
    return FunctionAnswer(text, is_wrong_call=True)


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # room 101.0
    return clean_text(value[: MAX_TEXT + 1]) if isinstance(value, str) else bounded_text(value, MAX_TEXT + 1)
