"""Imports published predictions as an OpenCompass run, to score them here. This module does not import OpenCompass."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from opencompass_tooleval.core.calls.answer import CALLS, USAGE
from opencompass_tooleval.core.calls.observed import OBSERVED
from opencompass_tooleval.core.calls.sent import THOUGHTS
from opencompass_tooleval.core.calls.tool_calls import read_calls
from opencompass_tooleval.core.errors import DataError, Fault
from opencompass_tooleval.core.scoring.result import INFRA
from opencompass_tooleval.core.scoring.sampling_settings import MAX_OUT_LEN, SAMPLING
from opencompass_tooleval.core.scoring.usage import whole_number
from opencompass_tooleval.core.scoring.usage_summary import OTHERS
from opencompass_tooleval.extras.attribution.causes import SERVING
from opencompass_tooleval.extras.exports.exporting import COLUMNS, PROMPT, TEXT_COLUMNS
from opencompass_tooleval.results.result_row import check_names
from opencompass_tooleval.work_dir.data_files import json_lines
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.recorded import RECORDED_SHAPE
from opencompass_tooleval.work_dir.store import write_json
from opencompass_tooleval.work_dir.whole_file import host_mark, left_behind
from opencompass_tooleval.work_dir.work_dir import WorkDir

_BATCH = 256
_EXTRAS = (THOUGHTS, MAX_OUT_LEN, RECORDED_SHAPE, CALLS, USAGE, OTHERS, SAMPLING, OBSERVED, SERVING)
"""Columns that inference omits when they are empty."""
_OPTIONAL = ('run', 'finish_reason', 'source', 'prompt_digest', *_EXTRAS)
"""Columns that may be missing; the run number follows from the order of the rows."""
_KINDS: dict[str, tuple[type, str]] = {
    **dict.fromkeys(('record_id', 'finish_reason', 'source', 'prompt_digest', THOUGHTS, RECORDED_SHAPE), (str, 'text')),
    **dict.fromkeys((USAGE, SAMPLING, SERVING), (dict, 'an object')),
    OBSERVED: (list, 'a list'),
    OTHERS: (list, 'a list'),
}
"""Columns with values of one type, or null."""


@dataclass(frozen=True)
class Imported:
    """Result of an import.

    Attributes:
        run: The new run.
        models: Number of models.
        datasets: Number of data sets.
        predictions: Number of predictions.
    """

    run: WorkDir
    models: int
    datasets: int
    predictions: int


def _stored_rows(file: Path) -> Iterator[dict[str, Any]]:
    """Yields the rows of a parquet file unchanged."""
    import pyarrow
    from pyarrow import parquet

    count = 0
    try:
        with parquet.ParquetFile(file) as table:
            columns = [name for name in (*COLUMNS['predictions'], PROMPT) if name in table.schema_arrow.names]
            for batch in table.iter_batches(_BATCH, columns=columns):
                yield from batch.to_pylist()
                count += len(batch)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError(file, f'the rows from {count + 1} on cannot be read ({error})') from error


def _parquet_rows(file: Path) -> Iterator[tuple[str, Any]]:
    for number, row in enumerate(_stored_rows(file), start=1):
        where = f'row {number}'
        try:
            values = {name: value if name in TEXT_COLUMNS else json.loads(value) for name, value in row.items()}
        except (ValueError, TypeError, RecursionError) as error:
            raise DataError(file, f'{where}: it cannot be read as JSON ({error})') from error
        yield where, values


def _check(row: Any) -> None:
    """Raises a :class:`Fault` if a row is not a prediction."""
    if not isinstance(row, dict):
        raise Fault('it is not an object')
    missing = [column for column in COLUMNS['predictions'] if column not in row and column not in _OPTIONAL]
    if missing:
        raise Fault(f'it has no {", ".join(missing)}')
    check_names(row)
    prediction = row['prediction']
    texts = prediction if isinstance(prediction, list) else [prediction]
    if not all(isinstance(text, str) for text in texts):
        raise Fault('its prediction is neither text nor a list of texts')
    for column, (kind, words) in _KINDS.items():
        if not isinstance(row.get(column), (kind, type(None))):
            raise Fault(f'its {column} is neither {words} nor null')
    if (limit := row.get(MAX_OUT_LEN)) is not None and not whole_number(limit):
        raise Fault(f'its {MAX_OUT_LEN} is neither a number of tokens nor null')
    try:
        read_calls(row.get(CALLS))
    except ValueError as error:
        raise Fault(f'its calls cannot be read ({error})') from error
    infra = row['infra']
    if infra is not None and not (isinstance(infra, str) and infra.startswith(INFRA)):
        raise Fault(f'its infra is neither null nor a reason that begins with {INFRA!r}')


def _predictions(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each row with its place, such as ``line 3``."""
    for where, row in (_parquet_rows if file.suffix == '.parquet' else json_lines)(file):
        try:
            _check(row)
        except Fault as fault:
            raise DataError(file, f'{where}: {fault}') from fault
        yield where, row


