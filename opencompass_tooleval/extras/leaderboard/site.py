"""Writes the pages of a leaderboard: rankings, a page per benchmark and per model, and a list of bundles."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.variants import find_variant
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.extras.exports.bundle import SUFFIX, Bundle, read_bundle
from opencompass_tooleval.extras.leaderboard.rankings import Leaderboard, page_of
from opencompass_tooleval.plugin import VARIANTS
from opencompass_tooleval.report.board import board_table, printed_table
from opencompass_tooleval.report.figure import Table
from opencompass_tooleval.report.files import save_table
from opencompass_tooleval.report.names import FAMILIES
from opencompass_tooleval.report.writing import STATIC, replaced, templates, write_page
from opencompass_tooleval.work_dir.data_files import read_plain

MARKER = '.tooleval-leaderboard'
LEDGER = 'bundles.json'
"""File of a site with the name and SHA-256 of each bundle, for the next build to compare."""
MAX_BUNDLES = 10_000
SCRIPTS = ('report.css', 'tables.js', 'leaderboard.js')


@dataclass(frozen=True)
class Built:
    """A site that was written.

    Attributes:
        page: Its first page.
        bundles: Number of bundles.
        models: Number of models.
        faults: Faults of bundles: why they are left out, or that they are missing.
        private: Number of results on private data sets that are left out.
    """

    page: Path
    bundles: int
    models: int
    faults: tuple[str, ...]
    private: int


def write_site(
    folder: Path,
    out: Path,
    include_private: bool = False,
    progress: Callable[[Sequence[Path]], Iterable[Path]] = iter,
) -> Built:
    """Writes a site of all bundles in a folder. Only a complete site replaces an earlier one.

    Leaves out bundles that fail a check, or that have changed since the earlier site.

    Args:
        folder: The folder of bundles.
        out: A new or empty folder, or one with an earlier site.
        include_private: True to show data sets that users made from their own tools, too.
        progress: Wraps the files to show progress.

    Raises:
        DataError: ``folder`` has no bundles or too many, or ``out`` contains something else.
    """
    files = sorted(file for file in folder.glob(f'*{SUFFIX}') if file.is_file() and not file.name.startswith('.'))
    if not 0 < len(files) <= MAX_BUNDLES:
        fix = f'tooleval export WORK_DIR --bundle {shlex.quote(str(folder))}/NAME{SUFFIX}'
        raise DataError(folder, f'there are {len(files)} bundles, and 1 to {MAX_BUNDLES} are expected', fix=fix)
    before = _ledger(out / LEDGER)
    bundles, faults = _read(files, before, progress)
    gone = sorted(set(before) - {file.name for file in files})
    faults += [f'{folder / name}: the bundle is gone; an earlier site has it' for name in gone]
    board = Leaderboard(list(bundles.values()), include_private)
    with replaced(out, MARKER, 'leaderboard') as fresh:
        _write(board, fresh, faults)
        # A changed or lost bundle remains a fault until its content is restored.
        ledger = {**{bundle.name: bundle.digest for bundle in bundles.values()}, **before}
        (fresh / LEDGER).write_text(json.dumps(ledger, indent=1, sort_keys=True) + '\n', encoding='ascii')
    return Built(out / 'index.html', len(bundles), len(board.models), tuple(faults), board.private)


def _ledger(file: Path) -> dict[str, str]:
    """Reads the bundles of an earlier site as name -> digest; returns an empty mapping for a new site."""
    if not file.is_file():
        return {}
    try:
        ledger = load_json(read_plain(file), bounded=True)
    except ValueError as error:
        raise DataError(file, f'it cannot be read ({error})', fix=f'rm {shlex.quote(str(file))}') from error
    return {str(name): str(digest) for name, digest in ledger.items()} if isinstance(ledger, dict) else {}


def _read(
    files: Sequence[Path], before: dict[str, str], progress: Callable[[Sequence[Path]], Iterable[Path]]
) -> tuple[dict[str, Bundle], list[str]]:
    """Returns digest -> bundle, and the faults. Of bundles with equal content, keeps the first."""
    bundles: dict[str, Bundle] = {}
    faults = []
    for file in progress(files):
        try:
            bundle = read_bundle(file)
            if before.get(file.name, bundle.digest) != bundle.digest:
                fix = 'put its content back, and add the new one under a new name'
                raise DataError(file, 'the bundle was changed since the site was built', fix=fix)
        except DataError as error:
            faults.append(str(error))
        else:
            bundles.setdefault(bundle.digest, bundle)
    return bundles, faults


def _write(board: Leaderboard, out: Path, faults: Sequence[str]) -> None:
    environment = templates()
    families = {family: sections for family in FAMILIES if (sections := list(board.sections(family)))}
    context: dict[str, Any] = {
        'pages': [
            ('index', 'Leaderboard'),
            *((family, FAMILIES[family]) for family in families),
            ('bundles', 'Bundles'),
        ],
        'methods': {name: find_variant(name).title for name in VARIANTS},
        'families': FAMILIES,
        'leaderboard': board,
        'faults': faults,
        'bundles': _bundles_table(board.bundles),
    }
    rankings = {'index': ('Leaderboard', list(board.sections()))}
    rankings |= {family: (FAMILIES[family], sections) for family, sections in families.items()}
    (out / 'files').mkdir()
    for name, (title, sections) in rankings.items():
        write_page(environment, 'leaderboard', name, out, context | {'title': title, 'sections': sections})
        for section in sections:
            main = section.rankings[0].board
            save_table(board_table(main), out / 'files', latex=printed_table(main))
    for model in board.models:
        name = page_of(model).removesuffix('.html')
        write_page(environment, 'leaderboard_model', name, out, context | {'model': model})
    write_page(environment, 'bundles', 'bundles', out, context)
    save_table(context['bundles'], out / 'files')
    for name in SCRIPTS:
        shutil.copyfile(STATIC / name, out / name)


def _bundles_table(bundles: Sequence[Bundle]) -> Table:
    rows = tuple(
        (
            bundle.name,
            bundle.date,
            bundle.package,
            ', '.join(sorted({result.model for result in bundle.results})),
            str(len(bundle.results)),
            bundle.digest,
        )
        for bundle in bundles
    )
    return Table('bundles', 'Bundles', ('file', 'date', 'package', 'models', 'results', 'SHA-256'), rows)
