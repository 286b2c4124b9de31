"""benchmarks/teval/score_review: choices that a person reads, and texts without a choice."""

from __future__ import annotations

import pytest

from opencompass_tooleval.benchmarks.teval.protocol import Protocol
from opencompass_tooleval.benchmarks.teval.records import ReviewGold
from opencompass_tooleval.benchmarks.teval.score_review import read, strict_choice
from tests.benchmarks.teval.support import real_samples

CASES = [
    ('B', 'B'),
    ('Answer：B', 'B'),
    ('The answer is B.', 'B'),
    ('The correct option is B.', 'B'),
    ('The only option is A retry', ''),
    ('Ｂ', 'B'),
    ('答案：Ｂ。', 'B'),
    ('\\boxed{B}', 'B'),
    ('正确答案为 B', 'B'),
    ('我选B。', 'B'),
    ('**B**', 'B'),
    ('Answer: (B) Internal error', 'B'),
    ('B: Internal error', 'B'),
    ('A.', 'A'),
    ('A tool failed, so', ''),
    ('A because it works', 'A'),
    ('Because it failed', ''),
    ('Thought: it failed. Answer: C', 'C'),
    ('My choice would be B', 'B'),
    ('Answer: A or B', ''),
    ('either A or B', ''),
    ('The answer is not B', ''),
    ('Option B is wrong', ''),
    ('Option A is wrong. Option C is correct.', 'C'),
    ('Answer: B, since A is wrong', 'B'),
    ('I think B', ''),
    ('The answer is a mess', ''),
    ('Answer: Because', ''),
    ('Answer: [B]', 'B'),
    ('B\n\nExplanation: the tool broke', 'B'),
    ('Success: A', 'A'),
    ('Answer: A. Success', 'A'),
    ('Answer: A Success', 'A'),
    ('Answer: Able', ''),
    ('The answer is E: Unable', 'E'),
    ('B internal error', 'B'),
    ('answer is b', ''),
    # SmolLM2-135M-Instruct, cut at 48 tokens.
    ('A: Input error. The response is empty.\nB: Input error. The wrong tool was called.\nC: Input error.\nD: Inp', ''),
    ('**A.** Success\n**B.** Internal error\n**C.** Input error\n\nThe answer is B.', 'B'),
    ('B: Internal error\nA: would need a result', 'B'),
]


@pytest.mark.parametrize(('answer', 'choice'), CASES)
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
            right += read(sample.record, f'Answer：{gold}', Protocol('v1', scoring)).value == gold
        shares[scoring] = round(100 * right / len(samples), 2)
    assert shares == {'official': 42.51, 'strict': 100.0}
