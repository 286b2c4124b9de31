"""Exports a run to a few files for publication: results, predictions and details. Does not import OpenCompass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol, TextIO

from opencompass_tooleval.catalogue.provenance import KEY
from opencompass_tooleval.catalogue.subset_names import nearest_first
from opencompass_tooleval.core.calls.answer import CALLS, USAGE
from opencompass_tooleval.core.calls.observed import OBSERVED, with_tools
from opencompass_tooleval.core.calls.sent import THOUGHTS
from opencompass_tooleval.core.calls.trajectory import without_sent
from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.scoring.result import with_runs
from opencompass_tooleval.core.scoring.sampling_settings import MAX_OUT_LEN, SAMPLING
from opencompass_tooleval.core.scoring.usage_summary import OTHERS
from opencompass_tooleval.core.statistics.paired import Result
from opencompass_tooleval.core.text.jsonable import map_texts, without_folder
from opencompass_tooleval.core.text.redaction import redact
from opencompass_tooleval.extras.attribution.causes import SERVING
from opencompass_tooleval.results.result_row import PARTS, Row, result_row, valid_result
from opencompass_tooleval.work_dir.names import whole_of
from opencompass_tooleval.work_dir.recorded import RECORDED_SHAPE
from opencompass_tooleval.work_dir.whole_file import whole_file
from opencompass_tooleval.work_dir.work_dir import WorkDir

TEXT_COLUMNS = (
    'model',
    'dataset',
    'record_id',
    'infra',
    'finish_reason',
    'source',
    'prompt_digest',
    'reason',
    RECORDED_SHAPE,
)
"""Columns that are text or null; the others contain any JSON, which parquet stores as text."""
COLUMNS = {
    'results': (
        'model', 'dataset', 'metrics', *PARTS, 'trials', 'usage',
    ),
    'predictions': (
        'model', 'dataset', 'record_id', 'run', 'prediction', 'infra', 'finish_reason', 'source', 'prompt_digest',
        MAX_OUT_LEN, THOUGHTS, RECORDED_SHAPE, CALLS, USAGE, OTHERS, SAMPLING, OBSERVED, SERVING,
    ),
    'details': ('model', 'dataset', 'record_id', 'run', 'reason', 'details'),
}  # fmt: skip
"""Name of a file without its extension -> its columns."""
PROMPT = 'prompt'
"""The optional column of predictions."""

_GROUP_ROWS = 1000
_GROUP_CHARS = 1 << 24


class RowWriter(Protocol):
    """Writes rows to a file, one after the other."""

    def write(self, row: Row) -> None:
        """Writes a row, which must have all columns."""

    def close(self) -> None:
        """Completes the file."""


class _JsonLines:
    """ASCII JSON lines, which can represent any text."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._stream: TextIO = path.open('w', encoding='ascii', newline='\n')

    def write(self, row: Row) -> None:
        self._stream.write(json.dumps(row) + '\n')

    def close(self) -> None:
        self._stream.close()


