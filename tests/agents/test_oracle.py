"""Gold calls replayed: a model that makes them has 100 on every task, and twice the same to the byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from opencompass_tooleval.agents.loops.loops import make_loop
from opencompass_tooleval.agents.scoring.breakdown import breakdown
from opencompass_tooleval.agents.scoring.scoring import METRICS, WASTE, AgentScore, score_predictions
from opencompass_tooleval.agents.tasks.open_bank import find_tools
from opencompass_tooleval.agents.tasks.records import find_subset
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import as_answer
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.environments.bank import Bank, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.recordings import find_sources, read_sources
from tests.agents.support import oracle, published, talk
from tests.instructions.shared_data import DATA

GOOD = [metric for metric in METRICS if metric not in WASTE]
FULL = dict.fromkeys(GOOD, 100.0)


@pytest.fixture(scope='module')
def tasks() -> Sequence[Task]:
    return published('teval').tasks


def carried_out(loop: str, tasks: Sequence[Task], folder: Path) -> list[str]:
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
    done_calls = (score.trajectory.path_calls for score in scores if score.trajectory)
    calls = [[(call.name, call.arguments) for call in path] for path in done_calls]
    assert calls == [[(call.name, call.arguments) for call in task.gold or ()] for task in tasks]
    assert carried_out(loop, tasks, folder / 'second') == done
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


def reasons_of(subset: str, loop: str, invalid: float = 0, every: int = 1, **options: str) -> dict[str, int]:
    """How the oracle fares on all tasks of a subset, where nothing was recorded; it makes the calls in any case."""
    row, tasks = find_subset(subset), published(subset).tasks
    assert len(tasks) == row.tasks
    tasks = tasks[::every]
    environment, made = Environment(), make_loop(loop, **options)
    done = [talk(made, oracle, task, environment.begin(task.id, task.schemas))[0].to_json() for task in tasks]
    total = aggregate(score_predictions(tasks, list(map(as_answer, done))), row.metrics)
    good = {metric for metric in row.metrics if metric in GOOD} - {'finish_rate'}
    assert {total.metrics[metric] for metric in good} == {100}
    assert (total.metrics['unknown_tool_rate'], total.metrics['invalid_call_rate']) == (0, pytest.approx(invalid))
    return total.reasons


@pytest.mark.parametrize(
    ('subset', 'every'), [pytest.param('ultratool_zh', 1, marks=pytest.mark.long), ('ultratool_en', 10)]
)
def test_ultratool(subset: str, every: int) -> None:
    assert reasons_of(subset, 'function_calling', every=every) == {'ok': 1000 // every}


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
