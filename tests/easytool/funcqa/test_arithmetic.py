"""The 13 tools: golden results, laws that hold for all numbers, strict arguments, and bounds."""

from __future__ import annotations

import json
import math
import random
import time
from fractions import Fraction
from typing import Any

import pytest

from opencompass_tooleval.core.parse import MAX_BITS
from opencompass_tooleval.easytool.funcqa.arithmetic import TOOL_NAMES, call_tool, normalise, plain
from opencompass_tooleval.easytool.funcqa.records import TABLE, load_records
from opencompass_tooleval.easytool.shapes import load_instructions
from tests.easytool.shared_data import DEMO, real

HUGE = 1 << 1_000_000
NESTED: list[Any] = []
for _ in range(100_000):
    NESTED = [NESTED]

GOLDEN = [
    # tool, numbers, normalised, exact
    ('add_', [0.1, 0.2], 0.3, 0.3),
    ('add_', [17.83, 18.99, 23.45, 14.12, 8.22], 82.61, 82.61),
    ('add_', [5], 5, 5),
    ('subtract_', [10, 2.5, 2.5], 5, 5),
    ('subtract_', [1, 2], -1, -1),
    ('multiply_', [2, 3, 4], 24, 24),
    ('multiply_', [0.848, 0.3766], 0.32, 0.3193568),
    ('divide_', [100, 5, 4], 5, 5),
    ('divide_', [1, 3], 0.33, 1 / 3),
    ('divide_', [91, 20349], 0.0045, 91 / 20349),
    ('divide_', [-91, 20349], -0.0045, -91 / 20349),
    ('divide_', [1, 35960], 0.000028, 1 / 35960),
    ('divide_', [1, 8], 0.12, 0.125),
    ('power_', [2, 3, 2], 64, 64),
    ('power_', [3, 24], 282429536481, 282429536481),
    ('power_', [1.02, 31], 1.85, float(Fraction('1.02') ** 31)),
    ('power_', [4, 0.5], 2, 2),
    ('power_', [2, -2], 0.25, 0.25),
    ('power_', [-2, 3], -8, -8),
    ('power_', [0, 0], 1, 1),
    ('sqrt_', [9], 3, 3),
    ('sqrt_', [0.25], 0.5, 0.5),
    ('sqrt_', [2], 1.41, math.sqrt(2)),
    ('sqrt_', [10**400], 10**200, 10**200),
    ('log_', [100], 2, 2),
    ('log_', [1000], 3, 3),
    ('log_', [125, 5], 3, 3),
    ('log_', [0.00001], -5, -5),
    ('log_', [10**2000], 2000, 2000),
    ('ln_', [2.718281828459045], 1, 1),
    ('ln_', [1], 0, 0),
    ('lcm_', [38, 49, 17], 31654, 31654),
    ('lcm_', [38, 49, 28], 3724, 3724),
    ('lcm_', [12, -18.0], 36, 36),
    ('gcd_', [144, 126, 112], 2, 2),
    ('gcd_', [144, 126, 108], 18, 18),
    ('gcd_', [0, 0], 0, 0),
    ('remainder_', [10, 3], 1, 1),
    ('remainder_', [7.5, 2], 1.5, 1.5),
    ('remainder_', [-7, 3], 2, 2),
    ('choose_', [5, 2], 10, 10),
    ('choose_', [5, 7], 0, 0),
    ('choose_', [10**12, 10**12 - 1], 10**12, 10**12),
    ('permutate_', [5, 3], 60, 60),
    ('permutate_', [5, 7], 0, 0),
]

