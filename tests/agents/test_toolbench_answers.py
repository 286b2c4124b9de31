"""Answers in ToolBench's format: read, written, and a round trip of the published files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.finish import finish_call, read_finish
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.answers import load_answers, stored_answer, to_toolbench
from opencompass_tooleval.agents.toolbench.judged_answer import of_trajectory
from opencompass_tooleval.benchmarks.toolbench.data import read_run
from opencompass_tooleval.core.calls.observation import ERROR, EXACT, UNKNOWN_TOOL
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import (
    GAVE_UP,
    NOT_FINISHED,
    AnsweredCall,
    Step,
    Trajectory,
    parse_trajectory,
)
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir.data_files import read_json
from tests.instructions.shared_data import DATA
from tests.official import Recorder

EXAMPLE = DATA.parent / 'expected' / 'toolbench' / 'example'
RUNS = DATA / 'toolbench_trajectories'
SEARCH = ToolSchema('search_for_map', 'Finds a place.', {'type': 'object', 'properties': {'name': {'type': 'string'}}})
TASK = Task('7', 'toolbench', 'Where is Delft?', (SEARCH,))


def called(name: str, arguments: Any, observation: str = 'Holland', source: str = EXACT) -> AnsweredCall:
    return AnsweredCall(name, arguments, observation, source, '', len(observation))


FINISH = called('Finish', finish_call('Holland').arguments, '{"response": "ok"}', '')
SEARCHED = called('search_for_map', {'name': 'x'})
GIVES_UP = called('Finish', {'return_type': 'give_up_and_restart'}, '{"response": "no"}', '')


def chain_of(row: dict[str, Any]) -> list[tuple[str, Any]]:
    """Role and message of each node of a tree without branches, and the counts agree."""
    nodes, chain = row['answer']['answer_details'], []
    while nodes:
        (node,) = nodes
        message = node['message']
        chain.append((node['role'], message['name'] if isinstance(message, dict) else message))
        nodes = node['next']
    assert row['answer']['total_steps'] == len(chain)
    return chain


def test_a_search_is_the_way_to_its_answer() -> None:
    steps = (
        Step('first', (called('search_for_map', {'name': 'x'}),)),
        Step('', (GIVES_UP,), 0),
        Step('then', (called('search_for_map', {'name': 'Delft'}),)),
        Step('I know.', parent=2),
        Step('', (FINISH,), 3),
    )
    row = to_toolbench(TASK, Trajectory('dfsdt', steps, 'Holland', path=(2, 3, 4)))
    first = [('system', ''), ('user', '')]
    assert chain_of(row) == [*first, ('tool', 'search_for_map'), ('assistant', 'I know.'), ('tool', 'Finish')]
    assert row['answer']['method'] == 'DFS_woFilter_w2'
    assert json.loads(row['answer']['final_answer']) == finish_call('Holland').arguments
    assert [tool['name'] for tool in row['available_tools']] == ['search_for_map', 'Finish']


def unknown(name: str) -> AnsweredCall:
    return replace(called(name, {}, 'No such function', ERROR), fault=UNKNOWN_TOOL)


def test_a_search_without_an_answer_is_the_way_to_a_give_up() -> None:
    steps = (Step('so', (unknown('guess'),)), Step('hm', parent=0), Step('', (GIVES_UP,), 1), Step('', (GIVES_UP,), 0))
    row = to_toolbench(TASK, Trajectory('dfsdt', steps, '', GAVE_UP, (0, 3)))
    invented, gives_up = chain_of(row)[2:]
    assert invented == ('tool', 'invalid_hallucination_function_name') and gives_up == ('tool', 'Finish')
    assert json.loads(row['answer']['final_answer']) == GIVES_UP.arguments
    back = stored_answer(read_run('7', row))
    assert back.task == Task('7', '', TASK.query, TASK.tools)
    assert [step.parent for step in back.trajectory.steps] == [-1, 0]
    assert (back.trajectory.stopped, back.trajectory.path) == (GAVE_UP, (0, 1))
    assert to_toolbench(back.task, back.trajectory)['answer'] == row['answer']


@pytest.mark.parametrize(
    ('loop', 'last', 'stopped'),
    [
        ('toolbench_react', GIVES_UP, GAVE_UP),  # ToolBench keeps no give-up of its ReAct
        ('dfsdt', SEARCHED, 'limit:steps'),
        ('dfsdt', called('Finish', {}, '{error}', ''), 'limit:calls'),
        ('dfsdt', called('Finish', [1], '', ''), 'finish:unreadable'),
    ],
)
def test_a_run_without_an_end_is_what_the_model_did(loop: str, last: AnsweredCall, stopped: str) -> None:
    steps = (Step('so', (unknown('guess'),)), Step('off the way'), Step('then', (last,), 0))
    row = to_toolbench(TASK, Trajectory(loop, steps, '', stopped, (0, 2)))
    assert chain_of(row)[2:] == [('assistant', 'so'), ('tool', 'guess'), ('assistant', 'then'), ('tool', last.name)]
    assert json.dumps({'response': last.observation})[1:] in json.dumps(row) and row['answer']['final_answer'] == ''
    back = stored_answer(read_run('7', row)).trajectory
    assert back.final_answer == '' and back.stopped in (GAVE_UP, NOT_FINISHED)


def test_an_answer_that_is_not_quite_json_is_written_as_it_is() -> None:
    written, told = '{"return_type": "give_answer", "final_answer": "in "Holl', 'in "Holl'
    finish = read_finish(written)
    row = to_toolbench(TASK, Trajectory('dfsdt', (Step('', (finish.call,)),), finish.final_answer, path=(0,)))
    assert row['answer']['final_answer'] == written
    back = stored_answer(read_run('7', row)).trajectory
    assert (back.final_answer, back.stopped, finish.final_answer) == (told, '', told)


def test_arguments_stand_as_the_model_wrote_them() -> None:
    finish = read_finish({}, written='{"return_type":"give_answer",\t"final_answer":"Holland"}')
    passed = replace(SEARCHED, written='{"name":"x"}')
    done = Trajectory('dfsdt', (Step('', (passed,)), Step('', (finish.call,), 0)), 'Holland', path=(0, 1))
    row = to_toolbench(TASK, parse_trajectory(done.to_json()))
    assert row['answer']['final_answer'] == '{"return_type":"give_answer",\t"final_answer":"Holland"}'
    judged = of_trajectory(TASK, done)
    assert judged.final_answer == row['answer']['final_answer']
    assert [node['message']['arguments'] for node in judged.nodes] == ['{"name":"x"}', judged.final_answer]


@pytest.mark.parametrize(
    ('loop', 'second'), [('dfsdt', 'guess'), ('toolbench_react', 'invalid_hallucination_function_name')]
)
def test_answers_with_several_calls(loop: str, second: str) -> None:
    """As by StableToolBench's converter: the last answer has its ``Finish`` alone."""
    steps = (Step('', (unknown('so'), unknown('guess'))), Step('', (SEARCHED, SEARCHED, FINISH), 0))
    done = Trajectory(loop, steps, 'Holland', path=(0, 1), settings={'runner': 'stabletoolbench'})
    names = [name for _, name in chain_of(to_toolbench(TASK, done))[2:]]
    assert names == ['invalid_hallucination_function_name', second, 'Finish']


