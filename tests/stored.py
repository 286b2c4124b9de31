"""Reads and writes the store of answers, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from opencompass_tooleval.work_dir.store import AnswerStore


def stored_in(folder: Path) -> AnswerStore:
    """Opens a store as a new process does, with what other processes have stored."""
    return AnswerStore(folder).restored()


def stored_rows(folder: Path) -> list[dict[str, Any]]:
    """Returns all rows of a store, in the order of files."""
    return [json.loads(line) for file in sorted(folder.glob('*.jsonl')) for line in file.read_text().splitlines()]


def store_rows(predictions: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Stores answers for a predictions file, as another process has; returns the folder."""
    store = AnswerStore(predictions.with_suffix('.answers'))
    store.append(list(rows))
    return store.folder
