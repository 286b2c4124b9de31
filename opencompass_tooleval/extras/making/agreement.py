"""Makes the goal of a task of what its solutions agree in: effects, facts, calls and their order. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from opencompass_tooleval.agents.scoring.goal_check import plain_text
from opencompass_tooleval.agents.scoring.matching import call_key
from opencompass_tooleval.agents.tasks.goal import FORBIDDEN, MISSING_PARAMETER, NO_TOOL, RECOVERY, Goal, GoldCall
from opencompass_tooleval.agents.trajectory import asks_back
from opencompass_tooleval.extras.making.drafts import Draft
from opencompass_tooleval.extras.making.facts import find_facts
from opencompass_tooleval.extras.making.made_task import Solution, SolvedCall

LEAST_AGREEING = 2
"""Solutions that have to agree."""

LEAST_SHARED_FACTS = 0.5
"""Facts that two answers share, as a share of the facts of both, so that they agree."""

TOO_FEW = 'agreement:too_few'
DIFFERENT_EFFECTS = 'agreement:effects'
DIFFERENT_FACTS = 'agreement:facts'
NOTHING_TO_CHECK = 'agreement:nothing_to_check'

_Tagged = dict[tuple[str, int], GoldCall]
"""Tool, and number among the calls of the tool -> call; in the order of the calls."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of solutions.

    Attributes:
        goal: The goal; None if they do not agree.
        solutions: Those that agree; the goal's calls are those of the first.
        reason: Why there is no goal, as ``area:code``.
        detail: What differs.
    """

    goal: Goal | None
    solutions: tuple[Solution, ...] = ()
    reason: str = ''
    detail: str = ''


def agree(draft: Draft, query: str, solutions: Sequence[Solution]) -> Agreement:
    """Finds the largest group of solutions that agree, and makes the goal of it.

    Two solutions agree if they leave the same effects and, where neither leaves any, if their answers share facts.
    Where the environment has no state and the answers no facts, they agree if they make the same calls.

    Args:
        draft: What the task is about.
        query: The query.
        solutions: Those that came to an end and that the reviewer accepted.
    """
    usable = [one for one in solutions if not _breaks(draft, one)]
    if len(usable) < LEAST_AGREEING:
        return Agreement(None, reason=TOO_FEW, detail=f'{len(usable)} of {len(solutions)} solutions can be used')
    by_effects: dict[Hashable, list[Solution]] = {}
    for one in usable:
        effects = None if one.changes is None else frozenset(one.changes.items())
        by_effects.setdefault(effects, []).append(one)
    group = max(by_effects.values(), key=len)
    if len(group) < LEAST_AGREEING:
        return Agreement(None, reason=DIFFERENT_EFFECTS, detail=f'{len(by_effects)} different effects')
    if draft.kind in (NO_TOOL, MISSING_PARAMETER):
        return _agreed(draft, group, ())
    facts_of = {id(one): find_facts(one, query) for one in group}
    if group[0].changes:  # effects decide; facts are what all answers hold beside
        return _agreed(draft, group, _common([facts_of[id(one)] for one in group]))
    clusters = [[other for other in group if _share(facts_of[id(one)], facts_of[id(other)])] for one in group]
    cluster = max(clusters, key=len)
    if len(cluster) >= LEAST_AGREEING:
        facts = _common([facts_of[id(one)] for one in cluster])
        if facts:
            return _agreed(draft, cluster, facts)
    if any(facts_of.values()):
        found = '; '.join(', '.join(facts_of[id(one)][:5]) or '-' for one in group)
        return Agreement(None, reason=DIFFERENT_FACTS, detail=found[:500])
    return _by_calls(draft, group)


def _by_calls(draft: Draft, group: Sequence[Solution]) -> Agreement:
    """Where neither effects nor facts show anything: the same calls, if no state could be read."""
    same: dict[Hashable, list[Solution]] = {}
    for one in group:
        same.setdefault(_path(one), []).append(one)
    most = max(same.values(), key=len)
    if group[0].changes is not None or not good_calls(most[0]):
        return Agreement(None, reason=NOTHING_TO_CHECK, detail='no effects, and no facts in the answers')
    if len(most) < LEAST_AGREEING:
        return Agreement(None, reason=DIFFERENT_FACTS, detail=f'{len(same)} different sequences of calls')
    return _agreed(draft, most, ())


def good_calls(solution: Solution) -> list[SolvedCall]:
    """Returns the calls that were answered without an error."""
    return [call for call in solution.calls if not call.error]


def _breaks(draft: Draft, solution: Solution) -> bool:
    """Returns whether a solution violates the kind of its task."""
    called = {call.name for call in solution.calls}
    if draft.kind == NO_TOOL:
        return bool(called) or bool(solution.changes)
    if draft.kind == MISSING_PARAMETER:
        return not asks_back(solution.answer) or draft.needed[0] in called or bool(solution.changes)
    if draft.kind == FORBIDDEN:
        return draft.other in called
    if draft.kind == RECOVERY:
        return draft.needed[0] not in {call.name for call in good_calls(solution)}
    return not called


def _share(one: Sequence[str], other: Sequence[str]) -> bool:
    first, second = set(map(plain_text, one)), set(map(plain_text, other))
    both = first & second
    return bool(both) and len(both) >= LEAST_SHARED_FACTS * len(first | second)


def _common(facts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    shared = set.intersection(*(set(map(plain_text, one)) for one in facts))
    return tuple(fact for fact in facts[0] if plain_text(fact) in shared)


def _path(solution: Solution) -> Hashable:
    return tuple(call_key(call.name, call.arguments) for call in good_calls(solution))


def _agreed(draft: Draft, group: Sequence[Solution], facts: tuple[str, ...]) -> Agreement:
    first, *others = sorted(group, key=lambda one: len(good_calls(one)))
    tagged, *others_tagged = (_tagged(one) for one in (first, *others))
    goal = Goal(
        kind=draft.kind,
        calls=_alternatives(tagged, others_tagged),
        order=_order(list(tagged), others_tagged),
        forbidden=_forbidden(draft),
        effects=first.changes,
        facts=facts,
        missing=draft.missing,
        fails_first=draft.needed[0] if draft.kind == RECOVERY else '',
        answer=first.answer,
        is_single_path=len({_path(one) for one in group}) == 1,
    )
    return Agreement(goal, (first, *others))


def _forbidden(draft: Draft) -> tuple[str, ...]:
    if draft.kind == FORBIDDEN:
        return (draft.other,)
    return draft.needed[:1] if draft.kind == MISSING_PARAMETER else ()


def _tagged(solution: Solution) -> _Tagged:
    seen = Counter[str]()
    tagged = {}
    for call in good_calls(solution):
        tagged[call.name, seen[call.name]] = GoldCall(call.name, dict(call.arguments))
        seen[call.name] += 1
    return tagged


def _alternatives(calls: _Tagged, others: Sequence[_Tagged]) -> tuple[tuple[GoldCall, ...], ...]:
    """Of each call, itself and those that others, with as many calls of the tool, made instead."""
    alternatives = []
    for (name, number), call in calls.items():
        count = sum(tool == name for tool, _ in calls)
        same = [other[name, number] for other in others if sum(tool == name for tool, _ in other) == count]
        found: dict[Hashable, GoldCall] = {}
        for one in (call, *same):
            found.setdefault(call_key(one.name, one.arguments), one)
        alternatives.append(tuple(found.values()))
    return tuple(alternatives)


def _order(calls: Sequence[tuple[str, int]], others: Iterable[_Tagged]) -> tuple[tuple[int, int], ...]:
    """Pairs of places that every solution made in this order; a call that one did not make counts as ordered."""
    places = [{call: place for place, call in enumerate(other)} for other in others]
    return tuple(
        (first, second)
        for second in range(len(calls))
        for first in range(second)
        if all(at.get(calls[first], -1) < at.get(calls[second], len(at)) for at in places)
    )
