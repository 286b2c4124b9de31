"""Functions with which commands print tables and write files."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rich.progress import track
from rich.table import Table

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.core.text.jsonable import clean_text
from opencompass_tooleval.work_dir.printing import Screen, say, say_json
from opencompass_tooleval.work_dir.trust import Trustee
from opencompass_tooleval.work_dir.whole_file import write_whole

STDOUT = '-'

T = TypeVar('T')


def counts_line(name: str, counts: Mapping[str, int]) -> str:
    """Formats counts on one line: ``reasons: ok 3, args:wrong 1``."""
    return f'{name}: ' + ', '.join(f'{word} {count}' for word, count in counts.items())


@contextmanager
def naming_model_faults(config: Path | str, kept: Path) -> Iterator[None]:
    """Turns any error of a model's library, such as for a wrong key, into one line that names the config.

    Args:
        config: The model's config, or the variable that names it.
        kept: The path where the answers are kept.

    Raises:
        DataError: A library raised an error.
    """
    try:
        yield
    except ValueError:  # a DataError is one
        raise
    except Exception as error:
        fix = f'fix it and run again: what was answered is kept in {kept}'
        raise DataError(config, f'the model failed ({type(error).__name__}: {str(error)[:500]})', fix=fix) from error


def trust_first(trustee: Trustee, is_granted: bool) -> None:
    """Applies ``--trust``: prints what is trusted, and stores the trust."""
    if is_granted and not trustee.is_trusted:
        say(f'trusted from now on: {trustee.path}, with:{trustee.lines}', err=True)
        trustee.trust()


def progress(what: str, items: Sequence[T]) -> Iterable[T]:
    """Yields the items behind a progress bar on standard error, labelled ``what``; the bar is removed at the end."""
    return track(items, what, console=Screen(stderr=True), transient=True)


def numbers_table(title: str, first: str, *numbers: str, plain: bool = False) -> Table:
    """Builds a table with a column of names and columns of numbers.

    Args:
        title: The title above it.
        first: Header of the column of names.
        numbers: Headers of the other columns.
        plain: Draws no lines, so that 80 columns are enough.
    """
    table = Table(title=title, title_justify='left', box=None, pad_edge=False) if plain else Table(title=title)
    table.add_column(first, overflow='fold')
    for column in numbers:
        table.add_column(column, justify='right', no_wrap=plain)
    return table


def print_metrics(title: str, result: Mapping[str, Any], console: Screen) -> None:
    """Prints metrics and their standard errors as a table."""
    table = numbers_table(title, 'metric', 'score', 'standard error')
    for metric, value in result['metrics'].items():
        error = result['standard_errors'][metric]
        shown = '-' if value is None else f'{value:.2f}'
        table.add_row(metric, shown, '-' if error is None else f'{error:.2f}')
    console.print(table)


def check_outputs(json_out: str | None, details: Path | None) -> None:
    """Checks that the output files can be written, before hours of work.

    Raises:
        OSError: A file cannot be written; the message names it.
    """
    for path in (Path(json_out) if json_out and json_out != STDOUT else None, details):
        if path is None:
            continue
        if not path.parent.is_dir():
            fix = f'mkdir -p {shlex.quote(str(path.parent))}'
            raise OSError(f'cannot write {path}: {path.parent} is not a folder. Fix it with: {fix}')
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise OSError(f'cannot write {path}')


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, clean_text(text))
    except OSError as error:
        raise OSError(f'cannot write {path}: {error.strerror or error}') from error


def write_outputs(
    result: Mapping[str, Any] | Sequence[Any], scores: Iterable[SampleScore], json_out: str | None, details: Path | None
) -> None:
    """Writes the result (to standard output for ``-``) and one line per sample, if the options name files for them.

    Raises:
        OSError: A file cannot be written; the message names it.
    """
    text = json.dumps(result, indent=2, ensure_ascii=False) + '\n'
    if json_out == STDOUT:
        say_json(text)
    elif json_out:
        _write(Path(json_out), text)
    if details:
        _write(details, ''.join(json.dumps(score.to_detail(), ensure_ascii=False) + '\n' for score in scores))
