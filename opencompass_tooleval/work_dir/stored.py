"""Reads which answers and results a run has, and tells which of them fit its present config."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.answer_limit import AnswerLimit, is_cut_below
from opencompass_tooleval.core.scoring.runs import with_runs
from opencompass_tooleval.core.scoring.sampling_settings import ASK, SAMPLING, StoredAnswers
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import MAX_RUN_BYTES, open_plain, read_plain
from opencompass_tooleval.work_dir.journal import MODEL, Journal, Row, write_json
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.names import (
    is_of,
    journal_path,
    journals_in,
    kept_path,
    lock_path,
    predictions_of,
)
from opencompass_tooleval.work_dir.shards import is_damaged, numbered_shards, read_predictions

ORIGIN = 'computed_from'
"""Key in a result of the digests below, on a line of its own."""
ANSWERS, SCORING, CONTENT = 'predictions_sha256', 'scoring_sha256', 'content_sha256'
"""SHA-256 of the bytes of the predictions, of all that scores them, and of the result's other lines."""
OTHER_ANSWERS = 'other_answers'
"""Key that a reader adds to a result whose run has other predictions."""
_ORIGIN_LINE = f'"{ORIGIN}": '.encode()
_DETAILS = b'"details"'
_MOST_OF_HEAD = 1 << 22
_SETTINGS = f'"{SAMPLING}"'.encode()


@dataclass(frozen=True)
class Records:
    """The records of a dataset that a config selects.

    Attributes:
        ids: Record id of each row; with ``n`` trials each id occurs ``n`` times.
        digest: SHA-256 of the records of one trial, as in a result's provenance.
    """

    ids: tuple[str, ...]
    digest: str


def is_unfinished(
    file: Path, result: Path, records: Records | None, limit: AnswerLimit | None, stored: StoredAnswers
) -> bool:
    """Tests if a predictions file lacks answers, or has answers to replace: cut ones, or ones with other settings.

    Args:
        file: The predictions file, whole or a shard.
        result: The result file of the same model and dataset, which need not exist.
        records: The records of the dataset; None if unknown.
        limit: The token limit. Answers that a lower limit cut are missing. None if unknown.
        stored: The answers that the config accepts.

    Raises:
        DataError: The file is damaged.
    """
    head = _head(result)
    may_differ = stored.use == ASK and not _has_sampling(head, stored)
    if records and not is_outdated(head, records) and not _may_be_cut(head, limit) and not may_differ:
        return False  # reading the result takes a hundredth of the time
    rows = read_predictions(file)
    if records and not _keys(records.ids) <= {key for key, _ in with_runs(rows, _record_id)}:
        return True
    wanted = rows if records is None else select_rows(rows, records.ids)
    if may_differ and any(map(stored.difference, wanted)):
        return True
    return limit is not None and any(is_cut_below(row, limit.tokens) for row in wanted)


def other_settings(file: Path, result: Path, stored: StoredAnswers) -> Counter[str]:
    """Counts the answers with other settings than the config's, in predictions, shards and journals.

    Args:
        file: The predictions file of a dataset, which need not exist.
        result: The result file, which need not exist.
        stored: The settings of the config.

    Returns:
        Description of the difference -> number of answers. All rounds of a dialogue count as one.

    Raises:
        DataError: A file is damaged.
    """
    if file.exists() and _has_sampling(_head(result), stored):
        return Counter()
    answers = {
        place: '' if row.get('infra') else stored.difference(row)
        for place, row in _stored_rows(file)
        if not row.get(MODEL)  # a simulator has other settings
    }
    return Counter(filter(None, answers.values()))


def _stored_rows(file: Path) -> Iterator[tuple[Any, Row]]:
    """Yields the stored rows of a dataset, each with a key that is equal for rows of the same answer."""
    for whole in [file] if file.exists() else numbered_shards(file).values():
        # Files of earlier versions have no settings, and need not be parsed.
        if not is_damaged(whole) and _SETTINGS in read_plain(whole, MAX_RUN_BYTES):
            yield from (((whole, index), row) for index, row in enumerate(read_predictions(whole)))
    for journal in () if file.exists() else journals_in(file.parent):
        if is_of(name := predictions_of(journal).stem, file.stem):
            yield from ((row.get('key', (name, row['idx'])), row) for row in Journal(journal).rows())


