"""FileOperation: files on the task's disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.environments.functions import FunctionAnswer
from opencompass_tooleval.environments.teval_tools.described import NO_SPACE, DescribedTool, recorded_fields, said
from opencompass_tooleval.environments.teval_tools.disk import Disk


class Files(DescribedTool):
    """Reads files that the task wrote, or that recorded responses show.

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
            return said(text=f'Error: {why}')
        if not self._disk.put(path, arguments['text']):
            return said(text=f'Error: {NO_SPACE}')
        return said(status=f'File written successfully to {path}.')

    def _read(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        path = arguments['file_path']
        text = self._disk.read(path)
        if text is None:
            missing = f'Error: [Errno 2] No such file or directory: {path!r}'
            return FunctionAnswer(str({'text': missing}), is_guess=True)
        return said(text=text)

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Adds a file from a recorded response, unless the task has written it since."""
        path, text = arguments.get('file_path'), recorded_fields(response).get('text')
        if name != 'FileOperation.read_file' or not isinstance(path, str) or not isinstance(text, str):
            return
        if not text.startswith('Error:') and not self._disk.has(path):
            self._disk.put(path, text)
