"""Splits documentation that exceeds a model's context by function, and merges the descriptions of the parts.

The paper leaves this open (Limitations). Our rules:

1. Functions are assigned to parts in the documentation's order. Each part has as many as fit, after the tool's name and
   description. No function is in two parts.
2. A function that does not fit alone is shown by name, description and parameters instead of its complete
   documentation. The descriptions are shortened until it fits.
3. The merged description has the purposes of the parts, each once, and then one numbered list of all functions. A
   function that is missing in all lists is described by the first sentence of its documentation.

The same parts and answers always give the same description.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.extras.preparing.prompts import description_prompt
from opencompass_tooleval.extras.preparing.validate import is_prose
from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.tool_docs.render import render_doc, to_json
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc

_CUTS: tuple[int | None, ...] = (None, 4_000, 1_000, 400, 100, 0)
"""Maximum length of each description, from unlimited to none."""

_PER_MESSAGE = 32
"""Tokens per message that a chat template may add."""


@dataclass(frozen=True)
class Limit:
    """Maximum length of a prompt.

    Attributes:
        tokens: Maximum number of tokens; None for no limit.
        count: Text -> number of tokens.
    """

    tokens: int | None = None
    count: Callable[[str], int] = len

    def fits(self, prompt: Sequence[Message]) -> bool:
        """Tests if a prompt is short enough."""
        return self.tokens is None or self.tokens >= sum(
            self.count(message.content) + _PER_MESSAGE for message in prompt
        )


def _cut(text: str, most: int | None) -> str:
    return text if most is None else text[:most]


def parameter_list(function: FunctionDoc, most: int | None = None) -> str:
    """Formats a function's parameters as JSON, as in Table 8.

    Args:
        function: The function. Documentation in plain text, without a list of parameters, is not changed.
        most: Maximum length of each description; None for no limit.
    """
    if is_prose(function):
        return _cut(str(function.raw), None if most is None else 10 * most)
    return to_json(_groups(function, most))


def _groups(function: FunctionDoc, most: int | None) -> dict[str, Any]:
    groups = {'required_parameters': function.required, 'optional_parameters': function.optional}
    return {key: [_entry(parameter, most) for parameter in group] for key, group in groups.items()}


def _entry(parameter: Parameter, most: int | None) -> dict[str, Any]:
    entry = {
        'name': parameter.name,
        'type': parameter.type,
        'description': _cut(parameter.description, most),
        **({} if parameter.default is ABSENT else {'default': parameter.default}),
        **(parameter.extra if most is None else {}),
    }
    return {key: value for key, value in entry.items() if value != ''}


def shortest_that_fits(limit: Limit, build: Callable[[int | None], tuple[Message, ...]]) -> tuple[Message, ...] | None:
    """Returns the first prompt that fits, from longest to shortest; None if none fits."""
    return next((prompt for prompt in map(build, _CUTS) if limit.fits(prompt)), None)


def split(doc: ToolDoc, limit: Limit, variant: str) -> list[ToolDoc]:
    """Returns only ``doc`` if its prompt fits; otherwise its parts, each with some of its functions, in order."""
    if limit.tokens is None or limit.fits(description_prompt(variant, render_doc(doc), len(doc.functions) > 1)):
        return [doc]
    tokens_left = (
        limit.tokens
        - _PER_MESSAGE
        - limit.count(description_prompt(variant, render_doc(_part(doc, ())), True)[0].content)
    )
    parts: list[list[FunctionDoc]] = []
    left = 0
    for function in doc.functions:
        size = limit.count(render_doc(function)) + 2
        if not parts or size > left:
            parts.append([])
            left = tokens_left
        parts[-1].append(function)
        left -= size
    return [_part(doc, functions) for functions in parts]


def _part(doc: ToolDoc, functions: Sequence[FunctionDoc]) -> ToolDoc:
    raw = {'tool_name': doc.name, 'tool_description': doc.description, 'functions': [f.raw for f in functions]}
    return replace(doc, functions=tuple(functions), raw=raw)


def part_prompt(part: ToolDoc, limit: Limit, variant: str) -> tuple[Message, ...] | None:
    """Builds the prompt for the description of a part; returns None if not even the names fit."""
    several = len(part.functions) > 1

    def build(most: int | None) -> tuple[Message, ...]:
        return description_prompt(variant, render_doc(part) if most is None else _slim(part, most), several)

    return shortest_that_fits(limit, build)


def _slim(part: ToolDoc, most: int) -> str:
    functions = [
        {'name': function.name, 'description': _cut(function.description, most), **_groups(function, most)}
        for function in part.functions
    ]
    return to_json({'tool_name': part.name, 'tool_description': _cut(part.description, most), 'functions': functions})


def compose(purposes: Sequence[str], functions: Mapping[str, str]) -> str:
    """Writes a description on one line, in the form of published descriptions (Table 8).

    Args:
        purposes: Purposes of the tool as a whole, one per part; each is written once.
        functions: Function -> its purpose.
    """
    listed = (
        f"{number}. '{name}'" + (f': {line}' if line else '')
        for number, (name, line) in enumerate(functions.items(), start=1)
    )
    count = f'This tool has {len(functions)} API{"s" if len(functions) > 1 else ""}:'
    return ' '.join((*dict.fromkeys(filter(None, purposes)), count, *listed))