def _has_sampling(head: Mapping[str, Any], stored: StoredAnswers) -> bool:
    """Tests if all answers of a result have the settings of the config, given the result without details."""
    return Provenance.of(head).stored.get(SAMPLING) == [stored.sampling]


def bytes_digest(files: Iterable[Path]) -> str:
    """Returns the SHA-256 of the bytes of files, one after the other.

    Raises:
        DataError: A file is not a plain file.
        OSError: A file cannot be read.
    """
    digest = hashlib.sha256()
    for file in files:
        with open_plain(file, None) as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
    return digest.hexdigest()


def origin_in(result: Path) -> Mapping[str, Any]:
    """Returns the digests that a result stores; ``{}`` for results of earlier versions and of other tasks."""
    with suppress(OSError, DataError), open_plain(result, None) as stream:
        for line in iter(stream.readline, b''):
            if line.startswith(_DETAILS):
                break
            if line.startswith(_ORIGIN_LINE):
                return _origin(line)
    return {}


def _origin(line: bytes) -> Mapping[str, Any]:
    with suppress(ValueError):
        origin = load_json(b'{' + line.rstrip().removesuffix(b',') + b'}', bounded=True)[ORIGIN]
        return origin if isinstance(origin, Mapping) else {}
    return {}


def with_origin(content: str, origin: Mapping[str, str]) -> str:
    """Adds the digests to the text of a result that has one line per key, and ``details`` as the last."""
    before, details, after = content.partition('\n' + _DETAILS.decode())
    before, after = (before, f'{details[1:]}{after}') if details else (before.rpartition('}')[0].rstrip(), '}\n')
    digest = hashlib.sha256(f'{before}\n{after}'.encode('utf-8', 'surrogatepass')).hexdigest()
    line = json.dumps({ORIGIN: {**origin, CONTENT: digest}})[1:-1]
    return f'{before}\n{line},\n{after}' if details else f'{before},\n{line}\n{after}'


def is_intact(result: Path) -> bool:
    """Tests if a result is what was written, by its digest; without a digest, if it is valid JSON.

    Raises:
        DataError: The result is not a plain file, or too large.
        OSError: The result cannot be read.
    """
    content = read_plain(result, MAX_RUN_BYTES)
    before, found, rest = content.partition(b'\n' + _ORIGIN_LINE)
    if found:
        line, _, after = rest.partition(b'\n')
        before = before if line.endswith(b',') else before.removesuffix(b',')  # which with_origin has added
        return _origin(_ORIGIN_LINE + line).get(CONTENT) == hashlib.sha256(before + b'\n' + after).hexdigest()
    try:
        load_json(content)
    except ValueError:
        return False
    return True


def result_is_outdated(result: Path, records: Records | None) -> bool:
    """Tests if a result is about other records than the config selects; False if unknown."""
    head = _head(result)
    return records is not None and bool(Provenance.of(head).records_sha256) and is_outdated(head, records)


def is_outdated(head: Mapping[str, Any], records: Records) -> bool:
    """Tests if a result is not known to be about these records, given the result without details."""
    samples = head.get('samples')
    count = samples.get('all') if isinstance(samples, Mapping) else None
    return (count, Provenance.of(head).records_sha256) != (len(records.ids), records.digest)


def _may_be_cut(head: Mapping[str, Any], limit: AnswerLimit | None) -> bool:
    """Tests if answers of a result may have been cut at a lower limit."""
    if limit is None or not head['samples'].get('cut'):
        return False
    before = Provenance.of(head).max_out_len
    return before is None or before < limit.tokens


