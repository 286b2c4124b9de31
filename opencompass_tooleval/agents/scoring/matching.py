"""Matches calls with gold calls: by name, by arguments, and in order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import AnsweredCall
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.environments.arguments import arguments_key, read_arguments

CallKey = tuple[str, Hashable]


def call_key(name: str, arguments: Any) -> CallKey:
    """Returns the same key for equal calls: the name, and the arguments as the environment compares them."""
    key = arguments_key(arguments)
    # Too large for that comparison: equal if their texts are equal.
    return name, hashlib.blake2b(repr(to_jsonable(arguments)).encode()).digest() if key is None else key


@dataclass(frozen=True)
class Partner:
    """The match of a gold call.

    Attributes:
        call: Index of the matched call; None if no call matches.
        same: True if the arguments are equal too.
    """

    call: int | None
    same: bool


@dataclass(frozen=True)
class Match:
    """A matching of calls with gold calls; each gold call is matched at most once.

    Attributes:
        matched: Number of gold calls matched by name, in the largest matching.
        same: Number of gold calls matched with equal arguments, in the matching with most of these.
        in_order: Length of the longest sequence of gold calls that were made in order (T-Eval, App. C.2).
        is_equal: True if the calls equal the gold calls, one by one.
    """

    matched: int
    same: int
    in_order: int
    is_equal: bool


def match_calls(calls: Sequence[AnsweredCall], gold: Sequence[GoldCall], repaired: bool = False) -> Match:
    """Matches calls with gold calls.

    Args:
        calls: The calls.
        gold: The gold calls.
        repaired: True if a call may also equal the repaired form of a gold call.

    For the order, a call matches a gold call with its name. If the arguments identify the gold call, the call matches
    only that one. First as many calls as possible are matched by equal arguments; then only a spare call may match a
    spare gold call. Otherwise ``add(1), add(2)`` would count as in order for the gold ``add(2), add(1)``.
    """
    names = [call.name for call in gold]
    same = same_calls(calls, gold, repaired)
    partner = largest_matching(same, len(gold))
    spare_gold = _spare_gold(same, partner, len(gold))
    spare = spare_calls(same, partner)
    allowed = [
        {
            index
            for index, name in enumerate(names)
            if call.name == name and (index in same[number] or (number in spare and index in spare_gold))
        }
        for number, call in enumerate(calls)
    ]
    return Match(
        matched=(Counter(call.name for call in calls) & Counter(names)).total(),
        same=len(partner),
        in_order=_longest_run(allowed, len(gold)),
        is_equal=len(calls) == len(gold) and all(index in matches for index, matches in enumerate(same)),
    )


def partners_of(calls: Sequence[AnsweredCall], gold: Sequence[GoldCall]) -> list[Partner]:
    """Returns the match of each gold call, counted as in :func:`match_calls`: equal arguments first."""
    same = largest_matching(same_calls(calls, gold), len(gold))
    left: dict[str, list[int]] = {}
    for number in sorted(set(range(len(calls))) - set(same.values()), reverse=True):
        left.setdefault(calls[number].name, []).append(number)
    partners = []
    for index, wanted in enumerate(gold):
        others = left.get(wanted.name)
        other = others.pop() if index not in same and others else None
        partners.append(Partner(same.get(index, other), index in same))
    return partners


def same_calls(calls: Sequence[AnsweredCall], gold: Sequence[GoldCall], repaired: bool = False) -> list[set[int]]:
    """Returns for each call the indices of gold calls with equal name and arguments."""
    indices_of: dict[str, dict[tuple[str, ...], dict[CallKey, set[int]]]] = {}
    forms = [(index, call) for index, call in enumerate(gold)]
    if repaired:
        forms += [(index, call.repaired) for index, call in enumerate(gold) if call.repaired]
    for index, call in forms:
        key = _key_without(call.name, call.arguments, call.open_arguments)
        indices_of.setdefault(call.name, {}).setdefault(call.open_arguments, {}).setdefault(key, set()).add(index)
    same: list[set[int]] = []
    for made in calls:
        indices: set[int] = set()
        for open_arguments, keys in indices_of.get(made.name, {}).items():
            indices |= keys.get(_key_without(made.name, made.arguments, open_arguments), set())
        same.append(indices)
    return same


def _key_without(name: str, arguments: Any, open_arguments: Sequence[str]) -> CallKey:
    """Returns the key of a call without the values of open arguments, which must still be present."""
    passed = read_arguments(arguments)
    if open_arguments and isinstance(passed, dict):
        passed = {key: None if key in open_arguments else value for key, value in passed.items()}
    return call_key(name, passed)


def largest_matching(same: Sequence[set[int]], count: int) -> dict[int, int]:
    """Matches as many gold calls as possible, by augmenting paths, without recursion.

    Args:
        same: For each call, the indices of the gold calls that it may match.
        count: Number of gold calls.

    Returns:
        Index of a gold call -> index of its call.
    """
    calls_of: list[list[int]] = [[] for _ in range(count)]
    for number, indices in enumerate(same):
        for index in indices:
            calls_of[index].append(number)
    partner: dict[int, int] = {}
    taken: dict[int, int] = {}
    for start in range(count):
        came_from: dict[int, int] = {}  # call -> the gold call from which it was reached
        waiting, free = [start], None
        while waiting and free is None:
            index = waiting.pop()
            for number in calls_of[index]:
                if number not in came_from:
                    came_from[number] = index
                    if number not in taken:
                        free = number
                        break
                    waiting.append(taken[number])
        while free is not None:
            index = came_from[free]
            before = partner.get(index)
            partner[index], taken[free] = free, index
            free = before if index != start else None
    return partner


def spare_calls(same: Sequence[set[int]], partner: dict[int, int]) -> set[int]:
    """Returns the calls that are unmatched in some largest matching.

    Args:
        same: For each call, the gold calls that it may match.
        partner: Gold call -> call, of one largest matching.
    """
    spare = set(range(len(same))) - set(partner.values())
    waiting, reached = list(spare), set[int]()
    while waiting:
        for index in same[waiting.pop()] - reached:
            reached.add(index)
            # Changing two partners gives another largest matching, in which that call is unmatched.
            if partner[index] not in spare:
                spare.add(partner[index])
                waiting.append(partner[index])
    return spare


def _spare_gold(same: Sequence[set[int]], partner: dict[int, int], count: int) -> set[int]:
    """Returns the gold calls that are unmatched in some largest matching."""
    calls_of = [{number for number, indices in enumerate(same) if index in indices} for index in range(count)]
    return spare_calls(calls_of, {number: index for index, number in partner.items()})


def _longest_run(allowed: Sequence[set[int]], count: int) -> int:
    """Computes the length of the longest common subsequence, from the gold calls that each call may match."""
    longest = [0] * (count + 1)
    for indices in allowed:
        if not indices:
            continue
        before = 0  # longest[place] before this call
        for index in range(count):
            above = longest[index + 1]
            longest[index + 1] = before + 1 if index in indices else max(above, longest[index])
            before = above
    return longest[-1]
