"""Texts about the files, state and documents of an environment, so that queries name things that exist."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from opencompass_tooleval.core.text.jsonable import bounded_text, clean_text
from opencompass_tooleval.extras.mcp_servers.state import State
from opencompass_tooleval.work_dir.data_files import open_plain, read_text

MAX_RESOURCES = 400
MAX_RESOURCE_CHARS = 1_500
MAX_SERVER_RESOURCES = 100
"""Resources of a server that are read."""
MAX_SHOWN_CHARS = 5_000
"""Characters of all resources that one request shows."""

_HEAD_BYTES = 600
_MAX_URI = 200


def fixture_resources(folder: Path) -> Iterator[str]:
    """Describes the files of a fixture: path and size; of texts the beginning."""
    files = (
        [folder]
        if folder.is_file()
        else sorted(path for path in folder.rglob('*') if path.is_file() and not path.is_symlink())
    )
    shown = [file for file in files if not any(part.startswith('.') for part in file.relative_to(folder).parts)]
    for file in shown[:MAX_RESOURCES]:
        with open_plain(file, None) as content:
            head = content.read(_HEAD_BYTES)
        name = file.name if file == folder else file.relative_to(folder).as_posix()
        text = '' if b'\0' in head else clean_text(head.decode('utf-8', 'replace'))
        yield f'File /fixture/{name} ({file.stat().st_size} bytes){f", begins:{chr(10)}{text}" if text else ""}'


def state_resources(state: State) -> Iterator[str]:
    """Describes what probes read by calls; files are described by :func:`fixture_resources`."""
    for name, value in state.items():
        if not name.startswith('file '):
            yield f'{name} returns:\n{bounded_text(value, MAX_RESOURCE_CHARS)}'


def server_resources(texts: Mapping[str, str]) -> Iterator[str]:
    """Describes resources of an MCP server: URI -> text."""
    for uri, text in texts.items():
        yield f'Resource {bounded_text(uri, _MAX_URI)} holds:\n{bounded_text(text, MAX_RESOURCE_CHARS)}'


def document_resources(files: Sequence[Path]) -> Iterator[str]:
    """Cuts the user's documents into parts.

    Raises:
        DataError: A file is missing, too large or no text in UTF-8.
    """
    for file in files:
        text = clean_text(read_text(file))
        for start in range(0, len(text), MAX_RESOURCE_CHARS):
            yield f'From {file.name}:\n{text[start : start + MAX_RESOURCE_CHARS]}'


def sample_resources(resources: Sequence[str], seed: str) -> str:
    """Draws resources for one request, as many as fit into ``MAX_SHOWN_CHARS``.

    Args:
        resources: All of them.
        seed: The same seed draws the same resources.
    """
    drawn = random.Random(seed).sample(list(resources), len(resources))
    shown: list[str] = []
    left = MAX_SHOWN_CHARS
    for text in drawn:
        if len(text) <= left:
            shown.append(text)
            left -= len(text)
    return '\n\n'.join(shown)
