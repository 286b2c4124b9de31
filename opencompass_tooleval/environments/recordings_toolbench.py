"""Reads recorded calls from stored runs in ToolBench's format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.data import holds_runs, read_runs
from opencompass_tooleval.benchmarks.toolbench.reading import error_kind
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.core.text.reading import parse_literal
from opencompass_tooleval.environments.bank import RecordedCall
from opencompass_tooleval.work_dir.data_files import read_members


def is_trajectories(path: Path) -> bool:
    """Tests if a file is an object of runs.

    Raises:
        DataError: The first run is too long or nested too deeply.
    """
    return path.is_file() and path.name.endswith(('.json', '.json.gz')) and holds_runs(path)


def read_trajectories(file: Path, label: str) -> Iterator[RecordedCall]:
    """Yields the recorded calls of a file of runs: each query is a task.

    Args:
        file: A file, which may be gzipped.
        label: Name of the file in the bank.

    Raises:
        DataError: The file is damaged.
    """
    for run in read_runs(file):
        for call in run.calls:
            yield RecordedCall(label, run.id, call.name, call.arguments, call.observation, error_kind(call.observation))


MAX_NAME = 64
"""Number of final characters of a function's name that ToolBench's agents see."""

_FILES = '*/*/*.json'
_A_FILE = 'an object of responses by arguments, as in the cache'


def is_cache(path: Path) -> bool:
    """Tests if a folder has files three levels down, and no JSON file at its top."""
    return path.is_dir() and any(islice(path.glob(_FILES), 1)) and not any(islice(path.glob('*.json*'), 1))


def function_name(api: str, tool: str) -> str:
    """Returns the name of a function: ``search``, ``imdb`` -> ``search_for_imdb``."""
    return f'{api}_for_{tool}'[-MAX_NAME:]


def _response(stored: Any) -> str | None:
    """Returns the stored object in the format of ToolBench's server: ``{"error": ..., "response": ...}``."""
    if isinstance(stored, str):
        return stored
    if not isinstance(stored, dict) or not stored.keys() & {'error', 'response'}:
        return None
    missing = {key: '' for key in ('error', 'response') if key not in stored}
    return json.dumps(to_jsonable({**stored, **missing}))


def read_cache(folder: Path, label: str) -> Iterator[RecordedCall]:
    """Yields the recorded calls of a cache.

    Args:
        folder: The folder of the categories.
        label: Name of the folder in the bank.

    Raises:
        DataError: A file is damaged, or does not belong to a cache.
    """
    for file in sorted(folder.glob(_FILES)):
        tool = file.parent.name.removesuffix(f'_for_{file.parent.parent.name}')
        name = function_name(file.stem, tool)
        for passed, row in read_members(file, _A_FILE):
            response = _response(row)
            if response is None:
                raise DataError(file, "the response has neither 'error' nor 'response'", record=passed)
            parsed = parse_literal(passed)
            arguments = parsed.value if parsed.ok else passed
            yield RecordedCall(label, '', name, arguments, response, error_kind(response))
