"""A fixture: the folder or file that a live server starts from. Each trial gets a copy."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import first_of

ALIAS = '/fixture'
"""Name of the copied folder in tasks and calls; its real path differs between trials."""

MAX_FILES = 50_000
"""Maximum number of files, links and folders in a fixture and in each copy."""
MAX_BYTES = 2 * 1024**3
"""Maximum total size of the files in a fixture, and in each copy."""

_END = r'(?![\w-]|\.\w)'
_ALIAS = re.compile(rf'(?<![\w./~-]){ALIAS}{_END}')
PLACEHOLDER = '{fixture}'
"""Stands for the copied folder or file in a server's command."""


class FixtureChangedError(ValueError):
    """The user's fixture changed while servers ran on copies of it."""


@dataclass(frozen=True)
class FixtureCopy:
    """The copy of one trial.

    Attributes:
        folder: The copied folder, or the folder of the copied file: the server's working directory.
        path: The copied folder or file, which replaces ``{fixture}`` in the server's arguments and variables.
    """

    folder: Path
    path: Path

    def fill(self, text: str) -> str:
        """Fills in the path in an argument or variable of the server."""
        return text.replace(PLACEHOLDER, str(self.path))

    def inward(self, value: Any) -> Any:
        """Replaces :data:`ALIAS` by the copy's folder in all texts within a call's arguments."""
        if isinstance(value, str):
            return _ALIAS.sub(lambda match: str(self.folder), value)
        if isinstance(value, dict):
            return {self.inward(key): self.inward(item) for key, item in value.items()}
        return [self.inward(item) for item in value] if isinstance(value, list) else value

    def outward(self, text: str) -> str:
        """Replaces the copy's folder by :data:`ALIAS` in a text from the server."""
        return re.sub(re.escape(str(self.folder)) + _END, ALIAS, text)


def copy_fixture(fixture: Path | None, folder: Path) -> FixtureCopy:
    """Copies a fixture into an empty folder; links stay links, within the copy.

    Args:
        fixture: A folder or file; None for no fixture.
        folder: The destination.

    Raises:
        ValueError: The fixture has more than :data:`MAX_FILES` files or :data:`MAX_BYTES` bytes, or a link leads out of
            it, so that a server would write to the original.
        OSError: The fixture is missing or cannot be copied.
    """
    folder = folder.resolve()  # servers report paths without links
    if fixture is None:
        return FixtureCopy(folder, folder)
    links = inner_links(fixture)
    path = folder / (fixture.name or 'fixture')
    if fixture.is_dir():
        shutil.copytree(fixture, path, symlinks=True)
        for link, target in links.items():
            (path / link).unlink()  # an absolute link leads into the original
            (path / link).symlink_to(os.path.relpath(path / target, (path / link).parent))
        return FixtureCopy(path, path)
    shutil.copy2(fixture, path)
    return FixtureCopy(folder, path)


def inner_links(fixture: Path) -> dict[Path, Path]:
    """Returns link -> target of the links in a fixture, both relative to the fixture.

    Raises:
        ValueError: A link leads out of the fixture, or through too many links, or a file is a pipe, socket or device.
        OSError: The fixture is missing, or cannot be read.
    """
    links: dict[Path, Path] = {}
    root = fixture.resolve()
    for path in find_files(fixture):
        if not (path.is_symlink() or path.is_file() or path.is_dir()):
            raise ValueError(f'{path} of the fixture is a pipe, a socket or a device: remove it')
        if path == fixture or not path.is_symlink():
            continue
        try:
            # Step by step: if a link leads to another link in the fixture that leads out, the latter is reported.
            target = Path(os.path.normpath(path.parent.resolve() / path.readlink()))
            end = path.resolve()
        except RuntimeError as error:
            raise ValueError(f'the link {path} of the fixture leads nowhere') from error
        if not target.is_relative_to(root) or not end.is_relative_to(root):
            raise ValueError(
                f'the link {path} leads out of the fixture, to {end}: a server would change the original. '
                'Replace it by a copy'
            )
        links[path.relative_to(fixture)] = target.relative_to(root)
    return links


