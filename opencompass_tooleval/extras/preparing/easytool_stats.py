"""``tooleval easytool stats``: tokens of documentation and instructions, per tool and in total."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.cli.options import InputOption, JsonOption, SourceOption
from opencompass_tooleval.cli.output import STDOUT, counts_line, numbers_table, write_outputs
from opencompass_tooleval.extras.preparing.tokens import CL100K, TokenStats, default_counter, load_counter, token_stats
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.plugin import TOOL_SERVERS
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from opencompass_tooleval.tool_docs.sources import load_docs, source_name
from opencompass_tooleval.work_dir.printing import Screen


def _percent(value: float | None) -> str:
    return '-' if value is None else f'{value:.2f}%'


def _print_table(title: str, stats: TokenStats, console: Screen) -> None:
    table = numbers_table(title, 'tool', 'before', 'after', 'reduction')
    for tool in stats.tools:
        table.add_row(tool.name, f'{tool.before:,}', f'{tool.after:,}', _percent(tool.reduction))
    table.add_section()
    count, reduced = len(stats.tools), _percent(stats.reduction)
    table.add_row(f'mean of {count}', f'{stats.mean_before:,.1f}', f'{stats.mean_after:,.1f}', reduced)
    table.add_row('total', f'{stats.before:,}', f'{stats.after:,}', reduced)
    console.print(table)
    for what, names in (('without instruction', stats.only_documented), ('undocumented', stats.only_instructed)):
        if names:
            console.print(f'{counts_line("left out", {what: len(names)})}: {", ".join(names)}')


def easytool_stats(
    source: SourceOption,
    input_: InputOption,
    instructions: Annotated[Path, typer.Option(help='File of instructions for its tools, in any published shape.')],
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help=f'A folder with a Hugging Face tokenizer, {CL100K} (the default, if its file exists here), or offline.'
        ),
    ] = None,
    json_out: JsonOption = None,
) -> None:
    """Counts tokens before and after, and prints them.

    Raises:
        DataError: A file is missing or damaged.
        ValueError: The source or the tokenizer does not exist, or the files have no tool in common.
        OSError: ``json_out`` cannot be written.
    """
    docs, loaded = load_docs(source, input_), load_instructions(instructions)
    name, counter, note = (tokenizer, load_counter(tokenizer), '') if tokenizer else default_counter()
    stats = token_stats(docs, loaded, counter)
    result = {
        'source': source,
        'input': source_name(source, input_) if source in TOOL_SERVERS else input_,
        'instructions': str(instructions),
        'tokenizer': name,
        'tools': len(stats.tools),
        'before': stats.before,
        'after': stats.after,
        'mean_before': stats.mean_before,
        'mean_after': stats.mean_after,
        'reduction': stats.reduction,
        'only_documented': list(stats.only_documented),
        'only_instructed': list(stats.only_instructed),
        'per_tool': {
            tool.name: {'before': tool.before, 'after': tool.after, 'reduction': tool.reduction} for tool in stats.tools
        },
    }
    if json_out != STDOUT:
        _print_table(f'{source_name(source, input_)}: tokens of {name}', stats, Screen())
    write_outputs(result, (), json_out, None)
    if note:
        Screen(stderr=json_out == STDOUT).print(found('extra:tokens', '', note).line, soft_wrap=True)
