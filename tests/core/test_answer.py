"""core/answer: thoughts, end marks and fences."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.calls.answer import (
    TRUNCATED_REASONING,
    Answer,
    as_answer,
    cut_at,
    strip_reasoning,
    unfence,
)
from opencompass_tooleval.core.calls.tool_calls import ToolCall

ANALYSIS = '<|channel|>analysis<|message|>'
FINAL = '<|start|>assistant<|channel|>final<|message|>'
CALL = '<|start|>assistant<|channel|>commentary to=functions.find <|constrain|>json<|message|>'


@pytest.mark.parametrize(('text', 'answer', 'reason'), [
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
    pytest.param('a</think>B<think>b</think>C', 'C', None, id='opened by the prompt, then a second block'),
    pytest.param('<think>a</think><think>b', '', TRUNCATED_REASONING, id='closed, then unclosed'),
    pytest.param('<think>a</think>B<think>b', 'B', None, id='closed, text, then unclosed'),
    pytest.param('<THINK>a</THINK>B', 'B', None, id='capitals'),
    pytest.param('<thinking>a</thinking>B', 'B', None, id='thinking'),
    pytest.param('a</Thinking>B', 'B', None, id='closing tag only, of another spelling'),
    pytest.param('<Thinking>a', '', TRUNCATED_REASONING, id='unclosed, of another spelling'),
    pytest.param('<rethink>a</rethink>B', '<rethink>a</rethink>B', None, id='other tags are text'),
    pytest.param(f'{ANALYSIS}hm<|end|>{FINAL}B<|return|>', 'B', None, id='channels'),
    pytest.param(f'<|start|>assistant{ANALYSIS}hm<|end|>{FINAL}B', 'B', None, id="channels, with the prompt's end"),
    pytest.param(f'hm<|end|>{FINAL}B<|return|>', 'B', None, id='channels, the first of which the prompt opened'),
    pytest.param(f'{ANALYSIS}a<|end|>{ANALYSIS}b<|end|>{FINAL}B', 'B', None, id='thoughts in two messages'),
    pytest.param('<|channel|>final <|constrain|>JSON<|message|>[1]<|return|>', '[1]', None, id='a longer header'),
    pytest.param(f'{ANALYSIS}hm<|end|>{CALL}{{"a": 1}}<|call|>', '{"a": 1}', None, id='a call is no thought'),
    pytest.param(f'{FINAL}A<|end|>{FINAL}B', 'B', None, id='of two answers the last'),
    pytest.param(f'{CALL}{{}}<|end|>{FINAL}B', 'B', None, id='the answer goes before what was said on the way'),
    pytest.param(f'{ANALYSIS}<think>hm</think><|end|>{FINAL}<think>so</think>B', 'B', None, id='both marks'),
    pytest.param(f'{ANALYSIS}B, or', '', TRUNCATED_REASONING, id='unfinished channel'),
    pytest.param(f'{ANALYSIS}hm<|end|><|start|>assistant<|chan', '', None, id='channels, closed, nothing after'),
    pytest.param('<|channel|>ana', '', TRUNCATED_REASONING, id='unfinished header'),
    pytest.param(f'{FINAL}B<|end|>{ANALYSIS}but', 'B', None, id='unfinished channel after the answer'),
    pytest.param('analysisWe need a letter.assistantfinalB', 'B', None, id='channels without special tokens'),
    pytest.param('analysis.run', 'analysis.run', None, id='a name that begins like a channel'),
    pytest.param('[THINK]a[/THINK]B', 'B', None, id='Mistral'),
    pytest.param(' [THINK]a[/THINK]\n[THINK]b[/THINK]B', 'B', None, id='Mistral, two blocks'),
    pytest.param('[THINK]a', '', TRUNCATED_REASONING, id='Mistral, unclosed'),
    pytest.param('a\n[/THINK]\nB', '\nB', None, id='Mistral, opened by the prompt'),
    pytest.param('<think:6124c78e>a</think:6124c78e>B', 'B', None, id='Hunyuan'),
    pytest.param('<mm:think>a <think></mm:think>B', 'B', None, id='MiniMax'),
    pytest.param('a</mm:think>\n\nB', '\n\nB', None, id='MiniMax, opened by the prompt'),
    pytest.param('<|inner_prefix|>a<|inner_suffix|>B', 'B', None, id='Apertus'),
    pytest.param('<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>B<|END_RESPONSE|>', 'B', None, id='Cohere'),
    pytest.param('<|open|>think<|sep|>a<|close|>think<|sep|><|open|>response<|sep|>B<|close|>response<|sep|>', 'B',
        None, id='Kimi K3'),
    *(
        pytest.param(text, text, None, id=f'quoted: {text[:20]}')
        for text in (
            'Mistral writes [THINK]a[/THINK]B.',
            'The mark [/THINK] ends thoughts.',
            'B\n[THINK]\na\n[/THINK]\nC',
            'Hunyuan: <think:x>a</think:x>',
            'Use `<|START_THINKING|>` and `<|END_THINKING|>`.',
            'A <|inner_suffix|> B',
        )
    ),
])  # fmt: skip
def test_strip_reasoning(text: str, answer: str, reason: str | None) -> None:
    stripped = strip_reasoning(text)
    assert stripped == Answer(answer, reason)


MARKS = [
    '<think>', '</think>', '<THINKING>', '</thinking>', '<|channel|>', 'analysis', 'final', '<|message|>', '<|end|>',
]  # fmt: skip


@given(st.lists(st.sampled_from([*MARKS, 'a', ' '])).map(''.join))
def test_no_tag_is_left(text: str) -> None:
    stripped = strip_reasoning(text)
    for mark in (*MARKS[:4], '<|channel|>'):
        assert mark not in stripped.text
    assert stripped.reason in {None, TRUNCATED_REASONING}
    assert stripped.reason is None or stripped.text == ''


def test_an_answer_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of it is lost on the way by what is done to its text."""
    answer = Answer(' x ', 'infra:timeout', calls=(ToolCall('a', {}),))
    assert not isinstance(answer, str)
    with pytest.raises(FrozenInstanceError):
        answer.text = 'x'  # type: ignore[misc]
    assert replace(answer, text=answer.text.strip()) == Answer('x', 'infra:timeout', calls=(ToolCall('a', {}),))
    assert as_answer('x') == Answer('x')
    assert as_answer(answer) is answer
    answer = Answer('[1]', finish_reason='stop', calls=(ToolCall('find', {'q': 'x'}),))
    print(answer)
    printed = capsys.readouterr().out
    assert printed == f'{answer}\n' == repr(answer) + '\n'
    assert "text='[1]'" in printed and "finish_reason='stop'" in printed and "name='find'" in printed


@pytest.mark.parametrize(('text', 'marks', 'expected'), [
    pytest.param('a<end>b', ('<end>',), 'a', id='one mark'),
    pytest.param('a<end>b<end>c', ('<end>',), 'a', id='first occurrence'),
    pytest.param('a\nuser b<end>', ('<end>', '\nuser'), 'a', id='earliest of several'),
    pytest.param('<end>a', ('<end>',), '', id='at the start'),
    pytest.param('abc', ('<end>',), 'abc', id='no mark in the text'),
    pytest.param('abc', (), 'abc', id='no marks'),
])  # fmt: skip
def test_cut_at(text: str, marks: tuple[str, ...], expected: str) -> None:
    assert cut_at(text, marks) == expected


@pytest.mark.parametrize(('text', 'expected'), [
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
])  # fmt: skip
def test_unfence(text: str, expected: str) -> None:
    assert unfence(text) == expected
