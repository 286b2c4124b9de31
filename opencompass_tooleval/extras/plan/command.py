"""``tooleval plan``: prints the jobs, samples, tokens and cost of a config before it runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opencompass_tooleval.catalogue.metrics import main_metrics
from opencompass_tooleval.cli.options import JsonOption, MaxDropOption
from opencompass_tooleval.cli.output import STDOUT, check_outputs, numbers_table, progress, write_outputs
from opencompass_tooleval.cli.run_data import check_config
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.core.statistics.intervals import RecordValues, deviations_of
from opencompass_tooleval.core.statistics.paired import metrics_of
from opencompass_tooleval.extras.gate.baseline import find_results
from opencompass_tooleval.extras.plan.power import (
    Noise,
    detectable_drop,
    needed_queries,
    needed_trials,
    noise_of,
    trials_of,
)
from opencompass_tooleval.results.result_row import Results
from opencompass_tooleval.work_dir.printing import Screen
from opencompass_tooleval.work_dir.work_dir import WorkDir

Size = tuple[int | None, int]
"""Number of records of a data set (None for as many as in the earlier run), and number of trials."""


@dataclass(frozen=True)
class Detectable:
    """The smallest drop of one score that ``tooleval gate`` would find.

    Attributes:
        dataset: The data set.
        metric: A main metric of the data set.
        records: Number of records.
        trials: Number of trials of the new run.
        baseline_trials: Number of trials of the earlier run.
        drop: The drop that is detected with a chance of 80%, in points; None if no drop is.
        is_measured: True if the variance is from repeated trials; otherwise the drop is an upper bound.
        records_needed: Number of records needed to detect ``detect`` with these trials; None without ``detect``, or if
            no number below a billion queries suffices.
        trials_needed: Number of trials of both runs needed to detect it with these records; None without ``detect``, or
            if no number suffices.
    """

    dataset: str
    metric: str
    records: int
    trials: int
    baseline_trials: int
    drop: float | None
    is_measured: bool
    records_needed: int | None = None
    trials_needed: int | None = None


def detectable(
    earlier: Sequence[Results],
    sizes: Mapping[str, Size],
    models: int,
    detect: float | None = None,
    max_drop: float = 0.0,
) -> list[Detectable]:
    """Computes the smallest detectable drops of a planned sweep, compared with the last of some earlier runs.

    Several earlier runs of a model count as further trials. With several models, each metric uses the model with the
    largest variance; models with repeated trials take precedence.

    Args:
        earlier: Runs or baselines.
        sizes: Planned data set -> its size.
        models: Number of models that are gated at once.
        detect: The drop to detect, in points, above 0.
        max_drop: The drop that the gate allows, in points.

    Raises:
        DataError: A result is damaged.
    """
    scores: list[tuple[str, str, Noise, int, RecordValues]] = []
    for dataset in sizes:
        trials: dict[tuple[str, str], list[RecordValues]] = {}
        last: dict[tuple[str, str], int] = {}
        for run in earlier:
            for model in [name for name, other in run.pairs() if other == dataset]:
                result = run.result(model, dataset) or {}
                for metric in main_metrics(metrics_of(result)):
                    values = list(trials_of(result, metric))
                    trials.setdefault((metric, model), []).extend(values)
                    last[metric, model] = len(values)
        noises = {key: noise for key, values in trials.items() if (noise := noise_of(values))}
        for metric in dict.fromkeys(metric for metric, _ in noises):
            key = max((key for key in noises if key[0] == metric), key=lambda key: _rank(noises[key]))
            scores.append((dataset, metric, noises[key], last[key], trials[key][-1]))
    return [_row(*score, sizes[score[0]], len(scores) * models, detect, max_drop) for score in scores]


def _rank(noise: Noise) -> tuple[bool, float]:
    return noise.is_measured, noise.variance


def _row(
    dataset: str,
    metric: str,
    noise: Noise,
    baseline_trials: int,
    earlier: RecordValues,
    size: Size,
    tests: int,
    detect: float | None,
    max_drop: float,
) -> Detectable:
    records, trials = max(2, size[0] or len(earlier)), size[1]
    records_of_query = len(earlier) / len(deviations_of(earlier))
    queries = max(2, round(records / records_of_query))
    variance = noise.of_difference(baseline_trials, trials)
    needed = needed_queries(detect, variance, tests, max_drop, noise.is_graded) if detect else None
    return Detectable(
        dataset,
        metric,
        records,
        trials,
        baseline_trials,
        detectable_drop(queries, variance, tests, max_drop=max_drop, is_graded=noise.is_graded),
        noise.is_measured,
        math.ceil(needed * records_of_query) if needed else None,
        needed_trials(detect, queries, noise, tests, max_drop) if detect else None,
    )


if TYPE_CHECKING:
    from opencompass_tooleval.tasks.planned_jobs import Plan

_NUMBERS = ('inference\njobs', 'GPUs\neach', 'data\nsets', 'done', 'samples', 'prompt\ntokens', 'evaluation\njobs')


def _print_jobs(plan: Plan) -> None:
    table = numbers_table('planned jobs', 'model', *_NUMBERS, plain=True)
    console = Screen()
    for row in plan.models:
        each = f'{row.nodes}x{row.gpus}' if row.nodes > 1 else str(row.gpus)
        numbers = (row.datasets, row.done, row.samples, row.prompt_tokens, row.evaluations)
        table.add_row(row.model, f'{row.jobs:,}', each, *(f'{number:,}' for number in numbers))
    console.print(table)
    jobs = sum(row.jobs for row in plan.models)
    nodes, gpus = max(((row.nodes, row.gpus) for row in plan.models if row.jobs), default=(1, 0))
    largest = f'{nodes} nodes with {gpus} GPUs each' if nodes > 1 else f'{gpus} GPUs'
    console.print(f'{jobs} inference jobs{plan.at_once}; the largest takes {largest}')
    for server in plan.servers:
        console.print(f'server {server}', soft_wrap=True)
    if plan.replicas > 1 and jobs:
        console.print(
            f'{plan.replicas} replicas of each model share its data sets: each claims ranges as it becomes free'
        )
    console.print('token counts include texts and offered tools, but not the marks of a chat template')
    for row in plan.models:
        if row.prompts_by:
            console.print(f'{row.model}: prompts of {row.prompt_tokens:,} tokens')
            console.print(f'  {row.prompts_by}')
        if row.answers_by:
            cost = '' if row.cost is None else f', cost {row.bound} {row.cost:,.2f}'
            console.print(f'{row.model}: answers of {row.bound} {row.answer_tokens:,} tokens{cost}')
            console.print(f'  {row.answers_by}')
        if row.over_budget:
            console.print(f'{row.model}: {row.over_budget}, so the rest would not be sent', soft_wrap=True)
        for limit, names in row.answer_limits.items():
            which = 'all data sets' if len(row.answer_limits) == 1 else f'{len(names)} data sets: {first_of(names, 3)}'
            console.print(f'{row.model}: an answer has at most {limit}: {which}', soft_wrap=True)
        if row.not_counted:
            console.print(f'{row.model}: not counted: {"; ".join(row.not_counted)}')


def _print_detectable(rows: Sequence[Detectable], detect: float | None, max_drop: float) -> None:
    wanted = ['records\nneeded', 'or trials\nneeded'] if detect else []
    table = numbers_table(
        'smallest drop that a gate finds', 'score', 'records', 'trials', 'points', *wanted, plain=True
    )
    for row in rows:
        drop = '-' if row.drop is None else f'{"" if row.is_measured else "<= "}{row.drop:.2f}'
        needed = (
            (f'{row.records_needed:,}' if row.records_needed else '-', f'{row.trials_needed or "none"}')
            if detect
            else ()
        )
        table.add_row(f'{row.dataset} {row.metric}', f'{row.records:,}', str(row.trials), drop, *needed)
    console = Screen()
    console.print(table)
    gate = f'a gate of {len(rows)} scores per model{f" with --max-drop {max_drop:g}" if max_drop else ""}'
    text = f'found with a chance of 80%, in {gate}; <=: by one trial, an upper bound'
    console.print(f'{text}; needed: for a drop of {detect:g} points' if detect else text, soft_wrap=True)


def show_plan(
    config: Annotated[Path, typer.Argument(metavar='CONFIG', help='A config such as eval_leaderboard.py.')],
    work_dir: Annotated[
        Path | None, typer.Argument(metavar='WORK_DIR', help='A run to resume; by default a new one.')
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(
            metavar='RUN|FILE', help='An earlier run: print the drops that a gate would find; may be repeated.'
        ),
    ] = None,
    detect: Annotated[
        float | None,
        typer.Option(min=0.01, max=100, metavar='POINTS', help='Print what a gate needs to find that drop.'),
    ] = None,
    max_drop: MaxDropOption = 0.0,
    json_out: JsonOption = None,
) -> int:
    """Prints the plan; returns 1 if something would stop the sweep (a missing key, an unknown setting), else 0.

    Raises:
        DataError: The config cannot be read, or an earlier run is missing or damaged.
        ValueError: No earlier run has a result of these data sets.
        OSError: ``json_out`` cannot be written.
    """
    check_outputs(json_out, None)
    check_config(config)
    from opencompass_tooleval.tasks.planned_jobs import make_plan

    plan = make_plan(config, WorkDir.find(work_dir).path if work_dir else None, partial(progress, 'loading data sets'))
    rows = []
    if earlier or detect:
        runs = [find_results(path) for path in earlier or filter(None, [work_dir])]
        rows = detectable(runs, plan.sizes, len(plan.models), detect, max_drop)
        if not rows:
            raise ValueError('no earlier run has a result of these data sets with samples; name one by --earlier RUN')
    write_outputs(
        {**asdict(plan), 'findings': [one.row() for one in plan.findings], 'detectable': [asdict(row) for row in rows]},
        (),
        json_out,
        None,
    )
    if json_out != STDOUT:
        if plan.models and plan.sizes:
            _print_jobs(plan)
        for finding in sorted(plan.findings, key=lambda one: one.is_fault):
            Screen().print(finding.line, soft_wrap=True)
        if rows:
            _print_detectable(rows, detect, max_drop)
    return int(bool(plan.faults))
