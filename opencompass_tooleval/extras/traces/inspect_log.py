"""Logs of Inspect (``inspect_ai``), version 2: ``.json``, or ``.eval``, a zip of JSON files, one per sample."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.calls.messages import TOOL, Message
from opencompass_tooleval.core.calls.other_formats import text_of, tool_schemas
from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS, make_call
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.usage import Usage, total_usage, whole_number
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.extras.traces.conversation import Conversation, distinct_ids, make_message
from opencompass_tooleval.work_dir.data_files import open_plain

MAX_PART = 1 << 26
"""Maximum number of bytes of one sample, decompressed."""
MAX_ALL = 1 << 32
"""Maximum number of bytes of all samples of a log, decompressed."""

_ZSTD = 93
"""Inspect's compression; :mod:`zipfile` has it from Python 3.14 on."""
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD)
_HEADERS = ('header.json', '_journal/start.json')
_ATTACHED = 'attachment://'
_MAX_PARTS = 100_000
_ERRORS = {'parsing': 'wrong_arguments', 'unknown': 'tool_error'}
"""Inspect's types of errors -> ours; the others keep their names."""
_MAX_DEPTH = 20
_MOST_SECONDS = 1e9


def is_log(value: Any) -> bool:
    """Tests if a JSON value is a log."""
    return isinstance(value, dict) and isinstance(value.get('eval'), dict) and 'version' in value


def log_parts(file: Path) -> Iterator[tuple[str, Any]]:
    """Yields name and JSON value of each sample of an ``.eval`` log, after ``''`` and its header.

    A part that cannot be read is a :class:`ValueError` in place of its value.

    Raises:
        DataError: It is no such log.
    """
    try:
        with open_plain(file, None) as zipped, zipfile.ZipFile(zipped) as archive, open_plain(file, None) as raw:
            infos = {info.filename: info for info in archive.infolist()[:_MAX_PARTS]}
            header = next((infos[name] for name in _HEADERS if name in infos), None)
            if header is None:
                raise DataError(file, 'the zip is no log of Inspect: it has no header.json')
            samples = [info for name, info in infos.items() if name.startswith('samples/') and name.endswith('.json')]
            left = MAX_ALL
            for info in (header, *samples):
                value: Any
                try:
                    content = _content(archive, raw, info)
                    left -= len(content)
                    value = load_json(content, bounded=True)
                except (
                    ValueError,
                    OSError,
                    zipfile.BadZipFile,
                    RuntimeError,
                    EOFError,
                    zlib.error,
                    struct.error,
                ) as error:
                    value = error if isinstance(error, ValueError) else ValueError(str(error))
                    left -= MAX_PART  # it may have been decompressed in part
                if left < 0:
                    raise DataError(file, f'the log has more than {MAX_ALL} bytes')
                yield '' if info is header else info.filename, value
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(file, f'the zip cannot be read ({error})') from error


def _content(archive: zipfile.ZipFile, raw: Any, info: zipfile.ZipInfo) -> bytes:
    """Decompresses a part, up to a bound: sizes in a zip may be lies."""
    if info.compress_type not in _COMPRESSIONS:
        raise ValueError('it is compressed in another way than Inspect does')
    if info.compress_type != _ZSTD:
        with archive.open(info) as part:
            content = part.read(MAX_PART + 1)
    else:
        import pyarrow

        raw.seek(info.header_offset)
        name_length, extra_length = struct.unpack('<26xHH', raw.read(30))
        raw.seek(name_length + extra_length, 1)
        packed = raw.read(min(info.compress_size, MAX_PART))
        with pyarrow.input_stream(pyarrow.BufferReader(packed), compression='zstd') as part:
            content = part.read(MAX_PART + 1)
    if len(content) > MAX_PART:
        raise ValueError(f'it has more than {MAX_PART} bytes')
    return bytes(content)


