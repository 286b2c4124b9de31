"""What a server replied, as one answer: an object or an event stream. Imports no OpenCompass."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.api.failure import Failure, failure_of_status
from opencompass_tooleval.api.redaction import excerpt
from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.json_object import load_json

_THOUGHTS = ('reasoning_content', 'reasoning')
"""Keys of a message: DeepSeek, SGLang and vLLM up to 0.15; vLLM from 0.16 on and OpenRouter, which may send both."""

_DATA_LINE = re.compile(r'(?:^|[\r\n])data:([^\r\n]*)')
"""Not by str.splitlines, which also splits at U+2028: that may stand inside a JSON string."""
_STREAM_STARTS = ('data:', 'event:', 'id:', 'retry:', ':')
_MAX_FINISH = 32


def read_reply(body: bytes, content_type: str) -> Answer:
    """Reads a reply of ``/chat/completions``.

    Thoughts are put in front as ``<think>...</think>``. A message of nothing but calls is their JSON (a sorted object
    with ``arguments`` and ``name`` each); of nothing but a refusal, the refusal.

    Args:
        body: Of a response with status 200, decompressed.
        content_type: As its header says.

    Raises:
        Failure: There is no answer in it.
    """
    message, finish = read_message(body, content_type)
    try:
        return _answer(message, finish if isinstance(finish, str) else None)
    except (ValueError, RecursionError) as error:
        raise _unreadable(error, body, content_type) from None


def read_message(body: bytes, content_type: str) -> tuple[Mapping[str, Any], Any]:
    """The first choice's message of a reply, put together if it was streamed, and its ``finish_reason``.

    Args:
        body: Of a response with status 200, decompressed.
        content_type: As its header says.

    Raises:
        Failure: There is no message in it.
    """
    text = _decoded(body)
    is_stream = 'event-stream' in content_type.lower() or text[:100].lstrip().startswith(_STREAM_STARTS)
    try:
        return _message_of_stream(text) if is_stream else _message_of_object(load_json(text))
    except (ValueError, RecursionError) as error:
        raise _unreadable(error, body, content_type) from None


def _decoded(body: bytes) -> str:
    return body.decode('utf-8', 'replace').lstrip('\ufeff')  # json refuses text that begins with a byte order mark


def _unreadable(error: Exception, body: bytes, content_type: str) -> Failure:
    shown = f'{excerpt(str(error), 80)}: {len(body)} bytes of {content_type[:80] or "no content type"}'
    return Failure('infra:bad_response', f'{shown}: {excerpt(_decoded(body))}')


def _error_in_reply(text: str, status: int = 500) -> Failure:
    failure = failure_of_status(status, {}, text)
    failure.words = f'an error instead of an answer: {excerpt(text)}'
    return failure


def _check_error(value: Mapping[str, Any]) -> None:
    """Raises what an error stands for that comes with status 200."""
    error = value.get('error')
    if error:
        code = error.get('code') if isinstance(error, Mapping) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        raise _error_in_reply(json.dumps(error, ensure_ascii=False), status)


def _first_choice(value: Any) -> Mapping[str, Any] | None:
    """The first choice; None if there are none, as in the last chunk of a stream."""
    if not isinstance(value, Mapping):
        raise ValueError('no object')
    _check_error(value)
    choices = value.get('choices')
    if not isinstance(choices, list) or not choices:
        return None
    # With n=2 chunks of the second choice stand between those of the first.
    choice = next((item for item in choices if isinstance(item, Mapping) and item.get('index', 0) in (0, None)), None)
    if choice is None:
        raise ValueError('no first choice')
    return choice


def _message_of_object(value: Any) -> tuple[Mapping[str, Any], Any]:
    choice = _first_choice(value)
    message = choice.get('message') if choice else None
    if not choice or not isinstance(message, Mapping):
        raise ValueError('no choice with a message')
    return message, choice.get('finish_reason')


def _chunks(text: str) -> Iterator[Any]:
    """The objects of a stream; None for its end."""
    for line in _DATA_LINE.finditer(text):
        content = line[1].strip()
        yield None if content == '[DONE]' else _load_chunk(content)


def _load_chunk(content: str) -> Any:
    try:
        return load_json(content)
    except ValueError:
        if content.startswith('{"error"'):  # of transformers serve, which escapes nothing in it
            raise _error_in_reply(content) from None
        raise


def _message_of_stream(text: str) -> tuple[Mapping[str, Any], Any]:
    parts: dict[str, list[str]] = {}
    calls: dict[Any, dict[str, str]] = {}
    finish, is_whole, has_choice = None, False, False
    for chunk in _chunks(text):
        choice = None if chunk is None else _first_choice(chunk)
        is_whole = is_whole or chunk is None
        if not choice:
            continue
        has_choice = True
        finish = choice.get('finish_reason') or finish
        delta = choice.get('delta')
        for name, value in _texts(delta if isinstance(delta, Mapping) else {}):
            parts.setdefault(name, []).append(value)
        _add_calls(calls, delta.get('tool_calls') if isinstance(delta, Mapping) else None)
    if not has_choice or not (is_whole or finish):
        raise ValueError('the stream ends without finish_reason or [DONE]' if has_choice else 'no choice in the stream')
    message: dict[str, Any] = {name: ''.join(values) for name, values in parts.items()}
    return {**message, 'tool_calls': [{'function': call} for call in calls.values()]}, finish


def _texts(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a message or a piece of one: ``content``, ``refusal`` and thoughts, under one name."""
    content, thoughts = message.get('content'), ''
    if isinstance(content, list):
        content, thoughts = _of_parts(content)
    named = (value for name in _THOUGHTS if isinstance(value := message.get(name), str) and value)
    yield 'reasoning', next(named, thoughts)
    for name, value in (('content', content), ('refusal', message.get('refusal'))):
        if isinstance(value, str):
            yield name, value


