"""Makes the goal of a task of what its solutions agree in: effects, facts, calls and their order. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.agents.scoring.goal_check import holds_fact
from opencompass_tooleval.agents.scoring.matching import call_key
from opencompass_tooleval.agents.tasks.goal import (
    FORBIDDEN,
    MISSING_PARAMETER,
    NO_TOOL,
    RECOVERY,
    RESTRAINT,
    SIBLINGS,
    Goal,
)
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import asks_back
from opencompass_tooleval.core.scoring.typed_result import (
    DATE,
    NONE,
    NUMBER,
    TEXT,
    find_result,
    plain_text,
    read_result,
    same_results,
)
from opencompass_tooleval.extras.making.drafts import Draft
from opencompass_tooleval.extras.making.facts import find_facts
from opencompass_tooleval.extras.making.made_task import Solution, SolvedCall
from opencompass_tooleval.extras.making.wording import asks

LEAST_AGREEING = 2
"""Solutions that have to agree."""

LEAST_SHARED_FACTS = 0.5
"""Facts that two answers share, as a share of the facts of both, so that they agree."""

TOO_FEW = 'agreement:too_few'
DIFFERENT_EFFECTS = 'agreement:effects'
DIFFERENT_RESULTS = 'agreement:result'
DIFFERENT_FACTS = 'agreement:facts'
NO_MAJORITY = 'agreement:no_majority'
ONE_MODEL = 'agreement:one_model'
OTHER_TOOL = 'agreement:other_tool'
GIVEN_AWAY = 'agreement:given_away'
NOTHING_TO_CHECK = 'agreement:nothing_to_check'
SAME_GOLD = 'agreement:same_gold'

_Tagged = dict[tuple[str, int], GoldCall]
"""Tool, and number among the calls of the tool -> call; in the order of the calls."""
_Group = Sequence[Solution]
_Fault = tuple[str, str]
"""Why there is no gold, as ``area:code``, and what was found."""


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


def agree(
    draft: Draft,
    query: str,
    form: str,
    solutions: Sequence[Solution],
    models: Collection[str] = (),
    reading: Container[str] = (),
) -> Agreement:
    """Finds the solutions that agree, and makes the goal of them if they are a strict majority.

    Two solutions agree if they leave the same effects and give the same result. Where the state cannot be read and a
    tool may have changed it, they agree only if they make the same calls. Where the form is ``none`` and the query
    asks for something all the same, such as a long text, or where nothing but reading is done, their answers share
    facts. A request for a change that changes nothing has nothing to check.

    Args:
        draft: What the task is about.
        query: The query, without the line that asks for the result.
        form: Form of the result, one of :data:`~opencompass_tooleval.core.scoring.typed_result.FORMS`.
        solutions: Those that came to an end and that the reviewer accepted. Those that do not fit the kind of the
            task agree with none.
        models: The models that solve; at least one solution of each has to agree.
        reading: Tools that change nothing.
    """
    usable = [one for one in solutions if not _breaks(draft, one)]
    if len(usable) < LEAST_AGREEING:
        return Agreement(None, reason=TOO_FEW, detail=f'{len(usable)} of {len(solutions)} solutions can be used')
    usable = [_with_known_effects(one, reading) for one in usable]
    same_state = _largest(usable, lambda one, other: _state(one) == _state(other))
    if len(same_state) < LEAST_AGREEING:
        return Agreement(None, reason=DIFFERENT_EFFECTS, detail=f'{len(set(map(_state, usable)))} different effects')
    if form == NONE:
        group, goal, fault = _by_facts(draft, query, same_state, reading)
    else:
        group, goal, fault = _by_result(query, form, same_state)
    fault = fault or _minority(group, len(solutions), models) or _other_tool(draft, group, reading)
    return Agreement(None, (), *fault) if fault else _agreed(draft, group, goal)


def _by_result(query: str, form: str, solutions: _Group) -> tuple[_Group, Goal, _Fault | None]:
    """Finds the largest group with the result of one of them, and the goal's part that it is."""
    texts = [find_result(one.answer) for one in solutions]
    results = {id(one): read_result(form, text) for one, text in zip(solutions, texts, strict=True)}
    group = _largest(solutions, lambda one, other: same_results(form, results[id(one)], results[id(other)]))
    if len(group) < LEAST_AGREEING:
        shown = '; '.join(text[:60] or '-' for text in texts)
        return group, Goal(), (DIFFERENT_RESULTS, f'{form}: {shown}'[:500])
    result = texts[next(index for index, one in enumerate(solutions) if one is group[0])]
    is_given = holds_result(query, form, result)
    return group, Goal(form=form, result=result), (GIVEN_AWAY, result[:200]) if is_given else None


