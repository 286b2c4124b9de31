"""Finds data files in the places that OpenCompass uses, without its silent download."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir.data_files import sha256_of

logger = logging.getLogger(__name__)

ENV = 'COMPASS_DATA_CACHE'
PACKAGE_PREFIX = 'tooleval:'
"""Prefix of paths inside this package, such as ``tooleval:demo/teval/EN``."""

_MOST_FOLDERS = 1_000
_PACKAGE = Path(__file__).resolve().parent


def package_path(path: str) -> Path | None:
    """Returns the path inside this package for ``tooleval:...``; None for other paths."""
    return _PACKAGE / path.removeprefix(PACKAGE_PREFIX) if path.startswith(PACKAGE_PREFIX) else None


def candidate_paths(path: str) -> list[Path]:
    """Lists possible paths of ``path``, best first.

    Args:
        path: ``tooleval:...``, an absolute path, or one below ``$COMPASS_DATA_CACHE`` (default: the working directory)
            or ``~/.cache/opencompass``, such as ``data/teval/EN``.
    """
    inside = package_path(path)
    if inside is not None:
        return [inside]
    if os.path.isabs(path):
        return [Path(path)]
    return [folder / path for folder in _searched()]


def _searched() -> list[Path]:
    return [Path(os.environ.get(ENV) or '.'), Path.home() / '.cache' / 'opencompass']


def searched_folders() -> str:
    """Names the folders that are searched for data, best first."""
    first, second = _searched()
    what = f'${ENV}' if os.environ.get(ENV) else 'the working directory'
    return f'{first.resolve()} ({what}{"" if first.is_dir() else ", which does not exist"}) and {second}'


def found_nearby(paths: Sequence[str]) -> Path | None:
    """Returns the folder one level above or below the searched ones that has a file; None if no folder does.

    Args:
        paths: Paths of the files below a searched folder.
    """
    for folder in _searched():
        near = [folder.resolve().parent]
        with suppress(OSError), os.scandir(folder) as entries:
            near += sorted(Path(entry.path).resolve() for entry in islice(entries, _MOST_FOLDERS) if entry.is_dir())
        for candidate in near:
            if any((candidate / path).is_file() for path in paths):
                return candidate
    return None


def resolve_data_path(path: str, fix: str) -> Path:
    """Returns the first of :func:`candidate_paths` that exists, and logs it.

    Raises:
        DataError: None of them exists; the message names all of them and ``fix``.
    """
    candidates = candidate_paths(path)
    for candidate in candidates:
        if candidate.exists():
            logger.info('data: %s', candidate.resolve())
            return candidate
    looked = ', '.join(str(candidate.resolve()) for candidate in candidates)
    raise DataError(path, f'not found; looked at {looked} ({ENV} moves the first)', fix=fix)


def instructions_provenance(instructions: str | None) -> dict[str, Any]:
    """Returns the provenance of instructions: file name and SHA-256; empty for none."""
    if instructions is None:
        return {}
    file = resolve_data_path(instructions, 'put it back as it was when the data set was run')
    return {'instructions': instructions, 'instructions_sha256': sha256_of(file)}