def read_sample(sample: Any, header: Mapping[str, Any], location: str) -> Conversation:
    """Reads a sample.

    Args:
        sample: JSON values of the sample.
        header: The log without its samples.
        location: Name of the sample.

    Raises:
        ValueError: It is no sample.
    """
    if not isinstance(sample, dict) or not isinstance(sample.get('messages'), list):
        raise ValueError("the sample has no list 'messages'")
    attached = sample.get('attachments')
    attachments = attached if isinstance(attached, dict) else {}
    read = [_message(raw) for raw in _resolved(sample['messages'], attachments)]
    if read and (read[-1][0].role == TOOL or read[-1][0].calls):
        read += _submitted(_resolved(sample.get('output'), attachments))
    messages = distinct_ids(message for message, _ in read)
    errors = {one.call_id: error for one, (_, error) in zip(messages, read, strict=True) if one.call_id and error}
    output, spec = sample.get('output'), header.get('eval')
    models = [part.get('model') for part in (output, spec) if isinstance(part, dict)]
    scores = sample.get('scores')
    return Conversation(
        location,
        tuple(messages),
        _tools(sample.get('events'), attachments),
        next((model for model in models if isinstance(model, str) and model), ''),
        _usage(sample, messages),
        errors,
        {name: one.get('value') for name, one in scores.items() if isinstance(one, dict)}
        if isinstance(scores, dict)
        else {},
    )


def _resolved(value: Any, attachments: Mapping[str, Any], depth: int = 0) -> Any:
    """Replaces references to attachments by their texts."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attachments.get(value.removeprefix(_ATTACHED), value)
    if depth == _MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [_resolved(item, attachments, depth + 1) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, attachments, depth + 1) for key, item in value.items()}
    return value


def _message(raw: Any) -> tuple[Message, str]:
    """Returns a message, and the error of a call that it answers, or ``''``."""
    if not isinstance(raw, dict):
        raise ValueError('a message is no object')
    calls = raw.get('tool_calls')
    made = [
        make_call(call.get('function'), call.get('arguments'), call.get('id'))
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict)
    ]
    text, error, failed = text_of(raw.get('content')), raw.get('error'), ''
    if raw.get('role') == TOOL and isinstance(error, dict):
        kind = str(error.get('type') or 'unknown')[:MAX_NAME_CHARS]
        text = text or text_of(error.get('message'))
        failed = _ERRORS.get(kind, kind)
    return make_message(raw.get('role'), text, made, raw.get('tool_call_id')), failed


def _submitted(output: Any) -> list[tuple[Message, str]]:
    """Returns the sample's output as the last answer, for an agent that submits it by a call, or an empty list."""
    choices = output.get('choices') if isinstance(output, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    answers = [_message(choice['message'])] if isinstance(choice, dict) and 'message' in choice else []
    return [(answer, error) for answer, error in answers if answer.content.strip() and not answer.calls]


def _tools(events: Any, attachments: Mapping[str, Any]) -> Any:
    """Returns the tools of all requests to models; None without a recorded request."""
    asked = [event for event in _requests(events) if isinstance(event.get('tools'), list)]
    if not asked:
        return None
    return tool_schemas(_resolved([tool for event in asked for tool in event['tools']], attachments))


def _requests(events: Any) -> list[dict[str, Any]]:
    """Returns the events of requests to models."""
    listed = events if isinstance(events, list) else []
    return [event for event in listed if isinstance(event, dict) and event.get('event') == 'model']


def _usage(sample: Mapping[str, Any], messages: Sequence[Message]) -> Usage | None:
    spent, seconds = sample.get('model_usage'), sample.get('total_time')
    rows = [row for row in spent.values() if isinstance(row, dict)] if isinstance(spent, dict) else []
    total = total_usage(map(_tokens, rows))
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    time = float(seconds) if is_number and 0 <= seconds < _MOST_SECONDS else None  # type: ignore[arg-type,operator]
    if total is None and time is None:
        return None
    tokens = total or Usage()
    requests = len(_requests(sample.get('events'))) or sum(message.role == 'assistant' for message in messages)
    return Usage(tokens.prompt, tokens.completion, seconds=time, requests=requests)


def _tokens(row: Mapping[str, Any]) -> Usage:
    parts = [whole_number(row.get(f'input_tokens{part}')) for part in ('', '_cache_read', '_cache_write')]
    return Usage(None if parts[0] is None else sum(filter(None, parts)), whole_number(row.get('output_tokens')))