class FixtureWatch:
    """Compares a user's fixture with its state at the beginning; only its copies may change.

    Args:
        fixture: The fixture, which may be missing; None for no fixture.
    """

    def __init__(self, fixture: Path | None) -> None:
        self._fixture = fixture
        self._before = self._state()

    def _state(self) -> dict[str, str]:
        fixture = self._fixture
        return folder_state(fixture.resolve()) if fixture and fixture.exists() else {}

    def check(self) -> None:
        """Checks that the fixture is as it was at the beginning.

        Raises:
            FixtureChangedError: Its files changed, are missing, or are new.
        """
        before = self._before
        try:
            after = self._state()
        except (OSError, ValueError) as error:  # such as too many files
            after = {str(error): ''}
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        if changed and self._fixture:
            names = first_of([self._fixture.name if name == '.' else name for name in changed])
            raise FixtureChangedError(
                f'THE FIXTURE {self._fixture} WAS CHANGED DURING THE RUN: {names}. Restore it from your own copy. '
                'The server got its path, or has one built in; do not use the results'
            )


@contextmanager
def unchanged(fixture: Path | None) -> Iterator[None]:
    """Checks on exit that a user's fixture is unchanged, as :meth:`FixtureWatch.check` does.

    Raises:
        FixtureChangedError: The fixture changed.
    """
    watch = FixtureWatch(fixture)
    try:
        yield
    finally:
        watch.check()


def on_copies(command: str, fixture: Path | None, folder: Path = Path()) -> str:
    """Returns a server's command for runs on copies of a fixture; the server starts in the copy's folder.

    Words, and values in ``--name=VALUE``, that name the fixture or a path below it get :data:`PLACEHOLDER`; other files
    get absolute paths. A URL stays as it is.

    Args:
        command: The command line, quoted as in a shell.
        fixture: The fixture; None without one.
        folder: The folder that paths in the command are relative to; default: the working directory.
    """
    if command.startswith(('http://', 'https://')):
        return command
    root = fixture.resolve() if fixture else None

    def placed(word: str) -> str:
        path = folder / word
        if root and word and path.exists() and path.resolve().is_relative_to(root):
            below = path.resolve().relative_to(root)
            return PLACEHOLDER if below == Path() else f'{PLACEHOLDER}/{below.as_posix()}'
        return str(path.absolute()) if path.is_file() else word

    def in_option(word: str) -> str:
        name, sign, value = word.partition('=')
        return f'{name}={placed(value)}' if sign and name.startswith('-') else placed(word)

    return shlex.join(map(in_option, shlex.split(command)))


def find_files(folder: Path) -> list[Path]:
    """Returns the files, links and folders below a folder, sorted; for a file, the file.

    Raises:
        ValueError: There are more than :data:`MAX_FILES`, or their total size exceeds :data:`MAX_BYTES`.
        OSError: The folder is missing, or a folder in it cannot be read.
    """
    found, size = [], 0
    for path in _walk(folder):
        found.append(path)
        size += path.lstat().st_size
        if len(found) > MAX_FILES or size > MAX_BYTES:
            raise ValueError(f'{folder.name} has more than {MAX_FILES:,} files or {MAX_BYTES:,} bytes')
    return sorted(found)


def _walk(folder: Path) -> Iterator[Path]:
    """Yields the paths below a folder, without recursion: a server can nest folders deeper than Python can recurse."""
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


def _new_digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


def folder_state(folder: Path, leave_out: Sequence[str] = ()) -> dict[str, str]:
    """Returns path -> digest of each file below a folder, sorted; for links the target, and for empty folders
    ``folder``.

    Args:
        folder: The folder, or a file, whose path is then ``.``.
        leave_out: Patterns of paths to skip, such as ``*.log`` or ``.git/*``; ``*`` matches ``/`` too.

    Raises:
        ValueError: There are too many or too large files (:func:`find_files`).
        OSError: A file cannot be read.
    """
    state: dict[str, str] = {}
    for path in find_files(folder):
        name = path.relative_to(folder).as_posix()
        if any(fnmatch(name, pattern) for pattern in leave_out):
            continue
        if path.is_symlink():
            target = path.readlink()
            if target.is_absolute() and target.is_relative_to(folder.resolve()):
                target = Path(os.path.relpath(target, path.parent.resolve()))  # as in copies
            state[name] = f'link to {target}'
        elif path.is_file():
            with path.open('rb') as content:
                digest = _new_digest()
                while chunk := content.read(1 << 20):
                    digest.update(chunk)
            state[name] = digest.hexdigest()
        elif path.is_dir() and not any(path.iterdir()):
            state[name] = 'folder'
    return state
