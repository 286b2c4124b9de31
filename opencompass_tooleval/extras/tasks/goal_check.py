"""Checks a trajectory against the goal of its task: effects, facts, calls that must and must not be made. No judge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.agents.scoring.matching import call_key
from opencompass_tooleval.agents.tasks.goal import MISSING_PARAMETER, NO_TOOL, Goal
from opencompass_tooleval.core.calls.observation import ERROR, INJECTED
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import NOT_FINISHED, AnsweredCall, Trajectory, asks_back
from opencompass_tooleval.core.scoring.refusal import REFUSED
from opencompass_tooleval.core.scoring.typed_result import find_result, is_same, plain_text
from opencompass_tooleval.core.text.jsonable import bounded_text

FORBIDDEN_CALL = 'goal:forbidden'
NEEDLESS_CALL = 'goal:needless_call'
NOT_ASKED = 'goal:not_asked'
WRONG_EFFECTS = 'goal:effects'
MISSING_FACTS = 'goal:facts'
WRONG_RESULT = 'goal:result'
MISSING_CALLS = 'calls:missing'

_MAX_SHOWN = 200


@dataclass(frozen=True)
class GoalResult:
    """Result of a trajectory's check against its goal.

    Attributes:
        reason: The first reason for a missed goal, as ``area:code``; ``''`` if it was reached.
        wrong_effects: Parts of the state that differ from the goal.
        missing_facts: Facts that the final answer does not contain.
        missing_calls: Indices in :attr:`Goal.calls` of calls that were not made.
        forbidden_calls: Forbidden tools that were called.
        wrong_result: The result that was given, if it is not the goal's.
    """

    reason: str
    wrong_effects: tuple[str, ...] = ()
    missing_facts: tuple[str, ...] = ()
    missing_calls: tuple[int, ...] = ()
    forbidden_calls: tuple[str, ...] = ()
    wrong_result: tuple[str, ...] = ()

    @property
    def is_solved(self) -> bool:
        """True if the goal was reached."""
        return not self.reason


def holds_fact(text: str, fact: str) -> bool:
    """Returns whether a text contains a fact as a whole word or number.

    Args:
        text: Prepared by :func:`plain_text`.
        fact: The fact as it was observed.
    """
    plain_fact = plain_text(fact)
    if not plain_fact:
        return False
    return (
        re.search(f'{_edge(plain_fact[0], "(?<!{})")}{re.escape(plain_fact)}{_edge(plain_fact[-1], "(?!{})")}', text)
        is not None
    )


def _edge(letter: str, outside: str) -> str:
    """Returns the pattern of a fact's edge: neither a word nor a number goes on there.

    '12' is not in '3.12', '12.5', 'a12' or '-12', but it is in 'it is 12.' and '10-12'. Chinese has no spaces between
    words.
    """
    if not (letter.isascii() and letter.isalnum()):
        return ''
    of_numbers = ((r'\d[.,]', r'\W-', '^-') if '<' in outside else (r'[.,]\d',)) if letter.isdigit() else ()
    return ''.join(outside.format(pattern) for pattern in ('[a-z0-9_]', *of_numbers))


def _calls_decide(goal: Goal, changes: Mapping[str, str] | None) -> bool:
    """Returns whether the end of a trajectory does not show that the goal is reached, so that its calls have to."""
    if goal.effects is None and goal.form and goal.calls:
        return True
    return changes is None if goal.effects else not (goal.facts or goal.result)


def check_goal(goal: Goal, trajectory: Trajectory) -> GoalResult:
    """Checks a trajectory.

    Effects, result, facts and forbidden tools count for every kind. Calls count only where the goal has none of the
    first three, or where it has effects and the state at the end was not read: a task may be solved in other ways than
    those that are known. In a set of format 2 they also count where the state cannot be read.

    Args:
        goal: The goal.
        trajectory: Its ``changes`` are compared with ``goal.effects``, where both are known.
    """
    calls = made_calls(trajectory)
    forbidden = tuple(dict.fromkeys(call.name for call in calls if call.name in goal.forbidden))
    changes = trajectory.changes
    wrong: list[str] = []
    if goal.effects is not None and changes is not None:
        names = dict.fromkeys([*goal.effects, *changes])
        wrong = [name for name in names if goal.effects.get(name) != changes.get(name)]
    answer = plain_text(trajectory.final_answer)
    facts = tuple(fact for fact in goal.facts if not holds_fact(answer, fact))
    given = wrong_result(goal, trajectory.final_answer)
    missing = missing_calls(goal.calls, calls)
    reason = ''
    if trajectory.stopped or not answer:
        reason = trajectory.stopped or NOT_FINISHED
    elif forbidden:
        reason = FORBIDDEN_CALL
    elif goal.kind == NO_TOOL and calls:
        reason = NEEDLESS_CALL
    elif wrong:
        reason = WRONG_EFFECTS
    elif goal.kind == MISSING_PARAMETER and not asks_back(trajectory.final_answer):
        reason = NOT_ASKED
    elif given:
        reason = WRONG_RESULT
    elif facts:
        reason = MISSING_FACTS
    elif missing and _calls_decide(goal, changes):
        reason = MISSING_CALLS
    if reason and trajectory.is_declined:
        reason = REFUSED
    return GoalResult(reason, tuple(wrong), facts, missing, forbidden, given)


def wrong_result(goal: Goal, answer: str) -> tuple[str, ...]:
    """Returns the result of an answer, shortened, if it is not that of the goal."""
    if not goal.result:
        return ()
    given = find_result(answer)
    return () if is_same(goal.form, goal.result, given) else (bounded_text(given, _MAX_SHOWN),)


def made_calls(trajectory: Trajectory) -> list[AnsweredCall]:
    """Returns the calls on the way to the end, without those whose failure the task has planned."""
    return [call for call in trajectory.path_calls if call.error != INJECTED]


def missing_calls(wanted: Sequence[Sequence[GoldCall]], calls: Sequence[AnsweredCall]) -> tuple[int, ...]:
    """Returns the indices of required calls that nobody made; a call fulfils one of them at most."""
    left = [call_key(call.name, call.arguments) for call in calls if call.source != ERROR]
    missing = []
    for index, alternatives in enumerate(wanted):
        key = next((key for key in map(_key, alternatives) if key in left), None)
        if key is None:
            missing.append(index)
        else:
            left.remove(key)
    return tuple(missing)


def _key(call: GoldCall) -> object:
    return call_key(call.name, call.arguments)
