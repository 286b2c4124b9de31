"""core/answer: thoughts, end marks and fences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.answer import TRUNCATED_REASONING, Answer, cut_at, strip_reasoning, unfence


@pytest.mark.parametrize(
    ('text', 'answer', 'reason'),
    [
        pytest.param('plain', 'plain', None, id='no thoughts'),
        pytest.param('', '', None, id='empty'),
        pytest.param('<think>hm</think>B', 'B', None, id='closed'),
        pytest.param('<think>hm</think>\n\nB\n', '\n\nB\n', None, id='closed, blanks kept'),
        pytest.param('<think></think>', '', None, id='closed, nothing after'),
        pytest.param('So: <think>hm</think>B', 'So: B', None, id='text in front'),
        pytest.param('hm</think>B', 'B', None, id='closing tag only'),
        pytest.param('</think>', '', None, id='only the closing tag'),
        pytest.param('<think>hm', '', TRUNCATED_REASONING, id='unclosed'),
        pytest.param(' \n<think>hm', '', TRUNCATED_REASONING, id='unclosed after blanks'),
        pytest.param('B<think>hm', 'B', None, id='unclosed after text'),
        pytest.param('<think>a</think><think>b</think>B', 'B', None, id='two blocks'),
        pytest.param('<think>a<think>b</think>c</think>B', 'B', None, id='nested'),
        pytest.param('<think>a</think><think>b', '', TRUNCATED_REASONING, id='closed, then unclosed'),
        pytest.param('<think>a</think>B<think>b', 'B', None, id='closed, text, then unclosed'),
        pytest.param('<THINK>a</THINK>B', '<THINK>a</THINK>B', None, id='other tags are text'),
    ],
)
def test_strip_reasoning(text: str, answer: str, reason: str | None) -> None:
    stripped = strip_reasoning(text)
    assert (str(stripped), stripped.reason) == (answer, reason)
    assert isinstance(stripped, Answer)


@given(st.lists(st.sampled_from(['<think>', '</think>', 'a', ' '])).map(''.join))
def test_no_tag_is_left(text: str) -> None:
    stripped = strip_reasoning(text)
    assert '<think>' not in stripped
    assert '</think>' not in stripped
    assert stripped.reason in {None, TRUNCATED_REASONING}
    assert stripped.reason is None or stripped == ''


def test_thoughts_opened_by_the_prompt_do_not_leak_past_a_second_block() -> None:
    stripped = strip_reasoning('secret</think>B<think>more</think>C')
    assert 'secret' not in stripped
    assert stripped.endswith('C')


def test_an_answer_is_its_text() -> None:
    answer = Answer('x', 'infra:timeout')
    assert answer == 'x'
    assert answer.reason == 'infra:timeout'
    assert Answer('x').reason is None


@pytest.mark.parametrize(
    ('text', 'marks', 'expected'),
    [
        pytest.param('a<end>b', ('<end>',), 'a', id='one mark'),
        pytest.param('a<end>b<end>c', ('<end>',), 'a', id='first occurrence'),
        pytest.param('a\nuser b<end>', ('<end>', '\nuser'), 'a', id='earliest of several'),
        pytest.param('<end>a', ('<end>',), '', id='at the start'),
        pytest.param('abc', ('<end>',), 'abc', id='no mark in the text'),
        pytest.param('abc', (), 'abc', id='no marks'),
    ],
)
def test_cut_at(text: str, marks: tuple[str, ...], expected: str) -> None:
    assert cut_at(text, marks) == expected


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        pytest.param('plain', 'plain', id='no fence'),
        pytest.param('```json\n{"a": 1}\n```', '{"a": 1}\n', id='language'),
        pytest.param('Here:\n```\nA\n```\nthere', 'A\n', id='text around'),
        pytest.param('```python\nA', 'A', id='unclosed'),
        pytest.param('```\nA\n```\n```\nB\n```', 'A\n', id='first block'),
        pytest.param('```\n```', '', id='empty block'),
        pytest.param('```json {"a": 1}```', ' {"a": 1}', id='on one line, with language'),
        pytest.param('```{"a": 1}```', '{"a": 1}', id='on one line'),
        pytest.param('```B```', 'B', id='one word on one line is no language'),
        pytest.param('```Museum.find```', 'Museum.find', id='a name on one line is no language'),
    ],
)
def test_unfence(text: str, expected: str) -> None:
    assert unfence(text) == expected
