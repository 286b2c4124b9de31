"""`tooleval agents judge`, and scoring of its file by `tooleval score agents`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.toolbench.answers import load_answers
from tests.cli.conftest import DEMO, Command, write_json
from tests.conftest import ModelServer, start_server
from tests.instructions.shared_data import expected, real

RUNS = DEMO.parent / 'agents' / 'toolbench' / 'runs.json'
DATA = DEMO.parent / 'toolbench' / 'G1_instruction.json'
JUDGES = ('OC_JUDGE_MODEL', 'OC_JUDGE_API_KEY', 'OC_JUDGE_API_BASE')


@pytest.fixture(scope='module')
def server() -> Iterator[ModelServer]:
    """A judge that calls everything solved, and takes the first of two answers."""
    reply = json.dumps({'content': 'It is.', 'answer_status': 'Solved', 'index': 0})
    server = start_server('--canned', reply, '--key', 'right')
    yield server
    server.stop()


@pytest.fixture
def judge(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in JUDGES:
        monkeypatch.delenv(name, raising=False)
    server.reset()
    cfg = {'path': 'tiny', 'abbr': 'the-judge', 'key': 'right', 'openai_api_base': server.url, 'max_seq_len': 8192}
    cfg |= {'query_per_second': 1000, 'max_workers': 4, 'retry': 1}
    config = tmp_path / 'judge.py'
    config.write_text(
        f"models = [dict(type='opencompass_tooleval.models.ToolEvalOpenAI', **{cfg})]\n", encoding='utf-8'
    )
    return config


def other_runs(tmp_path: Path) -> Path:
    """The same runs with other answers; one query is not answered."""
    rows: dict[str, Any] = json.loads(RUNS.read_text(encoding='utf-8'))
    del rows['101']
    for row in rows.values():
        row['answer']['final_answer'] = json.dumps({'return_type': 'give_answer', 'final_answer': 'Another.'})
    return write_json(tmp_path / 'reference.json', rows)


def test_judging_and_scoring(tooleval: Command, tmp_path: Path, judge: Path, server: ModelServer) -> None:
    out, reference = tmp_path / 'out.jsonl', other_runs(tmp_path)
    options: tuple[object, ...] = ('--kinds', 'solved,win', '--reference', reference, '--judgements-per-answer', 2)
    options = (*options, '--comparisons-per-answer', 2, '--answer-order', 'both')
    done = tooleval('agents', 'judge', RUNS, '--out', out, '--judge', judge, *options)
    assert done.code == 0, done.err
    # Of each answer and reference two judgements, and of the seven that have both two comparisons.
    assert server.stats()['requests'] == 8 * 2 + 7 * 2 + 7 * 2
    assert 'judged by the-judge\nsolved by judgement: 100.0, 100.0; standard deviation 0.0; unsure 0.0%' in done.out
    # A judge that always takes the first; one query has no reference.
    assert (
        'against the reference: 1 won, 7 tied, 0 lost; 1 of the wins because the reference has no answer; 0 of 14'
        in done.out
    )
    assert f'wrote {out}; 44 questions sent' in done.out
    again = json.loads(tooleval('agents', 'judge', RUNS, '--out', out, '--judge', judge, *options, '--json', '-').out)
    rates = {'solved_rate': 100.0, 'win_rate': 12.5, 'win_rate_half_ties': 56.25, 'tie_rate': 87.5}
    assert (again['judge_calls'], again['metrics']) == (0, rates)
    assert (again['judge'], again['reference'], again['answer_order']) == ('the-judge', str(reference), 'both')
    scored = tooleval('score', 'agents', 'toolbench_g1', RUNS, '--data', DATA, '--judgements', out, '--json', '-')
    assert scored.code == 0, scored.err
    result = json.loads(scored.out)
    assert (result['metrics']['solved_rate'], result['metrics']['win_rate']) == (100.0, 12.5)
    assert (result['judge'], result['judged']['win']['tie']) == ('out.jsonl', 7)
    assert 'NOTE 4 of 7 tasks have no run' in scored.err


def test_predictions_of_a_run(tooleval: Command, tmp_path: Path, judge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = {answer.task.id: answer.trajectory for answer in load_answers(RUNS)}
    ids = [str(row['query_id']) for row in json.loads(DATA.read_text(encoding='utf-8'))]
    rows = [{'record_id': name, 'prediction': stored.get(name, stored['101']).to_json()} for name in ids]
    file = write_json(tmp_path / 'predictions.json', dict(enumerate(rows)))
    alone = tooleval('agents', 'judge', file, '--out', tmp_path / 'out', '--judge', judge)
    assert alone.code == 1 and 'does not name the subset of its tasks: add --subset, one of' in alone.err
    options: tuple[object, ...] = ('--subset', 'toolbench_g1', '--data', DATA)
    done = tooleval('agents', 'judge', file, '--out', tmp_path / 'out', '--judge', judge, *options, '--json', '-')
    assert json.loads(done.out)['metrics'] == {'solved_rate': 100.0}
    named = write_json(
        tmp_path / 'named.json', {i: {**row, 'source': 'agents_toolbench_g1'} for i, row in enumerate(rows)}
    )
    options = ('--data', DATA, '--json', '-')
    done = tooleval('agents', 'judge', named, '--out', tmp_path / 'out', '--judge', judge, *options)
    assert json.loads(done.out)['metrics'] == {'solved_rate': 100.0}, done.err
    twice = write_json(tmp_path / 'twice.json', dict(enumerate([*rows, *rows])))
    trials = tooleval('score', 'agents', 'toolbench_g1', twice, '--data', DATA)
    assert trials.code == 1 and 'Several trials (n in a config) are scored, and judged, in their run' in trials.err
    scored = tooleval('score', 'agents', 'toolbench_g1', file, '--data', DATA, '--judgements', tmp_path / 'out')
    assert scored.code == 0 and 'judged by out' in scored.out, scored.err


def test_faults_are_one_line(tooleval: Command, tmp_path: Path, judge: Path) -> None:
    out = tmp_path / 'out'
    empty = write_json(tmp_path / 'empty.json', {})
    for arguments, fault in (
        ((RUNS, '--out', out), 'no judge is set: add --judge CONFIG'),
        ((RUNS, '--out', out, '--judge', tmp_path / 'none.py'), 'the config is missing'),
        ((RUNS, '--out', out, '--judge', judge, '--kinds', 'win'), 'use --kinds win with --reference FILE'),
        ((RUNS, '--out', out, '--judge', judge, '--kinds', 'best'), 'it is a list of solved, pass, win, success'),
        ((RUNS, '--out', out, '--judge', judge, '--answer-order', 'odd'), "answer_order='odd'"),
        ((RUNS, '--out', out, '--judge', judge, '--kinds', 'win', '--reference', empty), 'has no answer to any of'),
    ):
        done = tooleval('agents', 'judge', *arguments)
        assert done.code == 1 and fault in done.err and done.err.count('\n') == 1, done.err
    done = tooleval('score', 'agents', 'toolbench_g1', RUNS, '--data', DATA, '--preferences', empty)
    assert done.code == 1 and '--preferences needs --judgements' in done.err
    assert not out.exists()


def test_the_published_example(tooleval: Command) -> None:
    folder, data = expected('toolbench/example'), real('toolbench/G1_instruction.json')
    name = 'virtual_chatgpt_dfs'
    preferences = folder / f'preference_results__G1_instruction_virtual_chatgpt_cot_{name}.json'
    done = tooleval(
        *('score', 'agents', 'toolbench_g1', folder / f'model_predictions_converted__{name}__G1_instruction.json'),
        *('--data', data, '--judgements', folder / f'pass_rate_results__{name}__G1_instruction_{name}.json'),
        *('--preferences', preferences, '--json', '-'),
    )
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert (result['metrics']['solved_rate'], result['metrics']['win_rate']) == (100.0, 100.0)
    assert result['judged']['solved']['rates'] == [100.0] * 3
