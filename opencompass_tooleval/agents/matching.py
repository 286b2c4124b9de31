"""Calls beside gold calls: which names there are, which arguments are the same, and what is in order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.agents.goal import GoldCall
from opencompass_tooleval.agents.trajectory import AnsweredCall
from opencompass_tooleval.core.jsonable import to_jsonable
from opencompass_tooleval.environments.arguments import arguments_key, read_arguments

CallKey = tuple[str, Hashable]


def call_key(name: str, arguments: Any) -> CallKey:
    """Equal for two calls that are the same: name, and arguments as the environment compares them."""
    key = arguments_key(arguments)
    # Too large to be compared that way: the same where the text is.
    return name, hashlib.blake2b(repr(to_jsonable(arguments)).encode()).digest() if key is None else key


@dataclass(frozen=True)
class Partner:
    """What was made of a gold call.

    Attributes:
        call: Place of the call that is matched with it; None if none is.
        same: Whether that passes the same arguments.
    """

    call: int | None
    same: bool


@dataclass(frozen=True)
class Match:
    """How calls fit gold calls; each gold call is matched once at most.

    Attributes:
        matched: Gold calls that are matched by a call of the same name: the largest matching.
        same: How many of them pass the same arguments, in the matching in which most do.
        in_order: The longest run of gold calls that were made in their order (T-Eval, App. C.2).
        is_equal: Whether the calls are the gold calls, one by one.
    """

    matched: int
    same: int
    in_order: int
    is_equal: bool


def match_calls(calls: Sequence[AnsweredCall], gold: Sequence[GoldCall], repaired: bool = False) -> Match:
    """Matches calls with gold calls.

    Args:
        calls: What was called.
        gold: The gold calls.
        repaired: Whether a call may also equal the repaired form of a gold call, where it has one.

    For the order a call stands for a gold call of its name. Where the arguments tell which one is meant, it is that:
    only a call that is spare once as many as possible are matched with gold calls of the same arguments may stand for a
    gold call that is spare. Otherwise ``add(1), add(2)`` would be in order beside ``add(2), add(1)``.
    """
    names = [call.name for call in gold]
    same = same_calls(calls, gold, repaired)
    partner = largest_matching(same, len(gold))
    spare_gold = _spare_gold(same, partner, len(gold))
    spare = _spare_calls(same, partner)
    allowed = [
        {
            place
            for place, name in enumerate(names)
            if call.name == name and (place in same[number] or (number in spare and place in spare_gold))
        }
        for number, call in enumerate(calls)
    ]
    return Match(
        matched=(Counter(call.name for call in calls) & Counter(names)).total(),
        same=len(partner),
        in_order=_longest_run(allowed, len(gold)),
        is_equal=len(calls) == len(gold) and all(place in matches for place, matches in enumerate(same)),
    )


def partners_of(calls: Sequence[AnsweredCall], gold: Sequence[GoldCall]) -> list[Partner]:
    """Of each gold call its partner, as :func:`match_calls` counts them: those with the same arguments first."""
    same = largest_matching(same_calls(calls, gold), len(gold))
    left: dict[str, list[int]] = {}
    for number in sorted(set(range(len(calls))) - set(same.values()), reverse=True):
        left.setdefault(calls[number].name, []).append(number)
    partners = []
    for place, wanted in enumerate(gold):
        others = left.get(wanted.name)
        other = others.pop() if place not in same and others else None
        partners.append(Partner(same.get(place, other), place in same))
    return partners


def same_calls(calls: Sequence[AnsweredCall], gold: Sequence[GoldCall], repaired: bool = False) -> list[set[int]]:
    """Returns, of each call, the places of the gold calls with the same name and arguments."""
    places_of: dict[str, dict[tuple[str, ...], dict[CallKey, set[int]]]] = {}
    forms = [(place, call) for place, call in enumerate(gold)]
    if repaired:
        forms += [(place, call.repaired) for place, call in enumerate(gold) if call.repaired]
    for place, call in forms:
        key = _key_without(call.name, call.arguments, call.open_arguments)
        places_of.setdefault(call.name, {}).setdefault(call.open_arguments, {}).setdefault(key, set()).add(place)
    same: list[set[int]] = []
    for made in calls:
        places: set[int] = set()
        for open_arguments, keys in places_of.get(made.name, {}).items():
            places |= keys.get(_key_without(made.name, made.arguments, open_arguments), set())
        same.append(places)
    return same


def _key_without(name: str, arguments: Any, open_arguments: Sequence[str]) -> CallKey:
    """The key of a call in which open arguments have no value; they have to be there."""
    passed = read_arguments(arguments)
    if open_arguments and isinstance(passed, dict):
        passed = {key: None if key in open_arguments else value for key, value in passed.items()}
    return call_key(name, passed)


def largest_matching(same: Sequence[set[int]], count: int) -> dict[int, int]:
    """Matches as many gold calls as possible, by augmenting paths; without recursion.

    Args:
        same: Of each call the places of the gold calls that it may stand for.
        count: Number of gold calls.

    Returns:
        Place of a gold call -> its call.
    """
    calls_of: list[list[int]] = [[] for _ in range(count)]
    for number, places in enumerate(same):
        for place in places:
            calls_of[place].append(number)
    partner: dict[int, int] = {}
    taken: dict[int, int] = {}
    for start in range(count):
        came_from: dict[int, int] = {}  # call -> the gold call from which it was reached
        waiting, free = [start], None
        while waiting and free is None:
            place = waiting.pop()
            for number in calls_of[place]:
                if number not in came_from:
                    came_from[number] = place
                    if number not in taken:
                        free = number
                        break
                    waiting.append(taken[number])
        while free is not None:
            place = came_from[free]
            before = partner.get(place)
            partner[place], taken[free] = free, place
            free = before if place != start else None
    return partner


def _spare_calls(same: Sequence[set[int]], partner: dict[int, int]) -> set[int]:
    """Calls that some largest matching leaves over."""
    spare = set(range(len(same))) - set(partner.values())
    waiting, reached = list(spare), set[int]()
    while waiting:
        for place in same[waiting.pop()] - reached:
            reached.add(place)
            # In the same largest matching with two partners changed, that call is left over instead.
            if partner[place] not in spare:
                spare.add(partner[place])
                waiting.append(partner[place])
    return spare


def _spare_gold(same: Sequence[set[int]], partner: dict[int, int], count: int) -> set[int]:
    """Gold calls that some largest matching leaves over."""
    taken = {number: place for place, number in partner.items()}
    calls_of: dict[int, set[int]] = {place: set() for place in range(count)}
    for number, places in enumerate(same):
        for place in places:
            calls_of[place].add(number)
    spare = set(range(count)) - set(partner)
    waiting, reached = list(spare), set[int]()
    while waiting:
        for number in calls_of[waiting.pop()] - reached:
            reached.add(number)
            if taken[number] not in spare:
                spare.add(taken[number])
                waiting.append(taken[number])
    return spare


def _longest_run(allowed: Sequence[set[int]], count: int) -> int:
    """Length of the longest common subsequence, where each call says which gold calls it may stand for."""
    longest = [0] * (count + 1)
    for places in allowed:
        if not places:
            continue
        before = 0  # longest[place] as it was one call ago
        for place in range(count):
            above = longest[place + 1]
            longest[place + 1] = before + 1 if place in places else max(above, longest[place])
            before = above
    return longest[-1]
