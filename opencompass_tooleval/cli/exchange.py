"""``tooleval export`` and ``tooleval import``: convert a run to files to publish, and back to a run to score."""

from __future__ import annotations

from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.cli.options import WorkDirArgument
from opencompass_tooleval.cli.output import progress
from opencompass_tooleval.models.api.redaction import redact
from opencompass_tooleval.work_dir.bundle import write_bundle
from opencompass_tooleval.work_dir.exporting import Exporter
from opencompass_tooleval.work_dir.importing import import_predictions
from opencompass_tooleval.work_dir.work_dir import WorkDir


class FormatName(str, Enum):
    """File formats of an export."""

    JSONL = 'jsonl'
    PARQUET = 'parquet'


def export_run(
    work_dir: WorkDirArgument,
    out: Annotated[
        Path | None, typer.Option('--out', '-o', help='Folder for results, predictions and details.')
    ] = None,
    file_format: Annotated[FormatName, typer.Option('--format', help='JSON lines, or parquet.')] = FormatName.JSONL,
    models: Annotated[list[str] | None, typer.Option('--model', help='Pattern; may be given several times.')] = None,
    datasets: Annotated[
        list[str] | None, typer.Option('--dataset', help='Pattern; may be given several times.')
    ] = None,
    prompts: Annotated[bool, typer.Option('--prompts', help='Write the prompts too.')] = False,
    bundle: Annotated[
        Path | None,
        typer.Option(metavar='FILE', help='Write results for tooleval leaderboard there, without prompts or answers.'),
    ] = None,
) -> None:
    """Writes results, predictions and details of a run, or a bundle of its results; prints the files with their rows.

    Raises:
        DataError: There is nothing to export, a file is damaged, or the bundle is there with another content.
        ValueError: There is neither ``--out`` nor ``--bundle``.
    """
    if out is None and bundle is None:
        raise ValueError('tooleval export needs --out DIR, --bundle FILE, or both')
    work = WorkDir.find(work_dir)
    exporter = Exporter(work, models or ('*',), datasets or ('*',))
    if bundle is not None:
        digest, rows = write_bundle(work, bundle, exporter.pairs, redact)
        print(f'{bundle}: {rows} results, sha256 {digest}')
    if out is None:
        return
    for file, count in exporter.export(out, file_format.value, prompts, partial(progress, 'exporting')).items():
        print(f'{file}: {count} rows')


def import_run(
    folder: Annotated[
        Path, typer.Argument(metavar='DIR', help='What tooleval export wrote; only the predictions are read.')
    ],
    work_dir: Annotated[
        Path, typer.Argument(metavar='WORK_DIR', help='Working directory of OpenCompass for the new run.')
    ],
) -> None:
    """Makes a run from published predictions, and prints the command that scores it.

    Raises:
        DataError: The predictions cannot be used.
    """
    done = import_predictions(folder, work_dir)
    print(f'{done.predictions} predictions of {done.models} models on {done.datasets} data sets: {done.run.path}')
    print(f'score them with: opencompass CONFIG -w {work_dir} -r {done.run.path.name} -m eval')
