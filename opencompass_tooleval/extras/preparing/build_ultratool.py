"""``tooleval build ultratool``: builds the six tasks from annotated samples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from opencompass_tooleval.benchmarks.ultratool.data import (
    DATA_PATH,
    TABLE,
    TASKS,
    Argument,
    Call,
    PlanSample,
    read_rows,
    read_samples,
)
from opencompass_tooleval.benchmarks.ultratool.tables import FOLDERS, VERSION
from opencompass_tooleval.catalogue.benchmark import count_kinds
from opencompass_tooleval.cli.listing import find_file
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.embedding.locate import default_cache
from opencompass_tooleval.extras.preparing.ultratool_rows import (
    PUBLISHED_WITHOUT,
    TOOLSET_SIZE,
    build_rows,
    file_name,
    gold_arguments,
    published_withheld,
    usage_row,
)
from opencompass_tooleval.work_dir.data_files import read_plain, sha256_of
from opencompass_tooleval.work_dir.printing import Screen
from opencompass_tooleval.work_dir.whole_file import write_whole

KINDS = ('cut', 'quoted')


@dataclass(frozen=True)
class Erratum:
    """One damaged value.

    Attributes:
        row: Number of the row in tool_usage.json, from 0.
        step: Text of the step.
        tool: Tool of the step.
        argument: Name of the argument.
        published: The value in the file.
        repaired: The value in the plan.
        kind: One of ``KINDS``.
    """

    row: int
    step: str
    tool: str
    argument: str
    published: str
    repaired: str
    kind: str


def _different_arguments(row: int, item: Mapping[str, Any], call: Call, right: Mapping[str, str]) -> Iterator[Erratum]:
    raw: dict[str, Argument] = {argument.name: argument for argument in call.arguments}
    for name, published in item['param'].items():
        if name in right and published != right[name]:
            kind = 'cut' if ',' in raw[name].raw else 'quoted'
            yield Erratum(row, item['step'], item['tool'], name, str(published), right[name], kind)


def _row_errata(raw: Mapping[str, Any], sample: PlanSample) -> Iterator[Erratum]:
    calls = {(sample.steps[position].text, call.tool): call for position, call in sample.calls.items()}
    for item in raw['reference']:
        call = calls.get((item['step'], item['tool']))
        if call is None:
            raise ValueError(
                f'tool_usage, row {sample.row}: the plan has no call of {item["tool"]!r} in {item["step"]!r}'
            )
        yield from _different_arguments(sample.row, item, call, gold_arguments(call, sample.tool(call.tool)))


def find_errata(rows: Sequence[Mapping[str, Any]], samples: Iterable[PlanSample]) -> list[Erratum]:
    """Compares every gold value with the plan.

    Args:
        rows: The rows of tool_usage.json, in its order.
        samples: The annotated samples from which the file was made, in the same order.

    Returns:
        The values that differ, in the order of the file.

    Raises:
        ValueError: A row belongs to no sample, or a gold step to no call; the error names the row.
    """
    by_row = {sample.row: sample for sample in samples}
    errata: list[Erratum] = []
    for number, raw in enumerate(rows):
        sample = by_row.get(number)
        if sample is None or sample.question != raw.get('question'):
            raise ValueError(
                f'tool_usage, row {number}: test.json has another question in this row; '
                'both files must have the same language and release'
            )
        errata.extend(_row_errata(raw, sample))
    return errata


def plan_errata(samples: Iterable[PlanSample]) -> list[Erratum]:
    """Finds the errors of a published file that is missing, by applying the authors' cuts to the plans.

    For test.json the result equals that of :func:`find_errata` on the published file.
    """
    return [
        erratum
        for sample in samples
        for erratum in _row_errata(usage_row(sample, without=PUBLISHED_WITHOUT, published=True), sample)
    ]


def repair_rows(rows: Sequence[Mapping[str, Any]], errata: Iterable[Erratum]) -> list[dict[str, Any]]:
    """Returns copies of ``rows`` with damaged values replaced by the plan's; adds no arguments."""
    values: dict[tuple[int, str], dict[str, str]] = {}
    for erratum in errata:
        values.setdefault((erratum.row, erratum.step), {})[erratum.argument] = erratum.repaired
    return [
        {
            **raw,
            'reference': [
                {**item, 'param': {**item['param'], **values.get((number, item['step']), {})}}
                for item in raw['reference']
            ],
        }
        for number, raw in enumerate(rows)
    ]


