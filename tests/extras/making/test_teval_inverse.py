"""The inverse on real data: tasks made of T-Eval's published plans and reviewed calls give the published files back."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.tasks.goal import RECOVERY, Goal
from opencompass_tooleval.agents.tasks.records import load_data
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.benchmarks.teval.records import load_samples
from opencompass_tooleval.core.text.reading import parse_literal
from opencompass_tooleval.environments.recordings_teval import ERROR_OF_CHOICE
from opencompass_tooleval.extras.making.made_task import MadeTask, Solution, SolvedCall, parse_made_task
from opencompass_tooleval.extras.making.teval_files import write_teval
from tests.instructions.shared_data import real

PLANS = ('plan_json', 'plan_str')
CASE = re.compile(r'Goal: (.*)\nName: (.*)\nArgs: (.*)\nResponse: (.*)', re.DOTALL)


def published(subset: str) -> dict[str, Any]:
    """Id -> row of a published file."""
    content = json.loads(real(f'teval/EN/{subset}_v1.json').read_text(encoding='utf-8'))
    assert isinstance(content, dict)
    return content


def written(tasks: list[MadeTask], folder: Path) -> dict[str, dict[str, Any]]:
    """Subset -> id -> row, of tasks that went through their file first."""
    tasks = [parse_made_task(json.loads(json.dumps(task.to_row()))) for task in tasks]
    write_teval(tasks, folder)
    files = (folder / 'teval' / 'EN').glob('*_v2.json')
    return {file.stem.removesuffix('_v2'): json.loads(file.read_text(encoding='utf-8')) for file in files}


def order_of(row: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """The order that a published plan states: pairs of places of calls."""
    steps = [step for step in row['ground_truth'] if step['name'] != 'FinishAction']
    return tuple((before, step['id']) for step in steps for before in step['prev'])


@pytest.fixture(scope='module')
def tasks() -> list[Task]:
    """The queries, their tools and the gold calls, as the package reads them for agents."""
    return list(load_data(real('teval/EN/plan_json_v1.json'), 'teval').tasks)


def made_of(task: Task, order: tuple[tuple[int, int], ...]) -> MadeTask:
    return MadeTask(task).with_goal(
        Goal(calls=tuple((call,) for call in task.gold or ()), order=order, answer='Done.', is_single_path=True)
    )


def without_prev(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in step.items() if key != 'prev'} for step in row['ground_truth']]


def test_plans(tasks: list[Task], tmp_path: Path) -> None:
    rows = published('plan_json')
    ours = written([made_of(task, order_of(rows[task.id])) for task in tasks], tmp_path)
    assert set(ours) == {*PLANS, 'instruct'}  # without solutions there are no thoughts and no observations
    for subset in PLANS:
        theirs = published(subset)
        assert list(ours[subset]) == list(theirs) and len(theirs) == 553
        equal: Counter[str] = Counter()
        for name, row in theirs.items():
            mine = ours[subset][name]
            # As text: keys in the same order, numbers written alike.
            equal['messages'] += json.dumps(mine['origin_prompt']) == json.dumps(row['origin_prompt'])
            equal['meta'] += json.dumps(mine['meta']) == json.dumps(row['meta'])
            equal['steps'] += json.dumps(without_prev(mine)) == json.dumps(without_prev(row))
            equal['prev of calls'] += mine['ground_truth'][:-1] == row['ground_truth'][:-1]
            equal['all'] += json.dumps(mine) == json.dumps(row)
            # The only difference: of some plans with branches the authors let the finish build on several calls, and
            # of others only on the last. Which of them is in nothing that a task knows, and no scorer reads it.
            if mine != row:
                finish = row['ground_truth'][-1]
                assert len(finish['prev']) > 1 and mine['ground_truth'][-1] == {**finish, 'prev': [finish['id'] - 1]}
        assert equal == {'messages': 553, 'meta': 553, 'steps': 553, 'prev of calls': 553, 'all': 540}


def test_plans_of_unknown_order(tasks: list[Task], tmp_path: Path) -> None:
    """Without the order, each call builds on the call before it: so do 343 of the published plans."""
    ours = written([made_of(task, ()) for task in tasks], tmp_path)
    for subset in PLANS:
        theirs = published(subset)
        assert sum(ours[subset][name] == row for name, row in theirs.items()) == 343
        assert all(without_prev(ours[subset][name]) == without_prev(row) for name, row in theirs.items())


def test_scored_alike(tasks: list[Task], tmp_path: Path) -> None:
    """What the benchmark reads of our files is what it reads of the published ones."""
    write_teval([made_of(task, ()) for task in tasks], tmp_path)
    for subset in PLANS:
        ours = load_samples(tmp_path / 'teval' / 'EN' / f'{subset}_v2.json', subset)
        theirs = load_samples(real(f'teval/EN/{subset}_v1.json'), subset)
        assert [(one.record, one.messages) for one in ours] == [(one.record, one.messages) for one in theirs]


def test_instruct_has_a_row_in_each_format_for_each_gold_call(tasks: list[Task], tmp_path: Path) -> None:
    """As many calls as the published file has records (2,660); its prompts are not at hand to compare with."""
    rows = written([made_of(task, ()) for task in tasks], tmp_path)['instruct']
    formats = Counter(row['meta_data']['response_format'] for row in rows.values())
    assert formats == {'json': 2660, 'string': 2660}


def reviewed_task(name: str, row: Mapping[str, Any], task: Task) -> MadeTask:
    """A task whose solution made the reviewed call, with the error that its recording states."""
    case = CASE.fullmatch(row['origin_prompt'][1]['content'])
    assert case is not None
    goal, tool, args, response = case.groups()
    error = ERROR_OF_CHOICE[row['ground_truth']['answer']]
    arguments = parse_literal(args).value
    call = SolvedCall(tool, arguments, response, goal, 'exact', error)
    gold = () if error else ((replace((task.gold or ())[0], name=tool, arguments=arguments, repaired=None),),)
    made = MadeTask(replace(task, id=name), (Solution('m', (call,), 'Done.'),))
    return made.with_goal(Goal(kind=RECOVERY, calls=gold, answer='Done.'))


def test_review(tasks: list[Task], tmp_path: Path) -> None:
    """Prompts and choices come out equal where goal and outcome are known; the reviewer's own words cannot."""
    theirs = published('review_str')
    ours = written([reviewed_task(name, row, tasks[0]) for name, row in theirs.items()], tmp_path)
    assert set(ours) == {'review_str'}
    rows = {name.removesuffix('_1'): row for name, row in ours['review_str'].items()}
    assert list(rows) == list(theirs) and len(theirs) == 487
    equal: Counter[str] = Counter()
    for name, row in theirs.items():
        equal['messages'] += rows[name]['origin_prompt'] == row['origin_prompt']
        equal[row['ground_truth']['answer']] += rows[name]['ground_truth']['answer'] == row['ground_truth']['answer']
        equal['thought'] += rows[name]['ground_truth']['thought'] == row['ground_truth']['thought']
    assert equal == {'messages': 487, 'A': 207, 'B': 37, 'C': 86, 'D': 25, 'E': 132, 'thought': 0}


def test_an_outcome_that_nobody_states_is_not_reviewed(tasks: list[Task], tmp_path: Path) -> None:
    """The words of a response alone make no row, though they often say what went wrong."""
    row = next(row for row in published('review_str').values() if row['ground_truth']['answer'] == 'E')
    made = reviewed_task('x', row, tasks[0])
    for error in ('not_found', 'tool_error', 'server', 'empty'):
        (solution,) = made.solutions
        call = replace(solution.calls[0], error=error)
        unknown = replace(made, solutions=(replace(solution, calls=(call,)),))
        assert written([unknown], tmp_path) == {}
