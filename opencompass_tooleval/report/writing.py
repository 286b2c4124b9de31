"""Writes pages from templates; a complete set of pages replaces the earlier content of its folder."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from opencompass_tooleval import __version__
from opencompass_tooleval.catalogue.labels import words_of_reason
from opencompass_tooleval.catalogue.metrics import lower_is_better
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.report.figure import as_table, shown
from opencompass_tooleval.report.names import title_of
from opencompass_tooleval.work_dir.whole_file import naming

FRESH = '.unfinished'
"""Subfolder in which pages are built: this process may not be allowed to write next to the target folder."""
STATIC = Path(__file__).parent / 'static'


_DIGEST = re.compile(r'[0-9a-f]{24,}')


def short_digests(text: str) -> Markup:
    """Marks digests in a text, so that a page shows them shortened, but copies them whole."""
    parts = Markup('<span class="digest" tabindex="0" data-tip="{0}">{0}</span>')
    digests = _DIGEST.findall(text)
    texts = zip(_DIGEST.split(text), [*map(parts.format, digests), ''], strict=True)
    return Markup('').join(part for pair in texts for part in pair)


@contextmanager
def replaced(out: Path, marker: str, what: str) -> Iterator[Path]:
    """Yields an empty folder; its content replaces that of ``out`` when the block ends without an error.

    Args:
        out: A new or empty folder, or one with earlier pages.
        marker: Name of the file that marks a folder of such pages.
        what: Name of the pages in a message.

    Raises:
        DataError: ``out`` contains something else.
    """
    try:
        if out.exists() and any(out.iterdir()) and not (out / marker).is_file():
            raise DataError(out, f'this folder has other files than a {what}', fix='name another with -o')
        out.mkdir(parents=True, exist_ok=True)
        (out / marker).write_text(f'{__version__}\n', encoding='utf-8')
    except OSError as error:
        why = f'the folder cannot be created or written ({error.strerror})'
        raise DataError(out, why, fix='choose another folder with -o') from error
    fresh = out / FRESH
    shutil.rmtree(fresh, ignore_errors=True)  # left by a killed process
    try:
        with naming(out):
            fresh.mkdir()
            yield fresh
        for old in out.iterdir():
            if old.name not in (FRESH, marker):
                shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
        for new in fresh.iterdir():
            new.rename(out / new.name)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def templates() -> Environment:
    """Returns the environment of the page templates; all text is escaped."""
    environment = Environment(
        loader=PackageLoader('opencompass_tooleval.report'),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters['short_digests'] = short_digests
    environment.globals |= {
        'shown': shown,
        'as_table': as_table,
        'title_of': title_of,
        'words_of_reason': words_of_reason,
        'version': __version__,
        'lower_is_better': lower_is_better,
    }
    return environment


def write_page(environment: Environment, template: str, name: str, out: Path, context: Mapping[str, Any]) -> None:
    """Writes ``NAME.html``; broken characters become question marks."""
    text = environment.get_template(f'{template}.html.j2').render(context, page=name)
    (out / f'{name}.html').write_text(text, encoding='utf-8', errors='replace')