ERRATA_FILE = 'tool_usage_errata.json'
REPAIRED_FILE = 'tool_usage_repaired.json'
LOG_FILE = 'build.json'

Row = Mapping[str, Any]


def _tasks(asked: Sequence[str] | None) -> list[str]:
    """Returns the tasks to build, in the paper's order; ``--tasks a,b`` and ``--tasks a --tasks b`` are the same."""
    names = [name for item in asked or () for name in item.replace(',', ' ').split()] or list(TASKS)
    unknown = sorted(set(names) - set(TASKS))
    if unknown:
        raise ValueError(f'UltraTool has no task {", ".join(unknown)}, only {", ".join(TASKS)}')
    return [task for task in TASKS if task in names]


def _official_files(folder: Path) -> dict[str, list[Row]]:
    """Reads task -> rows of the authors' files in ``folder`` or its ``test_set``; files built here are skipped."""
    data_folder = folder / 'test_set' if (folder / 'test_set').is_dir() else folder
    files = {task: data_folder / f'{task}.json' for task in TASKS}
    read = {task: [row for _, row in read_rows(file)] for task, file in files.items() if file.is_file()}
    official = {task: rows for task, rows in read.items() if not any(row.get('rebuilt') for row in rows)}
    if not official:
        raise DataError(folder, 'it has no official file, such as tool_usage.json', fix='tooleval prepare ultratool')
    return official


def _spare(targets: Iterable[Path]) -> None:
    """Refuses to overwrite a file that was not built here."""
    for target in targets:
        if target.is_file() and not next(read_rows(target))[1].get('rebuilt'):
            raise DataError(target, 'this is an official file', fix='choose another --out, or leave it out of --tasks')


def _write(target: Path, text: str) -> None:
    """Writes the file atomically."""
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, text)


def _lines(rows: Iterable[Row]) -> str:
    return ''.join(f'{json.dumps(row, ensure_ascii=False)}\n' for row in rows)


def _log(out: Path, entries: Mapping[str, Any]) -> None:
    """Adds the build settings of each file to ``build.json``, and keeps the entries of other files."""
    target = out / LOG_FILE
    try:
        entries_before = load_json(read_plain(target))
    except (OSError, ValueError):
        entries_before = {}
    _write(target, json.dumps({**entries_before, **entries}, ensure_ascii=False, indent=2) + '\n')


def _compare(task: str, rows: Sequence[Row], official: Sequence[Row]) -> str:
    keys = list(official[0])
    equal = {key: sum(made[key] == right[key] for made, right in zip(rows, official, strict=False)) for key in keys}
    return ', '.join(f'{key} {count}' for key, count in equal.items()) + f' of {len(official)}'


def _write_errata(console: Screen, out: Path, samples: list[PlanSample], official: Sequence[Row] | None) -> None:
    """Writes the list of repaired values and, if an official file is given, a copy of it with these values."""
    errata = plan_errata(samples) if official is None else find_errata(official, samples)
    _write(out / ERRATA_FILE, _lines(map(asdict, errata)))
    counts = count_kinds(errata, KINDS)
    counted = ', '.join(f'{counts[kind]} {kind}' for kind in KINDS)
    console.print(f'wrote {out / ERRATA_FILE}: {counted} in the published gold', soft_wrap=True)
    if official is not None:
        rows = zip(repair_rows(official, errata), samples, strict=True)
        _write(out / REPAIRED_FILE, _lines({**row, 'domain': s.domain, 'gold': 'repaired'} for row, s in rows))
        console.print(f'wrote {out / REPAIRED_FILE}: the official file, repaired', soft_wrap=True)


