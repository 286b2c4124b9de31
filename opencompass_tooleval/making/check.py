"""``tooleval make check``: runs the gold, agents that must fail, and models over a made set, and measures its gates."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from opencompass_tooleval.agents.adapter import AgentDialogues
from opencompass_tooleval.agents.goal_check import check_goal, holds_fact, plain_text
from opencompass_tooleval.agents.loops import Loop
from opencompass_tooleval.agents.scoring import ALL_RIGHT
from opencompass_tooleval.agents.steps import MAX_TEXT, Chain, answered_call
from opencompass_tooleval.agents.task import Task, example_arguments
from opencompass_tooleval.agents.trajectory import Trajectory
from opencompass_tooleval.core.answer import Answer, visible_text
from opencompass_tooleval.core.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.intervals import Pairs, intervals_of
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.core.paired import FEWEST
from opencompass_tooleval.core.similarity import Similarity
from opencompass_tooleval.environments.environment import Session
from opencompass_tooleval.environments.observation import ERROR, INJECTED
from opencompass_tooleval.judging.judge import settings_hash
from opencompass_tooleval.making import gates
from opencompass_tooleval.making.gates import Gate, measured, not_run, share
from opencompass_tooleval.making.made_set import MadeSet
from opencompass_tooleval.making.made_task import MadeTask
from opencompass_tooleval.making.scoring import score_made
from opencompass_tooleval.models.auxiliary_model import AuxiliaryModel
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.work_dir.journal import Journal

JOURNAL_FOLDER = 'check_journal'
_SAYS = 'I have done it.'
_BATCH = 16
_DEFAULT_OUT_LEN = 4_096
UNANSWERED = 'no answer'
"""Begins the reason of a gate whose model did not answer."""


class _WithoutOptions:
    @property
    def settings(self) -> dict[str, Any]:
        return {}


class _Says(_WithoutOptions):
    """An agent that calls nothing."""

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        yield from ()
        chain = Chain('says', self.settings)
        chain.add(Answer(_SAYS))
        return chain.end(_SAYS)


class _CallsEverything(_WithoutOptions):
    """An agent that calls each tool once, with example arguments, and tells all that it was told."""

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        yield from ()
        chain, told = Chain('calls_everything', self.settings), [_SAYS]
        chain.add(Answer(''))
        for tool in task.tools:
            arguments = example_arguments(tool.parameters)
            observation = session.call(tool.name, arguments)
            chain.add_call(answered_call(tool.name, arguments, observation, MAX_TEXT))
            told.append(observation.text)
        return chain.end('\n'.join(told))


class _Asks(_WithoutOptions):
    """An agent that is offered no tools."""

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        chain = Chain('without_tools', self.settings)
        answer = yield ModelRequest((Message('user', task.query),), task.gold_answer)
        chain.add(answer)
        return chain.end(visible_text(answer).text)


@dataclass(frozen=True)
class Models:
    """The models that try a set.

    Attributes:
        strong: Config of the strong model; None for none.
        weak: Config of the weak model; None for none.
        trials: Runs of each.
    """

    strong: Mapping[str, Any] | None = None
    weak: Mapping[str, Any] | None = None
    trials: int = 4


def check_set(made: MadeSet, models: Models, similarity: Similarity) -> list[Gate]:
    """Measures all gates of a set. The answers of models are journaled until every gate has its answers.

    Args:
        made: The set.
        models: The models; gates that need one that is not there do not run.
        similarity: Of queries.

    Raises:
        ServerError: The server cannot be started.
    """
    solvers = [name for role, name in made.models.items() if role in ('solution', 'second')]
    environment = {name: value for name, value in made.environment_here.items() if name != 'simulator'}
    begin = AgentDialogues(**environment)
    try:
        found = [*gates.task_gates(made.tasks, similarity, solvers), _gold(made.tasks, begin), *_scripted(made, begin)]
    finally:
        begin.close()
    return [*found, *_models(made, models)]


def _gold(tasks: Sequence[MadeTask], begin: AgentDialogues) -> Gate:
    runs = []
    for _ in range(2):
        runner = DialogueRunner(OracleModel(), None, 1, batch_size=_BATCH)
        runs.append(runner.run({made.task.id: begin.carry_out(made.task) for made in tasks}))
    faults = {}
    for made in tasks:
        first, second = (run[made.task.id].value for run in runs)
        assert first is not None and second is not None
        if fault := _gold_fault(made, first) or _gold_fault(made, second) or _flip(first, second):
            faults[made.task.id] = fault
    ids = [made.task.id for made in tasks]
    return share(gates.REPRODUCED, ids, set(ids) - set(faults), faults)


def _gold_fault(made: MadeTask, done: Trajectory) -> str:
    score = score_made(made.task, done)
    if not score.result.is_solved or score.values[ALL_RIGHT] != 1:
        return f'the gold calls score {score.reason}'
    failed = [call for call in done.calls if call.source == ERROR or (call.error or INJECTED) != INJECTED]
    if failed:
        return f'{failed[0].name} answers {failed[0].observation[:100]!r}'
    observed = plain_text('\n'.join(call.observation for call in done.calls))
    missing = [fact for fact in made.goal.facts if not holds_fact(observed, fact)]
    return f'no call returns {", ".join(missing)}' if missing else ''


def _flip(first: Trajectory, second: Trajectory) -> str:
    told, again = ([(call.name, call.observation) for call in run.calls] for run in (first, second))
    return next(
        (
            f'flips: {one[0]} answers differently'
            for one, other in zip_longest(told, again, fillvalue=('the loop', ''))
            if one != other
        ),
        '',
    )


def _needing_tools(tasks: Sequence[MadeTask]) -> list[MadeTask]:
    return [made for made in tasks if made.goal.calls]


def _scripted(made: MadeSet, begin: AgentDialogues) -> Iterator[Gate]:
    for name, loop in ((gates.EMPTY_AGENT, _Says()), (gates.CALLS_EVERYTHING, _CallsEverything())):
        done = ((one, _end(begin.carry_out(one.task, loop))) for one in _needing_tools(made.tasks))
        yield _must_fail(name, made, [one for one, trajectory in done if _solves(one, trajectory)])


def _end(dialogue: Dialogue[Trajectory]) -> Trajectory:
    try:
        next(dialogue)
    except StopIteration as end:
        trajectory: Trajectory = end.value
        return trajectory
    raise AssertionError('a scripted agent asks no model')


def _solves(made: MadeTask, trajectory: Trajectory) -> bool:
    return check_goal(made.goal, trajectory).is_solved


def _must_fail(name: str, made: MadeSet, solved: Sequence[MadeTask]) -> Gate:
    ids = [one.task.id for one in _needing_tools(made.tasks)]
    gate = share(name, ids, [one.task.id for one in solved], {one.task.id: 'solved' for one in solved})
    left = len(made.tasks) - len(ids)
    shown = f'{gate.shown} solved; {left} that need no tool are left out' if left else f'{gate.shown} solved'
    return gate if gate.value is None else replace(gate, shown=shown)


@dataclass(frozen=True)
class Tried:
    """Scores of a model's runs.

    Attributes:
        solved: Task -> whether each run solved it; None if that is not known.
        why: Why it is not known.
    """

    solved: Mapping[str, Sequence[bool]] | None
    why: str = ''


def _models(made: MadeSet, models: Models) -> list[Gate]:
    begin, needing = AgentDialogues(**made.environment_here), _needing_tools(made.tasks)
    try:
        alone = _try(made, begin, needing, '--model', models.strong, 1, _Asks())
        strong = _try(made, begin, made.tasks, '--model', models.strong, models.trials)
        weak = _try(made, begin, made.tasks, '--weak', models.weak, models.trials)
    finally:
        begin.close()
    if not any(tried.why.startswith(UNANSWERED) for tried in (alone, strong, weak)):
        shutil.rmtree(made.folder / JOURNAL_FOLDER, ignore_errors=True)
    if alone.solved is None:
        without = not_run(gates.WITHOUT_TOOLS, alone.why)
    else:
        without = _must_fail(gates.WITHOUT_TOOLS, made, [one for one in needing if any(alone.solved[one.task.id])])
    return [without, *model_gates(strong, weak)]


def _try(
    made: MadeSet,
    begin: AgentDialogues,
    tasks: Sequence[MadeTask],
    option: str,
    cfg: Mapping[str, Any] | None,
    trials: int,
    loop: Loop | None = None,
) -> Tried:
    if cfg is None:
        return Tried(None, f'it needs a model: {option} CONFIG')
    what = 'without tools' if loop else 'with tools'
    journal = made.folder / JOURNAL_FOLDER / f'{what.replace(" ", "_")}-{settings_hash(cfg)}.jsonl'
    journal.parent.mkdir(exist_ok=True)
    runner = DialogueRunner(
        AuxiliaryModel(cfg).model,
        Journal(journal),
        int(cfg.get('max_out_len') or _DEFAULT_OUT_LEN),
        int(cfg.get('batch_size') or _BATCH),
        f'made_{made.name}',
        description=f'{model_name(cfg)} {what}',
        others={name: AuxiliaryModel(other) for name, other in begin.models.items()},
    )
    runs = [(one, f'{one.task.id}#{trial}') for one in tasks for trial in range(trials)]
    outcomes = runner.run({key: begin.carry_out(one.task, loop) for one, key in runs})
    failed = [outcome.infra for outcome in outcomes.values() if outcome.value is None]
    if failed:
        return Tried(None, f'{UNANSWERED} of {len(failed)} of {len(runs)} runs ({failed[0]}): run the command again')
    solved: dict[str, list[bool]] = {}
    for one, key in runs:
        done = outcomes[key].value
        assert done is not None
        solved.setdefault(one.task.id, []).append(_solves(one, done))
    return Tried(solved)


def model_gates(strong: Tried, weak: Tried) -> list[Gate]:
    """Measures what two models' runs say of a set.

    Args:
        strong: Of the strong model.
        weak: Of the weak model, on the same tasks.
    """
    found = []
    for name, tried, is_fault in (
        (gates.SOLVABLE, strong, lambda runs: not any(runs)),
        (gates.NOT_TRIVIAL, weak, all),
    ):
        if tried.solved is None:
            found.append(not_run(name, tried.why))
            continue
        faults = {
            task: f'solved by {sum(runs)} of {len(runs)} runs' for task, runs in tried.solved.items() if is_fault(runs)
        }
        found.append(share(name, list(tried.solved), set(tried.solved) - set(faults), faults))
    if strong.solved is None or weak.solved is None:
        return [*found, not_run(gates.TELLS_APART, strong.why or weak.why)]
    if len(strong.solved) < FEWEST:
        return [*found, not_run(gates.TELLS_APART, f'an interval needs {FEWEST} tasks')]
    rates = [
        tuple(100 * sum(side[task]) / len(side[task]) for task in strong.solved)
        for side in (weak.solved, strong.solved)
    ]
    ones = (1.0,) * len(strong.solved)
    score = ('made', gates.TELLS_APART)
    interval = intervals_of({score: Pairs(tuple(strong.solved), rates[0], rates[1], ones, ones)})[score]
    shown = f'{interval.delta:+.1f} points [{interval.low:+.1f}, {interval.high:+.1f}] of solved'
    return [*found, measured(gates.TELLS_APART, interval.low, shown)]
