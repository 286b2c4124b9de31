"""Texts about the calls, files, state and documents of an environment, so that queries name things that exist."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from opencompass_tooleval.core.text.jsonable import bounded_text, clean_text
from opencompass_tooleval.extras.making.made_task import SolvedCall
from opencompass_tooleval.extras.mcp_servers.state import State
from opencompass_tooleval.work_dir.data_files import open_plain, read_text

MAX_RESOURCES = 400
MAX_RESOURCE_CHARS = 1_500
MAX_SERVER_RESOURCES = 100
"""Resources of a server that are read."""
MAX_SHOWN_CHARS = 5_000
"""Characters of all calls and resources that one request shows."""
MAX_CALLS_CHARS = 4_000
"""Characters of these calls."""

_HEAD_BYTES = 600
_MAX_URI = 200
_NEEDED_CALLS = 3
"""Calls of each needed tool that a request shows; of others one."""
_MAX_ARGUMENTS_CHARS = 300
_MAX_ANSWER_CHARS = 800


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


def sample_resources(resources: Sequence[str], seed: str, most: int = MAX_SHOWN_CHARS) -> str:
    """Draws resources for one request, as many as fit.

    Args:
        resources: All of them.
        seed: The same seed draws the same resources.
        most: Characters of all that are drawn.
    """
    return _fitting(random.Random(seed).sample(list(resources), len(resources)), most)


def show_what_exists(calls: Sequence[SolvedCall], resources: Sequence[str], needed: Sequence[str], seed: str) -> str:
    """Shows a request calls with their answers, first of the needed tools, and resources.

    Args:
        calls: Calls that are answered in the state that a task starts from.
        resources: As :func:`sample_resources` takes them.
        needed: The tools that the request is about.
        seed: The same seed draws the same calls and resources.
    """
    drawn = random.Random(f'{seed} calls').sample(list(calls), len(calls))
    of_tools: dict[str, list[SolvedCall]] = {name: [] for name in needed}
    for call in drawn:
        of_tools.setdefault(call.name, []).append(call)
    needed_calls = [call for name in needed for call in of_tools.pop(name)[:_NEEDED_CALLS]]
    shown = [*needed_calls, *(calls_of_tool[0] for calls_of_tool in of_tools.values())]
    answers = _fitting(list(map(_call_text, shown)), MAX_CALLS_CHARS)
    return '\n\n'.join(filter(None, (answers, sample_resources(resources, seed, MAX_SHOWN_CHARS - len(answers)))))


def _call_text(call: SolvedCall) -> str:
    arguments = bounded_text(dict(call.arguments), _MAX_ARGUMENTS_CHARS)
    return f'{call.name} {arguments} returns:\n{bounded_text(call.observation, _MAX_ANSWER_CHARS)}'


def _fitting(texts: Sequence[str], most: int) -> str:
    shown: list[str] = []
    left = most
    for text in texts:
        if len(text) <= left:
            shown.append(text)
            left -= len(text)
    return '\n\n'.join(shown)
