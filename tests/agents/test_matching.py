"""Matching of calls with gold calls, compared with every possible matching."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest

from opencompass_tooleval.agents.scoring.matching import Match, Partner, match_calls, partners_of
from opencompass_tooleval.benchmarks.teval.scoring import longest_increasing_run
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import AnsweredCall


def calls_of(text: str) -> list[AnsweredCall]:
    """``a1 b2``: calls of ``a`` and ``b`` with 1 and 2."""
    return [AnsweredCall(word[0], {'x': int(word[1:])}, '', 'exact') for word in text.split()]


def gold_of(text: str) -> list[GoldCall]:
    """The same as gold calls; ``a?``: any value is right."""
    return [
        GoldCall(word[0], {'x': 'of an earlier call'}, ('x',))
        if word[1:] == '?'
        else GoldCall(word[0], {'x': int(word[1:])})
        for word in text.split()
    ]


@pytest.mark.parametrize(
    ('calls', 'gold', 'expected'),
    [
        ('a1', '', Match(0, 0, 0, False)),
        ('a1 b2', 'a1 b2', Match(2, 2, 2, True)),
        ('b2 a1', 'a1 b2', Match(2, 2, 1, False)),
        ('a1 a2', 'a2 a1', Match(2, 2, 1, False)),
        ('a3 a4', 'a1 a2', Match(2, 0, 2, False)),
        ('a1 a1 b1', 'a1 a2 b1', Match(3, 2, 3, False)),
        ('a2 b1 a2', 'b1 a2', Match(2, 2, 2, False)),
        ('c1', 'a1', Match(0, 0, 0, False)),
        ('a7 a2', 'a? a2', Match(2, 2, 2, True)),
        ('a2 b1 a2', 'a? b1 a2', Match(3, 3, 3, True)),
    ],
)
def test_matches(calls: str, gold: str, expected: Match) -> None:
    assert match_calls(calls_of(calls), gold_of(gold)) == expected


def test_partners_are_those_that_are_counted() -> None:
    calls = calls_of('a3 b1 a2 a1 c1')
    partners = [Partner(3, True), Partner(0, False), Partner(None, False), Partner(2, True)]
    assert partners_of(calls, gold_of('a1 a4 d1 a2')) == partners
    drawn = random.Random(5)
    for _ in range(200):
        words = [[f'{drawn.choice("ab")}{drawn.choice("12?")}' for _ in range(drawn.randrange(6))] for _ in range(2)]
        made = calls_of(' '.join(words[0]).replace('?', '3'))
        gold = gold_of(' '.join(words[1]))
        partners, match = partners_of(made, gold), match_calls(made, gold)
        matched = [partner.call for partner in partners if partner.call is not None]
        assert len(matched) == len(set(matched)) == match.matched
        assert sum(partner.same for partner in partners) == match.same
        assert all(made[p.call].name == g.name for p, g in zip(partners, gold, strict=True) if p.call is not None)


def test_an_open_argument_has_to_be_passed_and_values_are_compared_as_the_environment_does() -> None:
    assert match_calls([AnsweredCall('a', {}, '', 'exact')], gold_of('a?')).same == 0
    assert match_calls([AnsweredCall('a', {'x': 1, 'y': 2}, '', 'exact')], gold_of('a?')).same == 0
    assert match_calls([AnsweredCall('a', '{"x": 1.0}', '', 'exact')], gold_of('a1')).is_equal


def matchings(edges: Sequence[tuple[int, int]]) -> Iterator[dict[int, int]]:
    """Every set of pairs in which no call and no gold call comes twice."""
    for size in range(len(edges) + 1):
        for chosen in combinations(edges, size):
            if len({call for call, _ in chosen}) == len({gold for _, gold in chosen}) == size:
                yield dict(chosen)


def test_against_every_matching() -> None:
    """The largest matchings by name, among them those with most equal arguments, among them the best in order."""
    drawn = random.Random(3)
    differing = 0
    for _ in range(300):
        calls = ' '.join(drawn.choice('aab') + drawn.choice('123') for _ in range(drawn.randrange(5)))
        gold = ' '.join(drawn.choice('aab') + drawn.choice('123?') for _ in range(drawn.randrange(5)))
        made, wanted = calls_of(calls), gold_of(gold)
        edges = [
            (i, j) for i, call in enumerate(made) for j, gold_call in enumerate(wanted) if call.name == gold_call.name
        ]
        same = {(i, j) for i, j in edges if wanted[j].open_arguments or made[i].arguments == wanted[j].arguments}
        all_matchings = list(matchings(edges))
        matched = max(map(len, all_matchings))
        largest = [matching for matching in all_matchings if len(matching) == matched]
        most = max(len(same & matching.items()) for matching in largest)
        best = [matching for matching in largest if len(same & matching.items()) == most]
        in_order = max(map(longest_increasing_run, best))
        match = match_calls(made, wanted)
        assert (match.matched, match.same) == (matched, most), (calls, gold)
        # Which spare call stands for which spare gold call is decided one by one, not for all of them together.
        assert in_order <= match.in_order <= matched, (calls, gold)
        differing += in_order != match.in_order
        assert match.is_equal == (len(made) == len(wanted) == match.in_order == match.same), (calls, gold)
    assert differing <= 6


def test_thousands_of_calls_are_matched() -> None:
    many = calls_of('a1 a2 b1 b3 ' * 1000)
    assert match_calls(many, gold_of('b1 a? ' * 10)) == Match(20, 20, 20, False)
