"""The 13 tools: golden results, laws that hold for all numbers, strict arguments, and bounds."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.funcqa.arithmetic import TOOL_NAMES, call_tool, result_text
from opencompass_tooleval.benchmarks.funcqa.records import TABLE, load_records
from opencompass_tooleval.core.calls.observation import ERROR, FUNCTION, Observation
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from tests.growth import stopped
from tests.instructions.shared_data import DEMO, real
from tests.official import Recorder

HUGE = 1 << 1_000_000
NESTED: list[Any] = []
for _ in range(100_000):
    NESTED = [NESTED]

GOLDEN = [
    ('add_', [0.1, 0.2], '0.3'),
    ('add_', [17.83, 18.99, 23.45, 14.12, 8.22], '82.61'),
    ('add_', [], '0'),
    ('add_', [True, 2], '3'),
    ('subtract_', [10, 2.5, 2.5], '5'),
    ('subtract_', [15], '15'),
    ('multiply_', [0.848, 0.3766], '0.32'),
    ('multiply_', [-0.0045], '-0'),
    ('multiply_', [10**400, 0], '0'),
    ('divide_', [100, 5, 4], '5'),
    ('divide_', [91, 20349], '0.0045'),
    ('divide_', [1, 35960], '0.000028'),
    ('divide_', [0.0567], '0.057'),
    ('divide_', [-0.0567], '-0.06'),
    ('divide_', [1, 8], '0.12'),
    ('divide_', [1e-14], '0'),
    ('divide_', [7.45, 2], '3.73'),
    ('multiply_', [1.5e20], '150'),
    ('power_', [2, 3, 2], '64'),
    ('power_', [0, 0], '1'),
    ('power_', [1, 9**99], '1'),
    ('sqrt_', [0.25], '0.5'),
    ('sqrt_', [9, 'anything', None], '3'),
    ('log_', [100], '2'),
    ('log_', [125, 5], '3'),
    ('ln_', [2.718281828459045], '1'),
    ('lcm_', [38, 49, 28], '3724'),
    ('lcm_', [-4, 6], '-12'),
    ('lcm_', [2.5], '2.5'),
    ('gcd_', [144, 126, 108], '18'),
    ('gcd_', [-12, 18], '6'),
    ('remainder_', [7.5, 2], '1.5'),
    ('remainder_', [-7, 3], '2'),
    ('remainder_', [30, 78628, 'remainder_'], '30'),
    ('choose_', [5, 2], '10'),
    ('choose_', [10**12, 10**12 - 1], '1000000000000'),
    ('permutate_', [5, 3], '60'),
    ('permutate_', [5, 7], '0'),
    ('permutate_', [14, None], '87178291200'),
]
"""What the published functions return."""

FAULTS = [
    ('add', {'input': [1, 2]}, 'name:unknown_tool'),
    (['add_'], {'input': [1, 2]}, 'name:unknown_tool'),
    ("__import__('os').system('true')", {'input': [1]}, 'name:unknown_tool'),
    ('add_', None, 'args:not_an_object'),
    ('add_', {}, 'args:missing'),
    ('add_', {'input': '1, 2'}, 'args:not_a_list'),
    *((tool, {'input': []}, 'args:count') for tool in TOOL_NAMES if tool != 'add_'),
    ('log_', {'input': [9, 2, 3]}, 'args:count'),
    ('choose_', {'input': [9]}, 'args:count'),
    ('add_', {'input': ['1', '2']}, 'args:not_a_number'),
    ('add_', {'input': [None]}, 'args:not_a_number'),
    ('add_', {'input': ["__import__('os').system('true')"]}, 'args:not_a_number'),
    ('add_', {'input': [math.nan]}, 'args:domain'),
    ('divide_', {'input': [1, 0]}, 'args:domain'),
    ('power_', {'input': [0, -1]}, 'args:domain'),
    ('power_', {'input': [-8, 0.5]}, 'args:domain'),
    ('sqrt_', {'input': [-1]}, 'args:domain'),
    ('ln_', {'input': [0]}, 'args:domain'),
    ('log_', {'input': [0]}, 'args:domain'),
    ('log_', {'input': [10, 1]}, 'args:domain'),
    ('lcm_', {'input': [12, -18.0]}, 'args:domain'),
    ('lcm_', {'input': [0, 0]}, 'args:domain'),
    ('permutate_', {'input': [5, 2.5]}, 'args:domain'),
    ('add_', {'input': [math.inf, 1]}, 'args:too_large'),
    ('add_', {'input': [HUGE]}, 'args:too_large'),
    ('sqrt_', {'input': [2 * 10**2000]}, 'args:too_large'),
    ('power_', {'input': [1.5, 10**9]}, 'args:too_large'),
    ('permutate_', {'input': [171, None]}, 'args:too_large'),
    ('multiply_', {'input': [10**3000] * 1000}, 'args:too_much_work'),
    ('power_', {'input': [9, 387420489]}, 'args:too_much_work'),
    ('lcm_', {'input': [10**1500 + n for n in range(100)]}, 'args:too_much_work'),
    ('choose_', {'input': [10**9, 5 * 10**8]}, 'args:too_much_work'),
    ('permutate_', {'input': [10**9, None]}, 'args:too_much_work'),
    ('add_', {'input': NESTED}, 'args:not_a_number'),
    (NESTED, NESTED, 'name:unknown_tool'),
]


@pytest.mark.parametrize(('tool', 'numbers', 'text'), GOLDEN, ids=lambda value: str(value)[:24])
def test_golden(tool: str, numbers: list[float], text: str) -> None:
    assert call_tool(tool, {'input': numbers}) == Observation(text, FUNCTION)


@pytest.mark.parametrize(('tool', 'parameters', 'error'), FAULTS, ids=[str(i) for i in range(len(FAULTS))])
def test_faults_have_a_code_at_once(tool: Any, parameters: Any, error: str) -> None:
    with stopped():  # some of it would take years
        result = call_tool(tool, parameters)
    assert (result.error, result.source) == (error, ERROR)
    assert result.text.startswith('Error: ') and len(result.text) < 300


def test_other_keys_are_ignored_and_a_key_in_capitals_helps_out() -> None:
    assert call_tool('add_', {'input': [1, 2], 'operation': 'add'}).text == '3'
    assert call_tool('add_', {'Input': [1, 2]}).text == '3'
    assert call_tool('add_', {'input': ['1'], 'INPUT': [1, 2]}).text == '3'
    assert call_tool('add_', {'Input': [1, 2], 5: 'a'}).error == 'args:missing'


@pytest.mark.parametrize('place', ['shared', 'demo'])
def test_the_examples_of_the_instructions_can_be_carried_out(place: str) -> None:
    file = DEMO / 'funcqa' / 'functions_data.json' if place == 'demo' else real('easytool/functions_data.json')
    instructions = load_instructions(file)
    assert tuple(instructions) == TOOL_NAMES
    for name, tool in instructions.items():
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


@pytest.mark.official(
    'FuncQA', 'published steps, computed again', 'eleven published results are wrong by more than 0.1%'
)
def test_every_published_step_is_what_the_tools_give(record_property: Recorder) -> None:
    slips, steps = set(), 0
    for subset in TABLE:
        for record in load_records(real(f'funcqa/{subset.file}'), subset.name):
            for step in record.steps:
                steps += 1
                result = call_tool(step.tool, {'input': list(step.numbers)}, rounded=False)
                assert not result.error, (record.id, step)
                value = -float(result.text) if step.minus else float(result.text)
                if abs(value - step.result) > abs(step.result) / 1000:
                    slips.add((subset.name, record.id))
    record_property('cases', steps)
    record_property('equal', steps - len(slips))
    assert steps == 249
    assert slips == set(SLIPS)


def test_rounded_results_keep_two_digits() -> None:
    rng = random.Random(0)
    values = [rng.randint(1, 10**6) / 10 ** rng.randint(0, 12) for _ in range(60)]
    for value in values:
        if value >= 1e-9:  # zeros are looked for in ten decimals only
            near = float(result_text(value))
            assert float(result_text(near)) == near
            assert abs(near - value) <= (0.0050001 if value >= 0.1 else value / 19)
            assert abs(float(result_text(-value)) + value) <= 0.0050001


@pytest.mark.parametrize('tool', TOOL_NAMES)
def test_whatever_is_passed_gives_a_bounded_result_or_a_code(tool: str) -> None:
    rng = random.Random(0)
    pool: list[Any] = [0, -1, 0.5, 1e308, 5e-324, 10**3000, -(10**3000), 1.0000000000000002, 10**9, 3, 9**9, 'x', None]
    for _ in range(200):
        numbers, is_strict = [rng.choice(pool) for _ in range(rng.randint(0, 4))], rng.random() < 0.5
        with stopped():
            result = call_tool(tool, {'input': numbers}, is_strict)
        assert (result.source == ERROR) == bool(result.error)
        if not result.error:
            assert set(result.text) <= set('-.0123456789') and len(result.text) < 330
