"""Data files of the paper's own benchmarks."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.json_object import load_json


def sha256_of(file: Path) -> str:
    """SHA-256 of a file's bytes: 64 hex digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def read_list(file: Path, cure: str) -> list[Any]:
    """The entries of a JSON file that is a list.

    Args:
        file: UTF-8.
        cure: The command that fetches the data, for the message.

    Raises:
        DataError: The file is missing, damaged, empty or no list.
    """
    try:
        entries = load_json(file.read_bytes(), bounded=True)
    except OSError as error:
        raise DataError(file, f'the file cannot be read ({error.strerror})', cure=cure) from error
    except ValueError as error:
        raise DataError(file, f'the file is cut short or no JSON ({error})', cure=cure) from error
    if not isinstance(entries, list) or not entries:
        raise DataError(file, 'the file is no list of records', cure=cure)
    return entries
