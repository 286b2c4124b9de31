"""A fixture: the folder or file that a live server starts from. It is copied for each trial."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ALIAS = '/fixture'
"""Name of the copied folder in tasks and calls; its real path differs in each trial."""

MAX_FILES = 50_000
"""Maximum number of files, links and folders of a fixture and of each copy."""
MAX_BYTES = 2 * 1024**3
"""Maximum size of all files of a fixture, and of each copy."""

_END = r'(?![\w-]|\.\w)'
_ALIAS = re.compile(rf'(?<![\w./~-]){ALIAS}{_END}')
_PLACE = '{fixture}'


@dataclass(frozen=True)
class FixtureCopy:
    """The copy of one trial.

    Attributes:
        folder: The copied folder, or the one that the copied file lies in: the server's working directory.
        place: The copied folder or file, which replaces ``{fixture}`` in arguments and variables of the server.
    """

    folder: Path
    place: Path

    def fill(self, text: str) -> str:
        """Fills in an argument or a variable of the server."""
        return text.replace(_PLACE, str(self.place))

    def inward(self, value: Any) -> Any:
        """Replaces :data:`ALIAS` by the copy's folder in all texts of a call's arguments."""
        if isinstance(value, str):
            return _ALIAS.sub(lambda match: str(self.folder), value)
        if isinstance(value, dict):
            return {self.inward(key): self.inward(item) for key, item in value.items()}
        return [self.inward(item) for item in value] if isinstance(value, list) else value

    def outward(self, text: str) -> str:
        """Replaces the copy's folder by :data:`ALIAS` in a text from the server."""
        return re.sub(re.escape(str(self.folder)) + _END, ALIAS, text)


def copy_fixture(fixture: Path | None, folder: Path) -> FixtureCopy:
    """Copies a fixture into an empty folder; links stay links.

    Args:
        fixture: A folder or file; None for nothing.
        folder: The destination.

    Raises:
        ValueError: It has more than :data:`MAX_FILES` files, or :data:`MAX_BYTES`.
        OSError: It is missing or cannot be copied.
    """
    folder = folder.resolve()  # servers report paths without links
    if fixture is None:
        return FixtureCopy(folder, folder)
    find_files(fixture)
    place = folder / (fixture.name or 'fixture')
    if fixture.is_dir():
        shutil.copytree(fixture, place, symlinks=True)
        return FixtureCopy(place, place)
    shutil.copy2(fixture, place)
    return FixtureCopy(folder, place)


def find_files(folder: Path) -> list[Path]:
    """Returns the files, links and folders below a folder, sorted; of a file, the file.

    Raises:
        ValueError: They are more than :data:`MAX_FILES`, or larger than :data:`MAX_BYTES`.
        OSError: The folder is missing, or one in it cannot be read.
    """
    found, size = [], 0
    for path in _walk(folder):
        found.append(path)
        size += path.lstat().st_size
        if len(found) > MAX_FILES or size > MAX_BYTES:
            raise ValueError(f'{folder.name} has more than {MAX_FILES:,} files or {MAX_BYTES:,} bytes')
    return sorted(found)


def _walk(folder: Path) -> Iterator[Path]:
    """Yields what is below a folder. Without recursion: a server can nest folders deeper than Python can recurse."""
    if not folder.is_dir():
        yield folder
        return
    left = [os.fspath(folder)]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                yield Path(entry)
                if entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)


def folder_state(folder: Path, leave_out: Sequence[str] = ()) -> dict[str, str]:
    """Returns path -> digest of each file below a folder, sorted; for links the target, for empty folders ``folder``.

    Args:
        folder: The folder; or a file, whose path is ``.``.
        leave_out: Patterns of paths to skip, such as ``*.log`` or ``.git/*``; ``*`` matches ``/`` too.

    Raises:
        ValueError: There are too many files, or they are too large (:func:`find_files`).
        OSError: A file cannot be read.
    """
    state: dict[str, str] = {}
    for path in find_files(folder):
        name = path.relative_to(folder).as_posix()
        if any(fnmatch(name, pattern) for pattern in leave_out):
            continue
        if path.is_symlink():
            state[name] = f'link to {path.readlink()}'
        elif path.is_file():
            with path.open('rb') as content:
                digest = hashlib.blake2b(digest_size=16)
                while chunk := content.read(1 << 20):
                    digest.update(chunk)
            state[name] = digest.hexdigest()
        elif path.is_dir() and not any(path.iterdir()):
            state[name] = 'folder'
    return state
