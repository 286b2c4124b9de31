"""Goal of an agent's task on a user's own tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import GoldCall, parse_gold_call
from opencompass_tooleval.core.scoring.typed_result import FORMS

ORDINARY = 'ordinary'
NO_TOOL = 'no_tool'
MISSING_PARAMETER = 'missing_parameter'
FORBIDDEN = 'forbidden'
SIBLINGS = 'siblings'
RECOVERY = 'recovery'

KINDS = (ORDINARY, NO_TOOL, MISSING_PARAMETER, FORBIDDEN, SIBLINGS, RECOVERY)
"""Kinds of tasks on a user's own tools."""

RESTRAINT = (NO_TOOL, MISSING_PARAMETER)
"""Kinds in which the agent has to answer or to ask without a call; the others need tools."""


@dataclass(frozen=True)
class Goal:
    """Conditions at the end of a task.

    Attributes:
        kind: One of :data:`KINDS`: ``ordinary``; ``no_tool`` (the request needs no call); ``missing_parameter`` (the
            request lacks a value, and the agent has to ask for it); ``forbidden`` (the request rules out a tool that
            would help); ``siblings`` (tools that are easily confused are offered); ``recovery`` (the first call of a
            tool fails).
        calls: The calls that have to be made. Each has one or more alternatives, the first of which is the task's gold
            call; any alternative is right.
        order: Pairs of places in ``calls``; the first call of a pair has to come before the second.
        forbidden: Tools that must not be called.
        effects: Part of the environment's state -> its value at the end, ``''`` where it is gone; only what differs
            from the start. None where the environment has no state that can be read.
        facts: Texts that the final answer has to contain; each is from an observation.
        missing: Kind ``missing_parameter``: the parameter whose value the request lacks.
        fails_first: Kind ``recovery``: the tool whose first call fails.
        answer: A right final answer.
        form: Form of the result, one of ``typed_result.FORMS``; ``''`` for none.
        result: The right result in this form; ``''`` if the request asks for none.
    """

    kind: str = ORDINARY
    calls: tuple[tuple[GoldCall, ...], ...] = ()
    order: tuple[tuple[int, int], ...] = ()
    forbidden: tuple[str, ...] = ()
    effects: Mapping[str, str] | None = None
    facts: tuple[str, ...] = ()
    missing: str = ''
    fails_first: str = ''
    answer: str = ''
    form: str = ''
    result: str = ''

    def oracle_calls(self, gold: Sequence[GoldCall]) -> tuple[GoldCall, ...]:
        """Returns the gold calls, with the call that fails first made twice."""
        failing = next((index for index, call in enumerate(gold) if call.name == self.fails_first), None)
        return tuple(gold) if failing is None else (*gold[: failing + 1], *gold[failing:])


def parse_goal(raw: Mapping[str, Any]) -> Goal:
    """Converts the JSON values of a :class:`Goal`.

    Raises:
        ValueError: There is no such kind, or no such form of a result.
        TypeError: It has an unknown field.
    """
    if raw.get('form', '') not in ('', *FORMS):
        raise ValueError(f'there is no form of a result {raw["form"]!r}; there are {", ".join(FORMS)}')
    if raw.get('kind', ORDINARY) not in KINDS:
        raise ValueError(f'there is no kind of task {raw["kind"]!r}; there are {", ".join(KINDS)}')
    return Goal(
        **{
            **raw,
            'calls': tuple(tuple(map(parse_gold_call, alternatives)) for alternatives in raw.get('calls', ())),
            'order': tuple((int(first), int(second)) for first, second in raw.get('order', ())),
            'forbidden': tuple(raw.get('forbidden', ())),
            'facts': tuple(raw.get('facts', ())),
        }
    )
