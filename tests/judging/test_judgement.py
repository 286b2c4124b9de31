"""Reasons for missing judgements, their maximum share, and digests of judged items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from opencompass_tooleval.core.text.jsonable import answer_digest
from opencompass_tooleval.judging.judgement import (
    Judgement,
    Opinion,
    Unjudged,
    UnjudgedError,
    Unread,
    by_record,
    check_unjudged,
    matched,
    read_judgement,
    unread_reply,
)


@pytest.mark.parametrize(
    ('replies', 'why'),
    [
        (('', ' \n', '<think>so much to say'), 'empty'),
        (("I'm sorry, but I can't judge.", 'I cannot give a score.', '<think>hm</think>抱歉，我无法评分。'), 'refused'),
        (('No idea.', 'The plan is sorry work.', '[{"x": 1}]'), 'unread'),
    ],
)
def test_why_a_reply_says_nothing(replies: tuple[str, ...], why: str) -> None:
    assert [unread_reply(reply).why for reply in replies] == [why] * 3


def test_the_message_says_how_many_why_the_limit_and_what_to_do() -> None:
    whys = ['unread', 'range:overall', 'range:accuracy', 'refused', 'infra:timeout', 'other_answer', 'no_judgement', '']
    unjudged = [Unjudged(f'record {number}', why) for number, why in enumerate(whys)]
    with pytest.raises(UnjudgedError) as caught:
        check_unjudged(unjudged, 100, 'Do this.')
    message = str(caught.value)
    assert message.startswith('8 of 100 could not be judged, for example record 0 (unreadable reply): 2 out of range, ')
    assert message.endswith('. At most 1% may be. Do this.')
    assert '1 infra:timeout' in message and '1 the judge refused' in message
    hostile = [Unjudged('record ' + 'x' * 10_000, kind * 10_000) for kind in 'abcdefgh']
    with pytest.raises(UnjudgedError) as caught:
        check_unjudged(hostile, 8)
    assert len(str(caught.value)) < 500
    assert (check_unjudged(unjudged[:1], 100), check_unjudged([], 0)) == (1, 0)
    with pytest.raises(UnjudgedError):
        check_unjudged(unjudged[:1], 99)


def test_what_stands_for_an_answer() -> None:
    assert answer_digest('a') == answer_digest('a') != answer_digest('a ')
    assert answer_digest({'a': 1, 'b': [2]}) == answer_digest({'b': [2], 'a': 1}) != answer_digest({'a': 1, 'b': [3]})
    assert len({len(answer_digest(value)) for value in ('\ud83d', None, {1: {2}}, [float('nan')])}) == 1


def test_a_judgement_is_of_its_answer() -> None:
    """Of just that answer, by any of its digests; else one that names none; else why there is none."""
    of_answer, other, silent = (Judgement('1', found=name, answer_digest=name) for name in ('own', 'other', ''))
    unjudged: Judgement[str] = Judgement('1', status='unjudged', answer_digest='own')
    assert matched([silent, other, of_answer], unjudged).found == 'own'
    assert matched([silent, other], unjudged, 'other') == Judgement('1', found='other', answer_digest='own')
    assert matched([other, silent], unjudged) == Judgement('1', found='', answer_digest='own')
    assert matched([other], unjudged).fault == 'other_answer'
    assert matched([], unjudged).fault == 'no_judgement'
    nothing: Judgement[str] = Judgement('1', status='missing')
    assert matched([nothing], unjudged).fault == 'no_judgement', 'the answer had nothing then, and has something now'


def test_judgements_of_other_records_are_an_error() -> None:
    judgements = [Judgement('b', found=1), Judgement('a', found=2), Judgement('b', '1.1', found=3)]
    assert by_record(judgements, 'abc') == {'a': [judgements[1]], 'b': [judgements[0], judgements[2]], 'c': []}
    with pytest.raises(ValueError, match=r"1 records .* record 'b'"):
        by_record(judgements, 'a')


def read(row: Mapping[str, Any]) -> Opinion | Unread:
    return Opinion(str(row['said'])) if row.get('said') else Unread('range:said')


@pytest.mark.parametrize(
    'judgement',
    [
        Judgement('1', found=Opinion('yes'), answer_digest='ab', reference='cd'),
        Judgement('1', '1.2', 'missing'),
        Judgement('1', '1.2', 'unjudged', answer_digest='ab', fault='unread'),
    ],
)
def test_rows_come_back(judgement: Judgement[Opinion]) -> None:
    row = judgement.to_row(lambda opinion: {'said': opinion.value})
    assert all(row.values()), 'nothing that is empty is written'
    assert read_judgement('0', row, read) == judgement


def test_rows_that_others_write() -> None:
    """With what is empty, or with neither status nor digest."""
    full = {'id': 3, 'step': '', 'status': 'missing', 'said': None, 'answer_digest': '', 'fault': None}
    assert read_judgement('0', full, read) == Judgement('3', status='missing')
    assert read_judgement('7', {'said': 'no'}, read) == Judgement('7', found=Opinion('no'))
    assert read_judgement('7', {'said': ''}, read) == Judgement('7', status='unjudged', fault='range:said')
