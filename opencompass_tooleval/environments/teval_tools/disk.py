"""The files of one task."""

from __future__ import annotations

import posixpath

from opencompass_tooleval.environments.teval_tools.described import MAX_THINGS

MAX_CHARS_IN_ALL = 2_000_000
"""What a task may write."""


class Disk:
    """Files by path, and the folders that are there: the working one and, as recorded, ``outputs`` and ``/home``."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._folders = {'', '/', '/home', 'outputs'}
        self._left = MAX_CHARS_IN_ALL

    def read(self, path: str) -> str | None:
        """What is in a file; None if there is no such file."""
        return self._files.get(_plain(path))

    def has(self, path: str) -> bool:
        """Whether there is such a file."""
        return _plain(path) in self._files

    def put(self, path: str, text: str = '') -> bool:
        """Writes a file, with its folder if need be; whether there was space."""
        path = _plain(path)
        if self._left < len(text) or (len(self._files) >= MAX_THINGS and path not in self._files):
            return False
        self._left -= len(text)
        self._files[path] = text
        self._folders.add(posixpath.dirname(path))
        return True

    def why_no_folder(self, path: str) -> str:
        """What Python says where a file's folder is not there and cannot be made; ``''`` if all is well.

        As recorded: a folder is made in one that is there (``/home`` is another's), but not two at once.
        """
        folder = posixpath.dirname(_plain(path))
        if folder in self._folders and folder not in ('/', '/home'):
            return ''
        parent = posixpath.dirname(folder)
        if parent not in self._folders:
            return f'[Errno 2] No such file or directory: {folder!r}'
        return f'[Errno 13] Permission denied: {folder!r}' if folder.startswith('/') else ''


def _plain(path: str) -> str:
    """``./outputs//a.txt`` -> ``outputs/a.txt``."""
    return posixpath.normpath(path) if path else ''
