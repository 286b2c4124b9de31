"""``tooleval leaderboard``: builds a static site from bundles of results."""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.cli.output import progress
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.exports.bundle import add_bundle
from opencompass_tooleval.work_dir.printing import say

NEEDED = 'jinja2'

FolderArgument = Annotated[Path, typer.Argument(metavar='FOLDER', help='Folder of bundles (*.bundle).')]


def build_site(
    folder: FolderArgument,
    out: Annotated[Path, typer.Option('--out', '-o', help='Folder for the site; replaces an earlier one.')],
    keep_going: Annotated[bool, typer.Option('--keep-going', help='Exit with 0 where a bundle is left out.')] = False,
    include_private: Annotated[
        bool, typer.Option('--include-private', help='Show sets made from your own tools, too.')
    ] = False,
) -> int:
    """Writes the site, and prints its path and the faults of bundles.

    Returns:
        1 if a bundle has a fault, unless ``--keep-going`` is given; otherwise 0.

    Raises:
        DataError: There are no bundles, ``out`` contains something else, or a library is not installed.
    """
    if importlib.util.find_spec(NEEDED) is None:
        raise DataError(out, f'a leaderboard needs {NEEDED}', fix="pip install 'opencompass-tooleval[report]'")
    from opencompass_tooleval.extras.leaderboard.site import write_site

    built = write_site(folder, out, include_private, partial(progress, 'reading'))
    say(f'leaderboard of {built.models} models from {built.bundles} bundle{"s" * (built.bundles != 1)}: {built.page}')
    if built.private:
        say(f'{built.private} results of private sets are left out; --include-private shows them')
    for fault in built.faults:
        say(f'tooleval: {fault}', err=True)
    return int(bool(built.faults) and not keep_going)


def add_bundles(
    folder: FolderArgument,
    bundles: Annotated[list[Path], typer.Argument(metavar='FILE', help='Bundles of tooleval export --bundle.')],
) -> None:
    """Checks bundles and copies them into the folder; existing copies are left unchanged.

    Raises:
        DataError: A bundle fails a check, or the folder has a different bundle with the same name.
    """
    for file in bundles:
        is_new = add_bundle(file, folder)
        say(f'{folder / file.name}: {"added" if is_new else "is there already"}')
