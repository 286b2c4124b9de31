"""Checks if a trajectory reaches a task's goal: effects, result, needed and forbidden tools. No judge. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from opencompass_tooleval.agents.scoring.matching import call_key
from opencompass_tooleval.core.calls.observation import ERROR
from opencompass_tooleval.core.calls.trajectory import NOT_FINISHED, AnsweredCall, Trajectory, asks_back
from opencompass_tooleval.core.scoring.refusal import REFUSED, without_offer
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.extras.tasks.gold import Gold, wrong_state
from opencompass_tooleval.extras.tasks.typed_result import find_result, is_same

FORBIDDEN_CALL = 'goal:forbidden'
NOT_ASKED = 'goal:not_asked'
WRONG_EFFECTS = 'goal:effects'
WRONG_RESULT = 'goal:result'
MISSING_CALLS = 'calls:missing'

ANY_TOOL = '*'
_SENTENCE = re.compile(r'[.!。！\n]')
_MAX_SENTENCE = 2_000
_ASKS = re.compile(
    r'\b(?:please|kindly|just)\s(?:also\s)?(?:tell|let me know|say|specify|clarify|confirm|provide|choose|select|pick'
    r'|give|name|state|indicate|send|share)\b|\blet me know (?:which|what|who|whom|where|when|how|whether|the|your)\b'
    r'|\b(?:i need|i would need|i\'d need) (?:to know|you to|the|your|more)\b'
    r'|请(?:您|你)?(?:先)?(?:告诉|告知|确认|说明|提供|指明|指出|选择|明确|给出|补充|回复)|需要(?:您|你)(?:先)?(?:告诉|告知|提供|确认|说明)',
    re.IGNORECASE,
)
_MAX_SHOWN = 200


@dataclass(frozen=True)
class Goal:
    """Conditions at the end of a task.

    Attributes:
        needs: Patterns of tools; for each, a matching tool must answer a call.
        forbidden: Patterns of tools that must not be called.
        form: Type of the result; ``''`` without a result.
        results: The accepted results.
        asks: True if the agent must ask the user something.
        golds: The states of which any is right, as of ``make_gold`` and ``effects_gold``; empty if the state cannot be
            read.
        writes: If the state cannot be read: the wanted calls of tools that change something, as ``[name, arguments]``;
            None if they are unknown.
        reads: Tools that change nothing.
        answer: A correct final answer.
    """

    needs: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    form: str = ''
    results: tuple[str, ...] = ()
    asks: bool = False
    golds: tuple[Gold, ...] = ()
    writes: tuple[Any, ...] | None = None
    reads: tuple[str, ...] = ()
    answer: str = ''

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values for :func:`parse_goal`."""
        return asdict(self)


def parse_goal(raw: Mapping[str, Any]) -> Goal:
    """Creates a goal from the values of :meth:`Goal.to_dict`."""
    values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in raw.items()}
    return Goal(**values)


@dataclass(frozen=True)
class GoalResult:
    """Result of a trajectory's check against its goal.

    Attributes:
        reason: The first reason why the goal was missed, as ``area:code``; ``''`` if it was reached.
        wrong_effects: Part of the state -> description of the error.
        missing_tools: Patterns of needed tools that answered no call.
        forbidden_calls: Forbidden tools that were called.
        wrong_result: The given result, if it is wrong; otherwise empty.
    """

    reason: str
    wrong_effects: Mapping[str, str] = field(default_factory=dict)
    missing_tools: tuple[str, ...] = ()
    forbidden_calls: tuple[str, ...] = ()
    wrong_result: tuple[str, ...] = ()

    @property
    def is_solved(self) -> bool:
        """True if the goal was reached."""
        return not self.reason


def check_goal(goal: Goal, trajectory: Trajectory) -> GoalResult:
    """Checks the final state, the result and the called tools of a trajectory.

    Arguments of tools that only read are not checked.
    """
    calls, answer = trajectory.path_calls, trajectory.final_answer
    answered = [call for call in calls if call.source != ERROR and not call.error]
    forbidden = tuple(dict.fromkeys(call.name for call in trajectory.calls if is_named(call.name, goal.forbidden)))
    missing = tuple(one for one in goal.needs if not any(is_named(call.name, [one]) for call in answered))
    wrong = _wrong_effects(goal, trajectory, answered)
    given = wrong_result(goal, answer)
    reason = ''
    if trajectory.stopped or not answer.strip():
        reason = trajectory.stopped or NOT_FINISHED
    elif forbidden:
        reason = FORBIDDEN_CALL
    elif wrong:
        reason = WRONG_EFFECTS
    elif goal.asks and not asks_user(answer):
        reason = NOT_ASKED
    elif given:
        reason = WRONG_RESULT
    elif missing:
        reason = MISSING_CALLS
    if reason and trajectory.is_declined:
        reason = REFUSED
    return GoalResult(reason, wrong, missing, forbidden, given)


def _wrong_effects(goal: Goal, trajectory: Trajectory, answered: Sequence[AnsweredCall]) -> dict[str, str]:
    if goal.golds and trajectory.changes is not None:
        return wrong_state(goal.golds, trajectory.changes)
    if goal.writes is None:
        return {}
    wanted = Counter(call_key(name, arguments) for name, arguments in goal.writes)
    made = Counter(call_key(call.name, call.arguments) for call in answered if not is_named(call.name, goal.reads))
    wrong = {f'call of {name}': 'not made' for name, *_ in (wanted - made).elements()}
    return wrong | {f'call of {name}': 'not wanted' for name, *_ in (made - wanted).elements()}


def asks_user(answer: str) -> bool:
    """Tests if an answer asks the user for something: by a question mark, or else by its last sentence."""
    text = without_offer(answer.lower())
    last = [one for one in _SENTENCE.split(text[-_MAX_SENTENCE:]) if one.strip()][-1:]
    return asks_back(text) or any(map(_ASKS.search, last))


def is_named(name: str, patterns: Sequence[str]) -> bool:
    """Tests if the name of a tool matches one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def wrong_result(goal: Goal, answer: str) -> tuple[str, ...]:
    """Returns the shortened result of an answer if the goal does not accept it; otherwise an empty tuple."""
    if not goal.form:
        return ()
    given = find_result(answer)
    is_right = any(is_same(goal.form, result, given) for result in goal.results)
    return () if is_right else (bounded_text(given, _MAX_SHOWN),)
