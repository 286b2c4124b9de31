"""``tooleval make check``: runs the gold, agents that must fail, and models over a made set, and measures its gates."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from opencompass_tooleval.agents.adapter import AgentDialogues
from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.agents.loops.steps import Chain
from opencompass_tooleval.agents.scoring.goal_check import check_goal
from opencompass_tooleval.agents.tasks.goal import RESTRAINT
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import visible_text
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.core.statistics.intervals import FEWEST, RecordValue, compare_column
from opencompass_tooleval.core.statistics.paired import pair_up
from opencompass_tooleval.environments.environment import Session
from opencompass_tooleval.environments.tally import Tally
from opencompass_tooleval.extras.making import gates
from opencompass_tooleval.extras.making.execution import Executed, execute_gold
from opencompass_tooleval.extras.making.gates import Gate, measured, not_run, share
from opencompass_tooleval.extras.making.made_set import SET_FILE, MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask
from opencompass_tooleval.extras.making.metrics import RESTRAINT_RATE
from opencompass_tooleval.extras.making.scoring import counts_as_solved
from opencompass_tooleval.extras.making.scripted_agents import scripted_scores, solved_by
from opencompass_tooleval.extras.making.tool_table import ToolRow, tool_rows
from opencompass_tooleval.judging.judge import settings_hash
from opencompass_tooleval.models.auxiliary_model import AuxiliaryModel
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.work_dir.journal import Journal

JOURNAL_FOLDER = 'check_journal'
UNANSWERED = 'no answer'
"""Begins the reason of a gate whose model did not answer."""


class _Asks:
    """An agent that is offered no tools."""

    settings: ClassVar[dict[str, Any]] = {}

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


@dataclass(frozen=True)
class Tried:
    """Scores of an agent's runs.

    Attributes:
        solved: Task -> whether each run solved it; None if that is not known.
        why: Why it is not known.
    """

    solved: Mapping[str, Sequence[bool]] | None
    why: str = ''


@dataclass(frozen=True)
class Checked:
    """Result of a check.

    Attributes:
        gates: The gates.
        tools: The tools, with their calls: those by which the set was made, and those of the gold and of models here.
    """

    gates: Sequence[Gate]
    tools: Sequence[ToolRow]


def check_set(made: MadeSet, models: Models, similarity: Similarity) -> Checked:
    """Measures all gates of a set. The answers of models are journaled until every gate has its answers.

    Args:
        made: The set.
        models: The models; gates that need one that is not there do not run.
        similarity: Of queries.

    Raises:
        ServerError: The server cannot be started.
    """
    solvers = [name for role, name in made.models.items() if role in ('solution', 'second')]
    tasks, needing = made.tasks, [one for one in made.tasks if one.goal.kind not in RESTRAINT]
    tally = Tally()
    tally.include(made.settings.get('calls') or {})
    with closing(open_dialogues(made, simulated=False)) as begin:
        faults = execute_gold([one.task for one in tasks], begin.carry_out, begin.threads)
        reasons = {task: str(fault) for task, fault in faults.items()}
        reproduced = share(gates.REPRODUCED, [one.task.id for one in tasks], reasons)
        found = [*gates.task_gates(tasks, similarity, solvers), reproduced]
        with begin.tally.paused():
            found += _scripted(tasks, begin)
        tally.include(begin.tally.to_rows())
    with closing(open_dialogues(made)) as begin:
        others = {name: AuxiliaryModel(cfg) for name, cfg in begin.models.items()}

        def tried(option: str, cfg: Mapping[str, Any] | None, loop: Loop | None = None) -> Tried:
            if cfg is None:
                return Tried(None, f'it needs a model: {option} CONFIG')
            what = 'without_tools' if loop else 'with_tools'
            runner = model_runner(cfg, made, what, made.folder / JOURNAL_FOLDER, others, begin.threads)
            return _try(runner, needing if loop else tasks, begin, loop, 1 if loop else models.trials)

        alone, strong = tried('--model', models.strong, _Asks()), tried('--model', models.strong)
        weak = tried('--weak', models.weak)
        tally.include(begin.tally.to_rows())
    if not any(one.why.startswith(UNANSWERED) for one in (alone, strong, weak)):
        shutil.rmtree(made.folder / JOURNAL_FOLDER, ignore_errors=True)
    found += [_must_fail(gates.WITHOUT_TOOLS, len(tasks), alone), *model_gates(strong, weak, tasks)]
    return Checked(found, _tool_rows(made, tally, faults))


def _tool_rows(made: MadeSet, tally: Tally, faults: Mapping[str, Executed]) -> list[ToolRow]:
    offered = dict.fromkeys(tool.name for one in made.tasks for tool in one.task.tools)
    needed = Counter(name for one in made.tasks for name in {call.name for call in one.task.gold or ()})
    found = {fault.tool: fault.reason for fault in faults.values() if fault.tool}
    return tool_rows(offered, needed, tally, {**(made.settings.get('left_out_tools') or {}), **found})


def _scripted(tasks: Sequence[MadeTask], begin: AgentDialogues) -> Iterator[Gate]:
    """Measures the agents without a model: none may solve a task that needs tools."""
    solved = solved_by(tasks, begin.carry_out, begin.threads)
    for name, agent in gates.SCRIPTED.items():
        reached = {one.task.id: [one.task.id in solved[agent]] for one in tasks if one.goal.kind not in RESTRAINT}
        yield _must_fail(name, len(tasks), Tried(reached))
    shares = {agent: scores[RESTRAINT_RATE] for agent, scores in scripted_scores(tasks, solved).items()}
    shown = ', '.join(f'{agent} {share:.3g}%' for agent, share in shares.items() if share is not None)
    yield Gate('restraint of scripted agents', gates.SHOWN, shown or '-', 'what an agent has without looking')


def open_dialogues(made: MadeSet, simulated: bool = True) -> AgentDialogues:
    """Opens what answers the calls of a set.

    Args:
        made: The set.
        simulated: False to leave out its simulator.

    Raises:
        DataError: A value of its environment is none.
        UntrustedError: It starts a program or asks a model, and is neither of this user nor trusted.
    """
    here = made.trusted_environment()
    try:
        return AgentDialogues(**{name: value for name, value in here.items() if simulated or name != 'simulator'})
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(made.folder / SET_FILE, f'its environment cannot be used: {error}') from error


def _must_fail(name: str, tasks: int, tried: Tried) -> Gate:
    if tried.solved is None:
        return not_run(name, tried.why)
    left = tasks - len(tried.solved)
    solved = {task: 'solved' for task, runs in tried.solved.items() if any(runs)}
    more = f'; {left} that need no tool are left out' if left else ''
    return share(name, list(tried.solved), solved, 'tasks solved', more)


def _try(
    runner: DialogueRunner, tasks: Sequence[MadeTask], begin: AgentDialogues, loop: Loop | None, trials: int = 1
) -> Tried:
    done, why = run_trials(runner, [one.task for one in tasks], begin, loop, trials)
    if why:
        return Tried(None, why)
    return Tried({one.task.id: [check_goal(one.goal, run).is_solved for run in done[one.task.id]] for one in tasks})


def model_runner(
    cfg: Mapping[str, Any],
    made: MadeSet,
    what: str,
    folder: Path,
    others: Mapping[str, AuxiliaryModel],
    threads: int = 1,
) -> DialogueRunner:
    """Creates a runner on a model, with a journal in a folder.

    Args:
        cfg: The model.
        made: The set.
        what: What it does: name of the journal, and for the progress bar.
        folder: That of the journals.
        others: Name -> auxiliary model.
        threads: Number of dialogues that continue at the same time.
    """
    journal = Journal(folder / f'{what}-{settings_hash(cfg)}.jsonl')
    folder.mkdir(exist_ok=True)
    return DialogueRunner.of(AuxiliaryModel(cfg), journal, f'made_{made.name}', what.replace('_', ' '), others, threads)


def run_trials(
    runner: DialogueRunner, tasks: Sequence[Task], begin: AgentDialogues, loop: Loop | None, trials: int
) -> tuple[dict[str, list[Trajectory]], str]:
    """Runs an agent several times on each task.

    Args:
        runner: Sends its requests.
        tasks: The tasks.
        begin: Carries out a task.
        loop: The agent; None for the loop of the set.
        trials: Runs of each task.

    Returns:
        Task -> its runs, and ``''``; or nothing, and how many runs have no answer.
    """
    runs = {f'{task.id}#{trial}': task for task in tasks for trial in range(trials)}
    outcomes = runner.run({key: begin.carry_out(task, loop) for key, task in runs.items()})
    failed = [outcome.infra for outcome in outcomes.values() if outcome.value is None]
    if failed:
        return {}, f'{UNANSWERED} of {len(failed)} of {len(runs)} runs ({failed[0]}): run the command again'
    done: dict[str, list[Trajectory]] = {}
    for key, task in runs.items():
        trajectory = outcomes[key].value
        assert trajectory is not None
        done.setdefault(task.id, []).append(trajectory)
    return done, ''


def _of_solved(tried: Tried, tasks: Sequence[MadeTask]) -> Tried:
    """Leaves out the tasks that do not count in ``solved``."""
    others = {one.task.id for one in tasks if not counts_as_solved(one.goal)}
    solved = None if tried.solved is None else {task: runs for task, runs in tried.solved.items() if task not in others}
    return replace(tried, solved=solved)


def model_gates(strong: Tried, weak: Tried, tasks: Sequence[MadeTask] = ()) -> list[Gate]:
    """Measures what two models' runs say of a set.

    Args:
        strong: Of the strong model.
        weak: Of the weak model, on the same tasks.
        tasks: The tasks; those that do not count in ``solved`` are left out of the difference.
    """
    found = []
    for name, tried, is_fault in (
        (gates.SOLVABLE, strong, lambda runs: not any(runs)),
        (gates.NOT_TRIVIAL, weak, all),
    ):
        runs_of = tried.solved or {}
        faults = {
            task: f'solved by {sum(runs)} of {len(runs)} runs' for task, runs in runs_of.items() if is_fault(runs)
        }
        found.append(not_run(name, tried.why) if tried.solved is None else share(name, list(runs_of), faults))
    strong, weak = (_of_solved(side, tasks) for side in (strong, weak))
    if strong.solved is None or weak.solved is None:
        return [*found, not_run(gates.TELLS_APART, strong.why or weak.why)]
    weak_values, strong_values = (
        {task: RecordValue(sum(runs) / len(runs), 1.0, tuple(map(float, runs))) for task, runs in side.items()}
        for side in (weak.solved, strong.solved)
    )
    pairs = pair_up([weak_values], [strong_values])
    if pairs is None:
        return [*found, not_run(gates.TELLS_APART, f'an interval needs {FEWEST} tasks')]
    score = ('made', gates.TELLS_APART)
    interval = compare_column({score: 1.0}, {score: pairs})
    shown = f'{interval.delta:+.1f} points [{interval.low:+.1f}, {interval.high:+.1f}] of solved'
    return [*found, measured(gates.TELLS_APART, interval.low, shown)]
