"""Postprocessors, which extract the scored part of an output, and choices that a person reads."""

from __future__ import annotations

import pytest

from opencompass_tooleval.benchmarks.teval.data import ReviewGold
from opencompass_tooleval.benchmarks.teval.reading import POSTPROCESSORS, Protocol, read_choice, strict_choice
from opencompass_tooleval.core.calls.answer import Answer
from tests.benchmarks.teval.support import real_samples

OUTPUTS = [
    ('v1', 'end mark', '{"a": 1}<|im_end|>\nmore', '{"a": 1}'),
    ('v1', 'user turn', 'yes\nuser: and then', 'yes'),
    ('v1', 'assistant turn stays', 'yes\nassistant: no', 'yes\nassistant: no'),
    ('v2', 'assistant turn is cut', 'yes\nassistant: no', 'yes'),
    ('v1', 'user tag stays', 'yes<|user|>', 'yes<|user|>'),
    ('v2', 'user tag is cut', 'yes<|user|>no', 'yes'),
    ('v1', 'double braces', '{{"a": 1}}', '{"a": 1}'),
    ('v2', 'double braces stay', '{{"a": 1}}', '{{"a": 1}}'),
    ('v1', 'fence', '```json\n[1]\n```', '[1]'),
    ('clean', 'text around a fence goes', 'Here:\n```json\n[1]\n```\nOK', '[1]'),
    ('v1', 'reasoning', '<think>A or B</think>\nAnswer: B', 'Answer: B'),
    ('v2', 'reasoning whose opening is in the prompt', 'A or B</think>Answer: B', 'Answer: B'),
]


@pytest.mark.parametrize(('name', 'source', 'text', 'expected'), OUTPUTS, ids=[f'{c[0]}-{c[1]}' for c in OUTPUTS])
def test_postprocessor(name: str, source: str, text: str, expected: str) -> None:
    assert POSTPROCESSORS[name](Answer(text)) == Answer(expected)


@pytest.mark.parametrize('name', POSTPROCESSORS)
def test_reasons_survive(name: str) -> None:
    assert POSTPROCESSORS[name](Answer('<think>and so on')).reason == 'answer:truncated_reasoning'
    assert POSTPROCESSORS[name](Answer('', 'infra:timeout')).reason == 'infra:timeout'


CHOICES = [
    ('B', 'B'),
    ('Answer：B', 'B'),
    ('The correct option is B.', 'B'),
    ('The only option is A retry', ''),
    ('Ｂ', 'B'),
    ('答案：Ｂ。', 'B'),
    ('\\boxed{B}', 'B'),
    ('正确答案为 B', 'B'),
    ('我选B。', 'B'),
    ('Answer: (B) Internal error', 'B'),
    ('B: Internal error', 'B'),
    ('A.', 'A'),
    ('A because it works', 'A'),
    ('Because it failed', ''),
    ('Thought: it failed. Answer: C', 'C'),
    ('My choice would be B', 'B'),
    ('Answer: A or B', ''),
    ('The answer is not B', ''),
    ('Option B is wrong', ''),
    ('Answer: B, since A is wrong', 'B'),
    ('The answer is a mess', ''),
    ('B\n\nExplanation: the tool broke', 'B'),
    ('Answer: A Success', 'A'),
    ('Answer: Able', ''),
    ('The answer is E: Unable', 'E'),
    ('B internal error', 'B'),
    # SmolLM2-135M-Instruct, cut at 48 tokens.
    ('A: Input error. The response is empty.\nB: Input error. The wrong tool was called.\nC: Input error.\nD: Inp', ''),
    ('**A.** Success\n**B.** Internal error\n**C.** Input error\n\nThe answer is B.', 'B'),
    ('B: Internal error\nA: would need a result', 'B'),
]


@pytest.mark.parametrize(('answer', 'choice'), CHOICES)
def test_choice(answer: str, choice: str) -> None:
    assert strict_choice(answer) == choice


def test_with_a_full_width_colon_official_reads_every_choice_as_a() -> None:
    """T-Eval's issue 53: the Chinese prompts ask for ``Answer：``. All answers here are right."""
    shares = {}
    for scoring in ('official', 'strict'):
        right = 0
        samples = real_samples('review_str')
        for sample in samples:
            assert isinstance(sample.record.gold, ReviewGold)
            gold = sample.record.gold.answer
            right += read_choice(sample.record, f'Answer：{gold}', Protocol('v1', scoring)).value == gold
        shares[scoring] = round(100 * right / len(samples), 2)
    assert shares == {'official': 42.51, 'strict': 100.0}
