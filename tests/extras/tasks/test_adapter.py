"""Agents on a file of tasks: ``tooleval run``, OpenCompass from beginning to end, and variants with instructions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.extras.tasks.adapter import TaskDialogues, ToolEvalTasksDataset, ToolEvalTasksEvaluator
from opencompass_tooleval.extras.tasks.metrics import NAMES
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.work_dir.trust import UntrustedError
from tests.cli.conftest import Command
from tests.conftest import ModelServer, start_server
from tests.extras.tasks.shop import TASKS, write_shop
from tests.forked import run_tooleval

AGENTS = Path(__file__).with_name('shop_agents.py')
PERFECT = {name: 100.0 if name in ('solved', 'finish_rate') else 0.0 for name in NAMES}


def evaluated(file: Path) -> dict[str, Any]:
    """The result of the oracle on a file."""
    rows = ToolEvalTasksDataset.load(str(file))
    begin = TaskDialogues(str(file))
    runner = DialogueRunner(OracleModel(), None, 100, batch_size=8, threads=begin.threads)
    outcomes = runner.run({row['record_id']: begin(row) for row in rows})
    begin.close()
    evaluator = ToolEvalTasksEvaluator(str(file))
    predictions = [outcomes[row['record_id']].value for row in rows]
    columns = {'references': rows['record'], 'record_id': rows['record_id'], 'infra': [None] * len(rows)}
    return evaluator.evaluate(1, 1, rows, predictions=predictions, **columns)


def test_the_oracle_is_perfect_over_a_live_server(tmp_path: Path) -> None:
    result = evaluated(write_shop(tmp_path / 'corner shop'))
    assert {name: result[name] for name in NAMES} == PERFECT
    assert result['reasons'] == {'ok': 4} and result['breakdown']['sources']['live'] == 4
    about = result['provenance']
    assert (about['benchmark'], about['subset'], about['loop']) == ('tasks', 'corner_shop', 'function_calling')
    assert len(about['data_sha256']) == 64


def test_an_agent_that_does_something_else_is_told_why(tmp_path: Path) -> None:
    wrong = TASKS.replace('where: {id: 42}', 'where: {id: 44}').replace('value: 3}', 'value: 4}')
    result = evaluated(write_shop(tmp_path / 'shop', wrong))
    assert (result['solved'], result['reasons']) == (75.0, {'goal:effects': 1, 'ok': 3})
    (detail,) = [one for one in result['details'] if one['reason'] == 'goal:effects']
    assert 'not removed' in detail['goal']['wrong_effects']['shop.db:orders']


def test_what_somebody_else_made_starts_nothing(tmp_path: Path) -> None:
    file = str(write_shop(tmp_path / 'shop', trusted=False))
    for start in (lambda: ToolEvalTasksDataset.load(file), lambda: TaskDialogues(file)):
        with pytest.raises(UntrustedError):
            start()


@pytest.fixture(scope='module')
def server() -> Iterator[ModelServer]:
    started = start_server('--name', 'clerk', '--script', f'{AGENTS}:answer_of')
    yield started
    started.stop()


@pytest.mark.long
def test_tooleval_run_with_documentation_and_with_instructions(tmp_path: Path, server: ModelServer) -> None:
    file = write_shop(tmp_path / 'new with care.yaml with x' / 'shop', trusted=False)
    words = ('run', file, '--model', 'clerk', '--api-base', server.url, '-w', tmp_path / 'out', '--max-out-len', 500)
    guide = write_instructions(tmp_path / 'guide.json')
    done = run_tooleval(*words, '--trust', '--instructions', guide)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    results = {file.stem: json.loads(file.read_text()) for file in tmp_path.glob('out/*/results/*/*.json')}
    solved = {name: result['solved'] for name, result in results.items()}
    assert solved == {'tooleval-tasks_shop': 100.0, 'tooleval-tasks_shop-easytool': 100.0}
    (table,) = tmp_path.glob('out/*/summary/summary_*_easytool.txt')
    assert 'tasks_shop' in table.read_text() and 'solved' in table.read_text()
    pages = {page.name: page.read_text(encoding='utf-8') for page in tmp_path.glob('out/*/report/*.html')}
    assert 'Own tools shop' in pages['tasks.html']


SOLUTIONS = """
tasks:
  - id: lamp
    request: Ms. Lind orders a lamp for 20.50.
    solution:
      - change: {sql: "INSERT INTO orders(customer, item, price) VALUES (8, 'lamp', 20.50)"}
  - id: note
    request: Write down that the fair is at 5:00.
    solution:
      - add_note: {text: "fair at 5:00"}
"""


@pytest.mark.long
def test_tooleval_run_reads_golds_and_refuses_old_ones_before_any_request(tmp_path: Path, server: ModelServer) -> None:
    file = write_shop(tmp_path / 'shop', SOLUTIONS)
    words = ('run', file, '--model', 'clerk', '--api-base', server.url, '-w', tmp_path / 'out', '--max-out-len', 500)
    done = run_tooleval(*words)
    assert done.returncode == 1 and 'the state that its solution leaves is not known. Fix it with: ' in done.stderr
    assert run_tooleval('tasks', 'check', file).returncode == 0
    done = run_tooleval(*words)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (result,) = (json.loads(file.read_text()) for file in tmp_path.glob('out/*/results/*/*.json'))
    assert (result['solved'], result['reasons']) == (50.0, {'ok': 1, 'goal:effects': 1})
    (tmp_path / 'shop' / 'shop' / 'terms.txt').write_text('other')
    done = run_tooleval(*words, '--trust')
    assert done.returncode == 1 and 'and the fixture changed since. Fix it with: tooleval tasks check' in done.stderr


@pytest.mark.parametrize('options', [('--trust',), ('--instructions', 'guide.json')])
def test_options_of_files_of_tasks_alone(tooleval: Command, options: tuple[str, ...]) -> None:
    done = tooleval('run', 'demo', '--model', 'x', *options)
    assert done.code == 1 and 'is for files of tasks' in done.err


def write_instructions(file: Path) -> Path:
    """EasyTool instructions for the tools of the shop."""
    guide = {'description': 'Carries out one thing.', 'required_parameters': [], 'optional_parameters': []}
    about = {'tool_description': 'A tool of the shop.'}
    names = ('find', 'change', 'add_note', 'write', 'set_open')
    rows = {name: {'tool_name': name, 'tool_guidelines': {name: {'name': name, **guide}}, **about} for name in names}
    file.write_text(json.dumps(rows))
    return file
