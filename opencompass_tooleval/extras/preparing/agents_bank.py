"""``tooleval agents bank``: makes a response bank, and prints its contents and its coverage of gold calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from opencompass_tooleval.agents.tasks.records_teval import plan_calls
from opencompass_tooleval.benchmarks.teval.data import load_samples, split_stem
from opencompass_tooleval.cli.options import JsonOption
from opencompass_tooleval.cli.output import STDOUT, counts_line, numbers_table, write_outputs
from opencompass_tooleval.core.calls.observation import SOURCES
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.bank import Bank, write_bank
from opencompass_tooleval.environments.environment import TEVAL_ERRORS, Environment
from opencompass_tooleval.environments.recordings import find_sources, read_sources, read_tools
from opencompass_tooleval.environments.teval_tools import teval_functions
from opencompass_tooleval.work_dir.printing import Screen, say


def gold_calls(file: Path) -> dict[str, list[GoldCall]]:
    """Reads the gold calls of T-Eval's plans: task -> its calls in order, without the call that ends it.

    Args:
        file: A file with its published name, such as ``plan_json_v1.json``.

    Raises:
        DataError: The file is damaged, or belongs to another subset.
    """
    try:
        subset = split_stem(file.stem)[0]
    except ValueError as error:
        raise DataError(file, str(error)) from error
    if not subset.startswith('plan_'):
        raise DataError(file, "only T-Eval's plans (plan_json, plan_str) contain the gold calls of a task")
    return {sample.record.id: plan_calls(sample) for sample in load_samples(file, subset)}


@dataclass(frozen=True)
class Coverage:
    """Sources of the answers to gold calls.

    Attributes:
        tasks: Number of tasks.
        calls: Number of their calls.
        by_source: Source -> number of calls, in the order of ``SOURCES``.
        by_tool: Tool (the part of an API's name before the dot) -> source -> number of calls.
    """

    tasks: int
    calls: int
    by_source: Mapping[str, int]
    by_tool: Mapping[str, Mapping[str, int]]


def coverage(environment: Environment, tasks: Mapping[str, list[GoldCall]]) -> Coverage:
    """Makes all gold calls in an environment, each task in a new session.

    Args:
        environment: The environment.
        tasks: The result of :func:`gold_calls`.
    """
    by_tool: dict[str, Counter[str]] = {}
    for task, calls in tasks.items():
        session = environment.begin(task)
        for call in calls:
            source = session.call(call.name, call.arguments).source
            by_tool.setdefault(call.name.partition('.')[0], Counter())[source] += 1
    total = sum(by_tool.values(), Counter[str]())
    return Coverage(
        len(tasks),
        sum(total.values()),
        {source: total[source] for source in SOURCES},
        {tool: {source: counts[source] for source in SOURCES} for tool, counts in sorted(by_tool.items())},
    )


_MOST_APIS = 20


def build_bank(
    from_: Annotated[
        list[Path],
        typer.Option(
            '--from',
            metavar='SOURCE',
            help="T-Eval data files, runs in ToolBench's format, a folder of them, StableToolBench's cache, call logs.",
        ),
    ],
    out: Annotated[Path, typer.Option('--out', '-o', metavar='FILE', help='File of the new bank.')],
) -> None:
    """Makes a bank from recorded calls.

    Raises:
        DataError: A source is missing, damaged or in another format.
        ValueError: ``out`` lies inside a source.
        OSError: ``out`` cannot be written.
    """
    sources = find_sources(from_)
    for path in (*from_, *(source.path for source in sources)):
        if out.resolve().is_relative_to(path.resolve()):
            raise ValueError(f'cannot write {out}: it is inside the source {path}; choose an --out outside it')
    out.parent.mkdir(parents=True, exist_ok=True)
    built = write_bank(read_sources(sources), out, read_tools(sources))
    with Bank(out) as bank:
        counts = bank.files()
        for source in sources:
            say(f'{source.label}: {counts.get(source.label, 0):,} calls ({source.format})')
    say(f'{out}: {built.calls:,} calls')
    if built.left_out or built.cut:
        say(counts_line('left out or cut', {'too large': built.left_out, 'response cut': built.cut}))


def bank_stats(
    file: Annotated[Path, typer.Argument(metavar='FILE', help='A response bank.')],
    data: Annotated[
        Path | None, typer.Option(metavar='FILE', help="T-Eval's plans, to count the gold calls that are answered.")
    ] = None,
    json_out: JsonOption = None,
) -> None:
    """Prints the contents of a bank: APIs, calls, errors; with ``data``, the source that answers each gold call.

    Raises:
        DataError: A file is missing or damaged.
        OSError: ``json_out`` cannot be written.
    """
    with Bank(file) as bank:
        reach = (
            coverage(Environment(bank, teval_functions, TEVAL_ERRORS), gold_calls(data)) if data is not None else None
        )
        result: dict[str, Any] = {
            'file': str(file),
            'digest': bank.digest,
            'calls': sum(bank.files().values()),
            'tasks': bank.tasks(),
            'files': bank.files(),
            'apis': bank.names(),
            'errors': {kind: count for kind, count in bank.errors().items() if kind},
        }
    if reach is not None:
        result['coverage'] = {
            'data': str(data),
            'tasks': reach.tasks,
            'calls': reach.calls,
            'by_source': dict(reach.by_source),
            'by_tool': {tool: dict(counts) for tool, counts in reach.by_tool.items()},
        }
    if json_out != STDOUT:
        _print(result, reach, Screen())
    write_outputs(result, (), json_out, None)


def _print(result: dict[str, Any], reach: Coverage | None, console: Screen) -> None:
    failed = sum(result['errors'].values())
    summary = {'calls': result['calls'], 'APIs': len(result['apis']), 'tasks': result['tasks'], 'errors': failed}
    console.print(counts_line(Path(result['file']).name, summary))
    console.print(counts_line('errors', result['errors']))
    for name, counts in (('source', result['files']), ('API', result['apis'])):
        table = numbers_table('', name, 'calls', plain=True)
        for key, count in list(counts.items())[:_MOST_APIS]:
            table.add_row(key, f'{count:,}')
        console.print(table)
        if len(counts) > _MOST_APIS:
            console.print(f'and {len(counts) - _MOST_APIS} more')
    if reach is None:
        return
    table = numbers_table(f'{reach.calls:,} gold calls of {reach.tasks} tasks', 'tool', *SOURCES, plain=True)
    for tool, counts in reach.by_tool.items():
        table.add_row(tool, *(f'{counts[source]:,}' for source in SOURCES))
    table.add_row('total', *(f'{reach.by_source[source]:,}' for source in SOURCES))
    table.add_row('share', *(f'{reach.by_source[source] / max(1, reach.calls):.1%}' for source in SOURCES))
    console.print(table)
