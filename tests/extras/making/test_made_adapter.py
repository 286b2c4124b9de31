"""Agents on a made set: the oracle has 100 in everything, over a live server and over tools with a state."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.adapter import AgentDialogues
from opencompass_tooleval.agents.scoring.scoring import FINISH_RATE, OF_CALLS
from opencompass_tooleval.agents.tasks.goal import KINDS, RESTRAINT, Goal
from opencompass_tooleval.agents.tasks.open_bank import open_bank
from opencompass_tooleval.agents.tasks.records import load_data
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.bank import write_bank
from opencompass_tooleval.extras.making.adapter import ToolEvalMadeDataset, ToolEvalMadeEvaluator, made_by
from opencompass_tooleval.extras.making.made_set import BANK_FILE, MadeSet, load_set
from opencompass_tooleval.extras.making.made_task import MadeTask
from opencompass_tooleval.extras.making.metrics import NAMES
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.report.names import family_of, title_of
from tests.extras.making.notes_set import START, notes_set
from tests.extras.mcp_servers.servers import NOTES
from tests.forked import start_opencompass
from tests.instructions.shared_data import DEMO

PATIENCE = 1500
CONFIG = """
from opencompass.openicl.icl_retriever import ZeroRetriever
from opencompass_tooleval.agents.adapter import AgentDialogues
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer
from opencompass_tooleval.extras.making.adapter import ToolEvalMadeDataset, ToolEvalMadeEvaluator
from opencompass_tooleval.models import ToolEvalConversationTemplate
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.summarizers import ToolEvalSummarizer
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [
    dict(
        abbr='tooleval-made_notes-agent-fc',
        type=ToolEvalMadeDataset,
        path=FOLDER,
        n=1,
        k=1,
        reader_cfg=dict(input_columns=['messages'], output_column='record'),
        infer_cfg=dict(
            prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(
                type=ToolEvalDialogueGenInferencer,
                max_out_len=64,
                dialogues=dict(ENVIRONMENT, type=AgentDialogues),
            ),
        ),
        eval_cfg=dict(evaluator=dict(type=ToolEvalMadeEvaluator, path=FOLDER)),
    )
]
models = [dict(type=OracleModel, abbr=name, path=name, max_out_len=64, batch_size=8, run_cfg=dict(num_gpus=0))
          for name in ['oracle', 'Second']]
