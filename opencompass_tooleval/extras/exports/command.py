"""``tooleval export``: writes a run to files for publication or for another program."""

from __future__ import annotations

from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.cli.options import WorkDirArgument
from opencompass_tooleval.cli.output import progress
from opencompass_tooleval.extras.exports.exporting import FORMATS as ROW_FORMATS
from opencompass_tooleval.extras.exports.exporting import chosen_pairs, export_rows
from opencompass_tooleval.extras.exports.settings import RELATIONSHIPS, ExportSettings, read_hub_entry
from opencompass_tooleval.extras.exports.writing import remember_keys_of, write_export
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.results.table import begun_pairs
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.work_dir import WorkDir


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
