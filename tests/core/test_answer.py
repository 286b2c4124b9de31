"""core/answer: thoughts, end marks and fences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.calls.answer import TRUNCATED_REASONING, Answer, cut_at, strip_reasoning, unfence

ANALYSIS = '<|channel|>analysis<|message|>'
FINAL = '<|start|>assistant<|channel|>final<|message|>'
CALL = '<|start|>assistant<|channel|>commentary to=functions.find <|constrain|>json<|message|>'


@pytest.mark.parametrize(('text', 'answer', 'reason'), [
    pytest.param('', '', None, id='empty'),
    pytest.param('So: <think>hm</think>B', 'So: B', None, id='text in front'),
    pytest.param('hm</think>B', 'B', None, id='closing tag only'),
    pytest.param('<think>hm', '', TRUNCATED_REASONING, id='unclosed'),
    pytest.param('B<think>hm', 'B', None, id='unclosed after text'),
    pytest.param('<think>a</think><think>b</think>B', 'B', None, id='two blocks'),
    pytest.param('<think>a<think>b</think>c</think>B', 'B', None, id='nested'),
    pytest.param('a</think>B<think>b</think>C', 'C', None, id='opened by the prompt, then a second block'),
    pytest.param('<think>a</think><think>b', '', TRUNCATED_REASONING, id='closed, then unclosed'),
    pytest.param('<think>a</think>B<think>b', 'B', None, id='closed, text, then unclosed'),
    pytest.param('<thinking>a</thinking>B', 'B', None, id='thinking'),
    pytest.param('<rethink>a</rethink>B', '<rethink>a</rethink>B', None, id='other tags are text'),
    pytest.param(f'hm<|end|>{FINAL}B<|return|>', 'B', None, id='channels, the first of which the prompt opened'),
    pytest.param('<|channel|>final <|constrain|>JSON<|message|>[1]<|return|>', '[1]', None, id='a longer header'),
    pytest.param(f'{ANALYSIS}hm<|end|>{CALL}{{"a": 1}}<|call|>', '{"a": 1}', None, id='a call is no thought'),
    pytest.param(f'{FINAL}A<|end|>{FINAL}B', 'B', None, id='of two answers the last'),
    pytest.param(f'{CALL}{{}}<|end|>{FINAL}B', 'B', None, id='the answer goes before what was said on the way'),
    pytest.param(f'{ANALYSIS}B, or', '', TRUNCATED_REASONING, id='unfinished channel'),
    pytest.param(f'{ANALYSIS}hm<|end|><|start|>assistant<|chan', '', None, id='channels, closed, nothing after'),
    pytest.param(f'{FINAL}B<|end|>{ANALYSIS}but', 'B', None, id='unfinished channel after the answer'),
    pytest.param('analysisWe need a letter.assistantfinalB', 'B', None, id='channels without special tokens'),
    pytest.param('analysis.run', 'analysis.run', None, id='a name that begins like a channel'),
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
            'Hunyuan: <think:x>a</think:x>',
            'Use `<|START_THINKING|>` and `<|END_THINKING|>`.',
        )
    ),
])  # fmt: skip
def test_strip_reasoning(text: str, answer: str, reason: str | None) -> None:
    stripped = strip_reasoning(text)
    assert stripped == Answer(answer, reason)


TAGS = ['<think>', '</think>', '<THINKING>', '</thinking>', '<|channel|>']


@given(st.lists(st.sampled_from([*TAGS, 'analysis', 'final', '<|message|>', '<|end|>', 'a', ' '])).map(''.join))
def test_no_tag_is_left(text: str) -> None:
    stripped = strip_reasoning(text)
    assert not [tag for tag in TAGS if tag in stripped.text]
    assert stripped.reason is None or (stripped.reason, stripped.text) == (TRUNCATED_REASONING, '')


def test_cut_at() -> None:
    assert cut_at('a\nuser b<end>c<end>', ('<end>', '\nuser')) == 'a'
    assert cut_at('a<end>b<end>c', ('<end>',)) == 'a'
    assert cut_at('abc', ('<end>',)) == cut_at('abc', ()) == 'abc'


UNFENCED = {
    'plain': 'plain',
    '```json\n{"a": 1}\n```': '{"a": 1}\n',
    'Here:\n```\nA\n```\nthere': 'A\n',
    '```python\nA': 'A',
    '```\nA\n```\n```\nB\n```': 'A\n',
    '```\n```': '',
    '```json {"a": 1}```': ' {"a": 1}',
    '```{"a": 1}```': '{"a": 1}',
    '```Museum.find```': 'Museum.find',  # a name on one line is no language
}


def test_unfence() -> None:
    assert {text: unfence(text) for text in UNFENCED} == UNFENCED