def _of_parts(parts: list[Any]) -> tuple[str, str]:
    """Content and thoughts of a content in parts, as Mistral's reasoning models have it."""
    content: list[Any] = []
    thoughts: list[Any] = []
    for part in parts:
        if isinstance(part, Mapping):
            thinking = part.get('thinking')
            content.append(part.get('text') or part.get('refusal'))
            thoughts.append(_joined(_parts_texts(thinking)) if isinstance(thinking, list) else thinking)
        else:
            content.append(part)
    return _joined(content), _joined(thoughts)


def _parts_texts(parts: list[Any]) -> list[Any]:
    return [part.get('text') if isinstance(part, Mapping) else part for part in parts]


def _joined(texts: list[Any]) -> str:
    return ''.join(text for text in texts if isinstance(text, str))


def _add_calls(calls: dict[Any, dict[str, str]], pieces: Any) -> None:
    """Adds the pieces of a chunk to the calls that they continue."""
    for piece in pieces if isinstance(pieces, list) else []:
        function = piece.get('function') if isinstance(piece, Mapping) else None
        if isinstance(function, Mapping):
            call = calls.setdefault(str(piece.get('index', len(calls))), {'name': '', 'arguments': ''})
            for name in call:
                value = function.get(name)
                call[name] += value if isinstance(value, str) else ''


def _calls_text(message: Mapping[str, Any]) -> str:
    """The calls of a message as JSON; '' if there are none."""
    items = message.get('tool_calls')
    functions = [item.get('function') for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
    functions.append(message.get('function_call'))
    calls = [
        {'name': function.get('name'), 'arguments': _arguments(function.get('arguments'))}
        for function in functions
        if isinstance(function, Mapping)
    ]
    return json.dumps(calls, ensure_ascii=False, sort_keys=True) if calls else ''


def _arguments(value: Any) -> Any:
    """An object, as the model wrote it; text that is none stays text."""
    if not isinstance(value, str):
        return value
    try:
        return load_json(value, bounded=True)
    except ValueError:
        return value


def _answer(message: Mapping[str, Any], finish: str | None) -> Answer:
    texts = dict(_texts(message))
    thoughts, content = texts['reasoning'], texts.get('content', '')
    if not content.strip():
        content = _calls_text(message) or texts.get('refusal', '') or content
    finish = finish[:_MAX_FINISH] if finish else None
    if not content and finish == 'content_filter':
        raise Failure('infra:filter', 'no content, finish_reason content_filter', again=False)
    if not content and (thoughts or finish == 'length'):
        return Answer(f'<think>{thoughts}', finish=finish)  # thoughts without an end: the model's doing, read as such
    if not content:
        raise Failure('infra:empty', f'no content, finish_reason {finish}')
    return Answer(f'<think>{thoughts}</think>{content}' if thoughts else content, finish=finish)
