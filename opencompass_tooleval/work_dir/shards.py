"""Reads and checks the predictions of a dataset that was split over jobs: ``NAME_0.json``, ``NAME_1.json``, ..."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import MAX_RUN_BYTES, open_plain, read_plain
from opencompass_tooleval.work_dir.names import (
    answers_folder,
    answers_in,
    damaged_path,
    number_of,
    part_of,
    predictions_of,
    whole_of,
)

logger = logging.getLogger(__name__)

_SHOWN = 3
_TAIL = 64
FIX = 'delete the file and run the sweep again with -r'


def numbered_shards(whole: Path) -> dict[int, Path]:
    """Returns the shards next to a predictions file by number, in order."""
    shards = [file for file in whole.parent.glob(f'*{whole.suffix}') if whole_of(file.stem) == whole.stem]
    # Sorted by number: by name, NAME_10 would precede NAME_2.
    return dict(sorted((number_of(file.stem), file) for file in shards))


def parts_of(whole: Path) -> list[Path]:
    """Returns the shards next to a predictions file, in order, also unfinished ones, which have only answers."""
    files = {*whole.parent.glob('*.json'), *map(predictions_of, answers_in(whole.parent))}
    numbers = sorted(number_of(file.stem) for file in files if whole_of(file.stem) == whole.stem)
    return [part_of(whole, number) for number in numbers]


def shard_files(whole: Path) -> list[Path]:
    """Returns the shards next to a predictions file, in order; empty if there are none.

    Raises:
        DataError: A shard between the first and the last is missing.
    """
    shards = numbered_shards(whole)
    for number in range(max(shards, default=-1)):
        if number not in shards:
            raise DataError(
                part_of(whole, number),
                f'this shard is missing; {len(shards)} others are there',
                fix='opencompass ... -r',
            )
    return list(shards.values())


def read_predictions(file: Path) -> list[dict[str, Any]]:
    """Reads the rows of a predictions file, in the data's order.

    Raises:
        DataError: The file is damaged.
    """
    try:
        content = load_json(read_plain(file, MAX_RUN_BYTES), bounded=True)
        rows = [content[str(index)] for index in range(len(content))]
        if not all(isinstance(row, dict) for row in rows):
            raise TypeError('a row is not an object')
        return rows
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(file, f'the predictions cannot be read ({type(error).__name__}: {error})', fix=FIX) from error


def is_damaged(file: Path) -> bool:
    """Tests if a JSON file is cut before its last bracket, for example by a power cut: empty, partial, or with NULs.

    Reads only the end, unless this may be the end of a row.
    """
    with open_plain(file, None) as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL))
        tail = stream.read().rstrip(b' \t\r\n')
    if tail.endswith(b'\n}') or not tail.endswith(b'}'):
        return not tail.endswith(b'}')
    try:
        load_json(read_plain(file, MAX_RUN_BYTES))
    except ValueError:
        return True
    return False


def set_aside_damaged(whole: Path) -> None:
    """Renames damaged files, whole or shards, to ``NAME.json.damaged``, so that they count as missing."""
    for file in (whole, *numbered_shards(whole).values()):
        if file.is_file() and is_damaged(file):
            logger.warning('%s was cut, as by a power cut: it is kept as %s and made again', file, set_aside(file).name)
        answers = answers_folder(file)
        wrong = [one for one in answers.glob('*.jsonl') if not one.is_file()]
        for one in [answers] if os.path.lexists(answers) and not answers.is_dir() else wrong:
            logger.warning('%s cannot hold answers, and is renamed to %s', one, set_aside(one).name)


def set_aside(file: Path) -> Path:
    """Renames a damaged file, and returns its new path."""
    return file.rename(damaged_path(file))


def check_shards(files: Sequence[Path], record_ids: Sequence[str]) -> None:
    """Checks that the shards, in order, contain the records of the dataset.

    Raises:
        DataError: A shard has missing or foreign records; the message names the shard and the first such records.
    """
    start = 0
    for file in files:
        actual = [str(row.get('record_id')) for row in read_predictions(file)]
        expected = list(record_ids[start : start + len(actual)])
        if actual != expected:
            missing = [record for record in expected if record not in set(actual)]
            foreign = [record for record in actual if record not in set(expected)]
            what = f"this shard should begin with the data set's record {start}"
            if missing or foreign:
                what += f'; {len(missing)} records are missing ({", ".join(missing[:_SHOWN])}) and '
                what += f'{len(foreign)} do not belong here ({", ".join(foreign[:_SHOWN])})'
            else:
                what += '; its records are in another order'
            raise DataError(file, what, fix=FIX)
        start += len(actual)
    if start != len(record_ids):
        what = f'the shards end here with {start} of {len(record_ids)} records'
        raise DataError(files[-1], what, fix='opencompass ... -r')
