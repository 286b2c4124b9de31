"""Causes of missing results: each cause is reported once, with its fix."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir.data_files import check_links

SET_KEY = 'export OPENAI_API_KEY=...'
MOST_NAMED = 3
"""Number of results of one cause that a screen names; the others are counted."""

_NAMED_FIX = re.compile(r'[.;] ?(?:Fix|fetch|install) it with: (?P<fix>.*)')
_STATUS = re.compile(r'\bAskingEndedError: .{0,500}?\bstatus (?P<status>40[1-4])\b')
_OF_STATUS = {
    '401': "put the right key where the model's config reads it (its `key`, or $OPENAI_API_KEY)",
    '402': "add credit to the account, or take another key (the config's `key`, or $OPENAI_API_KEY)",
    '403': "take a key that may use this model (the config's `key`, or $OPENAI_API_KEY)",
    '404': "correct the model's `path` (its name on the server) or `openai_api_base` in CONFIG",
}
_FULL = {errno.ENOSPC: 'No space left on device', errno.EDQUOT: 'Disk quota exceeded', errno.EFBIG: 'File too large'}
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_OF_DISK = re.compile('|'.join(_FULL.values()))
_OF_CONFIG = re.compile(r'(?:^|: )(?:ValueError|TypeError): ')
_OVER_BUDGET = re.compile(r'\binfra:(?:\w+:)?budget\b')
_CLASS = re.compile(r'\b(?:AskingEnded|Data|InfraFailure)Error: ')
"""Classes of this package's errors, which the reader of a screen does not need."""
_RUNS_ALL = ('opencompass ', 'tooleval retry')

T = TypeVar('T')


@dataclass
class Cause(Generic[T]):
    """Missing results with one cause.

    Attributes:
        fix: Lines that fix it: commands, or a change to make and then the command.
        results: The missing results.
        whys: The error of each result, as its log reports it.
    """

    fix: Sequence[str]
    results: list[T] = field(default_factory=list)
    whys: list[str] = field(default_factory=list)


def resuming(run: Path) -> str:
    """Returns the command that resumes a run, such as ``outputs/default/20260101_120000``."""
    return f'opencompass CONFIG -w {run.parent} -r {run.name}'


def free_space(run: Path) -> str:
    """Returns the fix of a full disk."""
    return f'free space on the disk of {run}, or raise your quota'


@contextmanager
def one_line_if_unusable(run: Path) -> Iterator[None]:
    """Ends this process with one line, and no traceback, if a link leaves the run or the block cannot write into it.

    Raises:
        SystemExit: The line: the disk is full or read-only, or this user may not write.
    """
    try:
        check_links(run)
    except DataError as error:
        raise SystemExit(f'tooleval: {error}') from None
    try:
        yield
    except OSError as error:
        if error.errno not in (*_FULL, *_READ_ONLY):
            raise
        fix = free_space(run) if error.errno in _FULL else f'make {run} writable'
        raise SystemExit(f'tooleval: {error}; {fix}, then: {resuming(run)}') from None


def fix_of(error: str, run: Path) -> list[str]:
    """Returns lines that fix an error: the fix that it names, that for its kind, or the command that resumes the run.

    Args:
        error: The last error line of a log; '' if no file reports one.
        run: The run, such as ``outputs/default/20260101_120000``.
    """
    again, first = resuming(run), _first_step(error, run)
    if not first:
        return [f'{again}    (what is done is kept)']
    return [first] if first.startswith(_RUNS_ALL) else [first, again]


def _first_step(error: str, run: Path) -> str:
    named = _NAMED_FIX.search(error)
    if named:
        return named['fix'].strip()
    if _OF_DISK.search(error):
        return free_space(run)
    if _OVER_BUDGET.search(error):
        return 'raise `budget` in CONFIG'
    if 'InfraFailureError' in error:
        return f'tooleval retry {run}'
    if 'OpenAI API key is not set' in error:  # OpenCompass's own message
        return SET_KEY
    status = _STATUS.search(error)
    if status:
        return _OF_STATUS[status['status']]
    return 'correct CONFIG: running it again as it is fails again' if _OF_CONFIG.search(error) else ''


def causes_of(missing: Iterable[tuple[T, str, str]], run: Path) -> list[Cause[T]]:
    """Groups missing results by cause, in the order of the first result of each cause.

    Args:
        missing: Missing result, its data set, and the error that ended it.
        run: The run, such as ``outputs/default/20260101_120000``.
    """
    causes: dict[tuple[str, ...], Cause[T]] = {}
    for result, dataset, error in missing:
        fix = fix_of(error, run)
        named = _NAMED_FIX.search(error)
        why = (error[: named.start() + 1] if named else error).removeprefix(f'{dataset}: ').strip()
        why = _CLASS.sub('', why, count=1)
        cause = causes.setdefault((*fix, '' if named else why), Cause(fix))
        cause.results.append(result)
        cause.whys.append(why)
    return list(causes.values())
