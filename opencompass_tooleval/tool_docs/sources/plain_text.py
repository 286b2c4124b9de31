"""Reads plain text or Markdown: one tool per file, named after the file; the whole text is its description."""

from __future__ import annotations

from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from opencompass_tooleval.work_dir.data_files import read_text

SUFFIXES = ('.md', '.markdown', '.rst', '.text', '.txt')


def read(path: Path) -> list[ToolDoc]:
    """Reads a file, or the files with one of ``SUFFIXES`` directly in a folder, sorted by name.

    Raises:
        DataError: A file is empty or not text.
    """
    files = [path] if path.is_file() else sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
    docs = []
    for file in files:
        text = read_text(file).strip()
        if not text:
            raise DataError(file, 'the file is empty')
        # A model has to find the parameters in such a text; a rule would only guess.
        docs.append(ToolDoc(file.stem, text, (FunctionDoc(file.stem, text, raw=text),), text))
    return docs
