"""Writes a run in the formats of other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.exports import every_eval_ever, hugging_face
from opencompass_tooleval.extras.exports.evaluation import Evaluation, evaluation_of
from opencompass_tooleval.extras.exports.settings import ExportSettings, remember_literal_keys
from opencompass_tooleval.results.table import Missing
from opencompass_tooleval.work_dir.dumped_config import read_dumped
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
