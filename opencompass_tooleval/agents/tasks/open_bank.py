"""Opens the sources that answer an agent's calls: a response bank or recordings, and a benchmark's emulated tools."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.environments.bank import Bank, fix_of_bank, write_bank
from opencompass_tooleval.environments.environment import (
    TEVAL_ERRORS,
    TOOLBENCH_ERRORS,
    ErrorTexts,
    StatefulTools,
    no_stateful_tools,
)
from opencompass_tooleval.environments.recordings import find_sources, read_sources
from opencompass_tooleval.environments.teval_tools import teval_functions
from opencompass_tooleval.work_dir.data_files import open_plain
from opencompass_tooleval.work_dir.whole_file import private_folder

MAX_SOURCE_BYTES = 32 * 1024 * 1024
"""Maximum total size of recordings; this much takes a few seconds to read."""

_SQLITE = b'SQLite format 3\0'


class TemporaryBank(Bank):
    """A bank made from recordings; its file is deleted with the object.

    Args:
        source: Recordings, as for ``tooleval agents bank build --from``.

    Raises:
        DataError: The source is damaged, has no recorded calls, or exceeds :data:`MAX_SOURCE_BYTES`.
    """

    def __init__(self, source: Path) -> None:
        files = source.rglob('*') if source.is_dir() else (source,)
        size = sum(file.stat().st_size for file in files if file.is_file())
        if size > MAX_SOURCE_BYTES:
            what = f'{size / 1e6:,.0f} MB of recordings are too much to read at each start'
            raise DataError(source, what, fix=fix_of_bank(shlex.quote(str(source))))
        self._folder = private_folder('bank')
        file = Path(self._folder.name) / 'bank'
        write_bank(read_sources(find_sources([source])), file)
        super().__init__(file)


def open_bank(path: str) -> Bank:
    """Opens a bank, once per process.

    Args:
        path: A bank, or recordings; resolved like a data file's path
            (:func:`~opencompass_tooleval.data_path.candidate_paths`).

    Raises:
        DataError: The file is missing, damaged or neither; the error contains the command that makes a bank.
    """
    fix = fix_of_bank(out=shlex.quote(path))
    file = resolve_data_path(path, fix).resolve()
    return _open(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _open(file: Path, changed: int) -> Bank:
    return Bank(file) if _is_bank(file) else TemporaryBank(file)


def _is_bank(file: Path) -> bool:
    if not file.is_file():
        return False
    with open_plain(file, None) as content:
        return content.read(len(_SQLITE)) == _SQLITE


@dataclass(frozen=True)
class BenchmarkTools:
    """Tools of a benchmark for an environment.

    Attributes:
        stateful_tools: Creates the emulated tools of a task.
        errors: Error texts of all its tools.
    """

    stateful_tools: StatefulTools
    errors: ErrorTexts


TOOLS = {
    None: BenchmarkTools(no_stateful_tools, TOOLBENCH_ERRORS),
    'teval': BenchmarkTools(teval_functions, TEVAL_ERRORS),
}
"""``stateful_tools`` of :class:`~opencompass_tooleval.agents.adapter.AgentDialogues` -> the tools and error texts."""


def find_tools(name: str | None) -> BenchmarkTools:
    """Returns the tools of a benchmark.

    Raises:
        ValueError: The benchmark has no such tools.
    """
    if name not in TOOLS:
        raise ValueError(f'stateful_tools is {name!r}; it is one of {", ".join(filter(None, TOOLS))}, or None')
    return TOOLS[name]
