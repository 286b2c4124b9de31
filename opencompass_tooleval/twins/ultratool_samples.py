"""Twins of UltraTool's annotated samples, the tasks of its agents: the tools, and the calls of the plan."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import (
    Call,
    CallError,
    call_of,
    properties,
)
from opencompass_tooleval.twins import ultratool
from opencompass_tooleval.twins.more import Most
from opencompass_tooleval.twins.names import Pool
from opencompass_tooleval.twins.twin import LeftOutError, Make, Twin

Raw = Mapping[str, Any]


def _of_usage(raw: Raw) -> dict[str, Any]:
    return {**raw, 'toolset': raw['tools']}


def _of_sample(raw: Raw, twin: Twin) -> Twin:
    changed = {'question': twin.raw['question']} if 'question' in twin.raw else {}
    return Twin({**raw, **changed, 'tools': twin.raw['toolset']}, twin.translation)


def order(record_id: str, raw: Raw, rng: random.Random) -> Twin:
    """Shuffles the tools, and the parameters and returned fields of each."""
    return _of_sample(raw, ultratool.order(record_id, _of_usage(raw), rng))


def more(rows: Mapping[str, Raw], most: Most) -> Make:
    """Returns a function that adds tools of other samples."""
    make = ultratool.more({name: _of_usage(raw) for name, raw in rows.items()}, most)
    return lambda record_id, raw, rng: _of_sample(raw, make(record_id, _of_usage(raw), rng))


def _call(annotation: str | None, tools: Mapping[str, Any]) -> Call | None:
    """Returns the call of a step with its documented arguments only, as in the gold; None if it has no call."""
    if call := call_of(annotation, tools):
        keys = properties(tools[call.tool])
        return Call(call.tool, tuple(argument for argument in call.arguments if argument.name in keys))
    return None


def names(rows: Mapping[str, Raw], pool: Pool) -> Make:
    """Returns a function that renames tools, parameters and returned fields in documentation and calls of the plan."""
    make_usage = ultratool.names({}, pool)

    def make(record_id: str, raw: Raw, rng: random.Random) -> Twin:
        tools = {tool['name']: tool for tool in raw['tools']}
        calls = [_call(step['tool'], tools) for step in raw['plan']]
        golds = [
            {'tool': call.tool, 'param': {one.name: one.value for one in call.arguments}} for call in calls if call
        ]
        twin = make_usage(record_id, {**_of_usage(raw), 'input': [], 'reference': golds}, rng)
        fields, renamed = twin.translation.fields, {tool['name']: tool for tool in twin.raw['toolset']}

        def annotation(call: Call) -> str:
            arguments = [f'{fields.get(one.name, one.name)}={one.raw}' for one in call.arguments]
            written = f'{twin.translation.name(call.tool)}({", ".join(arguments)})'
            try:
                again = _call(written, renamed)
            except CallError:
                again = None
            if again is None or [one.raw for one in again.arguments] != [one.raw for one in call.arguments]:
                raise LeftOutError('its plan reads otherwise with new names')
            return written

        plan = [
            {**step, 'tool': annotation(call)} if call else step for step, call in zip(raw['plan'], calls, strict=True)
        ]
        return _of_sample({**raw, 'plan': plan}, twin)

    return make
