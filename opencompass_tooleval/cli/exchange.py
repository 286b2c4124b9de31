"""``tooleval export`` and ``tooleval import``: convert a run to files to publish, and back to a run to score."""

from __future__ import annotations

from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.cli.options import WorkDirArgument
from opencompass_tooleval.cli.output import progress
from opencompass_tooleval.work_dir.exporting import Exporter
from opencompass_tooleval.work_dir.importing import import_predictions
from opencompass_tooleval.work_dir.work_dir import WorkDir


class FormatName(str, Enum):
    """File formats of an export."""

    JSONL = 'jsonl'
    PARQUET = 'parquet'


def export_run(
    work_dir: WorkDirArgument,
    out: Annotated[Path, typer.Option('--out', '-o', help='Folder for results, predictions and details.')],
    file_format: Annotated[FormatName, typer.Option('--format', help='JSON lines, or parquet.')] = FormatName.JSONL,
    models: Annotated[list[str] | None, typer.Option('--model', help='Pattern; may be given several times.')] = None,
    datasets: Annotated[
        list[str] | None, typer.Option('--dataset', help='Pattern; may be given several times.')
    ] = None,
    prompts: Annotated[bool, typer.Option('--prompts', help='Write the prompts too.')] = False,
) -> None:
    """Writes results, predictions and details of a run, and prints the files with their rows.

    Raises:
        DataError: There is nothing to export, or a file is damaged.
    """
    exporter = Exporter(WorkDir.find(work_dir), models or ('*',), datasets or ('*',))
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
