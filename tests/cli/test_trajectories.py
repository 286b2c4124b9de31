"""``tooleval score toolbench trajectories``: stored runs, the published ones too."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.toolbench.data import MAX_NODES, load_final_answers
from tests.benchmarks.toolbench.test_data import call, finish, node, run_of, write
from tests.cli.conftest import Command
from tests.instructions.shared_data import real


def without(*path: str) -> dict[str, Any]:
    row: Any = copy.deepcopy(run_of(call('city_for_maps', '{}'), finish()))
    place = row
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return {'r7': row}


def changed(**answer: Any) -> dict[str, Any]:
    row = run_of(finish())
    return {'r7': {**row, 'answer': {**row['answer'], **answer}}}


MANY = [node('assistant', '')] * (MAX_NODES + 1)
ODD_TOOL = {'name': 'x', 'parameters': {'properties': {'a': 5}}}
DAMAGED: dict[str, tuple[Any, str]] = {
    'list': ([1], 'not an object of runs'),
    'text': ({'r7': 'x'}, "'r7': 'answer' is missing"),
    'no tools': (without('available_tools'), "'r7': 'available_tools' is missing or not of type list"),
    'huge steps': (changed(total_steps=10**400), "'r7': 'total_steps' is not between 0 and"),
    'odd node': (changed(answer_details=['text']), "'r7': 'role' is missing or not of type str"),
    'many nodes': (changed(answer_details=MANY), f"'r7': 'answer_details' has more than {MAX_NODES} nodes"),
    'odd tool': ({'r7': {**run_of(finish()), 'available_tools': [ODD_TOOL]}}, "the parameter 'a' is not an object"),
    'no response': ({'r7': run_of({'name': 'x', 'arguments': ''})}, "'r7': 'response' is missing or not of type str"),
    'odd message': ({'r7': run_of('x')}, "'r7': 'message' is missing or not of type dict"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize('name', DAMAGED)
def test_damaged_files(name: str, tooleval: Command, tmp_path: Path) -> None:
    value, fault = DAMAGED[name]
    file = write(tmp_path, value)
    done = tooleval('score', 'toolbench', 'trajectories', file)
    assert done.code == 1 and fault in done.err
    assert done.err.count('\n') == 1 and str(file) in done.err and len(done.err) < 700


PUBLISHED = {
    'chatgpt_easytool__G2_category': (300, 730, 14, 6, 296),
    'chatgpt_easytool__G3_instruction': (147, 336, 12, 12, 247),
    'chatgpt_easytool_retrieve__G2_category': (300, 413, None, None, 117),
    'chatgpt_easytool_retrieve__G3_instruction': (147, 228, None, None, 86),
    'gpt-4_easytool__G2_category': (300, 730, 14, 6, 296),
    'gpt-4_easytool__G3_instruction': (147, 336, 12, 12, 247),
    'gpt-4_easytool_retrieve__G3_instruction': (147, 315, None, None, 109),
}
"""File -> runs, calls, calls with an error of names, of parameters, and with an error response."""


@pytest.mark.parametrize('name', PUBLISHED)
def test_published_files(name: str, tooleval: Command) -> None:
    file = real(f'toolbench_trajectories/{name}.json.gz')
    done = tooleval('score', 'toolbench', 'trajectories', file, '--json', '-')
    assert done.code == 0, done.err
    result = json.loads(done.out)
    runs, calls, *errors = PUBLISHED[name]
    assert (result['samples'], result['calls'], result['reasons']) == (runs, calls, {'ok': runs})
    rates = [result['metrics'][f'{metric}_rate'] for metric in ('tool_name_error', 'parameter_error', 'error_response')]
    assert rates == [None if count is None else pytest.approx(100 * count / calls) for count in errors]
    finals = load_final_answers(file)
    assert len(finals) == runs and all(final.query and final.answer for final in finals)


def test_in_words(tooleval: Command, tmp_path: Path) -> None:
    row = run_of(call('Search', {'q': 'x'}, 'Unauthorized'), finish(), method='compression_retrieve')
    file = write(tmp_path, {'r': row})
    done = tooleval('score', 'toolbench', 'trajectories', '--predictions', file)
    assert '1 calls, 1.00 per run' in done.out and 'error responses: unauthorized 1' in done.out
    assert 'NOTE the tools of 1 calls were retrieved' in done.out
    done = tooleval('score', 'toolbench', 'trajectories', file, '--data', file)
    assert done.code == 1 and 'leave out --data and --judgements' in done.err
    done = tooleval('score', 'toolbench', 'trajectories')
    assert done.code == 1 and 'name one file of answers' in done.err
