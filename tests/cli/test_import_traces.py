"""``tooleval import traces``: conversations as tasks, as runs that are scored and judged, and as a bank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from opencompass_tooleval.agents.tasks.records import load_data
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from opencompass_tooleval.environments.bank import Bank
from opencompass_tooleval.extras.traces.conversation import Conversation
from opencompass_tooleval.extras.traces.recorded_runs import NO_RESULT, model_name, recorded_runs
from tests.cli.conftest import Command, read_lines
from tests.conftest import ROOT, start_server
from tests.extras.traces.test_inspect_log import LOG
from tests.extras.traces.test_openai_chat import ANSWER, ASKED, CALL, RESULT, WEATHER, WHOLE, write
from tests.forked import run_opencompass

UNKNOWN: dict[str, Any] = {**CALL, 'function': {'name': 'get_time', 'arguments': '{}'}}
WRONG: dict[str, Any] = {**CALL, 'function': {'name': 'get_current_weather', 'arguments': '{"town": "Boston"}'}}


def asked(text: str, *messages: Any) -> list[Any]:
    return [{'role': 'user', 'content': text}, *messages]


def calling(call: Any) -> dict[str, Any]:
    return {'role': 'assistant', 'content': 'I look it up.', 'tool_calls': [call]}


ROWS: list[Any] = [
    {'model': 'openai/gpt-4o', 'messages': WHOLE, 'tools': [WEATHER]},
    {'model': 'openai/gpt-4o', 'messages': WHOLE, 'tools': [WEATHER]},
    {'model': 'small', 'messages': [*ASKED, calling(WRONG), RESULT, ANSWER], 'tools': [WEATHER]},
    {'model': 'small', 'messages': [*ASKED, calling(UNKNOWN), ANSWER], 'tools': [WEATHER]},
    {'messages': asked('What time is it?', calling(UNKNOWN), RESULT, ANSWER)},
    '{"broken',
]


@pytest.fixture
def imported(tooleval: Command, tmp_path: Path) -> tuple[Path, str]:
    """The folder of an import, and the lines that it printed."""
    done = tooleval('import', 'traces', write(tmp_path, *ROWS), '--out', tmp_path / 'out')
    assert done.code == 0, done.err
    return tmp_path / 'out', done.out


def run_of(out: Path) -> Path:
    (run,) = (out / 'runs').iterdir()
    return run


def predictions(out: Path, model: str, dataset: str) -> list[Any]:
    content = json.loads((run_of(out) / 'predictions' / model / f'{dataset}-recorded.json').read_text())
    return [parse_trajectory(row['prediction']) for row in content.values()]


def test_what_is_unknown_is_said(imported: tuple[Path, str]) -> None:
    out, said = imported
    lines = said.splitlines()
    assert lines[:2] == ['5 conversations: chat 5', 'models: openai_gpt-4o 2, small 2, unknown-model 1']
    assert lines[2:4] == ['1 left out:', f'  chat.jsonl, line 6: it cannot be read as JSON ({_json_error()})']
    for line in (
        'offered tools: 1 of 5 conversations do not say; they stay unknown, so these are no tasks for agents: '
        'give --tools FILE',
        'results: 1 of 5 calls have none in the trace',
        '5 of 5 conversations do not say their tokens',
        '1 of 5 conversations do not name their model',
        'gold calls: unknown for all; scores that need them stay open',
    ):
        assert line in lines
    assert not (out / 'scores.jsonl').exists()


def _json_error() -> str:
    try:
        json.loads('{"broken')
    except ValueError as error:
        return str(error)
    raise AssertionError


def test_tasks_for_agents_have_only_offered_tools(imported: tuple[Path, str]) -> None:
    """The called tool of the conversation that does not say its tools is offered to nobody."""
    (task,) = load_data(imported[0] / 'tasks.jsonl', 'traces').tasks
    assert (task.query, task.system) == ("What's the weather like in Boston today?", 'You are a helpful assistant.')
    assert [tool.name for tool in task.tools] == ['get_current_weather']
    assert task.gold is None


def test_models_with_the_same_tasks_share_a_data_set(imported: tuple[Path, str]) -> None:
    out, _ = imported
    first = load_data(out / 'recorded' / 'traces' / 'tasks.jsonl', 'traces').tasks
    assert [task.id for task in first] == [first[0].id, f'{first[0].id}-2']
    (whole, _), (wrong, unknown) = (predictions(out, model, 'traces') for model in ('openai_gpt-4o', 'small'))
    assert (whole.final_answer, whole.loop, whole.calls[0].error) == (ANSWER['content'], 'recorded', None)
    assert (wrong.calls[0].error, wrong.steps[0].text) == ('wrong_arguments', 'I look it up.')
    assert (unknown.calls[0].error, unknown.calls[0].observation) == ('unknown_tool', NO_RESULT)
    (left_open,) = predictions(out, 'unknown-model', 'traces_open')
    assert left_open.calls[0].error is None


def test_the_runs_are_scored_by_opencompass(imported: tuple[Path, str], tooleval: Command, tmp_path: Path) -> None:
    out, _ = imported
    run = run_of(out)
    for name in ('traces', 'traces_open'):
        config = out / f'eval_{name}.py'
        assert all(model['batch_size'] for model in Config.fromfile(config, format_python_code=False)['models'])
        words = (str(config), '-w', str(out / 'runs'), '-r', run.name, '-m', 'eval')
        done = run_opencompass(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert 'NOTE' not in done.stdout
    results = {file.parent.name: json.loads(file.read_text()) for file in run.glob('results/*/*.json')}
    assert sorted(results) == ['openai_gpt-4o', 'small', 'unknown-model']
    small, unknown = results['small'], results['unknown-model']
    assert (small['finish_rate'], small['invalid_call_rate'], small['unknown_tool_rate']) == (100.0, 50.0, 50.0)
    assert 'call_recall' not in small
    assert unknown['finish_rate'] == 100.0
    assert not {'invalid_call_rate', 'unknown_tool_rate'} & set(unknown)
    assert tooleval('report', run, '-o', tmp_path / 'report').code == 0


def test_other_models_run_the_same_requests(tooleval: Command, tmp_path: Path) -> None:
    """The config of the page, with the oracle."""
    assert tooleval('import', 'traces', write(tmp_path, *ROWS), '--out', tmp_path / 'traces').code == 0
    page = (ROOT / 'docs' / 'how-to' / 'import-traces.md').read_text(encoding='utf-8')
    config = tmp_path / 'sweep.py'
    config.write_text(page.partition('```python\n')[2].partition('```')[0], encoding='utf-8')
    done = run_opencompass(str(config), '-w', str(tmp_path / 'out'), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    results = {file.parent.name: json.loads(file.read_text()) for file in tmp_path.glob('out/*/results/*/*.json')}
    rates = {model: (result['finish_rate'], result['samples']['all']) for model, result in results.items()}
    assert rates == {'oracle': (100.0, 1), 'oracle-noise-0.3': (100.0, 1)}


def test_the_runs_are_judged(imported: tuple[Path, str], tooleval: Command, tmp_path: Path) -> None:
    _, said = imported
    server = start_server('--canned', json.dumps({'content': 'It is.', 'answer_status': 'Solved', 'index': 0}))
    try:
        judge = tmp_path / 'judge.py'
        cfg = {'path': 'tiny', 'abbr': 'j', 'key': 'k', 'openai_api_base': server.url, 'max_seq_len': 8192}
        judge.write_text(
            'from opencompass_tooleval.models.openai_model import ToolEvalOpenAI\n'
            f'models = [dict(type=ToolEvalOpenAI, query_per_second=1000, retry=1, **{cfg})]\n'
        )
        words = said.partition('judge them with: tooleval ')[2].splitlines()[0].split()
        done = tooleval(*words[:-1], tmp_path / 'judged.jsonl', '--judge', judge, '--judgements-per-answer', 1)
        assert done.code == 0, done.err
        assert 'solved by judgement: 100.0' in done.out
    finally:
        server.stop()


def test_the_bank_answers_the_recorded_calls(imported: tuple[Path, str]) -> None:
    """A call without a recorded result is not in it."""
    out, _ = imported
    with Bank(out / 'responses.bank') as bank:
        assert bank.names() == {'get_current_weather': 3, 'get_time': 1}
        assert bank.tasks() == 3
    assert len(read_lines(out / 'calls.jsonl')) == 1 + 4


def test_tools_are_given(tooleval: Command, tmp_path: Path) -> None:
    tools = tmp_path / 'tools.json'
    tools.write_text(json.dumps([{'name': 'get_time', 'parameters': {'type': 'object', 'properties': {}}}]))
    done = tooleval('import', 'traces', write(tmp_path, *ROWS), '--out', tmp_path / 'out', '--tools', tools)
    assert 'offered tools: 1 of 5 conversations do not say; they are taken from --tools' in done.out
    tasks = load_data(tmp_path / 'out' / 'tasks.jsonl', 'traces').tasks
    assert [[tool.name for tool in task.tools] for task in tasks] == [['get_current_weather'], ['get_time']]


def test_a_log_of_inspect_with_its_scores(tooleval: Command, tmp_path: Path) -> None:
    (tmp_path / 'logs').mkdir()
    (tmp_path / 'logs' / LOG.name).write_bytes(LOG.read_bytes())
    done = tooleval('import', 'traces', tmp_path / 'logs', '--out', tmp_path / 'out')
    assert done.code == 0, done.err
    scores = {row['scores']['includes'] for row in read_lines(tmp_path / 'out' / 'scores.jsonl')}
    assert scores == {'C', 'I'}
    rows = read_lines(tmp_path / 'out' / 'predictions.jsonl')
    assert [row['usage']['prompt'] for row in rows] == [201, 309]
    errors = [[call.error for call in parse_trajectory(row['prediction']).calls] for row in rows]
    assert errors == [[''], ['tool_error', 'wrong_arguments']]


def test_a_scorer_may_have_any_name(tooleval: Command, tmp_path: Path) -> None:
    messages = [{'role': 'user', 'content': '2 + 3?'}, {'role': 'assistant', 'content': '5'}]
    values = {'model': 'C', 'record_id': 0.5}
    sample = {'messages': messages, 'scores': {name: {'value': value} for name, value in values.items()}}
    (tmp_path / 'log.json').write_text(json.dumps({'version': 2, 'eval': {'model': 'gpt'}, 'samples': [sample]}))
    done = tooleval('import', 'traces', tmp_path / 'log.json', '--out', tmp_path / 'out')
    assert done.code == 0, done.err
    (row,), (run,) = (read_lines(tmp_path / 'out' / f'{name}.jsonl') for name in ('scores', 'predictions'))
    assert row == {'record_id': run['record_id'], 'model': 'gpt', 'scores': values}


def test_faults_are_one_line(tooleval: Command, tmp_path: Path) -> None:
    file, out = write(tmp_path, ROWS[0]), tmp_path / 'out'
    (tmp_path / 'empty').mkdir()
    out.mkdir()
    (out / 'mine').touch()
    for words, what in (
        ((file, '--out', out), 'there is something already: give --out a new folder'),
        ((tmp_path / 'none.jsonl', '--out', tmp_path / 'new'), 'the file is missing'),
        ((tmp_path / 'empty', '--out', tmp_path / 'new'), 'the folder has no .json, .jsonl, .eval'),
    ):
        done = tooleval('import', 'traces', *words)
        assert done.code == 1 and what in done.err and len(done.err.splitlines()) == 1
    damaged = tmp_path / 'tasks.jsonl'
    for text, what in (
        ('{"id": "a"}', "a task is an object with the texts 'id' and 'query'"),
        ('{"id": "a", "query": "b", "tools": 1}', "'tools' of the task is no list of functions"),
        ('{"id": "a", "query": "b"}\n{"id": "a", "query": "b"}', 'two tasks have one id'),
        ('', 'the file has no task'),
    ):
        damaged.write_text(text)
        done = tooleval('score', 'agents', 'traces', file, '--data', damaged)
        assert done.code == 1 and what in done.err


def test_the_older_command_keeps_working(tooleval: Command, tmp_path: Path) -> None:
    (tmp_path / 'in').mkdir()
    row = {'model': 'm', 'dataset': 'd', 'record_id': 'r', 'prediction': 'p', 'infra': None}
    (tmp_path / 'in' / 'predictions.jsonl').write_text(json.dumps(row))
    for number, words in enumerate((('import',), ('import', 'predictions'))):
        done = tooleval(*words, tmp_path / 'in', tmp_path / f'out{number}')
        assert done.code == 0 and done.out.startswith('1 predictions of 1 models')


def test_models_with_similar_names_stay_two() -> None:
    names = ('a/b', 'a_b', 'a/b')
    messages = (Message('user', 'What?'), Message('assistant', 'That.'))
    runs = recorded_runs(Conversation('here', messages, (), name) for name in names)
    assert [run.model for run in runs] == ['a_b', runs[1].model, 'a_b'] and runs[1].model.startswith('a_b-')
    assert [run.is_repeat for run in runs] == [False, False, True]


def test_names_of_models_can_be_names_of_files() -> None:
    names = ('openai/gpt-4o', '../x', '', '\ud800a', 'm:70b\n', '.' * 5, 'a' * 1000)
    assert [model_name(name) for name in names] == [
        'openai_gpt-4o', '_x', 'unknown-model', '_a', 'm_70b', 'unknown-model', 'a' * 60,
    ]  # fmt: skip