def _head(result: Path) -> Mapping[str, Any]:
    """Reads a result of this package without its details; returns ``{}`` if it is missing or invalid."""
    try:
        with open_plain(result, None) as stream:
            head = stream.read(_MOST_OF_HEAD)
    except (OSError, DataError):
        return {}
    lines, details, _ = head.partition(b'\n' + _DETAILS)
    try:
        content = load_json(lines.rstrip().removesuffix(b',') + b'}' if details else lines, bounded=True)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _record_id(row: Mapping[str, Any]) -> str:
    return str(row.get('record_id'))


def _keys(ids: Sequence[str]) -> set[tuple[str, int]]:
    return {key for key, _ in with_runs(ids, str)}


def select_rows(rows: list[Row], ids: Sequence[str]) -> list[Row]:
    """Returns the rows of these records, in this order; returns all rows if a record has none."""
    known = dict(with_runs(rows, _record_id))
    keys = [key for key, _ in with_runs(ids, str)]
    return [known[key] for key in keys] if all(key in known for key in keys) else rows


def keep_rows(journal: Journal, rows: Iterable[Row]) -> None:
    """Keeps rows of a journal next to the finished predictions, for :func:`reopen`.

    Args:
        journal: The journal, which is removed afterwards.
        rows: Answers to records that the config does not select, and rounds of dialogues with a cut answer.
    """
    kept = Journal(kept_path(predictions_of(journal.path)))
    kept.remove()
    if kept_rows := dict(enumerate(rows)):
        kept.append(kept_rows)


def reopen(file: Path, result: Path, records: Records | None = None) -> None:
    """Converts predictions to a journal, so that a resumed run requests only the missing answers.

    Writes the journal, then removes the result and the predictions, so that a kill at any time loses no answer.

    Args:
        file: The predictions file, whole or a shard.
        result: The result file, which need not exist.
        records: The records of the dataset. Their rows get the records' positions, and all other rows follow. None to
            keep the positions of all rows.

    Raises:
        DataError: The file is damaged.
        InUseError: Another process works on the predictions.
    """
    with exclusive(lock_path(file)):
        _reopen(file, result, records)


def _reopen(file: Path, result: Path, records: Records | None) -> None:
    journal, kept = Journal(journal_path(file)), Journal(kept_path(file))
    rows = [*read_predictions(file), *kept.restore().values()]
    indices = {key: index for index, (key, _) in enumerate(with_runs(records.ids, str))} if records else {}
    behind = iter(range(len(indices), len(indices) + len(rows)))
    placed: dict[int, Row] = {}
    for number, (key, row) in enumerate(with_runs(rows, _record_id)):
        placed[indices[key] if key in indices else next(behind) if records else number] = row
    journal.remove()
    journal.append(placed)  # failures too, since their cost is part of the run
    result.unlink(missing_ok=True)
    file.unlink()
    kept.remove()


def join_parts(whole: Path, parts: Sequence[Path], records: Records) -> None:
    """Joins the parts of a split dataset, finished or not, to one predictions file, and removes the parts.

    The file may lack answers: see :func:`is_unfinished`. Failed requests of unfinished parts are dropped. A kill at any
    time loses no answer and repeats none.

    Args:
        whole: The predictions file. If it exists, the parts have been joined already.
        parts: The parts, in order.
        records: The records of the dataset.
    """
    if not whole.exists():
        rows = [row for part in (*parts, whole) for row in _rows_of(part)]
        keyed = with_runs(sorted(rows, key=lambda row: bool(row.get('infra'))), _record_id)
        places = {key: place for place, (key, _) in enumerate(with_runs(records.ids, str))}
        in_order = sorted(keyed, key=lambda pair: places.get(pair[0], len(places)))
        write_json(whole, ((str(number), row) for number, (_, row) in enumerate(in_order)))
    for part in parts:
        for file in (kept_path(part), journal_path(part), part):
            file.unlink(missing_ok=True)
    journal_path(whole).unlink(missing_ok=True)


def _rows_of(part: Path) -> list[Row]:
    if part.exists():
        return [*read_predictions(part), *Journal(kept_path(part)).restore().values()]
    rows = Journal(journal_path(part)).restore()
    return [rows[index] for index in sorted(rows) if not rows[index].get('infra')]