class _Parquet:
    """Parquet; values other than plain text are ASCII JSON, since a parquet string cannot contain a lone surrogate."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        import pyarrow
        from pyarrow import parquet

        self._schema = pyarrow.schema([(column, pyarrow.string()) for column in columns])
        self._writer = parquet.ParquetWriter(path, self._schema, compression='zstd')
        self._rows: list[dict[str, str | None]] = []
        self._chars = 0

    def write(self, row: Row) -> None:
        texts = {column: value if column in TEXT_COLUMNS else json.dumps(value) for column, value in row.items()}
        self._rows.append(texts)
        self._chars += sum(len(text or '') for text in texts.values())
        if len(self._rows) == _GROUP_ROWS or self._chars > _GROUP_CHARS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        self._writer.write_table(pyarrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self._chars = [], 0

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._writer.close()


FORMATS: dict[str, Callable[[Path, Sequence[str]], RowWriter]] = {'jsonl': _JsonLines, 'parquet': _Parquet}


def _answered(work: WorkDir) -> Iterator[tuple[str, str]]:
    """Yields model and data set of all predictions, sorted; shards count as their data set."""
    for folder in sorted((work.path / 'predictions').glob('*/')):
        stems = {file.stem for file in folder.glob('[!.]*.json')}
        wholes = set()
        for stem in stems:
            whole = whole_of(stem)
            is_shard = whole and f'{whole}_0' in stems and whole not in stems
            scored = (work.path / 'results' / folder.name / f'{stem}.json').is_file()
            wholes.add(whole if is_shard and not scored else stem)
        yield from ((folder.name, dataset) for dataset in sorted(wholes))


def _result_row(model: str, dataset: str, result: Result) -> Row:
    row = dict.fromkeys(COLUMNS['results']) | result_row(model, dataset, result, COLUMNS['results'][3:])
    return {**row, KEY: map_texts(row[KEY], without_folder, str)}


def _without_keys(row: Row) -> Row:
    """Replaces known keys in the texts of a row; numbers stay."""
    line = json.dumps(row)
    # The whole line at once: searching each of its texts would take a hundred times as long.
    return row if redact(line) == line else map_texts(row, redact)


def _text_of(row: Any, key: str) -> str | None:
    value = row.get(key) if isinstance(row, dict) else None
    return None if value is None else str(value)


def _numbered(rows: Iterable[Any], key: str) -> Iterator[tuple[Row, Any]]:
    """Yields each row with its columns for record and run (from 0); both are null if the row has no record."""
    for (record, run), row in with_runs(rows, lambda row: _text_of(row, key) or ''):
        yield {'record_id': _text_of(row, key), 'run': run if record else None}, row


def _detail_rows(model: str, dataset: str, result: Result) -> Iterator[Row]:
    details = result.get('details') or ()
    for columns, row in _numbered(details.values() if isinstance(details, dict) else details, 'id'):
        yield {'model': model, 'dataset': dataset, **columns, 'reason': _text_of(row, 'reason'), 'details': row}


def _prediction_rows(work: WorkDir, model: str, dataset: str, prompts: bool) -> Iterator[Row]:
    for columns, answer in _numbered(work.prediction_rows(model, dataset), 'record_id'):
        row: Row = {'model': model, 'dataset': dataset, **columns}
        row.update((column, answer.get(column)) for column in COLUMNS['predictions'][4:])
        row['prediction'] = without_sent(row['prediction'])
        row[OBSERVED] = with_tools(answer)
        yield {**row, PROMPT: answer.get('origin_prompt')} if prompts else row


def chosen_pairs(
    work: WorkDir,
    models: Sequence[str] = ('*',),
    datasets: Sequence[str] = ('*',),
    more: Iterable[tuple[str, str]] = (),
) -> list[tuple[str, str]]:
    """Returns model and data set of all results and predictions whose abbrs match the patterns, sorted.

    Args:
        work: The run.
        models: Patterns of the models' abbrs.
        datasets: Patterns of the data sets' abbrs.
        more: More pairs, such as those of failed tasks.

    Raises:
        DataError: The run has no results and predictions, or a pattern matches nothing.
    """
    pairs = sorted({*work.pairs(), *_answered(work), *more})
    for what, patterns, names in (
        ('model', models, [model for model, _ in pairs]),
        ('data set', datasets, [dataset for _, dataset in pairs]),
    ):
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                there = nearest_first(pattern, names, most=5)
                raise DataError(work.path, f'no {what} matches {pattern!r}; the run has: {there}')
    chosen = [
        (model, dataset)
        for model, dataset in pairs
        if any(fnmatchcase(model, pattern) for pattern in models)
        and any(fnmatchcase(dataset, pattern) for pattern in datasets)
    ]
    if not chosen:
        there = first_of([f'{model} x {dataset}' for model, dataset in pairs], most=5)
        raise DataError(work.path, f'nothing to export; the run has {there}')
    return chosen


def export_rows(
    work: WorkDir,
    pairs: Sequence[tuple[str, str]],
    folder: Path,
    format_: str = 'jsonl',
    prompts: bool = False,
    progress: Callable[[Sequence[tuple[str, str]]], Iterable[tuple[str, str]]] = iter,
) -> dict[Path, int]:
    """Writes a run, or parts of it, to files in a folder, each atomically. The same run gives the same bytes.

    Known keys are replaced in results and details, and folders of this machine are removed from the provenance.
    Predictions are written unchanged, so that they get the same scores after an import; steps of trajectories omit
    what the server sent for the next request, such as thoughts.

    Args:
        work: The run.
        pairs: Models and data sets, from :func:`chosen_pairs`.
        folder: The folder for the files; created if it does not exist.
        format_: One of :data:`FORMATS`.
        prompts: Adds a column with the prompts to the predictions.
        progress: Wraps the pairs of model and data set to show progress.

    Returns:
        File -> number of rows.

    Raises:
        DataError: A file of the run is damaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f'{name}.{format_}' for name in COLUMNS}
    counts = dict.fromkeys(files, 0)
    with ExitStack() as stack:
        temporary = {name: stack.enter_context(whole_file(file)) for name, file in files.items()}
        writers = {}
        for name, columns in COLUMNS.items():
            extra = (PROMPT,) if prompts and name == 'predictions' else ()
            writer = FORMATS[format_](temporary[name], (*columns, *extra))
            writers[name] = stack.enter_context(closing(writer))
        for model, dataset in progress(pairs):
            for name, row in _rows(work, model, dataset, prompts):
                writers[name].write(row)
                counts[name] += 1
    return {files[name]: count for name, count in counts.items()}


def _rows(work: WorkDir, model: str, dataset: str, prompts: bool) -> Iterator[tuple[str, Row]]:
    result = valid_result(work, model, dataset)
    if result is not None:
        yield 'results', _without_keys(_result_row(model, dataset, result))
        yield from (('details', _without_keys(row)) for row in _detail_rows(model, dataset, result))
    del result
    yield from (('predictions', row) for row in _prediction_rows(work, model, dataset, prompts))
