"""Reads the answer from a server's reply, which is an object or an event stream. Imports no OpenCompass."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT, STOP, Answer
from opencompass_tooleval.core.calls.sent import MEMBERS, readable, sent_of
from opencompass_tooleval.core.calls.tool_calls import MAX_CALLS, ToolCall, calls_text, make_call
from opencompass_tooleval.core.scoring.usage import Usage, finite, whole_number
from opencompass_tooleval.core.text.json_object import TOO_DEEP, load_json
from opencompass_tooleval.core.text.redaction import excerpt
from opencompass_tooleval.models.api.endings import (
    FILTERED,
    ServerError,
    end_of,
    error_in,
    is_broken,
    is_models_failure,
)
from opencompass_tooleval.models.api.failure import PAGE, Failure, failure_of_error, page_of
from opencompass_tooleval.models.api.pieces import Pieces

_STREAM_STARTS = ('data:', 'event:', 'id:', 'retry:', ':')
_PROMPT_FILTERED = re.compile(r'"filtered": true|"block_?reason": "', re.IGNORECASE)
"""Azure's ``prompt_filter_results`` and Gemini's ``promptFeedback``, in a reply without a choice."""
_ENCRYPTED = '(encrypted)'
_MARK = b'\xef\xbb\xbf'
_INDICES = range(128)
"""Indices of choices that are counted."""
_FEW_TOKENS = 5
"""A streamed answer without text or call may have as many tokens, such as marks and the end."""
_PARSER = "the server's tool-call or reasoning parser may have lost it: update it, or set stream=False in the config"
_MOST_OTHER = 2_000
"""Maximum number of a stream's bytes in an error message."""


