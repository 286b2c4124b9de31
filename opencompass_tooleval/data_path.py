"""Finds data files in the places that OpenCompass uses, without its silent download."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir.data_files import sha256_of

logger = logging.getLogger(__name__)

ENV = 'COMPASS_DATA_CACHE'
PACKAGE_PREFIX = 'tooleval:'
"""Prefix of paths inside this package, such as ``tooleval:demo/teval/EN``."""

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
    return [Path(os.environ.get(ENV) or '.') / path, Path.home() / '.cache' / 'opencompass' / path]


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
