"""Gold calls replayed: a model that makes them has 100 on every task, and twice the same to the byte."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.loops import make_loop
from opencompass_tooleval.agents.scoring.breakdown import breakdown
from opencompass_tooleval.agents.scoring.scoring import METRICS, WASTE, AgentScore, score_predictions, score_trajectory
from opencompass_tooleval.agents.tasks.records import find_subset, load_data
from opencompass_tooleval.agents.tasks.task import Task, example_arguments
from opencompass_tooleval.agents.tasks.tools import find_tools
from opencompass_tooleval.core.calls.answer import as_answer
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.environments.bank import Bank, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.recordings import find_sources, read_sources
from tests.agents.support import oracle, talk
from tests.instructions.shared_data import DATA, DEMO, real

TEVAL = 'teval/EN/plan_json_v1.json'
GOOD = [metric for metric in METRICS if metric not in WASTE]
FULL = dict.fromkeys(GOOD, 100.0)


@pytest.fixture(scope='module')
def tasks() -> Sequence[Task]:
    """T-Eval's queries."""
    return load_data(real(TEVAL), 'teval').tasks


def carried_out(loop: str, tasks: Sequence[Task], folder: Path) -> list[str]:
    """The oracle's trajectories as text, with a bank that is built anew."""
    folder.mkdir()
    write_bank(read_sources(find_sources([DATA / 'teval' / 'EN' / 'review_str_v1.json'])), folder / 'bank')
    tools = find_tools('teval')
    with Bank(folder / 'bank') as bank:
        environment = Environment(bank, tools.stateful_tools, tools.errors)
        made = make_loop(loop)
        run = partial(talk, made, oracle)
        return [run(task, environment.begin(task.id, task.schemas))[0].to_json() for task in tasks]


def check(loop: str, tasks: Sequence[Task], folder: Path) -> Sequence[AgentScore]:
    """The oracle has 100 in everything, and does the same again."""
    done = carried_out(loop, tasks, folder / 'first')
    scores = score_predictions(tasks, list(map(as_answer, done)))
    total = aggregate(scores, METRICS)
    assert {metric: total.metrics[metric] for metric in GOOD} == FULL
    assert total.reasons == {'ok': len(tasks)} and total.metrics['unknown_tool_rate'] == 0
    calls = [
        [(call.name, call.arguments) for call in score.trajectory.path_calls] for score in scores if score.trajectory
    ]
    assert calls == [[(call.name, call.arguments) for call in task.gold or ()] for task in tasks]
    again = carried_out(loop, tasks, folder / 'second')
    assert again == done
    details = [
        [json.dumps(score.to_detail()) for score in score_predictions(tasks, list(map(as_answer, predictions)))]
        for predictions in (done, again)
    ]
    assert details[0] == details[1]
    return scores


@pytest.mark.long
def test_function_calling_on_all_queries(tasks: Sequence[Task], tmp_path: Path) -> None:
    assert (len(tasks), sum(len(task.gold or ()) for task in tasks)) == (553, 2660)
    scores = check('function_calling', tasks, tmp_path)
    # Recorded errors are those that T-Eval's own review labels as such; the words of 12 of the 164 say it too.
    assert breakdown(scores)['errors'] == {
        'unanswered': 1035, 'unable': 79, 'internal': 33, 'input': 27, 'irrelevant': 22, 'wrong_arguments': 5,
    }  # fmt: skip
    assert aggregate(scores, METRICS).metrics['repeated_after_error_rate'] == pytest.approx(0.26097, abs=1e-5)


def test_react_on_a_sample(tasks: Sequence[Task], tmp_path: Path) -> None:
    pytest.importorskip('lagent')
    check('react', tasks[::40], tmp_path)


@pytest.mark.long
def test_react_on_all_queries(tasks: Sequence[Task], tmp_path: Path) -> None:
    pytest.importorskip('lagent')
    check('react', tasks, tmp_path)


def reasons_of(subset: str, loop: str, invalid: float = 0, **options: str) -> dict[str, int]:
    """How the oracle fares on all tasks of a subset, where nothing was recorded; it makes the calls in any case."""
    row = find_subset(subset)
    tasks = load_data(real(f'{Path(row.folder).name}/{row.file}'), subset).tasks
    environment, made = Environment(), make_loop(loop, **options)
    done = [talk(made, oracle, task, environment.begin(task.id, task.schemas))[0].to_json() for task in tasks]
    total = aggregate(score_predictions(tasks, list(map(as_answer, done))), row.metrics)
    good = {metric for metric in row.metrics if metric in GOOD} - {'finish_rate'}
    assert len(tasks) == row.tasks and {total.metrics[metric] for metric in good} == {100}
    assert (total.metrics['unknown_tool_rate'], total.metrics['invalid_call_rate']) == (0, pytest.approx(invalid))
    return total.reasons