def mapping(value: Any) -> Mapping[str, Any]:
    """Returns the value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True)
class Reply:
    """A server's reply, unchanged.

    Attributes:
        message: The message of the first choice; assembled if streamed.
        finish_reason: How the answer ended, from :func:`~opencompass_tooleval.models.api.endings.end_of`.
        usage: The reply's ``usage``, unchanged.
        body: The whole object; empty for a stream.
        choices: Number of choices.
        withheld: Why the server has withheld earlier thoughts from the model, such as ``prefix_mismatch``.
    """

    message: Mapping[str, Any]
    finish_reason: str | None
    usage: Any
    body: Mapping[str, Any]
    choices: int = 1
    withheld: Collection[str] = ()

    @property
    def text(self) -> str:
        """The content if it is a string, else ''."""
        return _text_or_nothing(self.message.get('content'))

    @property
    def functions(self) -> list[Mapping[str, Any]]:
        """The ``function`` of each tool call, unchanged."""
        calls = self.message.get('tool_calls')
        return [mapping(mapping(call).get('function')) for call in calls] if isinstance(calls, list) else []

    @cached_property
    def choice(self) -> Mapping[str, Any]:
        """The first choice; empty for a stream."""
        return _first_choice(self.body) or {} if self.body else {}

    def tokens(self, kind: str) -> int | None:
        """Returns the number of ``prompt`` or ``completion`` tokens in ``usage``; None if missing."""
        usage = mapping(self.usage)
        of_responses = {'prompt': 'input', 'completion': 'output'}.get(kind, kind)
        return whole_number(usage.get(f'{kind}_tokens', usage.get(f'{of_responses}_tokens')))

    @property
    def reasoning_tokens(self) -> int:
        """Number of reasoning tokens in ``usage``. A server may count them without sending the thoughts."""
        usage = usage_of(self.usage)
        return (usage and usage.reasoning) or 0


def answer_of(reply: Reply, offers_tools: bool = False) -> Answer:
    """Returns the answer in a reply of ``/chat/completions``.

    Thoughts are put before the text as ``<think>...</think>``. If a message has only a refusal, the refusal is the
    text. If tools were offered, the answer keeps its calls, and may be empty if the model ended it. Without tools, a
    message with only calls becomes their JSON (objects with sorted ``arguments`` and ``name``), because the server's
    parser took a written answer for a call.

    Args:
        reply: The reply.
        offers_tools: True if tools were offered.

    Raises:
        Failure: The reply has no answer.
    """
    try:
        return _answer(reply, offers_tools)
    except (ValueError, RecursionError) as error:
        raise Failure('infra:bad_response', f'{excerpt(str(error), 80)}: {excerpt(str(reply.message))}') from None


def read_message(
    body: bytes,
    content_type: str,
    read: Callable[[Any], Reply] | None = None,
    reader: Callable[[], StreamReader] | None = None,
) -> Reply:
    """Returns the message of a reply's first choice (assembled if streamed), with finish reason and usage.

    Args:
        body: Decompressed body of a response with status 200.
        content_type: The ``Content-Type`` header.
        read: Reads the JSON of a response; by default of a chat completion.
        reader: Reads a stream; by default of chunks of a chat completion.

    Raises:
        Failure: The reply has no message, or the server broke off or filtered the answer.
    """
    text = _decoded(body)
    is_stream = 'event-stream' in content_type.lower() or text[:100].lstrip().startswith(_STREAM_STARTS)
    if is_stream:
        stream = (reader or StreamReader)()
        stream.feed(body)
        return stream.reply()
    try:
        reply = (read or read_completion)(load_json(text))
    except (ValueError, RecursionError) as error:
        raise _unreadable(error, body, content_type) from None
    return _ended(reply)


def _ended(reply: Reply) -> Reply:
    """Returns the reply if the model or a limit ended the answer.

    Raises:
        Failure: The server broke off or filtered the answer.
    """
    end = reply.finish_reason
    if not end and not reply.usage:
        raise Failure('infra:server', 'the server broke the answer off: it has neither finish_reason nor usage')
    if end == FILTERED:
        words = 'the server filtered the answer (content_filter)'
        raise Failure('infra:filter', words, again=False, usage=usage_of(reply.usage))
    if is_broken(end):
        words = f'the server broke the answer off, finish_reason {excerpt(str(end))}'
        raise Failure('infra:server', words, usage=usage_of(reply.usage))
    return reply


def _decoded(body: bytes) -> str:
    return body.decode('utf-8', 'replace').lstrip('\ufeff')  # json refuses text that begins with a byte order mark


def _unreadable(error: Exception, body: bytes, content_type: str) -> Failure:
    text = _decoded(body)
    page = page_of(text)
    shown = f'{page or excerpt(str(error), 80)}: {len(body)} bytes of {excerpt(content_type, 80) or "no content type"}'
    return Failure('infra:bad_response', page if page not in ('', PAGE) else f'{shown}: {excerpt(text)}')


def _first_choice(value: Any) -> Mapping[str, Any] | None:
    """Returns the first choice; None if there is none, as in the last chunk of a stream."""
    if error := error_in(value):
        failure = failure_of_error(error, json.dumps(value, ensure_ascii=False))
        failure.usage = usage_of(mapping(value).get('usage'))
        raise failure
    if not isinstance(value, Mapping):
        raise ValueError('no object')
    choices = value.get('choices')
    if not isinstance(choices, list) or not choices:
        return None
    # With n=2 chunks of the second choice come between those of the first.
    choice = next((item for item in choices if isinstance(item, Mapping) and item.get('index', 0) in (0, None)), None)
    if choice is None and not (isinstance(choices[0], Mapping) and 'delta' in choices[0]):
        raise ValueError('no first choice')
    return choice


def read_completion(value: Any) -> Reply:
    """Returns the reply in the JSON of a chat completion.

    Raises:
        Failure: The server reported an error.
        ValueError: There is no choice with a message.
    """
    choice = _first_choice(value) or {}
    message, end = choice.get('message'), end_of(choice.get('finish_reason'))
    if isinstance(message, Mapping) or end == FILTERED:
        message = message if isinstance(message, Mapping) else {}
        return Reply(message, end, value.get('usage'), value, len(value['choices']))
    if not choice and _PROMPT_FILTERED.search(json.dumps(value)):
        return Reply({}, FILTERED, value.get('usage'), value)
    raise ValueError('no choice with a message')


class StreamReader:
    """Reads an event stream as it arrives. The reply equals that of the same answer without streaming.

    Each line is decoded once, even if it arrives in many packets.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # the beginning of an incomplete line
        self._message = Pieces()
        self._finish_reason: str | None = None
        self._usage: Any = None
        self._is_whole = False
        self._choices: set[int] = set()
        self._other = b''

    @property
    def has_begun(self) -> bool:
        """True if bytes were received."""
        return bool(self._rest)

    def feed(self, received: bytes) -> bool:
        """Reads the next bytes; returns True when the stream is complete (``[DONE]``).

        Raises:
            Failure: The bytes contain an error, or are unreadable.
        """
        # Not str.splitlines: it also splits at U+2028, which is valid in a JSON string.
        lines = (received.replace(b'\r', b'\n') if b'\r' in received else received).split(b'\n')
        self._rest.append(lines[0])
        if len(lines) > 1:
            lines[0] = b''.join(self._rest)
            self._rest = [lines.pop()]
            for line in lines:
                self._read(line)
        return self._is_whole

    def reply(self) -> Reply:
        """Returns the reply. Call it after all bytes are read.

        Raises:
            Failure: The stream has no answer, or the server broke off or filtered it.
        """
        self.feed(b'\n')
        if not self._choices or not self._finish_reason:
            raise self._broken_off(bool(self._choices), 'finish_reason')
        try:
            return _ended(Reply(self._message.whole(), self._finish_reason, self._usage, {}, len(self._choices)))
        except RecursionError:
            raise Failure('infra:bad_response', TOO_DEEP) from None

    def _broken_off(self, has_begun: bool, end: str) -> Failure:
        if has_begun:
            return Failure('infra:server', f'the server broke the answer off: the stream ends without {end}')
        return Failure(
            'infra:bad_response', f'no choice in the stream: {excerpt(_decoded(self._other))}'.removesuffix(': ')
        )

    @staticmethod
    def _streamed(reply: Reply) -> Reply:
        return _ended(replace(reply, body={}))

    def _read(self, line: bytes) -> None:
        if not line.startswith(b'data:'):
            line = line.removeprefix(_MARK)
            if not line.startswith(b'data:'):
                self._other = self._other or line[:_MOST_OTHER]  # for the error message if there is no answer
                return
        content = line[5:].strip()
        if content == b'[DONE]':
            self._is_whole = True
        elif content:
            try:
                self._add(_load_chunk(content))
            except (ValueError, RecursionError) as error:
                shown = f'{excerpt(str(error), 80)}: {excerpt(_decoded(content[:_MOST_OTHER]))}'
                raise Failure('infra:bad_response', shown) from None

    def _add(self, chunk: Any) -> None:
        choice = _first_choice(chunk)
        self._usage = chunk.get('usage') or (choice or {}).get('usage') or self._usage  # Moonshot: in the choice
        choices = chunk.get('choices')
        for item in choices if isinstance(choices, list) else ():
            if isinstance(item, Mapping) and (item.get('index') or 0) in _INDICES:
                self._choices.add(item.get('index') or 0)
        if choice:
            self._finish_reason = end_of(choice.get('finish_reason')) or self._finish_reason
            if isinstance(delta := choice.get('delta'), Mapping):
                self._message.add(delta)


