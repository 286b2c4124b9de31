"""Parses a model's raw text into thoughts, content and calls, as the reference for servers' parsers.

Raw text is the model's output with special tokens, from a local model or a server that sends token ids.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from opencompass_tooleval.core.calls.answer import LEADING_MARKS
from opencompass_tooleval.core.calls.harmony import ANALYSIS, CHANNEL, is_harmony, read_harmony
from opencompass_tooleval.core.calls.tool_calls import MAX_CALLS, ToolCall, make_call
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.calls.written.formats import FORMATS, HARMONY, NONE, choose_format
from opencompass_tooleval.core.calls.written.scanning import call_of, decode_json, skip_blanks
from opencompass_tooleval.core.text.jsonable import MAX_CHARS

_HTML_END = '</s>'
_MESSAGE_END = '<|end|>'
END_TOKENS = (
    '<|im_end|>',  # ChatML: Qwen, Hermes, Kimi, SmolLM, InternLM, LFM2, OLMo 3
    '<|endoftext|>',  # padding of the same, and of Phi and GLM
    '<|eot_id|>',  # Llama 3: a turn, and one that waits for a tool
    '<|eom_id|>',
    '<|eot|>',  # Llama 4
    '<|eom|>',
    '<|end_of_text|>',  # Llama, Granite
    _HTML_END,  # Mistral, Llama 2
    _MESSAGE_END,  # Phi; in Harmony also between messages
    '<|return|>',  # Harmony: the last message, and a call
    '<|call|>',
    '<end_of_turn>',  # Gemma 2 and 3
    '<eos>',
    '<start_function_response>',  # FunctionGemma, after its calls
    '<turn|>',  # Gemma 4
    '<|tool_response>',
    '<｜end▁of▁sentence｜>',  # DeepSeek
    '[EOS]',  # Kimi
    '<|user|>',  # GLM: the next turn, and a tool's answer
    '<|observation|>',
    '[e~[',  # MiniMax
    '<end_of_sentence>',
    '<seed:eos>',
    '<|role_end|>',  # Ling
    '</assistant>',  # Laguna
    '<SPECIAL_12>',  # Nemotron Nano 2
    '<|end_of_msg|>',  # Kimi K3
    '<|message_sep|>',  # GigaChat
    '<|END_OF_TURN_TOKEN|>',  # Command
    '<|assistant_end|>',  # Apertus
    '</longcat_s>',
    '<|content_model_end_sampling|>',  # Inkling
)
"""Tokens that end an answer, from the generation configs and chat templates of the model families."""

_THOUGHTS = {
    '<think>': '</think>',
    '<thinking>': '</thinking>',
    '<longcat_think>': '</longcat_think>',
    **LEADING_MARKS,
}
"""Mark before thoughts -> mark after them. Hunyuan's marks have a suffix: ``<think:opensource>``."""
_OPEN, _CLOSE = (
    re.compile('|'.join([*map(re.escape, marks), suffixed]))
    for marks, suffixed in ((_THOUGHTS, r'<think:[\w-]{1,32}>'), (_THOUGHTS.values(), r'</think:[\w-]{1,32}>'))
)
_OPEN_AT_END = re.compile(f'(?:{_OPEN.pattern}|{re.escape(ANALYSIS)})\\Z')

_Read = Callable[[str], tuple[str, list[ToolCall]]]
"""Takes a text without thoughts; returns the text without calls, and the calls."""


@dataclass(frozen=True)
class Reading:
    """The parts of a raw text.

    Attributes:
        thoughts: The thoughts, without marks.
        content: The rest without calls; stripped if there are calls.
        calls: The calls in order. Each has an id of nine letters and digits, derived from the answer, since Mistral's
            templates accept no other id. An unreadable call has its text as arguments.
        is_unfinished: True if the text ends within thoughts.
    """

    thoughts: str = ''
    content: str = ''
    calls: tuple[ToolCall, ...] = ()
    is_unfinished: bool = False

    @property
    def text(self) -> str:
        """The text of an answer: the thoughts in ``<think>``, and the content."""
        if self.is_unfinished:
            return f'{self.content}<think>{self.thoughts}'
        return f'<think>{self.thoughts}</think>{self.content}' if self.thoughts else self.content


