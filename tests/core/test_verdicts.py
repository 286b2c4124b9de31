"""Why something is unjudged, how much may be, and what stands for what was judged."""

from __future__ import annotations

import time

import pytest

from opencompass_tooleval.core.verdicts import Unjudged, UnjudgedError, answer_digest, check_unjudged, unread_reply


@pytest.mark.parametrize(
    ('reply', 'why'),
    [
        ('', 'empty'),
        (' \n', 'empty'),
        ('<think>so much to say', 'empty'),
        ("I'm sorry, but I can't judge this.", 'refused'),
        ('Sorry, no.', 'refused'),
        ('I cannot give a score.', 'refused'),
        ('As an AI language model, I do not judge.', 'refused'),
        ('<think>hm</think>抱歉，我无法评分。', 'refused'),
        ('No idea.', 'unread'),
        ('The plan is sorry work.', 'unread'),
        ('[{"x": 1}]', 'unread'),
    ],
)
def test_why_a_reply_says_nothing(reply: str, why: str) -> None:
    assert unread_reply(reply).why == why


def test_the_message_says_how_many_why_the_limit_and_what_to_do() -> None:
    whys = ['unread', 'range:overall', 'range:accuracy', 'refused', 'infra:timeout', 'other_answer', 'no_judgement', '']
    unjudged = [Unjudged(f'record {number}', why) for number, why in enumerate(whys)]
    with pytest.raises(UnjudgedError) as caught:
        check_unjudged(unjudged, 100, 'Do this.')
    message = str(caught.value)
    assert message.startswith('8 of 100 could not be judged, for example record 0 (unreadable reply): 2 out of range, ')
    assert message.endswith('. At most 1% may be. Do this.')
    assert '1 infra:timeout' in message and '1 the judge refused' in message


def test_a_little_may_be_unjudged() -> None:
    assert check_unjudged([Unjudged('record 0', 'unread')], 100) == 1
    assert check_unjudged([], 0) == 0
    with pytest.raises(UnjudgedError):
        check_unjudged([Unjudged('record 0', 'unread')], 99)


def test_messages_are_short_whatever_the_reasons() -> None:
    hostile = [Unjudged('record ' + 'x' * 10_000, kind * 10_000) for kind in 'abcdefgh']
    with pytest.raises(UnjudgedError) as caught:
        check_unjudged(hostile, 8)
    assert len(str(caught.value)) < 500


def test_long_replies_take_no_time() -> None:
    started = time.process_time()
    for unit in (' ', '\n', 'sorry ', 'i ', '<think>', '我'):
        unread_reply(unit * (200_000 // len(unit)))
    assert time.process_time() - started < 1


def test_what_stands_for_an_answer() -> None:
    assert answer_digest('a') == answer_digest('a') != answer_digest('a ')
    assert answer_digest({'a': 1, 'b': [2]}) == answer_digest({'b': [2], 'a': 1}) != answer_digest({'a': 1, 'b': [3]})
    assert len({len(answer_digest(value)) for value in ('\ud83d', None, {1: {2}}, [float('nan')])}) == 1
