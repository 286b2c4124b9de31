"""``tooleval export`` and ``tooleval import``: a run as files to publish, and back as a run to score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track

from opencompass_tooleval.sweep.exporting import Exporter
from opencompass_tooleval.sweep.importing import import_predictions
from opencompass_tooleval.sweep.work_dir import WorkDir


def _progress(pairs: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    return track(pairs, description='exporting', console=Console(stderr=True), transient=True)


def export_run(
    path: Path,
    out: Path,
    *,
    format_: str = 'jsonl',
    models: Sequence[str] = (),
    datasets: Sequence[str] = (),
    prompts: bool = False,
) -> None:
    """Writes results, predictions and details of a run, and says what there is.

    Args:
        path: A run, or a folder of runs.
        out: Folder for the files.
        format_: ``jsonl`` or ``parquet``.
        models: Patterns of abbrs; all if there are none.
        datasets: The same for data sets.
        prompts: Whether to write what was asked.

    Raises:
        DataError: There is nothing to export, or a file is damaged.
    """
    exporter = Exporter(WorkDir.find(path), models or ('*',), datasets or ('*',))
    for file, count in exporter.export(out, format_, prompts, _progress).items():
        print(f'{file}: {count} rows')


def import_run(folder: Path, work_dir: Path) -> None:
    """Makes a run of published predictions, and says how to score it.

    Raises:
        DataError: The predictions cannot be used.
    """
    done = import_predictions(folder, work_dir)
    print(f'{done.predictions} predictions of {done.models} models on {done.datasets} data sets: {done.run.path}')
    print(f'score them with: opencompass CONFIG -w {work_dir} -r {done.run.path.name} -m eval')