summarizer = dict(type=ToolEvalSummarizer, report=True)
"""
PERFECT = {name: 100.0 if name in ('solved', 'restraint', FINISH_RATE, *OF_CALLS) else 0.0 for name in NAMES}


def evaluated(made: MadeSet) -> tuple[ToolEvalMadeEvaluator, dict[str, Any]]:
    """The result of the oracle on a set."""
    rows = ToolEvalMadeDataset.load(str(made.folder))
    begin = AgentDialogues(**made.environment_here)
    outcomes = DialogueRunner(OracleModel(), None, 100, batch_size=8).run(
        {row['record_id']: begin(row) for row in rows}
    )
    evaluator = ToolEvalMadeEvaluator(str(made.folder))
    predictions = [outcomes[row['record_id']].value for row in rows]
    count = len(rows)
    columns = {'references': rows['record'], 'record_id': rows['record_id'], 'infra': [None] * count}
    return evaluator, evaluator.evaluate(1, 1, rows, predictions=predictions, **columns)


def test_the_oracle_is_perfect_on_every_kind_over_a_live_server(tmp_path: Path) -> None:
    made = notes_set(tmp_path / 'notes')
    _, result = evaluated(made)
    assert {name: result[name] for name in NAMES} == PERFECT
    assert result['reasons'] == {'ok': 8}
    kinds = result['breakdown']['kinds']
    assert set(kinds) == set(KINDS) and kinds['ordinary'] == {'tasks': 3, 'solved': 100.0}
    assert result['breakdown']['sources']['live'] == 7
    about = result['provenance']
    assert (about['benchmark'], about['subset'], about['reviewed']) == ('made', 'notes', 0)
    assert (about['loop'], about['made_by']) == ('function_calling', 'maker, second')
    assert len(about['data_sha256']) == 64
    assert made.tasks[0].goal.effects
    assert (tmp_path / 'notes' / 'fixture' / 'notes.txt').read_text() == START


def test_the_oracle_is_perfect_over_tools_with_a_state(tmp_path: Path) -> None:
    file = DEMO / 'agents' / 'teval' / 'EN' / 'plan_json_v1.json'
    settings = {'loop': 'function_calling', 'bank': BANK_FILE, 'stateful_tools': 'teval'}
    tasks = tuple(
        MadeTask(task).with_goal(Goal(calls=tuple((call,) for call in task.gold or ()), answer='Done.'))
        for task in load_data(file, 'teval').tasks
        if task.id != 'demo_fare'  # nothing answers its gold calls
    )
    made = MadeSet(tmp_path / 'teval', 'teval', {'kind': 'teval'}, settings, {'query': 'maker'}, tasks=tasks)
    made.write()
    write_bank(open_bank(str(file.parent)).calls(), made.folder / BANK_FILE)
    _, result = evaluated(made)
    assert {name: result[name] for name in NAMES} == {**PERFECT, 'restraint': None, 'forbidden_call_rate': None}
    assert result['breakdown']['sources']['function'] == 6
    assert len(tasks) == 3


def test_through_opencompass(tmp_path: Path) -> None:
    made = notes_set(tmp_path / 'notes')
    reviewed = replace(made.tasks[0], is_reviewed=True)
    scripted = {'does nothing': ['t2'], 'asks back': ['t2', 't3']}
    replace(made, tasks=(reviewed, *made.tasks[1:]), scripted=scripted).write()
    config = CONFIG.replace('FOLDER', repr(str(made.folder))).replace('ENVIRONMENT', repr(made.environment_here))
    (tmp_path / 'mine.py').write_text(config, encoding='utf-8')
    printed = tmp_path / 'printed.txt'
    run = start_opencompass('mine.py', '-w', 'out', '--debug', cwd=tmp_path, env=dict(os.environ), output=printed)
    assert run.wait(PATIENCE) == 0, printed.read_text(encoding='utf-8', errors='replace')[-3000:]
    files = tmp_path.glob('out/*/results/*/*.json')
    results = {file.parent.name: json.loads(file.read_text(encoding='utf-8')) for file in files}
    assert {name: {metric: result[metric] for metric in NAMES} for name, result in results.items()} == {
        'oracle': PERFECT,
        'Second': PERFECT,
    }
    assert 'model_made_it' not in results['oracle']['provenance']
    assert results['Second']['provenance']['model_made_it'] is True
    assert results['oracle']['provenance']['reviewed'] == 1 / 8
    assert results['oracle']['details'][1]['kind'] == 'ordinary'
    (notes,) = tmp_path.glob('out/*/summary/summary_*_notes.txt')
    text = notes.read_text(encoding='utf-8')
    assert 'NOTE Second / tooleval-made_notes-agent-fc: this model made the set' in text
    assert '88% of the tasks were not reviewed by a person' in text and 'NOTE oracle' not in text
    (summary,) = tmp_path.glob('out/*/summary/summary_*[0-9].csv')
    assert 'solved,gen,100.00,100.00' in summary.read_text(encoding='utf-8')
    pages = {page.name: page.read_text(encoding='utf-8') for page in tmp_path.glob('out/*/report/*.html')}
    assert any('this model made the set' in page for page in pages.values())
    assert any('Own tools notes function calling' in page for page in pages.values())
    # The tables without the model that made the set.
    screen = printed.read_text(encoding='utf-8', errors='replace')
    _, _, beside = screen.partition('Agents without a model, and the models, on made_notes-agent-fc:')
    rows = [line.split() for line in beside.splitlines()[1:6]]
    assert rows == [
        ['agent', 'solved', 'restraint'],
        ['does', 'nothing', '0.00', '50.00'],
        ['asks', 'back', '0.00', '100.00'],
        ['oracle', '100.00', '100.00'],
        ['Second', '100.00', '100.00'],
    ]
    assert '100.00†' in screen and '† by a model that made the set' in screen
    _, _, others = screen.partition('Without models that made a data set:')
    assert others.split()[:3] == ['benchmark', 'metric', 'oracle'] and 'Second' not in others.partition('Agents')[0]
    (without,) = tmp_path.glob('out/*/summary/summary_*_without_makers.csv')
    header, *rows = (line.split(',') for line in without.read_text(encoding='utf-8').splitlines())
    assert header[4:] == ['oracle'] and ['solved', 'gen', '100.00'] in [row[2:] for row in rows]
    board, _, rest = pages['made.html'].partition('id="board-tooleval-made_notes-agent-fc-without-makers"')
    assert board.count('>made a data set<') == 1 and '<th scope="row">Second' in board
    table = rest.partition('</table>')[0]
    assert '<th scope="row">oracle' in table and 'Second' not in table
    assert 'Without models that made a data set: oracle 100.00.' in ' '.join(pages['index.html'].split())
    assert pages['index.html'].count('>made a data set<') == 1
    # What is solved, by kind of task.
    assert 'Solved by kind of task' in pages['made.html']
    assert 'Agents without a model, and the models: Own tools notes' in pages['made.html']
    (figure,) = tmp_path.glob('out/*/report/files/kinds-*.csv')
    head, *lines = (line.split(',') for line in figure.read_text(encoding='utf-8').splitlines())
    assert sorted(head[1:]) == ['Second', 'oracle'] and len(lines) == len(KINDS)
    assert ['ordinary (3)', '100.00', '100.00'] in lines and ['no tool needed (1)', '100.00', '100.00'] in lines


def test_a_server_that_changes_the_fixture_fails_the_run(tmp_path: Path) -> None:
    fixture = tmp_path / 'notes' / 'fixture' / 'notes.txt'
    made = notes_set(tmp_path / 'notes', server=f'{NOTES} {fixture}')  # its path is built in
    config = CONFIG.replace('FOLDER', repr(str(made.folder))).replace('ENVIRONMENT', repr(made.environment_here))
    (tmp_path / 'mine.py').write_text(config.replace("['oracle', 'Second']", "['oracle']"), encoding='utf-8')
    printed = tmp_path / 'printed.txt'
    arguments = ('mine.py', '-w', 'out', '--debug', '-m', 'infer')
    run = start_opencompass(*arguments, cwd=tmp_path, env=dict(os.environ), output=printed)
    assert run.wait(PATIENCE) != 0
    assert f'THE FIXTURE {fixture.parent} WAS CHANGED DURING THE RUN: notes.txt' in printed.read_text(encoding='utf-8')
    assert not [*tmp_path.glob('out/*/predictions/*/tooleval-made_notes-agent-fc.json')]


def test_a_set_of_version_1_counts_all_tasks_as_solved_and_keeps_its_version(tmp_path: Path) -> None:
    made = notes_set(tmp_path / 'notes')
    of_results = [replace(task, task=replace(task.task, goal=replace(task.goal, form='none'))) for task in made.tasks]
    newer = replace(made, tasks=tuple(of_results), scripted={'does nothing': ['t2'], 'asks back': ['t2', 't3']})
    for one, solved, version in ((replace(made, version=1), 87.5, 1), (newer, 100.0, 2)):
        one.write()
        rows = ToolEvalMadeDataset.load(str(made.folder))
        begin = AgentDialogues(**made.environment_here)
        predictions = [
            Trajectory('x', (), 'Nothing.', path=()).to_json()
            if json.loads(row['record'])['goal']['kind'] in RESTRAINT and one is not newer
            else DialogueRunner(OracleModel(), None, 100).run({'a': begin(row)})['a'].value
            for row in rows
        ]
        evaluator = ToolEvalMadeEvaluator(str(made.folder))
        columns = {'references': rows['record'], 'record_id': rows['record_id'], 'infra': [None] * len(rows)}
        result = evaluator.evaluate(1, 1, rows, predictions=predictions, **columns)
        assert result['provenance']['version'] == version
        assert result['solved'] == solved  # of the two that need no tool, any answer solves one
    assert result['breakdown']['scripted'] == {
        'does nothing': {'solved': 0.0, 'restraint': 50.0},
        'asks back': {'solved': 0.0, 'restraint': 100.0},
    }


def test_an_agent_that_does_something_else_is_told_why(tmp_path: Path) -> None:
    made = notes_set(tmp_path / 'notes')
    goal = replace(made.tasks[0].goal, effects={'file notes.txt': 'other'})
    other = replace(made, tasks=(made.tasks[0].with_goal(goal),))
    other.write()
    _, result = evaluated(other)
    assert (result['solved'], result['all_calls_right'], result['reasons']) == (0.0, 100.0, {'goal:effects': 1})
    assert result['details'][0]['goal']['wrong_effects'] == ['file notes.txt']


def test_a_set_that_cannot_be_scored_is_refused(tmp_path: Path) -> None:
    made = notes_set(tmp_path / 'notes')
    with pytest.raises(DataError, match='not found'):
        ToolEvalMadeDataset.load(str(tmp_path / 'none'))
    wrong = made.tasks[7].with_goal(replace(made.tasks[7].goal, order=((0, 1), (1, 0))))
    replace(made, tasks=(wrong,)).write()
    with pytest.raises(DataError, match='circle'):
        ToolEvalMadeDataset.load(str(made.folder))
    replace(made, tasks=()).write()
    with pytest.raises(DataError, match='no task'):
        _ = ToolEvalMadeEvaluator(str(made.folder)).metrics
    assert load_set(made.folder).tasks == ()


def test_a_maker_is_known_by_its_name() -> None:
    models = {'query': 'Qwen/Qwen2.5-7B-Instruct', 'second': 'gpt-x'}
    assert made_by(models, 'qwen2.5-7b-instruct') and made_by(models, 'GPT-X')
    assert not made_by(models, 'qwen2.5-7b')


def test_names_for_people() -> None:
    assert family_of('tooleval-made_notes-agent-fc') == family_of('tooleval-made-notes-fc') == 'made'
    assert title_of('tooleval-made-notes-fc') == 'Own tools notes function calling'
