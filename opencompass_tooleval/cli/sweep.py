"""The commands about sweeps: before, during and after one. Each imports what it needs when it is called."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import typer

from opencompass_tooleval.core.intervals import RESAMPLES, SEED

WORK_DIR = typer.Argument(help='A working directory of OpenCompass; of several runs, the latest.')
JSON = typer.Option(False, '--json', help='Print JSON.')


def plan_command(
    config: Path = typer.Argument(help='A config such as eval_leaderboard.py.'),
    work_dir: Path | None = typer.Option(None, '--work-dir', '-w', help='A run to resume; by default a new one.'),
    json_out: bool = JSON,
) -> None:
    """What a config would run: jobs, GPUs, samples, prompt tokens, and what is done already."""
    from opencompass_tooleval.cli.plan import show_plan

    show_plan(config, work_dir, json_out)


def status_command(work_dir: Path = WORK_DIR, json_out: bool = JSON) -> None:
    """How far a sweep is: done, running, failed and why, samples per second, time left; exits with 1 on a failure."""
    from opencompass_tooleval.cli.status import show_status

    raise typer.Exit(show_status(work_dir, json_out))


def retry_command(
    work_dir: Path = WORK_DIR,
    dry_run: bool = typer.Option(False, help='Say what would be asked again, and do nothing.'),
) -> None:
    """Ask again only what got no answer through no fault of the model (timeouts, filters, ...)."""
    from opencompass_tooleval.cli.retry import retry

    raise typer.Exit(retry(work_dir, dry_run))


def compare_command(
    work_dir: Path = WORK_DIR,
    model_a: str = typer.Argument(help='The model that is compared with.'),
    model_b: str = typer.Argument(help='The other model.'),
    other: Path | None = typer.Option(None, '--with', help='Where MODEL_B is, if in another working directory.'),
    datasets: str = typer.Option('*', help="Pattern of the data sets' names, such as 'tooleval-teval-*_v2'."),
    samples: int = typer.Option(RESAMPLES, min=1, help='Number of resamples.'),
    seed: int = typer.Option(SEED, min=0, help='The same seed gives the same intervals.'),
    json_out: str | None = typer.Option(None, '--json', help='Write the result there; - for standard output.'),
    details: Path | None = typer.Option(None, help='Write one JSON line per sample that differs there.'),
    show: int = typer.Option(3, min=0, help='Samples that differ to show per data set.'),
) -> None:
    """Two models side by side: paired differences with 95% intervals, and the samples where they differ."""
    from opencompass_tooleval.cli.compare import CompareRequest, compare

    compare(
        CompareRequest(work_dir, model_a, model_b, other, datasets, samples, seed, json_out, details, show),
    )


class FormatName(str, Enum):
    """What an export is written as."""

    JSONL = 'jsonl'
    PARQUET = 'parquet'


def export_command(
    work_dir: Path = WORK_DIR,
    out: Path = typer.Option(..., '--out', '-o', help='Folder for results, predictions and details.'),
    format_: FormatName = typer.Option(FormatName.JSONL, '--format', help='JSON lines, or parquet.'),
    models: list[str] | None = typer.Option(None, '--model', help='Pattern; may be given several times.'),
    datasets: list[str] | None = typer.Option(None, '--dataset', help='Pattern; may be given several times.'),
    prompts: bool = typer.Option(False, '--prompts', help='Write what was asked too.'),
) -> None:
    """Write results, predictions and details of a run to a few files, to publish them."""
    from opencompass_tooleval.cli.exchange import export_run

    export_run(work_dir, out, format_=format_.value, models=models or (), datasets=datasets or (), prompts=prompts)


def import_command(
    folder: Path = typer.Argument(help='What tooleval export wrote; only the predictions are read.'),
    work_dir: Path = typer.Option(..., '--work-dir', '-w', help='Working directory of OpenCompass for the new run.'),
) -> None:
    """Make a run of published predictions, to score it with ``opencompass -m eval``."""
    from opencompass_tooleval.cli.exchange import import_run

    import_run(folder, work_dir)


def report_command(
    work_dirs: list[Path] = typer.Argument(help='Working directories of OpenCompass; of several runs, the latest.'),
    out: Path = typer.Option(Path('report'), '--out', '-o', help='Folder for the pages; replaces an earlier report.'),
    figures: str = typer.Option('', help='Charts as files too: any of svg,png,pdf.'),
    open_it: bool = typer.Option(False, '--open', help='Show it in a browser.'),
) -> None:
    """Write pages to look at, from disk: scores, charts, samples, and tables as files for a paper."""
    from opencompass_tooleval.cli.report import report

    report(work_dirs, out, figures, open_it)