def read_reference(
    raw_text: str,
    format_name: str,
    tools: ToolSet | None = None,
    opened_thoughts: bool = False,
    reads_calls: bool = True,
) -> Reading:
    """Parses a model's raw text.

    Calls within thoughts do not count, except in Harmony: a message with a recipient is a call in every channel, also
    in ``analysis``, since the model ends its turn after it (openai/harmony, docs/format.md).

    Args:
        raw_text: The answer with special tokens. If it is longer than ``MAX_CHARS``, it is returned as content.
        format_name: A name of :data:`~opencompass_tooleval.core.calls.written.formats.FORMATS`.
        tools: The offered tools. They give the types of arguments in formats without types.
        opened_thoughts: True if the prompt ends within thoughts: see :func:`opens_thoughts`.
        reads_calls: False to return calls as content.
    """
    schemas, row = tools.schemas if tools else {}, FORMATS[format_name]

    def read(text: str) -> tuple[str, list[ToolCall]]:
        content, calls = row.reader(text, schemas) if reads_calls else (text, [])
        return row.framing.sub('', content) if row.framing else content, calls

    if format_name != HARMONY and not (format_name == NONE and is_harmony(raw_text)):
        if row.thoughts and len(raw_text) <= MAX_CHARS:
            raw_text = row.thoughts.sub(_in_think, raw_text)
        return _read(raw_text, read, opened_thoughts, row.ends_thoughts)
    if len(raw_text) > MAX_CHARS:
        return Reading(content=raw_text)
    rest, calls = read(without_end_tokens(f'{ANALYSIS}{raw_text}' if opened_thoughts else raw_text))
    spoken = read_harmony(rest)
    return replace(_reading(raw_text, spoken.thoughts, spoken.answer, calls), is_unfinished=spoken.unfinished)


def read_required_calls(raw_text: str, name: str = '', opened_thoughts: bool = False) -> Reading:
    """Parses the JSON that servers make a model write if ``tool_choice`` requires a call.

    Args:
        raw_text: A list of objects with ``name`` and ``parameters`` or ``arguments``, or one such object.
        name: The tool that ``tool_choice`` names. An object that is not a call of it is taken as its arguments.
        opened_thoughts: As in :func:`read_reference`.
    """
    return _read(raw_text, partial(_required, name=name), opened_thoughts)


def _required(text: str, name: str) -> tuple[str, list[ToolCall]]:
    decoded = decode_json(text, skip_blanks(text, 0))
    value, end = decoded or (None, 0)
    if (
        name
        and isinstance(value, dict)
        and not (value.get('name') == name and value.keys() & {'arguments', 'parameters'})
    ):
        return text[end:], [make_call(name, value)]
    items = value[:MAX_CALLS] if isinstance(value, list) else [value]
    calls = [call for item in items if (call := call_of(item, needs_arguments=True))]
    return (text[end:], calls) if len(calls) == len(items) else (text, [])


def unread_format(reading: Reading, tools: ToolSet) -> str:
    """Returns the format whose marks occur, with a tool's name, in a content without calls; '' if there is none."""
    name = NONE if reading.calls else choose_format(reading.content)
    is_named = name != NONE and any(tool in reading.content for tool in tools.schemas)
    return name if is_named else ''


def written_format(raw_text: str, tools: ToolSet, opened_thoughts: bool = False) -> str:
    """Returns the only format in which a raw text has calls of offered tools; ``none`` if there is none, or several.

    Formats that give the same calls count as one.
    """
    found: dict[str, str] = {}
    for name, row in FORMATS.items():
        if any(all(mark in raw_text for mark in marks) for marks in row.templates):
            calls = read_reference(raw_text, name, tools, opened_thoughts).calls
            if calls and all(call.name in tools.schemas and isinstance(call.arguments, dict) for call in calls):
                found.setdefault(repr(calls), name)
    return next(iter(found.values())) if len(found) == 1 else NONE


def after_thoughts(text: str, opened_thoughts: bool = False) -> str:
    """Returns the text after its thoughts if it begins with thoughts; else the whole text."""
    begins = opened_thoughts or _OPEN.match(text, skip_blanks(text, 0))
    close = _CLOSE.search(text) if begins else None
    return text[close.end() :] if close else text


def opens_thoughts(prompt: str) -> bool:
    """Tests if a prompt ends within thoughts, as chat templates of reasoning models do."""
    return bool(_OPEN_AT_END.search(prompt[-100:].rstrip()))