def build_missing() -> int:
    """Builds the tasks that the authors did not publish, for each language whose annotated samples are on this machine.

    They are written beside the published files, or below ``$TOOLEVAL_CACHE`` if that folder cannot be written. Files
    that exist are kept.

    Returns:
        The number of languages for which tasks are built.

    Raises:
        DataError: The annotated samples are damaged.
        OSError: Neither folder can be written.
    """
    built = 0
    for folder in (f'{DATA_PATH}/{name}' for name in FOLDERS.values()):
        unpublished = (row for row in TABLE if row.is_prepared and not row.official)
        missing = [row.name for row in unpublished if not find_file(f'{folder}/test_set/{row.file}')]
        source = find_file(f'{folder}/test.json')
        if missing and source:
            official = source.parent if (source.parent / 'test_set').is_dir() else None
            try:
                build_ultratool(source, source.parent / 'test_set', tasks=missing, official=official)
            except OSError:
                build_ultratool(source, default_cache() / folder / 'test_set', tasks=missing, official=official)
            built += 1
    return built


def build_ultratool(
    source: Annotated[Path, typer.Option('--from', help='Annotated samples: test.json or dev.json.')],
    out: Annotated[
        Path,
        typer.Option('--out', '-o', help='Folder for the built files; to use them, test_set of a prepared language.'),
    ],
    *,
    toolset_size: Annotated[int, typer.Option(help='Tools that each step chooses from.')] = TOOLSET_SIZE,
    seed: Annotated[int, typer.Option(help='Decides which distractors are drawn, and which tools are withheld.')] = 0,
    tasks: Annotated[list[str] | None, typer.Option(help='Default: all six.')] = None,
    official: Annotated[
        Path | None, typer.Option(help="Folder with the authors' files, to compare and repair.")
    ] = None,
    skip_damaged: Annotated[bool, typer.Option(help='List damaged samples and continue without them.')] = False,
) -> int:
    """Builds tasks from annotated samples, and lists every value in the published gold that it repairs.

    ``out`` gets ``{task}.json`` (``{task}_{size}.json`` if the toolset does not have 8 tools),
    ``tool_usage_errata.json``, and ``build.json``, which records the settings of each file. With ``official`` it also
    gets ``tool_usage_repaired.json``, the official file with the plan's values (``gold='repaired'``), and withholds the
    same tools as the official tool_creation.json. An official file is never overwritten.

    Returns:
        0.

    Raises:
        DataError: A file is missing or damaged, or an official file would be overwritten.
        ValueError: A task does not exist, or the samples have too few tools.
    """
    console = Screen()
    names = _tasks(tasks)
    targets = {task: out / file_name(task, toolset_size) for task in names}
    _spare(targets.values())
    skipped: list[DataError] | None = [] if skip_damaged else None
    samples = read_samples(source, skipped=skipped)
    for damage in skipped or ():
        console.print(f'LEFT OUT {damage}', soft_wrap=True)
    official_files = _official_files(official) if official else {}
    if official_files and skipped:
        raise DataError(source, 'rows were left out, so it cannot be compared row by row', fix='leave out --official')
    withheld = published_withheld(official_files['tool_creation']) if 'tool_creation' in official_files else None
    made = {
        'from': source.name,
        'sha256': sha256_of(source),
        'seed': seed,
        'withheld': 'published' if withheld else 'drawn',
        'version': VERSION,
    }
    for task, target in targets.items():
        rows = build_rows(task, samples, toolset_size=toolset_size, seed=seed, withheld=withheld)
        _write(target, _lines(rows))
        _log(out, {target.name: {**made, 'toolset_size': toolset_size, 'rows': len(rows)}})
        note = (
            f'; equal to the official file: {_compare(task, rows, official_files[task])}'
            if task in official_files
            else ''
        )
        console.print(f'wrote {target}: {len(rows)} rows{note}', soft_wrap=True)
        if task == 'tool_usage':
            _write_errata(console, out, samples, official_files.get(task))
    return 0
