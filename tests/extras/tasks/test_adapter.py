"""Agents on a task set: the oracle has 100 in everything, over a live server and over tools with a state."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.adapter import AgentDialogues
from opencompass_tooleval.agents.scoring.scoring import FINISH_RATE, OF_CALLS
from opencompass_tooleval.agents.tasks.goal import KINDS, Goal
from opencompass_tooleval.agents.tasks.open_bank import open_bank
from opencompass_tooleval.agents.tasks.records import load_data
from opencompass_tooleval.environments.bank import write_bank
from opencompass_tooleval.extras.tasks.adapter import ToolEvalTasksDataset, ToolEvalTasksEvaluator
from opencompass_tooleval.extras.tasks.metrics import NAMES
from opencompass_tooleval.extras.tasks.task_set import TaskSet
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.report.names import family_of, title_of
from tests.extras.mcp_servers.servers import NOTES
from tests.extras.tasks.notes_tasks import START, notes_set, with_goal, write_set
from tests.forked import start_opencompass
from tests.instructions.shared_data import DEMO

PATIENCE = 1500
CONFIG = """
from opencompass.openicl.icl_retriever import ZeroRetriever
from opencompass_tooleval.agents.adapter import AgentDialogues
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer
from opencompass_tooleval.extras.tasks.adapter import ToolEvalTasksDataset, ToolEvalTasksEvaluator
from opencompass_tooleval.models import ToolEvalConversationTemplate
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.summarizers import ToolEvalSummarizer
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [
    dict(
        abbr='tooleval-tasks_notes-agent-fc',
        type=ToolEvalTasksDataset,
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
        eval_cfg=dict(evaluator=dict(type=ToolEvalTasksEvaluator, path=FOLDER)),
    )
]
models = [dict(type=OracleModel, abbr=name, path=name, max_out_len=64, batch_size=8, run_cfg=dict(num_gpus=0))
          for name in ['oracle', 'Second']]
summarizer = dict(type=ToolEvalSummarizer, report=True)
"""
PERFECT = {name: 100.0 if name in ('solved', 'restraint', FINISH_RATE, *OF_CALLS) else 0.0 for name in NAMES}


def evaluated(made: TaskSet) -> tuple[ToolEvalTasksEvaluator, dict[str, Any]]:
    """The result of the oracle on a set."""
    rows = ToolEvalTasksDataset.load(str(made.folder))
    begin = AgentDialogues(**made.trusted_environment())
    outcomes = DialogueRunner(OracleModel(), None, 100, batch_size=8).run(
        {row['record_id']: begin(row) for row in rows}
    )
    evaluator = ToolEvalTasksEvaluator(str(made.folder))
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
    assert (about['benchmark'], about['subset'], about['loop']) == ('tasks', 'notes', 'function_calling')
    assert len(about['data_sha256']) == 64
    assert made.tasks[0].goal and made.tasks[0].goal.effects
    assert (tmp_path / 'notes' / 'fixture' / 'notes.txt').read_text() == START


def test_the_oracle_is_perfect_over_tools_with_a_state(tmp_path: Path) -> None:
    file = DEMO / 'agents' / 'teval' / 'EN' / 'plan_json_v1.json'
    settings = {'loop': 'function_calling', 'bank': 'responses.bank', 'stateful_tools': 'teval'}
    tasks = [
        with_goal(task, Goal(calls=tuple((call,) for call in task.gold or ()), answer='Done.'))
        for task in load_data(file, 'teval').tasks
        if task.id != 'demo_fare'  # nothing answers its gold calls
    ]
    made = write_set(tmp_path / 'teval', settings, tasks, 'teval')
    write_bank(open_bank(str(file.parent)).calls(), made.folder / 'responses.bank')
    _, result = evaluated(made)
    assert {name: result[name] for name in NAMES} == {**PERFECT, 'restraint': None, 'forbidden_call_rate': None}
    assert result['breakdown']['sources']['function'] == 6
    assert len(tasks) == 3


def test_through_opencompass(tmp_path: Path) -> None:
    made = notes_set(tmp_path / 'notes')
    config = CONFIG.replace('FOLDER', repr(str(made.folder))).replace('ENVIRONMENT', repr(made.trusted_environment()))
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
    assert results['oracle']['details'][1]['kind'] == 'ordinary'
    (summary,) = tmp_path.glob('out/*/summary/summary_*[0-9].csv')
    assert 'solved,gen,100.00,100.00' in summary.read_text(encoding='utf-8')
    pages = {page.name: page.read_text(encoding='utf-8') for page in tmp_path.glob('out/*/report/*.html')}
    assert any('Own tools notes function calling' in page for page in pages.values())
    # What is solved, by kind of task.
    assert 'Solved by kind of task' in pages['tasks.html']
    (figure,) = tmp_path.glob('out/*/report/files/kinds-*.csv')
    head, *lines = (line.split(',') for line in figure.read_text(encoding='utf-8').splitlines())
    assert sorted(head[1:]) == ['Second', 'oracle'] and len(lines) == len(KINDS)
    assert ['ordinary (3)', '100.00', '100.00'] in lines and ['no tool needed (1)', '100.00', '100.00'] in lines


def test_a_server_that_changes_the_fixture_fails_the_run(tmp_path: Path) -> None:
    fixture = tmp_path / 'notes' / 'fixture' / 'notes.txt'
    made = notes_set(tmp_path / 'notes', server=f'{NOTES} {fixture}')  # its path is built in
    config = CONFIG.replace('FOLDER', repr(str(made.folder))).replace('ENVIRONMENT', repr(made.trusted_environment()))
    (tmp_path / 'mine.py').write_text(config.replace("['oracle', 'Second']", "['oracle']"), encoding='utf-8')
    printed = tmp_path / 'printed.txt'
    arguments = ('mine.py', '-w', 'out', '--debug', '-m', 'infer')
    run = start_opencompass(*arguments, cwd=tmp_path, env=dict(os.environ), output=printed)
    assert run.wait(PATIENCE) != 0
    assert f'THE FIXTURE {fixture.parent} WAS CHANGED DURING THE RUN: notes.txt' in printed.read_text(encoding='utf-8')
    assert not [*tmp_path.glob('out/*/predictions/*/tooleval-tasks_notes-agent-fc.json')]


def test_an_agent_that_does_something_else_is_told_why(tmp_path: Path) -> None:
    task = notes_set(tmp_path / 'notes').tasks[0]
    assert task.goal is not None
    other = notes_set(tmp_path / 'notes', [with_goal(task, replace(task.goal, effects={'file notes.txt': 'other'}))])
    _, result = evaluated(other)
    assert (result['solved'], result['all_calls_right'], result['reasons']) == (0.0, 100.0, {'goal:effects': 1})
    assert result['details'][0]['goal']['wrong_effects'] == ['file notes.txt']


def test_names_for_people() -> None:
    assert family_of('tooleval-tasks_notes-agent-fc') == family_of('tooleval-tasks-notes-fc') == 'tasks'
    assert title_of('tooleval-tasks-notes-fc') == 'Own tools notes function calling'
