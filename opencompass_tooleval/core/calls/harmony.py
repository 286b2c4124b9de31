"""Reads Harmony, the raw output of gpt-oss: messages in channels. ``analysis`` has thoughts, ``final`` the answer.

``<|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...<|return|>`` (openai/harmony,
docs/format.md). A header may contain more than the channel: ``commentary to=functions.find <|constrain|>json``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from opencompass_tooleval.core.calls.tool_calls import MAX_CALLS, ToolCall, make_call
from opencompass_tooleval.core.calls.written.scanning import broken_call, decode_json

CHANNEL = '<|channel|>'
_MESSAGE = '<|message|>'
ANALYSIS = f'{CHANNEL}analysis{_MESSAGE}'

_END = re.compile(r'<\|(?:end|return|call|start)\|>')
_NAME = re.compile(r'\s*([a-z]*)')
_RECIPIENT = re.compile(r'\bto=(?:functions\.)?([\w.-]{1,256})')
_NO_TOOLS = ('all', 'assistant', 'user')
_MAX_HEADER = 600

_BARE_START, _BARE_FINAL = 'analysis', 'assistantfinal'
"""The rest of the marks if a tokenizer drops all special tokens."""


@dataclass(frozen=True)
class Spoken:
    """The answer in a text with channels.

    Attributes:
        answer: The text before all messages and that of the last ``final`` message. Without a ``final`` message, the
            other messages except thoughts, such as a call in ``commentary``.
        unfinished: True if the text ends within thoughts, or before the name of a channel.
        thoughts: The messages of ``analysis``, joined with newlines.
    """

    answer: str
    unfinished: bool
    thoughts: str = ''


def is_harmony(text: str) -> bool:
    """Tests if a text has channels: their marks, or the rest of the marks without special tokens."""
    # 'analysis of the plan: ...' is a usual answer: it is Harmony only if the other mark follows.
    return CHANNEL in text or (text.startswith(_BARE_START) and _BARE_FINAL in text)


def read_harmony(text: str) -> Spoken:
    """Reads a text that :func:`is_harmony` accepts; takes linear time."""
    if CHANNEL not in text:
        return Spoken(text.rpartition(_BARE_FINAL)[2], unfinished=False)
    front, *messages = text.split(CHANNEL)
    if _END.search(front):  # '<|start|>assistant', or thoughts that the prompt opened
        front = ''
    thoughts: list[str] = []
    finals: list[str] = []
    others: list[str] = []
    thinking = False
    for message in messages:
        header, opened, content = message.partition(_MESSAGE)
        name = _NAME.match(header)
        # '<|channel|>final' at the end of a truncated answer: the channel has no text yet.
        channel = name[1] if name and opened else 'analysis'
        end = _END.search(content)
        content = content[: end.start()] if end else content
        thinking = channel == 'analysis' and not end
        if channel == 'final':
            finals.append(content)
        else:
            (thoughts if channel == 'analysis' else others).append(content)
    return Spoken(front + (finals[-1] if finals else ''.join(others)), thinking, '\n'.join(filter(None, thoughts)))


def read_harmony_calls(text: str) -> tuple[str, list[ToolCall]]:
    """Reads calls: messages with a recipient (``to=functions.find``), before or after the name of any channel.

    Functions are usually called in ``commentary``, built-in tools in ``analysis``; both end the model's turn.

    Returns:
        The text without these messages, and their calls.
    """
    kept: list[str] = []
    calls: list[ToolCall] = []
    position = 0
    while len(calls) < MAX_CALLS and (begin := text.find(_MESSAGE, position)) >= 0:
        content = begin + len(_MESSAGE)
        recipient = _RECIPIENT.search(text, max(position, begin - _MAX_HEADER), begin)
        decoded = decode_json(text, content) if recipient else None  # arguments may contain a mark
        end = _END.search(text, decoded[1] if decoded else content)
        stop, after = (end.start(), end.end()) if end else (len(text), len(text))
        if recipient and recipient[1] not in _NO_TOOLS:
            written = text[content:stop]
            is_cut = not end and not written.strip()  # an empty text means no arguments
            calls.append(broken_call('', recipient[1]) if is_cut else make_call(recipient[1], written))
        else:
            kept.append(text[position:after])
        position = after
    return ''.join([*kept, text[position:]]), calls