def _by_facts(
    draft: Draft, query: str, solutions: _Group, reading: Container[str]
) -> tuple[_Group, Goal, _Fault | None]:
    """Finds the largest group of which one shares facts with all, where the query asks for what no line holds."""
    goal = Goal(form=NONE)
    is_asked, changes_nothing = asks(query), solutions[0].changes == {} and draft.kind not in RESTRAINT
    if draft.kind == MISSING_PARAMETER or not (is_asked or changes_nothing):
        return solutions, goal, None
    if not is_asked and any(call.name not in reading for one in solutions for call in one.calls):
        return solutions, goal, (NOTHING_TO_CHECK, 'the calls change nothing, and the query asks for nothing')
    facts_of = {id(one): find_facts(one, query) for one in solutions}
    group = _largest(solutions, lambda one, other: _share(facts_of[id(one)], facts_of[id(other)]))
    facts = _common([facts_of[id(one)] for one in group]) if len(group) >= LEAST_AGREEING else ()
    if facts:
        return group, replace(goal, facts=facts), None
    found = '; '.join(', '.join(facts_of[id(one)][:5]) or '-' for one in solutions)
    if any(facts_of.values()):
        return group, goal, (DIFFERENT_FACTS, found[:500])
    return group, goal, (NOTHING_TO_CHECK, 'the query asks for something, and the answers hold no result and no facts')


def holds_result(query: str, form: str, result: str) -> bool:
    """Tests if a query holds a result of one value; a number of one digit may be there by chance."""
    return form in (NUMBER, TEXT, DATE) and len(result) > 1 and holds_fact(plain_text(query), result)


def same_gold(one: Goal, other: Goal) -> bool:
    """Tests if two goals that need calls are reached by the very same; how they are asked for does not count."""
    return bool(one.calls) and _asked_for(one) == _asked_for(other)


def _asked_for(goal: Goal) -> tuple[Any, ...]:
    calls = Counter(call_key(alternatives[0].name, alternatives[0].arguments) for alternatives in goal.calls)
    outcome = (goal.effects, goal.form, goal.result, goal.facts)
    return goal.kind, goal.forbidden, goal.fails_first, calls, *outcome


def _largest(solutions: _Group, agrees: Callable[[Solution, Solution], bool]) -> list[Solution]:
    """The largest group of those that agree with one of them, which comes first."""
    groups = (
        [one, *(other for number, other in enumerate(solutions) if number != index and agrees(one, other))]
        for index, one in enumerate(solutions)
        if agrees(one, one)
    )
    return max(groups, key=len, default=[])


def _with_known_effects(solution: Solution, reading: Container[str]) -> Solution:
    """A solution whose tools only read has changed nothing, also where no state can be read."""
    is_known = solution.changes is None and all(call.name in reading for call in solution.calls)
    return replace(solution, changes={}) if is_known else solution


def _state(solution: Solution) -> Hashable:
    """Returns the effects of a solution; where these cannot be read, its calls, in any order."""
    if solution.changes is not None:
        return frozenset(solution.changes.items())
    return frozenset(Counter(_path(solution)).items())


def _minority(group: _Group, count: int, models: Collection[str]) -> _Fault | None:
    """Ties, minorities, and groups that a solving model has no part in, make no gold."""
    if 2 * len(group) <= count:
        return NO_MAJORITY, f'{len(group)} of {count} solutions agree'
    others = set(models) - {one.model for one in group}
    return (ONE_MODEL, f'no solution of {", ".join(sorted(others))} agrees') if others else None


def _other_tool(draft: Draft, group: _Group, reading: Container[str]) -> _Fault | None:
    """Finds a tool that the task does not need and that was called in place of a needed one.

    Where the state cannot be read, it must not be called beside the needed ones either, unless it only reads.
    """
    called = {call.name for one in group for call in good_calls(one)}
    left_out = set(draft.needed) - called
    others = sorted(called.difference(draft.needed))
    if draft.kind in RESTRAINT or not others:
        return None
    if left_out:
        return OTHER_TOOL, f'{", ".join(others)} in place of {", ".join(sorted(left_out))}'
    is_unseen = group[0].changes is None and any(name not in reading for name in others)
    return (OTHER_TOOL, f'{", ".join(others)} beside the needed tools') if is_unseen else None


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
    if draft.kind == FORBIDDEN and draft.other in called:
        return True
    if draft.kind in (RECOVERY, SIBLINGS):
        return draft.needed[0] not in {call.name for call in good_calls(solution)}
    return not good_calls(solution)


def _share(one: Sequence[str], other: Sequence[str]) -> bool:
    first, second = set(map(plain_text, one)), set(map(plain_text, other))
    both = first & second
    return bool(both) and len(both) >= LEAST_SHARED_FACTS * len(first | second)


def _common(facts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    shared = set.intersection(*(set(map(plain_text, one)) for one in facts))
    return tuple(fact for fact in facts[0] if plain_text(fact) in shared)


def _path(solution: Solution) -> tuple[Hashable, ...]:
    return tuple(call_key(call.name, call.arguments) for call in good_calls(solution))


def _agreed(draft: Draft, group: _Group, checked: Goal) -> Agreement:
    """Makes the goal; ``checked`` has its result and facts."""
    first, *others = sorted(group, key=lambda one: len(good_calls(one)))
    tagged, *others_tagged = (_tagged(one) for one in (first, *others))
    goal = replace(
        checked,
        kind=draft.kind,
        calls=_alternatives(tagged, others_tagged),
        order=_order(list(tagged), others_tagged),
        forbidden=_forbidden(draft),
        effects=first.changes,
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
    orders = [{call: index for index, call in enumerate(other)} for other in others]
    return tuple(
        (first, second)
        for second in range(len(calls))
        for first in range(second)
        if all(at.get(calls[first], -1) < at.get(calls[second], len(at)) for at in orders)
    )
