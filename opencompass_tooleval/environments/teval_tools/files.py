"""FileOperation, and the disk of one task."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.environments.environment import FunctionAnswer
from opencompass_tooleval.environments.teval_tools.described import (
    MAX_THINGS,
    NO_SPACE,
    DescribedTool,
    answer_of,
    recorded_fields,
)

MAX_CHARS_IN_ALL = 2_000_000
"""Maximum number of characters that a task may write in total."""


class Disk:
    """Files by path, and the existing folders: the working folder and, as recorded, ``outputs`` and ``/home``."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._folders = {'', '/', '/home', 'outputs'}
        self._left = MAX_CHARS_IN_ALL

    def read(self, path: str) -> str | None:
        """Returns the content of a file; None if it does not exist."""
        return self._files.get(_plain(path))

    def has(self, path: str) -> bool:
        """Tests if a file exists."""
        return _plain(path) in self._files

    def put(self, path: str, text: str = '') -> bool:
        """Writes a file, and creates its folder if necessary; returns False without enough space."""
        path = _plain(path)
        if self._left < len(text) or (len(self._files) >= MAX_THINGS and path not in self._files):
            return False
        self._left -= len(text)
        self._files[path] = text
        self._folders.add(posixpath.dirname(path))
        return True

    def why_no_folder(self, path: str) -> str:
        """Returns Python's error if a file's folder does not exist and cannot be created; otherwise ``''``.

        As recorded, one missing folder is created in an existing one, but not two; ``/home`` belongs to another user.
        """
        folder = posixpath.dirname(_plain(path))
        if folder in self._folders and folder not in ('/', '/home'):
            return ''
        parent = posixpath.dirname(folder)
        if parent not in self._folders:
            return f'[Errno 2] No such file or directory: {folder!r}'
        return f'[Errno 13] Permission denied: {folder!r}' if folder.startswith('/') else ''


def _plain(path: str) -> str:
    """Normalizes a path: ``./outputs//a.txt`` -> ``outputs/a.txt``."""
    return posixpath.normpath(path) if path else ''


class Files(DescribedTool):
    """Reads files that the task wrote or that recorded responses show, and writes files.

    Args:
        disk: The disk of the task.
    """

    def __init__(self, disk: Disk) -> None:
        super().__init__(
            'FileOperation',
            {
                'write_file': (self._write, ('file_path', 'text'), ()),
                'read_file': (self._read, ('file_path',), ()),
            },
        )
        self._disk = disk

    def _write(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        path = arguments['file_path']
        if why := self._disk.why_no_folder(path):
            return answer_of(text=f'Error: {why}')
        if not self._disk.put(path, arguments['text']):
            return answer_of(text=f'Error: {NO_SPACE}')
        return answer_of(status=f'File written successfully to {path}.')

    def _read(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        path = arguments['file_path']
        text = self._disk.read(path)
        if text is None:
            missing = f'Error: [Errno 2] No such file or directory: {path!r}'
            return FunctionAnswer(str({'text': missing}), is_guess=True)
        return answer_of(text=text)

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Adds a file from a recorded response, unless the task has written this file."""
        path, text = arguments.get('file_path'), recorded_fields(response).get('text')
        if name != 'FileOperation.read_file' or not isinstance(path, str) or not isinstance(text, str):
            return
        if not text.startswith('Error:') and not self._disk.has(path):
            self._disk.put(path, text)
