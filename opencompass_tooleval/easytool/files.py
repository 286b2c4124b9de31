"""Data files of the paper's own benchmarks."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.json_object import load_json

logger = logging.getLogger(__name__)


def sha256_of(file: Path) -> str:
    """SHA-256 of a file's bytes: 64 hex digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def check_counts(file: Path, published: str, counts: Mapping[str, int], row: object) -> None:
    """Warns where a file has other counts than the published one.

    Args:
        file: What was read.
        published: Its name.
        counts: What is counted -> how many there are.
        row: The row of the table, with the published counts under these names.
    """
    other = [
        f'{count} {what}, not {published_count}'
        for what, count in counts.items()
        if count != (published_count := getattr(row, what))
    ]
    if other:
        logger.warning('%s is not the published %s: %s', file, published, '; '.join(other))


def read_list(file: Path, mend: str) -> list[Any]:
    """The entries of a JSON file that is a list.

    Args:
        file: UTF-8.
        mend: The command that fetches the data, for the message.

    Raises:
        DataError: The file is missing, damaged, empty or no list.
    """
    try:
        entries = load_json(file.read_bytes(), bounded=True)
    except OSError as error:
        raise DataError(file, f'the file cannot be read ({error.strerror})', mend=mend) from error
    except ValueError as error:
        raise DataError(file, f'the file is cut short or no JSON ({error})', mend=mend) from error
    if not isinstance(entries, list) or not entries:
        raise DataError(file, 'the file is no list of records', mend=mend)
    return entries
