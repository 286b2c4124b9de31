"""``tooleval plan``: prints the jobs, samples, tokens and cost of a config before it runs."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from opencompass_tooleval.cli.options import JsonOption
from opencompass_tooleval.cli.output import STDOUT, check_outputs, cut_lines, numbers_table, progress, write_outputs
from opencompass_tooleval.tasks.planned_jobs import Plan, make_plan
from opencompass_tooleval.work_dir.work_dir import WorkDir

_NUMBERS = ('jobs', 'GPUs\neach', 'data\nsets', 'done', 'samples', 'prompt\ntokens', 'evaluation\njobs')


def _print(plan: Plan) -> None:
    table = numbers_table(f'what {plan.runner} would run', 'model', *_NUMBERS, plain=True)
    for row in plan.models:
        numbers = (row.jobs, row.gpus, row.datasets, row.done, row.samples, row.prompt_tokens, row.evaluations)
        table.add_row(escape(row.model), *(f'{number:,}' for number in numbers))
    console = Console()
    console.print(table)
    jobs = sum(row.jobs for row in plan.models)
    largest = max((row.gpus for row in plan.models if row.jobs), default=0)
    at_once = f', at most {plan.workers} at a time' if plan.workers else ''
    console.print(f'{jobs} inference jobs{at_once}; the largest takes {largest} GPUs', markup=False)
    for line in cut_lines(plan.cut):
        console.print(line, markup=False)
    console.print("tokens are those of texts and of the tools that are offered, without a chat template's marks")
    for row in plan.models:
        if row.prompts_by:
            console.print(f'{row.model}: prompts of {row.prompt_tokens:,} tokens', markup=False)
            console.print(f'  {row.prompts_by}', markup=False)
        if row.answers_by:
            cost = '' if row.cost is None else f', cost {row.bound} {row.cost:,.2f}'
            console.print(f'{row.model}: answers of {row.bound} {row.answer_tokens:,} tokens{cost}', markup=False)
            console.print(f'  {row.answers_by}', markup=False)
        if row.not_counted:
            console.print(f'{row.model}: not counted: {"; ".join(row.not_counted)}', markup=False)
    for fault in plan.faults:
        console.print(f'FAULT {fault}', markup=False, highlight=False, soft_wrap=True)


def show_plan(
    config: Annotated[Path, typer.Argument(metavar='CONFIG', help='A config such as eval_leaderboard.py.')],
    work_dir: Annotated[
        Path | None, typer.Argument(metavar='WORK_DIR', help='A run to resume; by default a new one.')
    ] = None,
    json_out: JsonOption = None,
) -> int:
    """Prints the plan; returns 1 if something would stop the sweep, such as a missing key, judge or GPU, else 0.

    Raises:
        DataError: The config cannot be read, or a data set is missing or damaged.
        OSError: ``json_out`` cannot be written.
    """
    check_outputs(json_out, None)
    plan = make_plan(config, WorkDir.find(work_dir).path if work_dir else None, partial(progress, 'loading data sets'))
    write_outputs(asdict(plan), (), json_out, None)
    if json_out != STDOUT:
        _print(plan)
    return int(bool(plan.faults))
