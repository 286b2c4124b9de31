"""``tooleval make improve``: better documentation of tools, made from one half of a set and measured on the other."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opencompass_tooleval.cli.options import TrustOption
from opencompass_tooleval.cli.output import counts_line, naming_model_faults, numbers_table, trust_first
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.options import MadeSetArgument
from opencompass_tooleval.work_dir.printing import Screen

if TYPE_CHECKING:
    from opencompass_tooleval.extras.making.improve import Options
    from opencompass_tooleval.extras.making.made_set import MadeSet


def improve_made_set(
    folder: MadeSetArgument,
    out: Annotated[
        Path, typer.Option('--out', '-o', metavar='DIR', help='Folder of the result; with --apply of the new set.')
    ],
    model: Annotated[
        Path | None, typer.Option(metavar='CONFIG', help='A config; its first model calls the tools.')
    ] = None,
    *,
    rewriter: Annotated[
        Path | None, typer.Option(metavar='CONFIG', help='A config of the model that rewrites; by default --model.')
    ] = None,
    how: Annotated[
        str, typer.Option(help="descriptions: rewritten from the losses; instructions: EasyTool's.")
    ] = 'descriptions',
    trials: Annotated[int, typer.Option(min=1, help='Runs of each task.')] = 2,
    seed: Annotated[int, typer.Option(help='Seed of the halves.')] = 0,
    apply: Annotated[
        Path | None, typer.Option(metavar='FILE', help='Write a set with what this descriptions.json takes.')
    ] = None,
    trust: TrustOption = False,
    dry_run: Annotated[bool, typer.Option(help='Only say how many requests there would be.')] = False,
) -> int:
    """Measures, rewrites and measures again.

    After a kill the same command goes on: at most the requests that had no answer yet are sent again.

    Returns:
        0, whatever was found.

    Raises:
        DataError: The set, a config or the file of descriptions is missing or damaged, or ``out`` is finished.
        ValueError: An option is none, the set has one task, or requests got no answer.
        UntrustedError: Somebody else made the set, and it starts a server.
        ServerError: The server of the set cannot be started.
        OSError: A file cannot be written.
    """
    from opencompass_tooleval.extras.making.adapter import find_set
    from opencompass_tooleval.extras.making.documentation_file import RESULT_FILE, take_descriptions, write_improvement
    from opencompass_tooleval.extras.making.improve import HOWS, JOURNAL_FOLDER, Options, improve
    from opencompass_tooleval.instructions.generation import load_model_cfg
    from opencompass_tooleval.judging.judge import tell_only_warnings

    tell_only_warnings()
    made = find_set(str(folder.absolute()))
    trust_first(made.trustee, trust)
    if not dry_run:
        made.trusted_environment()
    if apply:
        new = take_descriptions(made, apply, out)
        tools = len(new.settings['documentation']['tools'])
        _say(f'wrote {out}: {len(new.tasks)} tasks, with new documentation of {tools} tools')
        return 0
    if model is None or how not in HOWS:
        raise ValueError(f'give --model CONFIG and --how {" or ".join(HOWS)}, or --apply FILE')
    if (out / RESULT_FILE).exists():
        raise DataError(out / RESULT_FILE, 'there is a finished result already', fix='another --out, or remove it')
    name, count, note = _counter()
    options = Options(load_model_cfg(model), load_model_cfg(rewriter or model), out, how, trials, seed, count)
    if dry_run:
        _show_plan(made, options)
        return 0
    out.mkdir(parents=True, exist_ok=True)
    with naming_model_faults(model, out / JOURNAL_FOLDER):
        done = improve(made, options)
    write_improvement(done, out)
    shutil.rmtree(out / JOURNAL_FOLDER, ignore_errors=True)
    _show(done.to_row(), out, name, note)
    return 0


def _counter() -> tuple[str, Any, str]:
    from opencompass_tooleval.cli.tokenizers import default_counter

    try:
        return default_counter()
    except ValueError as error:
        return '', None, f'tokens are not counted: {error}'


def _say(text: str) -> None:
    Screen().print(text, soft_wrap=True)


def _show_plan(made: MadeSet, options: Options) -> None:
    from opencompass_tooleval.extras.making.improve import expected_requests

    expected = expected_requests(made, options)
    _say(f'about {sum(expected.values())} requests, more where calls fail or replies are unusable')
    _say(counts_line('requests', expected))


def _show(row: Mapping[str, Any], out: Path, tokenizer: str, note: str) -> None:
    from opencompass_tooleval.extras.making.documentation_file import DESCRIPTIONS_FILE, DIFF_FILE, RESULT_FILE
    from opencompass_tooleval.extras.making.losses import NONE

    before, held_out, split = row['before'], row['held_out'], row['split']
    table = numbers_table('tools needed, and what was called (old documentation)', 'needed', 'times', 'right', NONE)
    table.add_column('called instead', overflow='fold')
    for needed, called in before['confusion'].items():
        others = {name: count for name, count in called.items() if name not in (needed, NONE)}
        shown = ', '.join(f'{name} {count}' for name, count in others.items())
        table.add_row(
            needed,
            *map(str, (sum(called.values()), called.get(needed, 0), called.get(NONE, 0))),
            shown,
        )
    Screen().print(table)
    if before['reasons']:
        _say(counts_line(f'losses of {row["trials"]} runs of each task', before['reasons']))
    halves = f'{len(split["first"])} tasks, measured on the other {len(split["held_out"])}'
    _say(f'rewritten: {len(row["rewritten"])} tools by {row["rewriter"]}, from {halves}')
    for tool, code in row['kept'].items():
        _say(f'KEPT {tool}: {code}')
    if held_out['metrics']:
        columns = ('before', 'after', 'difference', '95% interval', 'tasks')
        table = numbers_table('held-out half', 'metric', *columns, plain=True)
        for metric, one in held_out['metrics'].items():
            interval = f'[{one["low"]:+.1f}, {one["high"]:+.1f}]'
            numbers = (
                f'{one["before"]:.1f}',
                f'{one["after"]:.1f}',
                f'{one["delta"]:+.1f}',
                interval,
                str(one['tasks']),
            )
            table.add_row(metric, *numbers)
        Screen().print(table)
    _say(f'solved: {held_out["says"]}')
    counted = row['tokens']
    if counted:
        saved = counted['reduction'] or 0.0
        share = f'{abs(saved):.1f}% {"more" if saved < 0 else "fewer"}'
        _say(f'documentation of all tools: {counted["before"]} -> {counted["after"]} tokens of {tokenizer} ({share})')
    if note:
        _say(f'NOTE {note}')
    _say(f'wrote {out}: {RESULT_FILE}, {DIFF_FILE}, {DESCRIPTIONS_FILE}')
    if row['rewritten']:
        _say(f'next: read {DIFF_FILE}, set "take" in {DESCRIPTIONS_FILE}, and give it to --apply with --out NEWSET')
