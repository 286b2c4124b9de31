"""``tooleval export``: writes a run to files for publication or for another program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.cli.options import WorkDirArgument
from opencompass_tooleval.cli.output import progress
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.exports import every_eval_ever, hugging_face
from opencompass_tooleval.extras.exports.evaluation import Evaluation, evaluation_of
from opencompass_tooleval.extras.exports.exporting import FORMATS as ROW_FORMATS
from opencompass_tooleval.extras.exports.exporting import chosen_pairs, export_rows
from opencompass_tooleval.extras.exports.settings import (
    RELATIONSHIPS,
    ExportSettings,
    read_hub_entry,
    remember_literal_keys,
)
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.results.table import Missing, begun_pairs
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.whole_file import write_whole
from opencompass_tooleval.work_dir.work_dir import WorkDir

Files = Iterator[tuple[str, str]]
"""Path below the folder, and text, of each file."""

FORMATS: dict[str, Callable[[Evaluation, ExportSettings], Files]] = {
    'every-eval-ever': every_eval_ever.files_of,
    'hugging-face': hugging_face.files_of,
}
"""Name of a format -> function that yields the files for one model and data set."""

_LEFT_OUT: dict[str, Callable[[Evaluation, ExportSettings], str]] = {'hugging-face': hugging_face.left_out}
"""Name of a format -> function that returns why it leaves out a result; ``''`` if it does not."""


@dataclass
class Written:
    """Result of an export.

    Attributes:
        files: The files.
        notes: A sentence for each result that is missing or was left out.
    """

    files: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def remember_keys_of(work: WorkDir) -> None:
    """Records the keys in a run's config, so that no file shows them."""
    with suppress(DataError):  # an imported run has no config
        remember_literal_keys(read_dumped(work.config()))


def write_export(
    work: WorkDir,
    pairs: Sequence[tuple[str, str]],
    folder: Path,
    format_: str,
    settings: ExportSettings,
    progress: Callable[[Sequence[tuple[str, str]]], Iterable[tuple[str, str]]] = iter,
) -> Written:
    """Writes the files of a format, each atomically. The same run gives the same bytes.

    Args:
        work: The run.
        pairs: Model and data set of each result.
        folder: The folder for the files; created if it does not exist.
        format_: One of :data:`FORMATS`.
        settings: Facts that the run itself does not know.
        progress: Wraps the pairs to show progress.

    Raises:
        DataError: A file of the run is damaged, or the format can express none of the results.
    """
    written = Written()
    for model, dataset in progress(pairs):
        evaluation = evaluation_of(work, model, dataset)
        if isinstance(evaluation, Missing):
            written.notes.append(f'{model} x {dataset}: no result: {evaluation.why}')
            continue
        if reason := _LEFT_OUT[format_](evaluation, settings) if format_ in _LEFT_OUT else '':
            written.notes.append(f'{model} x {dataset}: left out: {reason}')
            continue
        for name, text in FORMATS[format_](evaluation, settings):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
            written.files.append(path)
    if not written.files:
        reasons = dict.fromkeys(note.partition(': ')[2] for note in written.notes)
        raise DataError(work.path, f'nothing was exported: {"; ".join(reasons)}')
    return written


class FormatName(str, Enum):
    """File formats of an export."""

    JSONL = 'jsonl'
    PARQUET = 'parquet'
    EVERY_EVAL_EVER = 'every-eval-ever'
    HUGGING_FACE = 'hugging-face'


class Relationship(str, Enum):
    """Relation of the evaluator to the model's developer."""

    FIRST_PARTY, THIRD_PARTY, COLLABORATIVE, OTHER = RELATIONSHIPS


def export_run(
    work_dir: WorkDirArgument,
    out: Annotated[Path, typer.Option('--out', '-o', help='Folder for the files.')],
    file_format: Annotated[
        FormatName,
        typer.Option('--format', help='Results, predictions and details, or the files of another program.'),
    ] = FormatName.JSONL,
    models: Annotated[list[str] | None, typer.Option('--model', help='Pattern; may be given several times.')] = None,
    datasets: Annotated[
        list[str] | None, typer.Option('--dataset', help='Pattern; may be given several times.')
    ] = None,
    prompts: Annotated[bool, typer.Option('--prompts', help='jsonl, parquet: write the prompts too.')] = False,
    hub_datasets: Annotated[
        list[str] | None,
        typer.Option(
            '--hub-dataset',
            metavar='PATTERN=OWNER/NAME[@REVISION][#TASK]',
            help='Place of data sets on the Hugging Face hub; may be given several times.',
        ),
    ] = None,
    hub_models: Annotated[
        list[str] | None,
        typer.Option(
            '--hub-model',
            metavar='PATTERN=OWNER/NAME',
            help="every-eval-ever: place of models on the hub, if not their configs' path; may be given several times.",
        ),
    ] = None,
    organization: Annotated[str, typer.Option(help='Who evaluated: a name, for the hub an organization.')] = '',
    relationship: Annotated[
        Relationship, typer.Option(help="every-eval-ever: relation of the evaluator to the model's developer.")
    ] = Relationship.OTHER,
    source_url: Annotated[str, typer.Option(metavar='URL', help='Where the evaluation can be looked up.')] = '',
    include_private: Annotated[
        bool, typer.Option('--include-private', help='hugging-face: write results on your own tools too.')
    ] = False,
) -> None:
    """Writes a run to files for publication or for another program, and prints their paths. Uploads nothing.

    Raises:
        DataError: The run has nothing to export, or a file is damaged.
        ValueError: An option has an invalid form.
    """
    work, show = WorkDir.find(work_dir), partial(progress, 'exporting')
    chosen = partial(chosen_pairs, work, models or ('*',), datasets or ('*',))
    remember_keys_of(work)
    if file_format.value in ROW_FORMATS:
        for file, count in export_rows(work, chosen(), out, file_format.value, prompts, show).items():
            say(f'{file}: {count} rows')
        return
    data, owners = ([read_hub_entry(text) for text in texts or ()] for texts in (hub_datasets, hub_models))
    settings = ExportSettings(data, owners, organization, relationship.value, source_url, include_private)
    written = write_export(work, chosen(begun_pairs(work)), out, file_format.value, settings, show)
    for note in written.notes:
        say(found('extra:export', '', note).line, err=True)
    for file in written.files:
        say(file)