FAULTS = [
    ('add', {'input': [1, 2]}, 'tool:unknown_name'),
    ('', {'input': [1, 2]}, 'tool:unknown_name'),
    (['add_'], {'input': [1, 2]}, 'tool:unknown_name'),
    ("__import__('os').system('true')", {'input': [1]}, 'tool:unknown_name'),
    ('add_', [1, 2], 'args:not_an_object'),
    ('add_', None, 'args:not_an_object'),
    ('add_', {}, 'args:missing'),
    ('add_', {'numbers': [1]}, 'args:missing'),
    ('add_', {'input': [1], 'digits': 2}, 'args:unknown'),
    ('add_', {'input': '1, 2'}, 'args:not_a_list'),
    ('add_', {'input': (1, 2)}, 'args:not_a_list'),
    ('add_', {'input': 3}, 'args:not_a_list'),
    ('add_', {'input': []}, 'args:count'),
    ('subtract_', {'input': [1]}, 'args:count'),
    ('sqrt_', {'input': [9, 2]}, 'args:count'),
    ('log_', {'input': [9, 2, 3]}, 'args:count'),
    ('choose_', {'input': [9]}, 'args:count'),
    ('add_', {'input': [1] * 1001}, 'args:count'),
    ('add_', {'input': ['1', '2']}, 'args:not_a_number'),
    ('add_', {'input': [True, 2]}, 'args:not_a_number'),
    ('add_', {'input': [None]}, 'args:not_a_number'),
    ('add_', {'input': [[1, 2]]}, 'args:not_a_number'),
    ('add_', {'input': [math.nan]}, 'args:not_a_number'),
    ('add_', {'input': [math.inf, 1]}, 'args:not_a_number'),
    ('add_', {'input': ["__import__('os').system('true')"]}, 'args:not_a_number'),
    ('divide_', {'input': [1, 0]}, 'args:domain'),
    ('remainder_', {'input': [1, 0.0]}, 'args:domain'),
    ('power_', {'input': [0, -1]}, 'args:domain'),
    ('power_', {'input': [-8, 0.5]}, 'args:domain'),
    ('sqrt_', {'input': [-1]}, 'args:domain'),
    ('ln_', {'input': [0]}, 'args:domain'),
    ('log_', {'input': [10, 1]}, 'args:domain'),
    ('log_', {'input': [10, -2]}, 'args:domain'),
    ('gcd_', {'input': [1.5, 3]}, 'args:domain'),
    ('choose_', {'input': [-5, 2]}, 'args:domain'),
    ('permutate_', {'input': [5, 2.5]}, 'args:domain'),
    ('add_', {'input': [HUGE]}, 'args:too_large'),
    ('multiply_', {'input': [10**3000] * 1000}, 'args:too_large'),
    ('power_', {'input': [9, 387420489]}, 'args:too_large'),
    ('power_', {'input': [9, 9**99]}, 'args:too_large'),
    ('power_', {'input': [9, 9, 9, 9, 9, 9]}, 'args:too_large'),
    ('power_', {'input': [1.5, 10**9]}, 'args:too_large'),
    ('sqrt_', {'input': [2 * 10**2000]}, 'args:too_large'),
    ('lcm_', {'input': [10**1500 + n for n in range(100)]}, 'args:too_large'),
    ('choose_', {'input': [10**9, 5 * 10**8]}, 'args:too_large'),
    ('permutate_', {'input': [10**9, 10**9]}, 'args:too_large'),
    ('permutate_', {'input': [10**2000, 100]}, 'args:too_large'),
    ('add_', {'input': NESTED}, 'args:not_a_number'),
    ('add_', NESTED, 'args:not_an_object'),
    (NESTED, NESTED, 'tool:unknown_name'),
]


@pytest.mark.parametrize(('tool', 'numbers', 'rounded', 'exact'), GOLDEN, ids=lambda value: str(value)[:24])
def test_golden(tool: str, numbers: list[float], rounded: float, exact: float) -> None:
    result = call_tool(tool, {'input': numbers})
    assert (result.error, result.value, type(result.value)) == ('', rounded, type(rounded))
    assert result.text == plain(rounded)
    unrounded = call_tool(tool, {'input': numbers}, rounded=False)
    assert unrounded.value == exact if isinstance(exact, int) else math.isclose(unrounded.value or 0, exact)


@pytest.mark.parametrize(('tool', 'parameters', 'error'), FAULTS, ids=[str(i) for i in range(len(FAULTS))])
def test_faults_have_a_code_at_once(tool: Any, parameters: Any, error: str) -> None:
    start = time.perf_counter()
    result = call_tool(tool, parameters)
    assert time.perf_counter() - start < 1
    assert (result.error, result.value) == (error, None)
    assert result.text.startswith('Error: ') and len(result.text) < 300


def test_the_tools_are_the_published_ones() -> None:
    assert tuple(load_instructions(real('easytool/functions_data.json'))) == TOOL_NAMES


@pytest.mark.parametrize('place', ['shared', 'demo'])
def test_the_examples_of_the_instructions_can_be_carried_out(place: str) -> None:
    file = DEMO / 'funcqa' / 'functions_data.json' if place == 'demo' else real('easytool/functions_data.json')
    for name, tool in load_instructions(file).items():
        (function,) = tool.functions
        assert function.example is not None
        assert not call_tool(name, dict(function.example.parameters)).error


SLIPS = {
    ('one_hop', '27'): 'lcm of 17 for 28',
    ('one_hop', '32'): 'gcd of 112 for 108',
    ('multi_hop', '22'): 'two steps: ln(1.196) to three digits, and 5.66 for 5.97',
    ('multi_hop', '25'): '0.48125 to two digits',
    ('multi_hop', '30'): 'a digit too many',
    ('multi_hop', '40'): 'to two digits',
    ('multi_hop', '41'): 'to three digits',
    ('multi_hop', '43'): 'to two digits',
    ('multi_hop', '47'): 'a root to two digits',
    ('multi_hop', '50'): 'a digit too many',
    ('multi_hop', '64'): 'gcd of 987 for 611',
}
"""Records with a published step that is more than 0.1% away from what its own numbers give."""


