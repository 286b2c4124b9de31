"""``tooleval make improve``: rewrites the documentation of tools from one half of a set, and measures it on the other.

The half that the documentation is rewritten from is run with the old documentation only. So no number of the result
can show a gain on tasks that the rewriting model has seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.scoring.scoring import OF_CALLS
from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.core.statistics.intervals import FEWEST, LEVEL, RecordValue, RecordValues, intervals_of
from opencompass_tooleval.core.statistics.paired import pair_up
from opencompass_tooleval.extras.making import VERSION
from opencompass_tooleval.extras.making.check import UNANSWERED, model_runner, open_dialogues, run_trials
from opencompass_tooleval.extras.making.decisions import set_digest
from opencompass_tooleval.extras.making.losses import Run, confusion, make_run, reasons_of, split_tasks
from opencompass_tooleval.extras.making.made_set import MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask
from opencompass_tooleval.extras.making.metrics import SOLVED
from opencompass_tooleval.extras.making.rewriting import (
    Change,
    instructed,
    losses_by_tool,
    rewrite,
    tools_of,
    with_changes,
)
from opencompass_tooleval.extras.making.scoring import score_made
from opencompass_tooleval.extras.making.tool_source import tool_text
from opencompass_tooleval.instructions.generation import generate
from opencompass_tooleval.instructions.prompts import PAPER
from opencompass_tooleval.instructions.tokens import TokenStats, ToolTokens
from opencompass_tooleval.judging.judge import settings_hash
from opencompass_tooleval.models.auxiliary_model import AuxiliaryModel
from opencompass_tooleval.work_dir.journal import Journal

INSTRUCTIONS, DESCRIPTIONS = 'instructions', 'descriptions'
HOWS = (INSTRUCTIONS, DESCRIPTIONS)
"""EasyTool's instructions, from the documentation alone; or descriptions, from the documentation and the losses."""

JOURNAL_FOLDER = 'journal'
METRICS = (SOLVED, *OF_CALLS)

FEWEST_TO_CLAIM = 6
"""Tasks of the held-out half from which a difference is called one: of five, even a sign test finds none at 5%."""

UNCHANGED = 'unchanged'


@dataclass(frozen=True)
class Options:
    """Options of a run.

    Attributes:
        model: Config of the model that calls the tools.
        rewriter: Config of the model that rewrites.
        folder: Where journals are kept.
        how: One of :data:`HOWS`.
        trials: Runs of each task.
        seed: Seed of the halves.
        count: Text -> its number of tokens; None if no tokenizer is there.
    """

    model: Mapping[str, Any]
    rewriter: Mapping[str, Any]
    folder: Path
    how: str = DESCRIPTIONS
    trials: int = 2
    seed: int = 0
    count: Callable[[str], int] | None = None