@pytest.mark.parametrize('subset', [pytest.param('ultratool_zh', marks=pytest.mark.long), 'ultratool_en'])
def test_ultratool(subset: str) -> None:
    assert reasons_of(subset, 'function_calling') == {'ok': 1000}


@pytest.mark.parametrize(
    ('subset', 'tasks', 'too_many'), [('toolbench_g1', 163, 2), ('toolbench_g2', 124, 1), ('toolbench_g3', 61, 0)]
)
def test_toolbench(subset: str, tasks: int, too_many: int) -> None:
    """ToolBench's own loops end at a depth of 12: room for five calls of tools and the end.

    They call the first function that ends in a name: in G1's queries 31117 and 61654 another one, which refuses the
    arguments of one call of two.
    """
    assert reasons_of(subset, 'function_calling', stop_on='tool') == {'ok': tasks}
    refused = 2 if subset == 'toolbench_g1' else 0
    reasons = {'ok': tasks - too_many - refused, 'limit:steps': too_many, 'calls:refused': refused}
    expected, invalid = +Counter(reasons), 50 * refused / tasks
    assert reasons_of(subset, 'toolbench_react', invalid) == reasons_of(subset, 'dfsdt', invalid) == expected


def made_of(calls: Sequence[tuple[str, object]]) -> Trajectory:
    """A trajectory of such calls, a step each."""
    steps = [
        Step('', (AnsweredCall(*name_and_arguments, 'fine', 'exact'),), place - 1)
        for place, name_and_arguments in enumerate(calls)
    ]
    return Trajectory('react', tuple(steps), 'Done.', path=tuple(range(len(steps))))


@pytest.fixture(scope='module')
def sampled() -> Sequence[Task]:
    """T-Eval's queries, or the demo's where those are not at hand."""
    file = DATA / TEVAL
    return load_data(file if file.exists() else DEMO / 'agents' / TEVAL, 'teval').tasks[::4]


def test_a_dropped_call_costs_its_share_of_recall(sampled: Sequence[Task]) -> None:
    drawn = Random(1)
    for task in sampled:
        calls = [(call.name, call.arguments) for call in task.gold or ()]
        size = len(calls)
        del calls[drawn.randrange(size)]
        values = score_trajectory(task, made_of(calls)).values
        expected = 1 - 1 / size
        assert values['call_recall'] == values['call_order'] == pytest.approx(expected), task.id
        assert values['all_calls_right'] == 0
        assert (values['call_precision'], values['arguments']) == ((1, 1) if calls else (0, 0))


def test_a_call_more_costs_precision_only(sampled: Sequence[Task]) -> None:
    drawn = Random(2)
    for task in sampled:
        calls = [(call.name, call.arguments) for call in task.gold or ()]
        size = len(calls)
        calls.insert(drawn.randrange(size + 1), ('Nowhere.go', {}))
        values = score_trajectory(task, made_of(calls)).values
        assert values['call_precision'] == pytest.approx(size / (size + 1))
        assert values['call_recall'] == values['call_order'] == values['arguments'] == 1


def test_permuted_calls_cost_order_only(sampled: Sequence[Task]) -> None:
    drawn = Random(3)
    moved = 0
    for task in sampled:
        gold = [(call.name, call.arguments) for call in task.gold or ()]
        calls = drawn.sample(gold, len(gold))
        values = score_trajectory(task, made_of(calls)).values
        assert values['call_recall'] == values['call_precision'] == values['call_f1'] == values['arguments'] == 1
        assert (values['call_order'] == 1) == (values['all_calls_right'] == 1) == (calls == gold), task.id
        moved += calls != gold
    assert moved > len(sampled) // 2


def test_other_arguments_cost_arguments_only(sampled: Sequence[Task]) -> None:
    drawn = Random(4)
    for task in sampled:
        calls = [(call.name, call.arguments) for call in task.gold or ()]
        place = drawn.randrange(len(calls))
        calls[place] = calls[place][0], {'another': 'argument'}
        values = score_trajectory(task, made_of(calls)).values
        assert values['arguments'] == pytest.approx(1 - 1 / len(calls))
        assert values['call_recall'] == values['call_precision'] == values['call_order'] == 1, task.id


@pytest.mark.parametrize(
    ('schema', 'arguments'),
    [
        ({}, {}),
        ({'properties': {'a': {'type': 'integer'}, 'b': {}}, 'required': ['a']}, {'a': 1}),
        (
            {'properties': {'a': {'type': ['number', 'null']}, 'b': {'example_value': 7}}, 'required': ['a', 'b']},
            {'a': 1, 'b': 7},
        ),
        ({'properties': {'a': True, 'b': {'type': []}}, 'required': ['a', 'b', 'c']}, dict.fromkeys('abc', 'text')),
        ({'properties': None, 'required': None}, {}),
    ],
)
def test_example_arguments_of_any_schema(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert example_arguments(schema) == arguments
