"""Errors in the data of agents' tasks, and how each is treated.

* ``unfit_gold``: a gold call that its tool's documentation does not allow (an argument is missing or unknown); it stays
  gold. T-Eval; in UltraTool unknown arguments are left out.
* ``gold_type``: a gold call with a value of another type than documented, such as an integer instead of a text; it
  stays gold. T-Eval, UltraTool.
* ``gold_value``: a gold call with a value outside the documented choices or pattern; it stays gold. UltraTool.
* ``no_gold``: the task has no gold call; it stays. UltraTool.
* ``renamed_tool``: the published runs use another name for a tool, and so does the task. ToolBench.
* ``shared_name``: several APIs of a task have the same function name; only the first is offered, as in ToolBench's
  runs. ToolBench.

With the first three kinds, no valid call can equal the gold call. Official scores include these calls. ``repaired`` is
a second form of the call: any value is accepted for an argument that is missing or has no valid form, an unknown
argument is left out, and other values get the documented type or choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.core.calls.one_call import keeps_to
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.text.json_object import load_json

UNFIT_GOLD, GOLD_TYPE, GOLD_VALUE, NO_GOLD = 'unfit_gold', 'gold_type', 'gold_value', 'no_gold'
RENAMED_TOOL, SHARED_NAME = 'renamed_tool', 'shared_name'

KINDS = (UNFIT_GOLD, GOLD_TYPE, GOLD_VALUE, NO_GOLD, RENAMED_TOOL, SHARED_NAME)


@dataclass(frozen=True)
class Erratum:
    """One error in the data.

    Attributes:
        where: Id of the task.
        what: The tool.
        kind: One of :data:`KINDS`.
    """

    where: str
    what: str
    kind: str


def check_gold(call: GoldCall, schema: Mapping[str, Any] | None) -> tuple[GoldCall, list[str]]:
    """Checks a gold call against its tool's documentation.

    Args:
        call: The call; its arguments are an object.
        schema: JSON Schema of the tool's arguments; None if the tool does not exist.

    Returns:
        The call, with its repaired form if no valid call can equal it, and its errors, from :data:`KINDS`.
    """
    if schema is None:
        return call, [UNFIT_GOLD]
    properties, required = schema.get('properties') or {}, set(schema.get('required') or ())
    kinds = [] if required <= call.arguments.keys() <= properties.keys() else [UNFIT_GOLD]
    wrong = {
        name: value
        for name, value in call.arguments.items()
        if name in properties and name not in call.open_arguments and not _fits(value, properties[name])
    }
    if wrong:
        are_typed = all(_fits(value, _only_type(properties[name])) for name, value in wrong.items())
        kinds.append(GOLD_VALUE if are_typed else GOLD_TYPE)
    if not kinds:
        return call, kinds
    arguments = {name: value for name, value in call.arguments.items() if name in properties and name not in wrong}
    open_arguments = list(call.open_arguments)
    for name in [*wrong, *sorted(required - call.arguments.keys())]:
        forms = [form for form in _forms(wrong.get(name), properties.get(name, {})) if _fits(form, properties[name])]
        if forms:
            arguments[name] = forms[0]
        elif name in required or wrong[name] is not None:  # an optional null counts as a missing argument
            arguments[name] = wrong.get(name)
            open_arguments.append(name)
    return replace(call, repaired=GoldCall(call.name, arguments, tuple(open_arguments))), kinds


def _only_type(schema: Any) -> dict[str, Any]:
    return {'type': schema['type']} if 'type' in schema else {}


def _forms(value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yields equivalent values: ``101`` and ``'101'``, ``'light'`` if ``'Light'`` is a choice."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)
    if isinstance(value, str):
        choices = schema.get('enum')
        yield from (
            choice
            for choice in (choices if isinstance(choices, list) else ())
            if isinstance(choice, str) and choice.casefold() == value.strip().casefold()
        )
        with suppress(ValueError):
            yield load_json(value, bounded=True)


def _fits(value: Any, schema: Any) -> bool:
    """Tests if a value is valid under a schema; an invalid schema allows every value."""
    from jsonschema.exceptions import UnknownType  # slow to import, and only needed here

    try:
        return not isinstance(schema, Mapping) or keeps_to(value, schema)
    except (UnknownType, re.error, TypeError, AttributeError):
        return True