def test_calls_behind_a_finish_that_failed_are_left_out() -> None:
    """As by StableToolBench's converter, where an answer has several calls; loops of ours keep them."""
    failed = replace(read_finish({}).call, arguments={})
    steps = (Step('', (SEARCHED, failed, SEARCHED)), Step('', (FINISH,), 0))
    done = Trajectory('dfsdt', steps, 'Holland', path=(0, 1), settings={'runner': 'stabletoolbench'})
    made = [name for role, name in chain_of(to_toolbench(TASK, done)) if role == 'tool']
    assert made == ['search_for_map', 'Finish', 'Finish']
    assert len(chain_of(to_toolbench(TASK, replace(done, settings={})))) == 6


def test_an_answer_without_finish_gets_one() -> None:
    both = called('a', {}), called('b', {})
    steps = (Step('', both, purpose='call'), Step('yes', purpose='answer_check', parent=0))
    row = to_toolbench(TASK, Trajectory('easytool', steps, 'Holland', path=(0, 1)))
    assert chain_of(row)[2:] == [('tool', 'a'), ('tool', 'b'), ('tool', 'Finish')]
    assert (row['answer']['final_answer'], row['answer']['method']) == ('Holland', 'easytool')
    back = stored_answer(read_run('7', row)).trajectory
    assert (back.final_answer, back.stopped, len(back.calls)) == ('Holland', '', 2)
    # What ends lagent's agent is no call: a judge would see a tool that does not exist.
    end = called('FinishAction', 'Holland', '', '')
    steps = (Step('', (called('search_for_map', {'name': 'Delft'}),)), Step('', (end,), 0))
    row = to_toolbench(TASK, Trajectory('react', steps, 'Holland', path=(0, 1)))
    assert [message for role, message in chain_of(row) if role == 'tool'] == ['search_for_map', 'Finish']


