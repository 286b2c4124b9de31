"""Final numbers and objects in models' answers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from opencompass_tooleval.benchmarks.funcqa.reading import read_number

NUMBERS = [
    ('Answer: 36', '36'),
    ('**Answer:** 36.50\nRounded to 2 digits.', '36.5'),
    ('Answer: the area is\n\n1,234,567.89 dollars', '1234567.89'),
    ('First answer: 5. No: the answer is 7.', '7'),
    ('The volume is 43.57 cm^{3}', '43.57'),
    ('It takes 5km', '5'),
    ('x1 and H2O', None),
    ('So x = \u22123.5.', '-3.5'),
    ('-$5', '-5'),
    ('7-3', '3'),
    ('.5', '1/2'),
    ('91/20349', '91/20349'),
    ('2.8 \u00d7 10^{-5}', '0.000028'),
    ('2.8 \u00d7 10\u207b\u2075', '0.000028'),
    ('1.2345e\u22123', '0.0012345'),
    ('\\frac{91}{20349}', '91/20349'),
    ('$\\dfrac{1}{0}$', '1'),
    ('1\u202f234\u202f567', '1234567'),
    ('an area of 10 cm\u00b2', '10'),
    ('\\boxed{36}', '36'),
    ('\u7b54\u6848\u662f36', '36'),
    ('<think>Is it 5?</think>It is 6', '6'),
    ('12,3456', '3456'),
]


@pytest.mark.parametrize(('text', 'number'), NUMBERS, ids=range(len(NUMBERS)))
def test_numbers(text: str, number: str | None) -> None:
    read = read_number(text)
    assert read.value == (None if number is None else Fraction(number))
    assert read.reason == ('answer:no_number' if number is None else '')


def test_percent() -> None:
    assert read_number('16.07%').percent and read_number('16.07 \\%').percent
    assert not read_number('16.07 of 100').percent


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('', 'answer:empty'),
        ('<think>It is 5', 'answer:truncated_reasoning'),
        ('9' * 1000, 'parse:huge_number'),
        ('9' * 300_000, 'answer:too_long'),
    ],
)
def test_nothing_to_read(text: str, reason: str) -> None:
    assert (read_number(text).value, read_number(text).reason) == (None, reason)
