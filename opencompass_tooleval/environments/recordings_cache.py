"""Recorded calls of StableToolBench's cache: ``CATEGORY/TOOL_for_CATEGORY/API.json``, from ``str(arguments)`` to a
response; a tool's folder without its category is read too.

``str()`` of a dict is a Python literal, and is read as one, within bounds. The cache does not say for which query a
call was made: its calls belong to no task. An API is called as ToolBench's agents call it, ``API_for_TOOL``, of which
the last 64 characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.responses import error_kind
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.jsonable import to_jsonable
from opencompass_tooleval.core.reading import parse_literal
from opencompass_tooleval.environments.bank import RecordedCall
from opencompass_tooleval.work_dir.data_files import read_members

MAX_NAME = 64
"""Characters of a function's name that ToolBench's agents see: its last ones."""

_FILES = '*/*/*.json'
_A_FILE = 'object of responses by arguments, as those of the cache are'


def is_cache(path: Path) -> bool:
    """Whether a folder has files three levels down, and no JSON of its own."""
    return path.is_dir() and any(islice(path.glob(_FILES), 1)) and not any(islice(path.glob('*.json*'), 1))


def function_name(api: str, tool: str) -> str:
    """``search``, ``imdb`` -> ``search_for_imdb``."""
    return f'{api}_for_{tool}'[-MAX_NAME:]


def _response(stored: Any) -> str | None:
    """As ToolBench's server sends it: the stored object, ``{"error": ..., "response": ...}``."""
    if isinstance(stored, str):
        return stored
    if not isinstance(stored, dict) or not stored.keys() & {'error', 'response'}:
        return None
    missing = {key: '' for key in ('error', 'response') if key not in stored}
    return json.dumps(to_jsonable({**stored, **missing}))


def read_cache(folder: Path, label: str) -> Iterator[RecordedCall]:
    """The recorded calls of a cache.

    Args:
        folder: That of the categories.
        label: What the bank calls it.

    Raises:
        DataError: A file is damaged, or is none of a cache.
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
