"""Finds data files where OpenCompass looks for them, without its silent download."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from opencompass_tooleval.catalogue.benchmark import Benchmark, DataFiles, all_benchmarks, find_benchmark
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.embedding.locate import choose_encoder, default_cache
from opencompass_tooleval.plugin import BENCHMARKS
from opencompass_tooleval.work_dir.data_files import sha256_of

logger = logging.getLogger(__name__)

ENV = 'COMPASS_DATA_CACHE'
PACKAGE_PREFIX = 'tooleval:'
"""Prefix of paths inside this package, such as ``tooleval:demo/teval/EN``."""

MISSING: ContextVar[list[Exception] | None] = ContextVar('MISSING', default=None)
"""The list to which :func:`resolve_data_path` adds its errors instead of raising them; None to raise them."""

_MOST_FOLDERS = 1_000
_FOR_USERS = 2
"""Number of candidates in which users put files. The last candidate has only files that this package built."""
_PACKAGE = Path(__file__).resolve().parent


def package_path(path: str) -> Path | None:
    """Returns the path inside this package for ``tooleval:...``; None for other paths."""
    return _PACKAGE / path.removeprefix(PACKAGE_PREFIX) if path.startswith(PACKAGE_PREFIX) else None


def candidate_paths(path: str) -> list[Path]:
    """Lists possible paths of ``path``, best first.

    Args:
        path: ``tooleval:...``, an absolute path, or a path such as ``data/teval/EN`` below ``$COMPASS_DATA_CACHE``
            (default: the working directory), ``~/.cache/opencompass``, or ``$TOOLEVAL_CACHE``, for files that this
            package built.
    """
    inside = package_path(path)
    if inside is not None:
        return [inside]
    if os.path.isabs(path):
        return [Path(path)]
    return [folder / path for folder in (*_searched(), default_cache())]


def _searched() -> list[Path]:
    return [Path(os.environ.get(ENV) or '.'), Path.home() / '.cache' / 'opencompass']


def searched_folders() -> str:
    """Describes the folders that are searched for data, best first."""
    first, second = _searched()
    what = f'${ENV}' if os.environ.get(ENV) else 'the working directory'
    return f'{first.resolve()} ({what}{"" if first.is_dir() else ", which does not exist"}) and {second}'


def found_nearby(paths: Sequence[str]) -> Path | None:
    """Looks for files one level above and below the searched folders; returns the first folder with one, or None.

    Args:
        paths: Paths of the files, relative to the folder.
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
        DataError: No candidate exists; the message names all of them and ``fix``. If :data:`MISSING` is
            a list, the error is added to it and the first candidate is returned: a data set then reports all missing
            files at once.
    """
    candidates = candidate_paths(path)
    for candidate in candidates:
        if candidate.exists():
            logger.info('data: %s', candidate.resolve())
            return candidate
    looked = ', '.join(str(candidate.resolve()) for candidate in candidates[:_FOR_USERS])
    error = DataError(path, f'not found; looked at {looked} ({ENV} moves the first)', fix=fix)
    if (missing := MISSING.get()) is None:
        raise error
    missing.append(error)
    return candidates[0]


def instructions_provenance(instructions: str | None) -> dict[str, Any]:
    """Returns the provenance of instructions: file name and SHA-256; empty without instructions."""
    if instructions is None:
        return {}
    file = resolve_data_path(instructions, 'put it back as it was when the data set was run')
    return {'instructions': instructions, 'instructions_sha256': sha256_of(file)}


def missing_files(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the files and folders that data sets need and that this machine lacks."""
    needed = dict.fromkeys(listed_path for row in rows for listed_path in _needed(row))
    return [path for path in needed if not any(candidate.exists() for candidate in candidate_paths(path))]


def benchmark_with(path: str) -> Benchmark | None:
    """Returns the first benchmark that has a data file at or below ``path``; None if no benchmark has one."""
    for benchmark in all_benchmarks():
        listed = [one for files in benchmark.data.files for one in (*files.paths, *files.optional)]
        if any(PurePath(one).is_relative_to(path) for one in listed):
            return benchmark
    return None


def _files_of(row: Mapping[str, Any]) -> Iterator[DataFiles]:
    """Yields the benchmark files that hold the records of a row."""
    language = row.get('language')
    name = f'{row.get("name")} {language}' if language else str(row.get('name'))
    parts = (*PurePath(row['path']).parts, *(['agents'] if dialogues_of(row) else []))
    for benchmark in (find_benchmark(one) for one in BENCHMARKS if one in parts):  # a task loads no other tables
        for files in benchmark.data.files:
            is_named = f'{files.name} '.startswith(f'{name} ') or PurePath(files.paths[0]).stem == name
            if is_named and files.is_prepared and PurePath(files.paths[0]).is_relative_to(row['path']):
                yield files


def dialogues_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the settings of a row's dialogues; empty without dialogues."""
    return ((row.get('infer_cfg') or {}).get('inferencer') or {}).get('dialogues') or {}


def needed_encoders(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the sentence encoders that data sets need: that of the config, or else of :func:`choose_encoder`."""
    names: dict[str, None] = {}
    for row in rows:
        dialogues, evaluator = dialogues_of(row), (row.get('eval_cfg') or {}).get('evaluator') or {}
        named = () if dialogues else PurePath(str(row.get('path'))).parts
        of_names = (find_benchmark(one).data.encoder for one in BENCHMARKS if one in named)
        languages = ['EN' if dialogues.get('retrieve') else '', *(of(row['name']) for of in of_names if of)]
        chosen = evaluator.get('encoder') or row.get('encoder') or dialogues.get('encoder')
        names |= {choose_encoder(chosen, language): None for language in languages if language}
    return list(names)


def _needed(row: Mapping[str, Any]) -> Iterator[str]:
    """Yields the paths that a row reads, relative to the data cache."""
    for files in _files_of(row):
        yield from files.paths
    dialogues = dialogues_of(row)
    paths = (row.get('path'), row.get('instructions'), dialogues.get('instructions'), dialogues.get('bank'))
    yield from (path for path in paths if isinstance(path, str) and path)