@dataclass
class Improvement:
    """Result of a run.

    Attributes:
        made: The set.
        options: The options.
        first: The half that the documentation was rewritten from.
        held_out: The other half.
        before: Runs of all tasks with the old documentation.
        after: Runs of the held-out half with the new one; empty if nothing was rewritten.
        changes: Tool -> new documentation.
        kept: Tool -> why its documentation stays, or is made by rule, as a code.
    """

    made: MadeSet
    options: Options
    first: Sequence[MadeTask]
    held_out: Sequence[MadeTask]
    before: Sequence[Run] = ()
    after: Sequence[Run] = ()
    changes: Mapping[str, Change] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)

    @property
    def losses(self) -> list[Run]:
        """Losses of the first half, from which descriptions are rewritten."""
        return [run for run in self._of(self.first) if not run.is_solved]

    def _of(self, tasks: Sequence[MadeTask]) -> list[Run]:
        names = {one.task.id for one in tasks}
        return [run for run in self.before if run.made.task.id in names]

    def differences(self) -> dict[str, dict[str, float]]:
        """Compares the old documentation with the new one on the held-out half, by its tasks.

        Returns:
            Metric -> ``before`` and ``after``, 0-100, ``delta``, ``low`` and ``high`` of the 95% interval, ``tasks``;
            without metrics that fewer than ``FEWEST`` tasks have.
        """
        old, dataset = self._of(self.held_out), f'made_{self.made.name}'
        paired = {(dataset, name): pair_up([_values(old, name)], [_values(self.after, name)]) for name in METRICS}
        pairs = {score: one for score, one in paired.items() if one}
        rows = {}
        for (_, name), interval in intervals_of(pairs).items():
            before, after = pairs[dataset, name].means()
            ends = {'delta': interval.delta, 'low': interval.low, 'high': interval.high, 'tasks': interval.pairs}
            rows[name] = {'before': before, 'after': after, **ends}
        return rows

    def tokens(self) -> dict[str, Any] | None:
        """Counts the tokens of the documentation of each tool and of all; None without a tokenizer."""
        count = self.options.count
        if count is None:
            return None
        tasks = [one.task for one in self.made.tasks]
        old, new = tools_of(tasks), tools_of(with_changes(task, self.changes) for task in tasks)
        each = (ToolTokens(name, count(tool_text([old[name][0]])), count(tool_text([new[name][0]]))) for name in old)
        stats = TokenStats(tuple(each), (), ())
        per_tool = {tool.name: [tool.before, tool.after] for tool in stats.tools}
        return {'before': stats.before, 'after': stats.after, 'reduction': stats.reduction, 'per_tool': per_tool}

    def to_row(self) -> dict[str, Any]:
        """Returns the JSON values of ``improve.json``; after the rewriting only of the held-out half."""
        rows, options = self.differences(), self.options
        by_half = {'first': self.first, 'held_out': self.held_out}
        return {
            'tooleval_improvement': VERSION,
            'set': self.made.name,
            'digest': set_digest(self.made),
            'how': options.how,
            'seed': options.seed,
            'trials': options.trials,
            'model': model_name(options.model),
            'rewriter': model_name(options.rewriter),
            'settings': [settings_hash(options.model), settings_hash(options.rewriter)],
            'split': {name: [one.task.id for one in tasks] for name, tasks in by_half.items()},
            'before': {
                'solved': mean_solved(self.before),
                'confusion': confusion(self.before),
                'reasons': reasons_of(self.before),
                'losses': [run.to_row() for run in self.before if not run.is_solved],
            },
            'rewritten': sorted(self.changes),
            'kept': self.kept,
            'held_out': {
                'level': LEVEL,
                'metrics': rows,
                'says': verdict(rows.get(SOLVED), bool(self.changes)),
                'confusion': confusion(self.after),
                'reasons': reasons_of(self.after),
                'losses': [run.to_row() for run in self.after if not run.is_solved],
            },
            'tokens': self.tokens(),
        }


def _values(runs: Sequence[Run], metric: str) -> RecordValues:
    """Task -> the values of its runs, 0-1; tasks to which the metric applies."""
    values: dict[str, list[float]] = {}
    for run in runs:
        value = run.score.values.get(metric)
        if value is not None:
            values.setdefault(run.made.task.id, []).append(value)
    return {name: RecordValue(math.fsum(some) / len(some), len(some), tuple(some)) for name, some in values.items()}


def mean_solved(runs: Sequence[Run]) -> float | None:
    """Returns the share of runs that solve their task, 0-100, of those that count in ``solved``; None without any."""
    values = [value for run in runs if (value := run.score.values[SOLVED]) is not None]
    return 100 * math.fsum(values) / len(values) if values else None


def verdict(row: Mapping[str, float] | None, is_rewritten: bool) -> str:
    """Says what a difference on the held-out half shows.

    Args:
        row: The row of ``solved`` of :meth:`Improvement.differences`; None if there is none.
        is_rewritten: Whether anything was rewritten.
    """
    if not is_rewritten:
        return 'nothing was rewritten, so that nothing was measured'
    if row is None:
        return f'no interval can be given: it needs {FEWEST} tasks in the held-out half'
    low, high, tasks = row['low'], row['high'], row['tasks']
    if tasks < FEWEST_TO_CLAIM:
        return f'{tasks} tasks in the held-out half are too few to show a difference: it takes {FEWEST_TO_CLAIM}'
    if low > 0:
        return 'the interval excludes 0: the new documentation is better on tasks that it was not made from'
    if high < 0:
        return 'the interval excludes 0: the new documentation is worse'
    return 'the interval holds 0: no difference is shown'