def test_an_answer_written_in_json_comes_back() -> None:
    answer = '{"country": "Holland"}'
    done = Trajectory('function_calling', (Step(answer),), answer, path=(0,))
    assert stored_answer(read_run('7', to_toolbench(TASK, done))).trajectory.final_answer == answer


@pytest.mark.parametrize('damage', [{'answer': {}}, {'available_tools': [{'name': 'a'}]}, {'answer': None}])
def test_damaged_answers_are_named(tmp_path: Path, damage: dict[str, Any]) -> None:
    row = to_toolbench(TASK, Trajectory('dfsdt', (Step('', (FINISH,)),), 'Holland', path=(0,)))
    file = tmp_path / 'answers.json'
    file.write_text(json.dumps({'7': {**row, **damage}}))
    with pytest.raises(DataError, match=r'answers\.json.*7'):
        load_answers(file)


def comparable(row: dict[str, Any]) -> dict[str, Any]:
    """An answer with what a call passes as values: how the files write them differs from model to model."""

    def node_of(node: dict[str, Any]) -> dict[str, Any]:
        message = node['message']
        if isinstance(message, dict):
            message = {**message, 'arguments': value_of(message['arguments'])}
        return {**node, 'message': message, 'next': [node_of(child) for child in node['next']]}

    answer = row['answer']
    details = [node_of(node) for node in answer['answer_details']]
    return {**row, 'answer': {**answer, 'final_answer': value_of(answer['final_answer']), 'answer_details': details}}


def value_of(arguments: Any) -> Any:
    try:
        return json.loads(arguments)
    except (TypeError, ValueError):
        return arguments


@pytest.mark.official('ToolBench', 'published answer files, read and written')
@pytest.mark.skipif(not EXAMPLE.is_dir(), reason='no published example of ToolBench at hand')
@pytest.mark.parametrize('method', ['cot', 'dfs'])
def test_the_published_example_comes_back(method: str, record_property: Recorder) -> None:
    file = EXAMPLE / f'model_predictions_converted__virtual_chatgpt_{method}__G1_instruction.json'
    rows = read_json(file)
    answers = load_answers(file)
    written = {answer.task.id: to_toolbench(answer.task, answer.trajectory) for answer in answers}
    record_property('cases', len(rows))
    assert list(written) == list(rows) and len(rows) == 3
    assert written == rows  # arguments as the model wrote them, too
    ends = {answer.task.id: (answer.trajectory.loop, answer.trajectory.stopped) for answer in answers}
    loop = {'cot': 'toolbench_react', 'dfs': 'dfsdt'}[method]
    assert ends == {key: (loop, NOT_FINISHED if (method, key) == ('cot', '588') else '') for key in rows}


@pytest.mark.skipif(not RUNS.is_dir(), reason='no published runs of ToolBench at hand')
@pytest.mark.parametrize('name', ['chatgpt_easytool__G3_instruction', 'gpt-4_easytool_retrieve__G3_instruction'])
def test_easytools_published_runs_come_back(name: str) -> None:
    """But for the count of steps, which EasyTool's files take otherwise, each in its own way."""
    file = RUNS / f'{name}.json.gz'
    rows = read_json(file)
    for answer in load_answers(file):
        row = to_toolbench(answer.task, answer.trajectory)
        published = rows[answer.task.id]
        published['answer']['total_steps'] = row['answer']['total_steps']
        assert comparable(row) == comparable(published), answer.task.id