def _find(folder: Path) -> Path:
    files = [file for suffix in ('jsonl', 'parquet') if (file := folder / f'predictions.{suffix}').is_file()]
    if not files:
        what = 'found neither predictions.jsonl nor predictions.parquet'
        raise DataError(folder, what, fix='tooleval export WORK_DIR --out DIR')
    if len(files) > 1:
        raise DataError(folder, f'found both {files[0].name} and {files[1].name}: delete one')
    return files[0]


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    """Converts a row to a row of a predictions file, as ``ToolEvalGenInferencer`` writes it."""
    same = ('prediction', 'record_id', 'source', 'prompt_digest', 'infra', 'finish_reason', *_EXTRAS)
    columns = {PROMPT: 'origin_prompt', **{name: name for name in same}}
    answer = {name: row[column] for column, name in columns.items() if column in row}
    for name in _EXTRAS:
        if answer.get(name) is None:
            answer.pop(name, None)  # inference omits it too
    return answer


def _new_run(work_dir: Path) -> Path:
    """Returns the path of a new run, named after the time as in OpenCompass."""
    stamp = time.strftime('%Y%m%d_%H%M%S')
    names = (stamp, *(f'{stamp}_{number}' for number in range(1, 1000)))
    return next(work_dir / name for name in names if not (work_dir / name).exists())


def import_predictions(folder: Path, work_dir: Path) -> Imported:
    """Makes a run from published predictions, with ``predictions/MODEL/DATASET.json`` as inference writes them.

    Memory contains one data set at a time. The run is created atomically.

    Args:
        folder: Folder with ``predictions.jsonl`` or ``.parquet``. The rows of a data set are adjacent, in the data's
            order.
        work_dir: Folder of runs: ``-w`` of ``opencompass``.

    Raises:
        DataError: A row cannot be used; the error names file and line.
        OSError: The run cannot be written.
    """
    file = _find(folder)
    work_dir.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(work_dir)
    temporary = work_dir / f'.import-{host_mark()}-{secrets.token_hex(4)}'
    with exclusive(_lock(temporary)):
        temporary.mkdir()
        try:
            counts = _write_predictions(file, temporary / 'predictions')
            (temporary / 'configs').mkdir()
            run = temporary.rename(_new_run(work_dir))
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return Imported(
        WorkDir(run), len({model for model, _ in counts}), len({dataset for _, dataset in counts}), sum(counts.values())
    )


def _lock(temporary: Path) -> Path:
    return temporary.with_name(f'{temporary.name}.lock')


def _remove_leftovers(work_dir: Path) -> None:
    """Removes the temporary folders of killed imports."""
    for lock in work_dir.glob('.import-*-*.lock'):
        with left_behind(lock, lock.name.split('-')[1], lock) as is_left:
            if is_left:
                shutil.rmtree(lock.with_suffix(''), ignore_errors=True)
                lock.unlink(missing_ok=True)


def _write_predictions(file: Path, folder: Path) -> dict[tuple[str, str], int]:
    """Writes ``MODEL/DATASET.json`` below a folder; returns the number of predictions of each."""
    counts: dict[tuple[str, str], int] = {}
    for key, group in groupby(_predictions(file), key=lambda placed: (placed[1]['model'], placed[1]['dataset'])):
        predictions = list(group)
        if key in counts:
            raise DataError(
                file, f'{predictions[0][0]}: {key[0]} x {key[1]} continues after other rows; its rows must be adjacent'
            )
        counts[key] = len(predictions)
        target = folder / key[0] / f'{key[1]}.json'
        target.parent.mkdir(parents=True, exist_ok=True)
        write_json(target, ((str(i), _answer(row)) for i, (_, row) in enumerate(predictions)))
    if not counts:
        raise DataError(file, 'it contains no predictions')
    return counts


def import_run(
    folder: Annotated[
        Path, typer.Argument(metavar='DIR', help='Folder that tooleval export wrote; only the predictions are read.')
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
    say(f'{done.predictions} predictions of {done.models} models on {done.datasets} data sets: {done.run.path}')
    say(f'score them with: opencompass CONFIG -w {work_dir} -r {done.run.path.name} -m eval')
