"""Trajectories for the sample browser: read as data, bounded, for any predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.report.build import write_report
from opencompass_tooleval.report.samples import answer_text, asked_of
from opencompass_tooleval.report.trajectories import (
    LEAST,
    MOST_STEPS,
    OBSERVATION,
    TOGETHER,
    matches_of,
    opinions_of,
    read_trajectory,
    shown_rounds,
    shown_trajectory,
)
from tests.report.agents import add_agent, chain, tree
from tests.report.support import HOSTILE, data_of, samples_of


def read(trajectory: Trajectory) -> dict[str, Any]:
    whole = read_trajectory(trajectory.to_json())
    assert whole is not None and shown_rounds(whole) is None
    return shown_trajectory(whole, {})


def test_all_texts_of_a_trajectory_are_bounded_together() -> None:
    call = AnsweredCall('n' * 9_000, {'a': 'v' * 90_000}, 'o' * 9_000, 'exact')
    shown = read(Trajectory('react', (Step('t' * 9_000, (call,) * 3),) * 600, path=tuple(range(600))))
    assert (len(shown['steps']), shown['all'], len(shown['path'])) == (MOST_STEPS, 600, MOST_STEPS)
    assert len(json.dumps(shown)) < TOGETHER + MOST_STEPS * (1 + 3 * 3) * (LEAST + 40) + MOST_STEPS * 1000
    assert shown['steps'][-1]['text'] == f'{"t" * LEAST}\n[cut: 9000 characters]', 'the beginning of every step'
    large = read(Trajectory('react', (Step('', (AnsweredCall('a', {}, 'x' * 1_000_000, 'exact'),)),), path=(0,)))
    text = large['steps'][0]['calls'][0]['observation']
    assert len(text) < OBSERVATION + 50 and text.endswith('[cut: 1000000 characters]')


def test_arguments_stay_values_unless_they_are_too_much() -> None:
    deep: Any = 1
    for _ in range(110):
        deep = [deep]
    few = [{'a': [1, {'b': None}]}, [1, 2], 'text', None, 7, {}]
    calls = tuple(AnsweredCall('a', arguments, 'o', 'exact') for arguments in (*few, deep, {'a': 'x' * 20_000}))
    (step,) = read(Trajectory('react', (Step('', calls),)))['steps']
    shown = [call['arguments'] for call in step['calls']]
    assert shown[:-2] == few and all(isinstance(arguments, str) for arguments in shown[-2:])


def test_matches_and_opinions_of_judges_are_read() -> None:
    rows = [{'call': 2, 'same': True}, {'call': None, 'same': 'yes'}, {}]
    none = {'call': None, 'same': False}
    assert matches_of({'matches': rows}) == [{'call': 2, 'same': True}, none, none]
    assert matches_of({}) == matches_of({'matches': 'x'}) == matches_of({'matches': [1]}) == opinions_of({}) == []
    solved = [{'value': 'Solved', 'decided_by': 'content', 'why': HOSTILE}, {'fault': 'no verdict'}]
    assert opinions_of({'solved': solved, 'win': 'x', 'success': [1]}) == [
        {'area': 'solved', 'value': 'Solved', 'decided_by': 'content', 'why': HOSTILE, 'fault': ''},
        {'area': 'solved', 'value': '', 'decided_by': '', 'why': '', 'fault': 'no verdict'},
    ]


def test_a_report_has_trajectories(tmp_path: Path) -> None:
    matches, counts = [{'call': 0, 'same': True}], {'calls': {'calls': 6}, 'sources': {'exact': 1}}
    more: dict[str, Any] = {'matches': matches, 'final_answer': 'You fly', 'steps': 5, **counts}
    answers = ['You fly to Rome.', 'By Graz.', 'an answer that was cut off']
    add_agent(tmp_path / 'run', 'm', [chain(), tree('limit:calls'), answers[2]], **more)
    out = write_report([tmp_path / 'run'], tmp_path / 'out').parent
    manifest = data_of(out / 'samples' / 'index.js')[0]
    assert manifest['sources']['exact'][0] == 'recorded' and 'unknown_tool' in manifest['sources']
    assert {'finish:gave_up', 'limit:calls'} <= set(manifest['reasons'])
    (rows,) = samples_of(out)
    assert [row['answer'] for row in rows] == data_of(out / 'samples' / 'p0' / 'index.js')[1]['answers'] == answers
    assert ['trajectory' in row for row in rows] == [True, True, False]
    assert rows[0]['matches'] == matches and rows[0]['more'] == counts


def test_tools_of_a_loop_in_text_are_those_of_the_detail() -> None:
    tools = [{'name': 'search', 'description': 'Finds.', 'required': ['q'], 'optional': []}]
    prompt = {'origin_prompt': [{'role': 'user', 'content': 'Find it.'}]}
    (role, text), *rest = asked_of(prompt, {'tools': tools})
    assert (role, json.loads(text)) == ('tools', tools) and rest == [('user', 'Find it.')]
    native = [{'type': 'function', 'function': {'name': 'find'}}]
    assert json.loads(asked_of({**prompt, 'tools': native}, {'tools': tools})[0][1]) == native
    assert asked_of(prompt) == tuple(rest)


CUT = {'name': 'MuseumGuide.list_open', 'arguments': '{"city": "Ghent", "limit": 3', 'id': 'k'}
ADD = {'name': 'add_', 'arguments': {'input': [17, 26]}}


@pytest.mark.parametrize(
    ('prediction', 'shown'),
    [
        # SmolLM2-135M-Instruct, cut at 48 tokens: the page was empty, with three arguments "lacking".
        ({'prediction': '', 'calls': [CUT]}, 'MuseumGuide.list_open({"city": "Ghent", "limit": 3)'),
        ({'prediction': 'I look.', 'calls': [ADD]}, 'I look.\nadd_({"input": [17, 26]})'),
        ({'prediction': 'no list', 'calls': 'add_'}, 'no list'),
        ({'prediction': 'not one', 'calls': ['add_', None]}, 'not one'),
        ({}, ''),
    ],
)
def test_native_calls_are_shown_as_they_came(prediction: dict[str, Any], shown: str) -> None:
    assert answer_text(prediction) == shown