def _load_chunk(content: bytes) -> Any:
    try:
        return load_json(content)
    except ValueError:
        if content.startswith(b'{"error"'):  # transformers serve does not escape the text of an error
            raise failure_of_error(ServerError(''), _decoded(content)) from None
        raise


def _texts(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the texts of a message by name: ``reasoning`` (thoughts of any field), ``content``, ``refusal``."""
    content, members = message.get('content'), [message[name] for name in MEMBERS if message.get(name)]
    # Whole texts first: parts may be encrypted, as those of OpenRouter, MiniMax and LiteLLM.
    thoughts = [readable(value) for value in sorted(members, key=lambda value: isinstance(value, list))]
    if isinstance(content, list):
        content, of_parts = _of_parts(content)
        thoughts.append(of_parts)
    encrypted = _ENCRYPTED if any(isinstance(value, list) for value in members) else ''
    yield 'reasoning', next(filter(None, thoughts), encrypted)
    for name, value in (('content', content), ('refusal', message.get('refusal'))):
        if isinstance(value, str):
            yield name, value


def _of_parts(parts: list[Any]) -> tuple[str, str]:
    """Returns the joined texts and the joined thoughts of a content in parts, as Mistral's reasoning models send it."""
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


def _text_or_nothing(value: Any) -> str:
    return value if isinstance(value, str) else ''


def _calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Returns the calls of a message, in order."""
    called = ((item['function'], item.get('id')) for item in _called(message))
    return tuple(make_call(function.get('name'), function.get('arguments'), call_id) for function, call_id in called)


def _called(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the calls of a message as the server sent them, in order."""
    items = message.get('tool_calls')
    called = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
    called.append({'function': message.get('function_call')})  # OpenAI's old format, with one call
    return [item for item in called[:MAX_CALLS] if isinstance(item.get('function'), Mapping)]


def usage_of(usage: Any) -> Usage | None:
    """Reads ``usage`` of a chat completion or of Responses; returns None if there is none."""
    if not isinstance(usage, Mapping):
        return None

    def count(*places: str) -> int | None:
        parts = (place.partition('.') for place in places)
        values = (mapping(usage.get(name)).get(part) if part else usage.get(name) for name, _, part in parts)
        return next((number for number in map(whole_number, values) if number is not None), None)

    prompt = count('prompt_tokens', 'input_tokens') or None  # no prompt is empty: 0 means unknown
    completion = count('completion_tokens', 'output_tokens')
    reasoning = count('completion_tokens_details.reasoning_tokens', 'output_tokens_details.reasoning_tokens')
    cached = count(
        'prompt_tokens_details.cached_tokens',
        'input_tokens_details.cached_tokens',
        'prompt_cache_hit_tokens',  # DeepSeek
        'cached_tokens',  # Moonshot
    )
    written = count(
        'prompt_tokens_details.cache_write_tokens',
        'input_tokens_details.cache_write_tokens',
        'prompt_tokens_details.cache_creation_tokens',  # LiteLLM
    )
    added, is_known = _missing_in_completion(prompt, completion, reasoning, cached, count('total_tokens'))
    completion = None if completion is None else completion + added
    return Usage(
        prompt=prompt,
        completion=completion if prompt else completion or None,
        reasoning=reasoning,
        cached=cached,
        cache_write=written,
        first_prompt=prompt,
        added=None if is_known else added,
        billed=finite(usage.get('cost')),  # OpenRouter
    )


def _missing_in_completion(
    prompt: int | None, completion: int | None, reasoning: int | None, cached: int | None, total: int | None
) -> tuple[int, bool]:
    """Returns the tokens that a server's count of the answer lacks, and False if that is only probable.

    xAI leaves thoughts out of ``completion_tokens``, and Gemini's chat layer counts them in the total alone. A total
    may also contain cached tokens that the count of the prompt lacks.
    """
    if prompt is None or completion is None:
        return 0, True
    rest = 0 if total is None else max(0, total - prompt - completion)
    if reasoning and reasoning == rest:
        return reasoning, True
    if reasoning and reasoning > completion:
        return reasoning, False
    return (rest, rest == 0) if reasoning is None and rest != cached else (0, True)


def _lost_in_stream(reply: Reply, usage: Usage | None, thoughts: str) -> str:
    """Returns why a streamed answer without text and calls was lost; '' if it was not, or was not streamed."""
    if reply.body or is_models_failure(reply.finish_reason):
        return ''
    # A server that counts no tokens for the thoughts that it sent counts them elsewhere.
    is_counted = usage is not None and usage.completion is not None and bool(usage.reasoning or not thoughts)
    text = (usage.completion or 0) - (usage.added or 0) - (usage.reasoning or 0) if usage else 0
    if is_counted and text > _FEW_TOKENS:
        return f'a stream without text or call, though the server counted {text} tokens of it'
    is_lost = not is_counted and reply.message.get('tool_calls') == []
    return 'a stream with an empty list of calls, and without a call' if is_lost else ''


def _answer(reply: Reply, offers_tools: bool) -> Answer:
    texts, calls, usage = dict(_texts(reply.message)), _calls(reply.message), usage_of(reply.usage)
    thoughts, content = texts['reasoning'], texts.get('content', '')
    if not content.strip():
        content = ('' if offers_tools else calls_text(calls)) or texts.get('refusal', '') or content
    finish_reason = reply.finish_reason
    if calls and offers_tools:
        text = f'<think>{thoughts}</think>{content}' if thoughts else content
        sent = sent_of(reply.message, _called(reply.message))
        has_content = 'content' in texts and bool(reply.body or reply.message['content'])  # '' may begin a stream
        return Answer(text, None, finish_reason, None, calls, usage, has_content=has_content, sent=sent)
    if not content and finish_reason != CUT and (lost := _lost_in_stream(reply, usage, thoughts)):
        raise Failure('infra:empty', f'{lost}: {_PARSER}', usage=usage)
    if not content and (thoughts or finish_reason == CUT):
        # Unfinished thoughts: the model's fault, scored as an answer.
        return Answer(f'<think>{thoughts}', finish_reason=finish_reason, usage=usage)
    # An empty answer after tool results is valid: the model may have nothing to add.
    if not content and not (offers_tools and finish_reason == STOP) and not is_models_failure(finish_reason):
        raise Failure('infra:empty', f'no content, finish_reason {finish_reason}', usage=usage)
    text = f'<think>{thoughts}</think>{content}' if thoughts else content
    sent = sent_of(reply.message, ()) if offers_tools else None
    return Answer(text, finish_reason=finish_reason, usage=usage, sent=sent)
