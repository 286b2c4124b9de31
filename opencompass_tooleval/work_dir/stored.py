"""Reads which answers and results a run has, and tells which of them fit its present config."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.result import with_runs
from opencompass_tooleval.core.scoring.sampling_settings import (
    ASK,
    KEEP,
    SAMPLING,
    AnswerLimit,
    Differences,
    StoredAnswers,
    is_cut_below,
)
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import MAX_RUN_BYTES, open_plain, read_plain
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.names import answers_folder, lock_path
from opencompass_tooleval.work_dir.shards import is_damaged, numbered_shards, read_predictions, set_aside
from opencompass_tooleval.work_dir.store import (
    MODEL,
    AnswerStore,
    Row,
    adopt,
    best_rows,
    has_failed,
    key_of,
    key_text,
    keys_of,
)
from opencompass_tooleval.work_dir.whole_file import sync_folder

logger = logging.getLogger(__name__)

ORIGIN = 'computed_from'
"""Key in a result of the digests below, on a separate line."""
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
    file: Path,
    result: Path,
    records: Records | None,
    limit: AnswerLimit | None,
    stored: StoredAnswers,
    is_replaced: bool = False,
) -> bool:
    """Tests if a predictions file lacks answers, or has answers to replace: cut ones, or ones with other settings.

    Args:
        file: The predictions file, whole or a shard.
        result: The result file of the same model and dataset, which need not exist.
        records: The records of the dataset; None if unknown.
        limit: The token limit. Answers that a lower limit cut are missing. None if unknown.
        stored: The answers that the config accepts.
        is_replaced: True if somebody has replaced the predictions, whose settings count then, and the result.

    Raises:
        DataError: The file is damaged.
    """
    head = {} if is_replaced else _head(result)
    may_differ = stored.use == ASK or (stored.use != KEEP and not is_replaced)
    may_differ = may_differ and not _has_sampling(head, stored)
    if records and not is_outdated(head, records) and not _may_be_cut(head, limit) and not may_differ:
        return False  # reading the result takes a hundredth of the time
    rows = read_predictions(file)
    if records and not _keys(records.ids) <= {key for key, _ in with_runs(rows, _record_id)}:
        return True
    wanted = rows if records is None else select_rows(rows, records.ids)
    if may_differ and any(map(stored.difference, wanted)):
        return True
    return limit is not None and any(is_cut_below(row, limit.tokens) for row in wanted)


def other_settings(
    file: Path, result: Path, records: Callable[[], Records | None], stored: StoredAnswers
) -> Counter[str]:
    """Counts the answers with other settings than the config's, in the store, or in predictions without one.

    Args:
        file: The predictions file of a dataset, which need not exist.
        result: The result file, which need not exist.
        records: Returns the records of the dataset, or None if they are unknown.
        stored: The settings of the config.

    Returns:
        Description of the difference -> number of answers. All rounds of a dialogue count as one.

    Raises:
        DataError: A file is damaged.
    """
    head = _head(result)
    if file.exists() and _has_sampling(head, stored):
        known = records()
        if known is None or not is_outdated(head, known):
            return Counter()
    differences = Differences(stored)
    for key, row in _stored_rows(file):
        if not (has_failed(row) or row.get(MODEL)):  # a simulator has other settings
            differences.accepts(key, row)
    if differences.found and (known := records()):
        keys = {*map(key_text, keys_of(known.ids))}
        return Counter(difference for key, difference in differences.found.items() if key in keys)
    return Counter(differences.found.values())


def _stored_rows(file: Path) -> Iterator[tuple[str, Row]]:
    """Yields the stored rows of a dataset, each with a key that is equal for rows of the same answer."""
    store = AnswerStore(answers_folder(file))
    yield from ((key_text(key_of(row)), row) for _, row in store.read())
    for key in store.rounds:
        yield from ((key, row) for row in store.rounds_of(key))
    # Imported files may have no settings, and need not be parsed.
    for whole in () if store.files() else [file] if file.exists() else numbered_shards(file).values():
        if not is_damaged(whole) and _SETTINGS in read_plain(whole, MAX_RUN_BYTES):
            yield from ((key_text(key), row) for key, row in with_runs(read_predictions(whole), _record_id))


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
    """Returns the digests that a result stores; ``{}`` for results of other tasks."""
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


def ask_more(file: Path) -> None:
    """Removes predictions that lack answers or are damaged, so that a resumed run writes them again.

    Their answers are stored first, if they are not yet. A damaged file is renamed.

    Args:
        file: The predictions file, whole or a shard.

    Raises:
        InUseError: Another process works on the predictions.
    """
    with exclusive(lock_path(file)):
        try:
            rows = read_predictions(file)
        except DataError as error:
            logger.warning('%s It is kept as %s and made again', error, set_aside(file).name)
        else:
            adopt(AnswerStore(answers_folder(file)), rows)
            file.unlink()


def join_parts(whole: Path, parts: Sequence[Path]) -> None:
    """Stores the answers of a split dataset as those of the whole dataset, and removes the parts.

    A kill at any time loses no answer and repeats none, but requests of unfinished dialogues if there are several
    trials: each part counts its trials from the first.

    Args:
        whole: The predictions file of the dataset, which need not exist.
        parts: The shards, in order, finished or not.
    """
    folder = answers_folder(whole)
    rows = [row for part in parts for row in _rows_of(part)]
    has_trials = len({*map(_record_id, rows)}) < len(rows)
    if has_trials or any(part.exists() for part in parts):
        adopt(AnswerStore(folder), rows)
    for part in reversed(parts):  # so that the trials of those that a kill leaves are numbered alike
        for file in () if has_trials else AnswerStore(answers_folder(part)).files():
            AnswerStore(folder).make_folder()
            file.rename(folder / file.name)
            sync_folder(folder)
        part.unlink(missing_ok=True)
        shutil.rmtree(answers_folder(part), ignore_errors=True)


def _rows_of(part: Path) -> list[Row]:
    return read_predictions(part) if part.exists() else [*best_rows(AnswerStore(answers_folder(part)).read()).values()]
