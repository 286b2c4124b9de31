"""Results of one line: each form equals what says the same, and nothing else."""

from __future__ import annotations

import pytest

from opencompass_tooleval.extras.tasks.typed_result import (
    DATE,
    FORMS,
    LIST,
    NONE,
    NUMBER,
    PAIRS,
    SET,
    TEXT,
    find_result,
    is_same,
)

EQUAL = [
    (NUMBER, '1,234.50', '$1234.5'), (NUMBER, '7 books', '7'), (NUMBER, '12%', '12'),
    (NUMBER, '-3', '\N{MINUS SIGN}3.0'), (NUMBER, '.5', '0.50'), (NUMBER, '1.2e3', '1200'),
    (NUMBER, '0.83', '0.8333'), (NUMBER, '12 m²', '**12.**'), (DATE, '2023-10-19', 'October 19, 2023'),
    (DATE, '2023-10-19T08:00:00Z', 'Thursday, 19th of October 2023'), (DATE, '2023年10月19日', '19.10.2023'),
    (DATE, 'Sept. 1, 2023', '2023/9/1'), (TEXT, '“Kindred”.', 'kindred'), (TEXT, 'The  shed', 'shed'),
    (LIST, 'a; b; 1,000', 'A, b, 1000'), (LIST, '- a\n- b', '["a", "b"]'),
    (SET, 'Butler, Octavia; Lem', 'Lem; Butler, Octavia'), (SET, 'a; a; b', 'b; a'),
    (SET, '3.0; 2023-10-19', 'October 19, 2023; 3'),
    (PAIRS, 'Kindred: B12; Dawn: 10:30', 'dawn: 10:30\nkindred = b12'), (PAIRS, '{"a": 1}', 'a: 1.0'),
    (PAIRS, '{"a": 1}.', 'a: 1'), (NUMBER, '410 000', '410000'), (NUMBER, '410\u202f000 km', '410,000'),
    (NUMBER, "1'234'567.5", '1234567.5'), (NUMBER, '４１０', '410'), (TEXT, '4:00', '04:00'),
    (TEXT, '４：００', '4:00'), (LIST, '4:00; 5:00', '04:00, 05:00'), (SET, '["a", "b"].', 'b; a'),
]  # fmt: skip
DIFFERENT = [
    (NUMBER, '7', '8'), (NUMBER, '5 million', '5'), (NUMBER, '5万', '5'), (NUMBER, '7 of 12', '7'),
    (NUMBER, '12:30', '12'), (NUMBER, '192.168.0.1', '192.168'), (NUMBER, '5 kg', '5 g'), (NUMBER, '3.3', '3.33'),
    (NUMBER, '4711', '4712'), (NUMBER, '12 34', '1234'), (NUMBER, '2020 100', '2020100'), (TEXT, '4:00', '14:00'),
    (TEXT, '0:05', '0:5'), (NUMBER, 'B12', '12'), (NUMBER, 'seven', 'seven'), (DATE, '2023-10-19', '2023-10-20'),
    (DATE, '10/11/2023', '2023-10-11'), (DATE, '2023-02-30', '2023-02-30'), (DATE, 'soon', 'soon'),
    (TEXT, 'Kindred', 'Kindred (B12)'), (TEXT, '?', '?'), (LIST, 'a; b', 'b; a'), (LIST, 'a; b', 'a'),
    (SET, 'a; b', 'a; b; c'), (SET, '5 books; 5 pens', '5 books; 5 cups'), (PAIRS, 'a: 1; b: 2', 'a: 2; b: 1'),
    (PAIRS, 'a: 1; a: 1', 'a: 1; a: 1'), (PAIRS, 'a; b', 'a; b'),
]  # fmt: skip


@pytest.mark.parametrize(('form', 'one', 'other'), EQUAL)
def test_results_that_say_the_same_are_equal(form: str, one: str, other: str) -> None:
    assert is_same(form, one, other) and is_same(form, other, one)


@pytest.mark.parametrize(('form', 'one', 'other'), DIFFERENT)
def test_results_that_say_something_else_or_are_of_no_such_form_equal_none(form: str, one: str, other: str) -> None:
    assert not is_same(form, one, other) and not is_same(form, other, one)


@pytest.mark.parametrize('form', sorted({*FORMS} - {NONE}))
def test_no_result_equals_none(form: str) -> None:
    assert not is_same(form, '', '') and not is_same(form, 'x' * 3_000, 'x' * 3_000)


@pytest.mark.parametrize(
    ('answer', 'result'),
    [
        ('There are 7 books: Kindred (B12), Dawn (B14).\n**Result:** 7', '7'),
        ('Result: 5\nNo, I missed two.\nResult: 7\nBye.', '7'), ('Result:\n- a\n- b', '- a\n- b'), ('结果：7', '7'),
        ('I looked. Result: 7', '7'), ('I looked.\n\n7\n', '7'), ('The result is 7.', '7.'),
        ('I add 3 and 4.\nThe answer is 7.', '7.'), ('答案是７。', '７。'), ('So it is \\boxed{7}.', '7'),
        ('$$\\boxed{x_{1}}$$', 'x_{1}'), ('First \\boxed{6}, then \\boxed{7}', '7'), ('Result: $42$', '42'),
        ('Result: \\(42\\)', '42'), ('Result: \\boxed{\\text{Paris}}', 'Paris'), ('Result: $5', '$5'),
        ('Result: \\boxed{7', '\\boxed{7'), ('', ''),
    ],
)  # fmt: skip
def test_the_result_is_behind_the_last_mark_else_the_last_line(answer: str, result: str) -> None:
    assert find_result(answer) == result