def improve(made: MadeSet, options: Options) -> Improvement:
    """Runs all tasks as documented, rewrites, and runs the held-out half again. All answers are journaled.

    Args:
        made: The set.
        options: The options.

    Raises:
        ValueError: The set has one task, or requests got no answer: the same command sends only these again.
        ServerError: The server of the set cannot be started.
    """
    if len(made.tasks) < 2:
        raise ValueError('a set of one task has no halves')
    done = Improvement(made, options, *split_tasks(made.tasks, options.seed))
    with closing(open_dialogues(made)) as begin:
        others = {name: AuxiliaryModel(cfg) for name, cfg in begin.models.items()}

        def runs_of(tasks: Sequence[MadeTask], what: str) -> list[Run]:
            runner = model_runner(options.model, made, what, options.folder / JOURNAL_FOLDER, others, begin.threads)
            changed = [with_changes(one.task, done.changes) for one in tasks]
            trajectories, why = run_trials(runner, changed, begin, None, options.trials)
            if why:
                raise ValueError(why)
            return [
                make_run(one, trial, score_made(one.task, trajectory))
                for one in tasks
                for trial, trajectory in enumerate(trajectories[one.task.id])
            ]

        done.before = runs_of(made.tasks, 'as_documented')
        done.changes, done.kept = _instructions(done) if options.how == INSTRUCTIONS else _descriptions(done)
        if done.changes:
            done.after = runs_of(done.held_out, 'rewritten')
    return done


def _descriptions(done: Improvement) -> tuple[dict[str, Change], dict[str, str]]:
    """Has the tools rewritten that losses of the first half concern."""
    tools = tools_of(one.task for one in done.made.tasks)
    losses = losses_by_tool(done.losses)
    runner = model_runner(done.options.rewriter, done.made, 'rewrites', done.options.folder / JOURNAL_FOLDER, {})
    outcomes = runner.run({name: rewrite(name, runs, tools) for name, runs in losses.items()})
    _check_answered([outcome.infra for outcome in outcomes.values() if outcome.infra])
    changes, kept = {}, {}
    for name, outcome in outcomes.items():
        if isinstance(outcome.value, str):
            if outcome.value == tools[name][0].description:
                kept[name] = UNCHANGED
            else:
                changes[name] = Change(outcome.value)
        elif outcome.value:
            kept[name] = outcome.value[0].code
    return changes, kept


def _instructions(done: Improvement) -> tuple[dict[str, Change], dict[str, str]]:
    """Has EasyTool's generator make instructions of all tools; it sees no task."""
    tasks = [one.task for one in done.made.tasks]
    cfg = done.options.rewriter
    journal = Journal(done.options.folder / JOURNAL_FOLDER / f'instructions-{settings_hash(cfg)}.jsonl')
    generation = generate([doc for _, doc in tools_of(tasks).values()], cfg, journal, PAPER)
    _check_answered(list(generation.failed.values()))
    listed = {row.tool: row.fault.code for one in generation.generated for row in one.listed}
    return instructed(tasks, {one.instruction.name: one.instruction for one in generation.generated}), listed


def _check_answered(failed: Sequence[str]) -> None:
    if failed:
        raise ValueError(f'{UNANSWERED} to the rewriting of {len(failed)} tools ({failed[0]}): run the command again')


def expected_requests(made: MadeSet, options: Options) -> dict[str, int]:
    """Estimates the requests: each run has one per gold call and one for the answer; at most so many for the rewriting.

    Args:
        made: The set.
        options: The options.
    """
    _, held_out = split_tasks(made.tasks, options.seed)
    tools = len(tools_of(one.task for one in made.tasks))
    as_documented, rewritten = (
        options.trials * sum(len(one.task.oracle_calls) + 1 for one in tasks) for tasks in (made.tasks, held_out)
    )
    rewriting = tools * (2 if options.how == INSTRUCTIONS else 1)
    return {'as documented': as_documented, 'rewriting': rewriting, 'held-out half': rewritten}