def has_thoughts(template: str) -> bool:
    """Tests if a chat template or a prompt contains marks of thoughts."""
    return CHANNEL in template or bool(_OPEN.search(template))


def without_end_tokens(text: str, others: Sequence[str] = ()) -> str:
    """Removes end tokens at the end of a text, and blanks around them.

    Args:
        text: A raw text.
        others: Tokens in addition to :data:`END_TOKENS`, such as a tokenizer's.
    """
    # Exceptions: '<|end|>' closes thoughts of Harmony; the '</s>' of '<s>old</s>' is content.
    tokens: tuple[str, ...] = END_TOKENS
    if others or CHANNEL in text:
        tokens = tuple(
            token for token in (*END_TOKENS, *others) if token and not (token == _MESSAGE_END and CHANNEL in text)
        )
    html_ends = text.count(_HTML_END) - text.count('<s>')
    end, position = len(text), len(text.rstrip())
    while text.endswith(tokens, 0, position):
        token = next(token for token in tokens if text.endswith(token, 0, position))
        html_ends -= token == _HTML_END
        if token == _HTML_END and html_ends < 0:
            break
        position -= len(token)
        while position and text[position - 1].isspace():
            position -= 1
        end = position
    return text[:end]


def _numbered(text: str, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Returns the calls with ids."""
    stem = hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=3).hexdigest() if calls else ''
    return tuple(
        ToolCall(call.name, call.arguments, f'{stem}{number:03}') for number, call in enumerate(calls[:MAX_CALLS])
    )


def _in_think(thoughts: re.Match[str]) -> str:
    return f'<think>{thoughts[1]}' + ('</think>' if thoughts[2] else '')


def _read(raw_text: str, read: _Read, opened_thoughts: bool, ends_thoughts: str = '') -> Reading:
    """Parses a text whose thoughts are between marks; ``ends_thoughts`` also ends them."""
    if len(raw_text) > MAX_CHARS:
        return Reading(content=raw_text)
    text = without_end_tokens(raw_text)
    opened = _OPEN.match(text, skip_blanks(text, 0))
    begin, front = opened.end() if opened else 0, ''
    closes = list(_CLOSE.finditer(text, begin))
    if opened or opened_thoughts:
        end = closes[0].start() if closes else len(text)
        if ends_thoughts and (stop := text.find(ends_thoughts, begin, end)) >= 0:
            return _reading(raw_text, text[begin:stop], *read(text[stop:]))
        if not closes:
            return Reading(text[begin:], is_unfinished=True)
    else:
        content, calls = read(text)
        if not _has_marks(content, calls):
            return _reading(raw_text, '', content, calls)
        if closes and (later := _OPEN.search(text, 0, closes[0].start())):
            front, begin = text[: later.start()], later.end()
    # Arguments may contain marks. If marks are left outside of arguments, the last one ends the thoughts.
    ends = [close.span() for close in closes[:1] + closes[-1:]]
    for end, start in ends:
        content, calls = _read_both(read, front, text[start:])
        if not _has_marks(content, calls):
            return _reading(raw_text, text[begin:end], content, calls)
    # A mark after the last end begins unfinished thoughts.
    end, start = ends[-1] if ends else (begin, 0)
    last = _OPEN.search(text, start)
    stop, after = last.span() if last else (len(text), len(text))
    content, calls = _read_both(read, front, text[start:stop])
    return _reading(raw_text, text[begin:end], content, calls, text[after:])


def _read_both(read: _Read, front: str, text: str) -> tuple[str, list[ToolCall]]:
    """Parses the texts before and after thoughts."""
    before, earlier = read(front) if front else ('', [])
    content, calls = read(text)
    return before + content, earlier + calls


def _has_marks(content: str, calls: Sequence[ToolCall]) -> bool:
    """Tests if a content or an unreadable call contains a mark of thoughts."""
    texts = [content, *(call.arguments for call in calls if isinstance(call.arguments, str))]
    return any(mark.search(text) for text in texts for mark in (_OPEN, _CLOSE))


def _reading(
    raw_text: str, thoughts: str, content: str, calls: Sequence[ToolCall], unfinished: str | None = None
) -> Reading:
    text = content.strip() if calls else content
    return Reading(thoughts + (unfinished or ''), text, _numbered(raw_text, calls), unfinished is not None)