def test_every_published_step_is_what_the_tools_give() -> None:
    slips, steps = set(), 0
    for subset in TABLE:
        for record in load_records(real(f'funcqa/{subset.file}'), subset.name):
            for step in record.steps:
                steps += 1
                value = call_tool(step.tool, {'input': list(step.numbers)}, rounded=False).value
                assert value is not None, (record.id, step)
                value = -value if step.minus else value
                if abs(value - step.result) > abs(step.result) / 1000:
                    slips.add((subset.name, record.id))
    assert steps == 249
    assert slips == set(SLIPS)


def random_numbers(seed: int) -> list[float]:
    rng = random.Random(seed)
    kinds = (lambda: rng.randint(-(10**9), 10**9), lambda: round(rng.uniform(-1e4, 1e4), 4), lambda: rng.randint(1, 30))
    return [rng.choice(kinds)() for _ in range(rng.randint(2, 5))]


@pytest.mark.parametrize('seed', range(40))
def test_laws(seed: int) -> None:
    numbers = random_numbers(seed)
    exact = [Fraction(repr(number)) for number in numbers]
    shuffled = random.Random(seed).sample(numbers, len(numbers))

    def value(tool: str, values: list[float]) -> float:
        result = call_tool(tool, {'input': values}, rounded=False)
        assert result.value is not None, result
        return result.value

    assert value('add_', numbers) == value('add_', shuffled) == float(sum(exact))
    assert math.isclose(value('subtract_', numbers), float(2 * exact[0] - sum(exact)), rel_tol=1e-12)
    assert math.isclose(value('multiply_', numbers), float(math.prod(exact)), rel_tol=1e-12)
    if all(numbers):
        assert math.isclose(value('divide_', numbers), float(exact[0] / math.prod(exact[1:])), rel_tol=1e-12)
    whole = [int(abs(number)) + 1 for number in numbers]
    assert value('lcm_', whole) == math.lcm(*whole) and value('gcd_', whole) == math.gcd(*whole)
    root = value('sqrt_', [whole[0] ** 2])
    assert root == whole[0]
    many, few = max(whole) % 50 + 3, min(whole) % 3
    assert value('permutate_', [many, few]) == value('choose_', [many, few]) * math.factorial(few)


@pytest.mark.parametrize('seed', range(40))
def test_normalised_results_keep_two_digits(seed: int) -> None:
    rng = random.Random(seed)
    value = Fraction(rng.randint(1, 10**6), 10 ** rng.randint(0, 12))
    near = normalise(value)
    assert normalise(near) == near and normalise(-value) == -near
    assert abs(near - value) <= (Fraction(1, 200) if value >= Fraction(1, 10) else value / 20)


@pytest.mark.parametrize('zeros', [0, 1, 2, 7, 300, 3000])
def test_zeros_after_the_point_are_counted_exactly_and_at_once(zeros: int) -> None:
    start, small = time.perf_counter(), Fraction(1, 10**zeros)
    for figures, kept in (('1', '1'), ('0.99', '0.99'), ('0.4471964', '0.45'), ('0.1', '0.1'), ('0.09994', '0.1')):
        # 0.09994 has one zero after the point: that one and two digits are 0.100
        assert normalise(small * Fraction(figures)) == small * Fraction(kept)
    assert time.perf_counter() - start < 0.3


@pytest.mark.parametrize('tool', TOOL_NAMES)
@pytest.mark.parametrize('seed', range(8))
def test_whatever_is_passed_gives_a_bounded_result_or_a_code(tool: str, seed: int) -> None:
    rng = random.Random(seed)
    pool: list[Any] = [0, -1, 0.5, 1e308, 5e-324, 10**3000, -(10**3000), 1.0000000000000002, 10**9, 3, 9**9, 'x', None]
    for _ in range(60):
        start = time.perf_counter()
        result = call_tool(tool, {'input': [rng.choice(pool) for _ in range(rng.randint(0, 4))]}, rng.random() < 0.5)
        assert time.perf_counter() - start < 1
        assert (result.value is None) == bool(result.error)
        if isinstance(result.value, int):
            assert result.value.bit_length() <= MAX_BITS
        if result.value is not None:
            assert json.loads(json.dumps(result.value)) == result.value
            assert set(result.text) <= set('-.0123456789')
