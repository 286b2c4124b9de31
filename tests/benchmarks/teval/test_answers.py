"""Postprocessors, which extract the scored part of an output."""

from __future__ import annotations

import pytest

from opencompass_tooleval.benchmarks.teval.answers import POSTPROCESSORS
from opencompass_tooleval.core.calls.answer import Answer

CASES = [
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


@pytest.mark.parametrize(('name', 'source', 'text', 'expected'), CASES, ids=[f'{c[0]}-{c[1]}' for c in CASES])
def test_postprocessor(name: str, source: str, text: str, expected: str) -> None:
    assert POSTPROCESSORS[name](Answer(text)) == Answer(expected)


@pytest.mark.parametrize('name', POSTPROCESSORS)
def test_reasons_survive(name: str) -> None:
    assert POSTPROCESSORS[name](Answer('<think>and so on')).reason == 'answer:truncated_reasoning'
    assert POSTPROCESSORS[name](Answer('', 'infra:timeout')).reason == 'infra:timeout'
