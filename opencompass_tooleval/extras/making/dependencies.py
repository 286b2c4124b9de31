"""Dependencies between tools: which value that one returns is an argument of another. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.agents.scoring.goal_check import holds_fact
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.scoring.typed_result import plain_text
from opencompass_tooleval.core.text.reading import parse_literal
from opencompass_tooleval.extras.making.made_task import SolvedCall
from opencompass_tooleval.extras.mcp_servers.fixture import ALIAS

_MAX_ANSWER = 20_000
_MAX_VALUES = 2_000
"""Values of an answer that are looked at."""
_MAX_VALUE = 200
_MAX_ITEMS = 20
"""Items of a list in the arguments that are looked at."""
_LEAST_TELLING = 3
"""Characters of a value that is hardly found by chance; a shorter one counts under a name like the parameter's."""

_TOKEN = re.compile(r'[^\s,;()\[\]{}<>"\'`|]+')
_QUOTED = re.compile(r'"([^"\n]{1,200})"')
_EDGES = ' \t.:!?*=#-'

_Values = dict[str, set[str]]
"""Value, prepared by :func:`plain_text` -> the names that answers have it under; ``''`` for none."""


@dataclass(frozen=True)
class Dependency:
    """A value that one tool returned and that another was called with.

    Attributes:
        producer: The tool that returned it, without having been given it.
        consumer: The tool that answered a call with it.
        parameter: Its parameter there.
        value: The value, as an example.
    """

    producer: str
    consumer: str
    parameter: str
    value: str

    def __str__(self) -> str:
        return f'{self.producer} -> {self.consumer} ({self.parameter})'


def find_dependencies(calls: Sequence[SolvedCall], tools: Mapping[str, ToolSchema]) -> tuple[Dependency, ...]:
    """Finds the dependencies between different tools that calls show, each once.

    Values that the schema lists (``enum``), defaults and the folder of the fixture show no dependency.

    Args:
        calls: Calls that were answered without an error, independent of one another.
        tools: Name -> tool; calls of others are left out.
    """
    returned: dict[str, _Values] = {}
    for call in calls:
        values = returned.setdefault(call.name, {})
        given = {text for _, value in _passed(call.arguments) for text in _forms(value)}
        for plain, names in _answered(call.observation).items():
            if plain not in given:
                values.setdefault(plain, set()).update(names)
    found: dict[tuple[str, str, str], Dependency] = {}
    for call in calls:
        for parameter, value in _passed(call.arguments):
            if call.name not in tools or _is_fixed(tools[call.name], parameter, value):
                continue
            for producer in returned:
                key = (producer, call.name, parameter)
                if producer != call.name and key not in found and _is_in(value, parameter, returned[producer]):
                    found[key] = Dependency(*key, ' '.join(str(value).split()))
    return tuple(found.values())


def count_dependent(calls: Sequence[SolvedCall], query: str) -> int:
    """Counts the calls of a solution with a value that an earlier answer returned and the query does not tell."""
    asked, known, count = plain_text(query), _Values(), 0
    for call in calls:
        count += any(
            _is_in(value, parameter, known) and not any(holds_fact(asked, form) for form in _forms(value))
            for parameter, value in _passed(call.arguments)
        )
        for plain, names in _answered(call.observation).items():
            known.setdefault(plain, set()).update(names)
    return count


def _is_fixed(tool: ToolSchema, parameter: str, value: Any) -> bool:
    properties = tool.parameters.get('properties')
    schema = properties.get(parameter) if isinstance(properties, Mapping) else None
    rules = schema if isinstance(schema, Mapping) else {}
    return value == ALIAS or 'enum' in rules or ('default' in rules and rules['default'] == value)


def _is_in(value: Any, parameter: str, values: _Values) -> bool:
    name = parameter.casefold()
    return any(
        form in values and (len(form) >= _LEAST_TELLING or any(key and name.endswith(key) for key in values[form]))
        for form in _forms(value)
    )


def _passed(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields texts and numbers of the arguments, those in lists too, each with its parameter."""
    for parameter, value in arguments.items():
        for item in value[:_MAX_ITEMS] if isinstance(value, list) else [value]:
            if isinstance(item, (str, int, float)) and not isinstance(item, bool) and len(str(item)) <= _MAX_VALUE:
                yield parameter, item


def _forms(value: Any) -> list[str]:
    """Returns how an answer may show a value: whole; of a path also the name, as listings have it."""
    text = str(value)
    return [plain for plain in dict.fromkeys(map(plain_text, (text, text.rpartition('/')[2]))) if plain]


def _answered(observation: str) -> _Values:
    """Returns the values of an answer: leaves of JSON; of a text its lines, what a colon precedes, and words."""
    text, values = observation[:_MAX_ANSWER], _Values()
    read = parse_literal(text) if text.lstrip()[:1] in ('{', '[') else None
    for name, value in _leaves(read.value) if read and read.ok else _texts(text):
        plain = plain_text(value[: _MAX_VALUE + 1]) if len(value) <= _MAX_VALUE else ''
        if plain:
            values.setdefault(plain, set()).add(name.casefold())
        if len(values) >= _MAX_VALUES:
            break
    return values


def _leaves(value: Any, name: str = '') -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, str(key))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item, name)
    elif isinstance(value, str):
        yield name, value
        if '\n' in value or len(value) > _MAX_VALUE:
            yield from _texts(value)
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)


def _texts(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        yield '', line.strip(_EDGES)
        name, colon, value = line.partition(':')
        if colon:
            yield name.strip(_EDGES), value.strip(_EDGES)
        for match in _QUOTED.finditer(line):
            yield '', match[1]
        for match in _TOKEN.finditer(line):
            yield '', match[0].strip(_EDGES)
