"""Trajectories for the sample browser: read as data, bounded, for any predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.report.build import write_report
from opencompass_tooleval.report.samples import asked_of
from opencompass_tooleval.report.trajectories import (
    LEAST,
    MOST_STEPS,
    OBSERVATION,
    TOGETHER,
    matches_of,
    opinions_of,
    read_trajectory,
    reasons_in,
    said_in,
    shown_rounds,
    shown_trajectory,
)
from tests.report.agents import DATASET, add_agent, chain, tree
from tests.report.support import HOSTILE, add, data_of, detail, plain_run, result_of, write


def read(trajectory: Trajectory) -> dict[str, Any]:
    whole = read_trajectory(trajectory.to_json())
    assert whole is not None and shown_rounds(whole) is None
    return shown_trajectory(whole, {})


def one_call(observation: str, **changes: Any) -> Trajectory:
    return Trajectory('react', (Step('', (AnsweredCall('a', {}, observation, 'exact', **changes),)),), path=(0,))


def test_a_trajectory_is_read() -> None:
    shown = read(chain())
    assert (shown['loop'], shown['answer'], shown['path'], shown['omitted_observations']) == (
        'react',
        'You fly to Rome.',
        (0, 1, 2, 3, 4),
        2,
    )
    assert [step['parent'] for step in shown['steps']] == [-1, 0, 1, 2, 3] and shown['all'] == 5
    assert shown['settings']['simulator'] == 'a-simulator'
    first, second = shown['steps'][:2]
    assert (first['tokens'], first['seconds'], first['text']) == ([812, 41], 1.24, 'I look for flights first.')
    assert first['calls'][0]['arguments']['passengers'] == {'adults': 2, 'children': []}
    assert not {'whole', 'error'} & set(first['calls'][0]) and second['calls'][0]['error'] == 'unable'
    assert second['calls'][1]['whole'] == 5321 and second['calls'][1]['seen'] == len(second['calls'][1]['observation'])
    assert [call['source'] for step in shown['steps'] for call in step['calls']] == [
        'exact', 'other_task', 'nearest', 'simulated', 'function', 'error', '',
    ]  # fmt: skip
    assert shown['tokens'] == [None, None], 'two steps do not say theirs'
    assert said_in(shown)[2] == 'Now the hotel.\nHotel.book {}'
    assert list(reasons_in(read(tree('limit:calls')))) == ['limit:calls', 'finish:gave_up', 'finish:gave_up']


def test_a_large_observation_is_cut_and_says_so() -> None:
    (step,) = read(one_call('x' * 1_000_000))['steps']
    text = step['calls'][0]['observation']
    assert len(text) < OBSERVATION + 50 and text.endswith('[cut: 1000000 characters]')


def test_all_texts_of_a_trajectory_are_bounded_together() -> None:
    steps = tuple(
        Step('t' * 9_000, (AnsweredCall('n' * 9_000, {'a': 'v' * 90_000}, 'o' * 9_000, 'exact'),) * 3)
        for _ in range(600)
    )
    shown = read(Trajectory('react', steps, path=tuple(range(600))))
    assert (len(shown['steps']), shown['all'], len(shown['path'])) == (MOST_STEPS, 600, MOST_STEPS)
    assert len(json.dumps(shown)) < TOGETHER + MOST_STEPS * (1 + 3 * 3) * (LEAST + 40) + MOST_STEPS * 1000
    assert shown['steps'][-1]['text'] == f'{"t" * LEAST}\n[cut: 9000 characters]', (
        'of every step the beginning is there'
    )


@pytest.mark.parametrize('arguments', [{'a': [1, {'b': None}]}, [1, 2], 'text', None, 7, {}])
def test_arguments_stay_values(arguments: Any) -> None:
    shown = read(Trajectory('react', (Step('', (AnsweredCall('a', arguments, 'o', 'exact'),)),)))
    assert shown['steps'][0]['calls'][0]['arguments'] == arguments


def test_arguments_that_are_too_much_become_text() -> None:
    deep: Any = 1
    for _ in range(110):
        deep = [deep]
    for arguments in (deep, {'a': 'x' * 20_000}):
        (step,) = read(Trajectory('react', (Step('', (AnsweredCall('a', arguments, 'o', 'exact'),)),)))['steps']
        assert isinstance(step['calls'][0]['arguments'], str)


def test_matches_are_read() -> None:
    rows = [{'call': 2, 'same': True}, {'call': None, 'same': 'yes'}, {}]
    assert matches_of({'matches': rows}) == [
        {'call': 2, 'same': True},
        {'call': None, 'same': False},
        {'call': None, 'same': False},
    ]
    assert matches_of({}) == matches_of({'matches': 'x'}) == matches_of({'matches': [1]}) == []


def test_opinions_of_judges_are_read() -> None:
    detail_ = {
        'solved': [{'value': 'Solved', 'decided_by': 'content', 'why': HOSTILE}, {'fault': 'no verdict'}],
        'win': 'x',
        'success': [1],
    }
    assert opinions_of(detail_) == [
        {'area': 'solved', 'value': 'Solved', 'decided_by': 'content', 'why': HOSTILE, 'fault': ''},
        {'area': 'solved', 'value': '', 'decided_by': '', 'why': '', 'fault': 'no verdict'},
    ]
    assert opinions_of({}) == []


def test_a_report_has_trajectories(tmp_path: Path) -> None:
    matches = [{'call': 0, 'same': True}]
    more = {'matches': matches, 'final_answer': 'You fly', 'steps': 5, 'calls': {'calls': 6}, 'sources': {'exact': 1}}
    add_agent(tmp_path / 'run', 'm', [chain(), tree('limit:calls'), 'an answer that was cut off'], **more)
    page = write_report([tmp_path / 'run'], tmp_path / 'out')
    samples = page.parent / 'samples'
    manifest = data_of(samples / 'index.js')[0]
    assert manifest['sources']['exact'][0] == 'recorded' and 'unknown_tool' in manifest['sources']
    assert {'finish:gave_up', 'limit:calls'} <= set(manifest['reasons'])
    rows = data_of(samples / 'p0' / '0.js')[1]
    assert [row['answer'] for row in rows] == ['You fly to Rome.', 'By Graz.', 'an answer that was cut off']
    assert ['trajectory' in row for row in rows] == [True, True, False]
    assert rows[0]['matches'] == matches and rows[0]['more'] == {'calls': {'calls': 6}, 'sources': {'exact': 1}}
    index = data_of(samples / 'p0' / 'index.js')[1]
    assert index['answers'] == ['You fly to Rome.', 'By Graz.', 'an answer that was cut off']


def test_tools_of_a_loop_in_text_are_those_of_the_detail() -> None:
    tools = [{'name': 'search', 'description': 'Finds.', 'required': ['q'], 'optional': []}]
    prompt = {'origin_prompt': [{'role': 'user', 'content': 'Find it.'}]}
    (role, text), *rest = asked_of(prompt, {'tools': tools})
    assert (role, json.loads(text)) == ('tools', tools) and rest == [('user', 'Find it.')]
    native = [{'type': 'function', 'function': {'name': 'find'}}]
    assert json.loads(asked_of({**prompt, 'tools': native}, {'tools': tools})[0][1]) == native
    assert asked_of(prompt) == tuple(rest)


def test_an_answer_that_looks_like_a_trajectory_is_shown_as_it_is(tmp_path: Path) -> None:
    run, name = tmp_path / 'run', 'tooleval-teval-review_str_v2'
    add(run, 'm', name, result_of([detail('r')]))
    write(run, 'predictions', 'm', name, {'0': {'prediction': chain().to_json(), 'record_id': 'r', 'infra': None}})
    (row,) = data_of(write_report([run], tmp_path / 'out').parent / 'samples' / 'p0' / '0.js')[1]
    assert row['answer'] == chain().to_json() and 'trajectory' not in row


def test_reports_without_agents_stay_as_they_were(tmp_path: Path) -> None:
    out = write_report([plain_run(tmp_path / 'run')], tmp_path / 'out').parent
    assert 'sources' not in data_of(out / 'samples' / 'index.js')[0]


def test_hostile_trajectories_are_data(tmp_path: Path) -> None:
    call = AnsweredCall(HOSTILE, {HOSTILE: HOSTILE}, HOSTILE, 'simulated')
    steps = (Step(HOSTILE, (call,), -1, HOSTILE, HOSTILE),)
    add_agent(tmp_path / 'run', 'm', [Trajectory(HOSTILE, steps, HOSTILE, HOSTILE, (0,), 1, {'simulator': HOSTILE})])
    out = write_report([tmp_path / 'run'], tmp_path / 'out').parent
    script = (out / 'samples' / 'p0' / '0.js').read_text('ascii')
    assert not set('<>&') & set(script)
    (row,) = data_of(out / 'samples' / 'p0' / '0.js')[1]
    clean = HOSTILE.replace('\ud800', '\\ud800')
    assert row['trajectory']['steps'][0]['calls'][0]['arguments'] == {clean: clean}
    assert row['trajectory']['stopped'] == clean and DATASET.startswith('tooleval-')
