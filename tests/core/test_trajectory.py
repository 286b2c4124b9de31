"""Trajectories and tasks as text."""

import json
from dataclasses import replace

import pytest

from opencompass_tooleval.agents.tasks.task import Task, parse_task
from opencompass_tooleval.core.calls.observation import ERROR, EXACT, UNKNOWN_TOOL
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory, parse_trajectory

SEARCH = ToolSchema('Map.search', 'Finds a place.', {'type': 'object', 'properties': {'name': {'type': 'string'}}})
FOUND = AnsweredCall('Map.search', {'name': 'Delft'}, 'It is in Holland.', EXACT, '', 17)
LOST = AnsweredCall('Map.find', 'Delft', 'There is no such tool.', ERROR, UNKNOWN_TOOL)
FINISH = AnsweredCall('Finish', {'return_type': 'give_answer'}, '')
STEPS = (Step('look', (LOST,)), Step('again', (FOUND,)), Step('done', (FINISH,), parent=1))
DONE = Trajectory('dfsdt', STEPS, 'Holland', path=(1, 2), settings={'most_nodes': 3})


def test_a_trajectory_comes_back_from_its_text_with_its_calls() -> None:
    assert parse_trajectory(DONE.to_json()) == DONE
    assert DONE.calls == (LOST, FOUND)
    assert DONE.path_calls == (FOUND,)
    assert {source: count for source, count in DONE.sources.items() if count} == {'exact': 1, 'error': 1}


@pytest.mark.parametrize('text', [
    '', 'A', '{', '[]', '{}', '7', '{"loop": "react"}', '{"steps":' + '[' * 5000, '{"rounds": [1], "calls": []}',
])  # fmt: skip
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match='not a trajectory'):
        parse_trajectory(text)


@pytest.mark.parametrize('number', [None, 3, '2'])
def test_a_trajectory_of_another_version_is_refused(number):
    raw = {**json.loads(DONE.to_json()), 'format': number}
    raw = raw if number else {name: value for name, value in raw.items() if name != 'format'}
    with pytest.raises(ValueError, match=f'its format is {number or "not stated"}, not 2: run the tasks again'):
        parse_trajectory(json.dumps(raw))


@pytest.mark.parametrize('damage', [
    lambda raw: raw.update(path=[3]),
    lambda raw: raw.update(steps=5),
    lambda raw: raw.update(final_answer=None),
    lambda raw: raw.update(unknown=1),
    lambda raw: raw['steps'][0].update(parent=0),
    lambda raw: raw['steps'][0]['calls'][0].update(source='guess'),
    lambda raw: raw['steps'][0]['calls'][0].update(observation_chars='x'),
    lambda raw: raw['steps'][0]['calls'].append(1),
    lambda raw: raw['steps'][0].update(asked=[]),
    lambda raw: raw['steps'][1].update(parent=True),
    lambda raw: raw.update(path=[True]),
    lambda raw: raw.update(omitted_observations='x'),
])  # fmt: skip
def test_what_is_no_trajectory_is_refused(damage):
    raw = json.loads(DONE.to_json())
    damage(raw)
    with pytest.raises(ValueError, match='not a trajectory'):
        parse_trajectory(json.dumps(raw))


@pytest.mark.parametrize('gold', [None, (), (GoldCall('Map.search', {'name': 'Delft'}, ('name',)),)])
def test_task_comes_back_from_its_text(gold):
    documents, guidelines = {'Map.search': {'name': 'Map.search'}}, {'Map.search': {'name': 'search'}}
    task = Task('query_0_1', 'teval', 'Where is Delft?', (SEARCH,), gold, documents, ('Map.search',))
    assert parse_task(task.to_payload()) == task
    assert task.schemas == {'Map.search': SEARCH.parameters}
    assert task.shown == documents
    instructed = replace(task, instructions=guidelines)
    assert parse_task(instructed.to_payload()) == instructed
    assert instructed.shown == guidelines


def test_oracle_calls_relevant_tools_where_nobody_knows_the_calls():
    properties = {'place': {'type': 'string', 'example_value': 'Delft'}, 'days': {'type': 'integer'}, 'unit': {}}
    weather = ToolSchema('weather', '', {'type': 'object', 'properties': properties, 'required': ['place', 'days']})
    task = Task('1', 'toolbench_g1', 'Will it rain?', (SEARCH, weather), relevant=('weather',))
    assert task.oracle_calls == (GoldCall('weather', {'place': 'Delft', 'days': 1}),)
    assert replace(task, gold=()).oracle_calls == ()
