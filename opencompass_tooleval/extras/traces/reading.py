"""Finds the format of files of traces and reads their conversations; what cannot be read is named and left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError, shorten
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.extras.traces import inspect_log, otel
from opencompass_tooleval.extras.traces.conversation import Conversation, without_beginnings
from opencompass_tooleval.extras.traces.openai_chat import is_chat, read_row
from opencompass_tooleval.extras.traces.other_forms import other_row
from opencompass_tooleval.work_dir.data_files import read_text

CHAT, INSPECT, OTEL = 'chat', 'inspect', 'otel'
MAX_CONVERSATIONS = 100_000
"""Maximum number of conversations of a file, with those that are left out."""
MAX_ROWS = 1_000_000
"""Maximum number of lines of a file: an export can have a line for each span."""
_SUFFIXES = ('.json', '.jsonl', '.eval', '.json.gz', '.jsonl.gz')
_EXPECTED = 'formats are JSON lines of chats (OpenAI, Anthropic), logs of Inspect, and OTLP/JSON'


@dataclass
class Traces:
    """The conversations of files.

    Attributes:
        conversations: The conversations, in the order of the files.
        formats: Format -> number of conversations.
        left_out: Place and reason of what could not be read.
        beginnings: Number of conversations with which others begin; they are left out.
    """

    conversations: list[Conversation] = field(default_factory=list)
    formats: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    beginnings: int = 0


def read_traces(paths: Sequence[Path]) -> Traces:
    """Reads files of conversations.

    Args:
        paths: Files, and folders of files.

    Raises:
        DataError: A file is missing, or no conversation can be read; of several files, the fault of the first.
    """
    traces = Traces()
    faults: list[DataError] = []
    for file in _files(paths):
        try:
            _add_file(traces, file)
        except DataError as error:  # one log without an answer, of a folder of them
            faults.append(error)
            traces.left_out.append(_one_line(str(error)))
    if faults and not traces.conversations:
        raise faults[0]
    return traces


def _one_line(fault: str) -> str:
    return shorten(''.join(char if char.isprintable() else ' ' for char in fault))


def _add_file(traces: Traces, file: Path) -> None:
    """Adds the conversations of a file.

    Raises:
        DataError: It is missing, damaged or too large, or no conversation can be read.
    """
    readable: list[tuple[str, Conversation]] = []
    left_out = []
    for format_, value in _read(file):
        if isinstance(value, Conversation) and not value.fault:
            readable.append((format_, value))
        else:
            left_out.append(_one_line(value if isinstance(value, str) else f'{value.location}: {value.fault}'))
        if len(readable) + len(left_out) > MAX_CONVERSATIONS:
            raise DataError(file, f'it has more than {MAX_CONVERSATIONS} conversations')
    if not readable:
        raise DataError(file, f'no conversation can be read; {left_out[0] if left_out else _EXPECTED}')
    kept, beginnings = without_beginnings([conversation for _, conversation in readable])
    traces.conversations += kept
    traces.left_out += left_out
    traces.beginnings += beginnings
    format_ = readable[0][0]
    traces.formats[format_] = traces.formats.get(format_, 0) + len(kept)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            if not path.exists():
                raise DataError(path, 'the file is missing')
            yield path
            continue
        inside = [file for file in sorted(path.iterdir()) if file.is_file() and file.name.endswith(_SUFFIXES)]
        if not inside:
            raise DataError(path, f'the folder has no {", ".join(_SUFFIXES)} files')
        yield from inside


def _read(file: Path) -> Iterator[tuple[str, Conversation | str]]:
    """Yields format and conversation, or what was left out and why."""
    if file.suffix == '.eval':
        parts = inspect_log.log_parts(file)
        _, header = next(parts)
        yield from _samples(parts, header if isinstance(header, dict) else {}, file)
        return
    rows = list(islice(_rows(read_text(file)), MAX_ROWS + 1))
    if len(rows) > MAX_ROWS:
        raise DataError(file, f'it has more than {MAX_ROWS} lines')
    value = rows[0][1] if len(rows) == 1 else None
    if value is not None and inspect_log.is_log(value):
        samples = value['samples'] if isinstance(value.get('samples'), list) else []
        yield from _samples(((f'sample {n}', one) for n, one in enumerate(samples, start=1)), value, file)
        return
    exports = [row for _, row in rows if otel.is_export(row)]
    if exports:
        yield from ((OTEL, one) for one in otel.read_exports(exports, file.name))
    for where, row in rows:
        location = f'{file.name}, {where}'
        if isinstance(row, ValueError):
            yield CHAT, f'{location}: {row}'
        elif not otel.is_export(row):
            yield CHAT, _chat(row, location)


def _rows(text: str) -> Iterator[tuple[str, Any]]:
    """Yields the value of a JSON file, the items of its list, or the values of JSON lines; errors as values."""
    try:
        value = load_json(text, bounded=True)
    except ValueError:
        for number, line in enumerate(text.split('\n', MAX_ROWS + 1), start=1):
            if line.strip():
                try:
                    yield f'line {number}', load_json(line, bounded=True)
                except ValueError as error:
                    yield f'line {number}', ValueError(f'it cannot be read as JSON ({error})')
        return
    if isinstance(value, list):
        yield from ((f'item {number}', item) for number, item in enumerate(value, start=1))
    else:
        yield 'line 1', value


def _chat(row: Any, location: str) -> Conversation | str:
    if isinstance(row, dict) and (form := other_row(row)):
        return f'{location}: {form}'
    if not is_chat(row):
        return f"{location}: it has no list 'messages' or 'input'"
    try:
        return read_row(row, location)
    except ValueError as error:
        return f'{location}: {error}'


def _samples(parts: Iterator[tuple[str, Any]], header: Any, file: Path) -> Iterator[tuple[str, Conversation | str]]:
    for name, sample in parts:
        location = f'{file.name}, {name}'
        try:
            if isinstance(sample, ValueError):
                raise sample
            yield INSPECT, inspect_log.read_sample(sample, header, location)
        except ValueError as error:
            yield INSPECT, f'{location}: {error}'
