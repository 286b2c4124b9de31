"""Parses answers to T-Eval: postprocessors, the rules of a protocol, and a reader for each kind of answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.benchmarks.teval.data import CHOICES, PARTS, PlannedCall, Record, Subset, parse_steps
from opencompass_tooleval.core.calls.answer import TRUNCATED_REASONING, Answer, clean, cut_at, unfence, why_unread
from opencompass_tooleval.core.calls.one_call import OneCall
from opencompass_tooleval.core.scoring.result import INFRA
from opencompass_tooleval.core.text.fullwidth import read_either, tidy
from opencompass_tooleval.core.text.jsonable import TOO_LONG
from opencompass_tooleval.core.text.reading import (
    NO_BRACKETS,
    NOT_JSON,
    Parsed,
    parse_enclosed,
    parse_literal,
    unread,
)

V1_MARKS = ('<eoa>', '<TOKENS_UNUSED_1>', '<|im_end|>', '\nuser', '\nUSER', '[INST]')
"""Marks at which OpenCompass 0.5.4 cuts (postprocessor ``teval``)."""

V2_MARKS = (
    '<eoa>',
    '<TOKENS_UNUSED_1>',
    '<|im_end|>',
    '\nuser',
    '\nassistant',
    '\nUSER',
    '[INST]',
    '<|user|>',
)
"""Marks at which the authors' later test script cuts."""


def _official(text: str, marks: tuple[str, ...]) -> str:
    return cut_at(text, marks).strip().removeprefix('```json').strip('`').strip()


def postprocess_v1(answer: Answer) -> Answer:
    """Postprocesses as OpenCompass's ``teval`` does: cuts at end marks, strips fences, and removes doubled braces."""
    visible = clean(answer)
    text = _official(visible.text, V1_MARKS)
    return Answer(text[1:-1] if text.startswith('{{') and text.endswith('}}') else text, visible.reason)


def postprocess_v2(answer: Answer) -> Answer:
    """Postprocesses as the authors' later test script does: cuts at more marks, and keeps braces."""
    visible = clean(answer)
    return Answer(_official(visible.text, V2_MARKS), visible.reason)


def postprocess_clean(answer: Answer) -> Answer:
    """Returns the content of the first fenced block, if any, for models that add explanations around it."""
    visible = clean(answer)
    return Answer(unfence(cut_at(visible.text, V2_MARKS)).strip(), visible.reason)


POSTPROCESSORS = {'v1': postprocess_v1, 'v2': postprocess_v2, 'clean': postprocess_clean}

PLAN_THRESHOLD = {'v1': 0.7, 'v2': 0.8}
"""Similarity above which steps match. v1: as in arXiv 2312.14033 and OpenCompass 0.5.4; v2: the authors' later code."""

PROTOCOLS = ('v1', 'v2')
SCORINGS = ('official', 'strict')


@dataclass(frozen=True)
class Protocol:
    """The rules for a run.

    Attributes:
        name: ``v1`` compares arguments by embedding, ``v2`` by equality and with a higher threshold for plans.
        scoring: ``official`` keeps the published behaviour with its quirks, ``strict`` fixes them (see
            docs/explanation/teval.md).

    Raises:
        ValueError: A name is unknown.
    """

    name: str = 'v1'
    scoring: str = 'official'

    def __post_init__(self) -> None:
        if self.name not in PROTOCOLS:
            raise ValueError(f'protocol {self.name!r} is not one of {", ".join(PROTOCOLS)}')
        if self.scoring not in SCORINGS:
            raise ValueError(f'scoring {self.scoring!r} is not one of {", ".join(SCORINGS)}')

    @property
    def strict(self) -> bool:
        """True if the quirks of the published code are fixed."""
        return self.scoring == 'strict'

    @property
    def plan_threshold(self) -> float:
        """Similarity above which two steps of a plan may match."""
        return PLAN_THRESHOLD[self.name]

    def parse(self, text: str, read: Callable[[str], Parsed]) -> Parsed:
        """Parses a text with ``read``; strict scoring also accepts full-width punctuation."""
        return read_either(text, read) if self.strict else read(text)

    def needs_encoder(self, subset: Subset) -> bool:
        """Tests if scoring ``subset`` compares texts by embedding."""
        return self.name in subset.encoder


def _call(thought: Any, action: Any, args: Any) -> dict[str, Any]:
    return {'thought': thought, 'action': action, 'args': args if isinstance(args, dict) else {}}


def _read_json(text: str, keys: Mapping[str, str], protocol: Protocol) -> Parsed:
    parsed = protocol.parse(text, parse_enclosed)
    if parsed.reason == NOT_JSON and '{' not in text and '｛' not in text:
        return unread(NO_BRACKETS)
    if not parsed.ok:
        return parsed
    if not isinstance(parsed.value, dict):
        return unread('parse:not_a_dict')
    if any(keys[part] not in parsed.value for part in ('thought', 'action', 'args')):
        return unread('format:missing_key')
    return Parsed(_call(*(parsed.value[keys[part]] for part in ('thought', 'action', 'args'))), parsed.parse_method)


def split_by_marks(text: str, marks: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Splits ``text`` into thought, action and args at the six marks, in linear time.

    The result equals that of the greedy pattern ``thought_start(.*)thought_end action_start(.*)action_end
    args_start(.*)args_end`` over several lines: the first start, then each part as long as possible.

    Returns:
        The three parts, or None if the marks do not occur in this order.
    """
    opening = marks['thought_start']
    to_action = marks['thought_end'] + marks['action_start']
    to_args = marks['action_end'] + marks['args_start']
    start = text.find(opening)
    end = text.rfind(marks['args_end'])
    if start < 0 or end < 0:
        return None
    start += len(opening)
    args_at = text.rfind(to_args, start, end)
    action_at = text.rfind(to_action, start, args_at) if args_at >= 0 else -1
    if action_at < 0:
        return None
    return text[start:action_at], text[action_at + len(to_action) : args_at], text[args_at + len(to_args) : end]


def _read_string(text: str, marks: Mapping[str, str], protocol: Protocol) -> Parsed:
    parts = split_by_marks(text, marks)
    if parts is None:
        return unread('format:no_match')
    thought, action, args_text = parts
    args = protocol.parse(args_text.strip(), parse_literal)
    readable = args.ok and (
        protocol.strict or args.parse_method == 'literal'
    )  # official scoring loses all arguments if they contain JSON's true or null
    return Parsed(_call(thought, action.strip(), args.value if readable else {}), 'marks')


def read_instruct(record: Record, text: str, protocol: Protocol) -> Parsed:
    """Parses the call of instruct; the value is a dict with thought, action and a dict args."""
    if record.format == 'json':
        return _read_json(text, record.template, protocol)
    return _read_string(text, record.template, protocol)


def _first_api(text: str, apis: Sequence[str], strict: bool) -> str | None:
    """Returns the API of ``apis`` that occurs first in ``text``.

    If two begin at the same place, the official code takes the one listed first, even if it is a prefix of the other
    (``Map.get`` in ``Map.get_route``); strict scoring takes the longer one.
    """
    occurrences = [
        (position, -len(name) if strict else 0, order)
        for order, name in enumerate(apis)
        if (position := text.find(name)) >= 0
    ]
    return apis[min(occurrences)[2]] if occurrences else None


def _read_lines(record: Record, text: str, protocol: Protocol) -> Parsed:
    steps: list[PlannedCall] = []
    for line in text.replace('. ', '\n').split('\n'):
        name = _first_api(line, record.apis, protocol.strict)
        if name:
            steps.append(PlannedCall(len(steps), name, line))
    return Parsed(tuple(steps), 'lines') if steps else unread('parse:no_api')


def read_plan(record: Record, text: str, protocol: Protocol) -> Parsed:
    """Parses a plan: a list of ``{id, name, args}``, or one API per line or sentence.

    Returns:
        The value is a tuple of :class:`PlannedCall`, never empty.
    """
    if record.format == 'str':
        return _read_lines(record, text, protocol)
    parsed = protocol.parse(text, lambda part: parse_enclosed(part, '[', ']'))
    if not parsed.ok:
        return parsed
    steps = parse_steps(parsed.value)
    if not steps:
        return unread('parse:not_steps' if steps is None else 'parse:no_steps')
    return Parsed(steps, parsed.parse_method)


def parse_dict(text: str) -> Parsed:
    """Parses the dict in a text."""
    return parse_enclosed(text, '{', '}')


def read_call(record: Record, text: str, protocol: Protocol) -> Parsed:
    """Parses the next thought and call; the value is a dict with the parts that the subset requests."""
    if record.format == 'str':
        return Parsed({PARTS[record.subset.kind][0]: text}, 'text')
    parsed = protocol.parse(text, parse_dict)
    if not parsed.ok:
        return parsed
    if type(parsed.value) is not dict:
        return unread('parse:not_a_dict')
    args = parsed.value.get('args')
    value = {
        'thought': str(parsed.value.get('thought', '')),
        'name': str(parsed.value.get('name', '')),
        'args': args if isinstance(args, dict) else {},
    }
    return Parsed(value, parsed.parse_method)


_OPEN, _CLOSE = r'[\s*_`"\'“‘(\[（【「{$]', r'[\s*_`"\'”’)\]）】」}$]'
# 'Better results' begins with a B, but is not a choice.
_LETTER = rf'{_OPEN}{{0,9}}(?:\\text\{{)?([A-E])(?![A-Za-z0-9_])'
_NOT_EITHER = rf'(?!{_CLOSE}{{0,9}}(?:or\b|and\b|[/、,，&]|或|和|还是){_OPEN}{{0,9}}[A-E](?![A-Za-z]))'
"""``A or B`` is not a choice."""
_CHOSEN = rf'{_LETTER}{_NOT_EITHER}'
_REASON_FOLLOWS = r'(?i:because|since|as|for|is\s(?:the\s)?(?:correct|right|best))\b'
_ENDS = rf'(?={_CLOSE}{{0,9}}(?:\Z|[.。,，;；:：!！?？)\-–—\n]|{_REASON_FOLLOWS}))'
"""Text after a chosen letter: ``A tool failed`` begins with an article, ``Option B is wrong`` rejects a choice."""

_BOXED = re.compile(rf'\\boxed\{{{_CHOSEN}')
_LINK = r'(?i:\s|[*_"：:]|is|was|would|should|must|be|the|option|choice|应该|应当|应|是|为|选项|选)'
_STATED = re.compile(rf'(?i:answer|choice|答案|选项|选择){_LINK}{{1,12}}{_CHOSEN}')
_BEGINS = re.compile(rf'(?:[^:：]*[:：])?(?:{_OPEN}{{0,9}}([B-E])(?![A-Za-z0-9_]){_NOT_EITHER}|{_CHOSEN}{_ENDS})')
_IS = r'(?i:\s(?:is|would\sbe|should\sbe)[:：]?)'
_OPTION = re.compile(rf'(?i:\b(?:option|choice|choose|pick|select)|选项|选择|选){_IS}?\s?{_CHOSEN}{_ENDS}')
_LISTED = re.compile(r'^[ \t]{0,9}[*(（]{0,3}([A-E])[*)）]{0,3}[ \t]{0,3}[:：.]', re.MULTILINE)
"""A line per option: answers that repeat the options (``A: Success``, ...) make no choice."""
_FEW = 3
_HALF_WIDTH = str.maketrans('ＡＢＣＤＥ', 'ABCDE')


def strict_choice(text: str) -> str:
    """Returns the choice, A to E, that a person would find in an answer; ``''`` for no choice or several.

    In this order: the last boxed letter, the last letter called the answer, a letter at the start of the text or after
    its first colon, the only option that is named.
    """
    text = text.strip().translate(_HALF_WIDTH)
    for pattern in (_BOXED, _STATED):
        letters = pattern.findall(text)
        if letters:
            return str(letters[-1])
    if len(set(_LISTED.findall(text))) >= _FEW:
        return ''
    begins = _BEGINS.match(text)
    if begins:
        return str(begins[1] or begins[2])
    options = set(_OPTION.findall(text))
    return str(options.pop()) if len(options) == 1 else ''


def read_choice(record: Record, text: str, protocol: Protocol) -> Parsed:
    """Parses the choice: the first character after the first colon, or of a text without a colon.

    The official code knows only the ASCII colon, so that ``Answer：B`` gives A, the first letter of ``Answer``, and
    takes any word for its first letter (``Because ...`` is B). Strict parsing finds what a person would.
    """
    choice = strict_choice(text) if protocol.strict else text[text.find(':') + 1 :].strip()[:1]
    return Parsed(choice, 'text') if choice in CHOICES else unread('parse:no_choice')


_READERS: dict[str, Callable[[Record, str, Protocol], Parsed]] = {
    **dict.fromkeys(PARTS, read_call),
    'instruct': read_instruct,
    'plan': read_plan,
    'review': read_choice,
}


def read_answer(record: Record, answer: Answer, protocol: Protocol) -> Parsed:
    """Parses a postprocessed answer; never raises."""
    reason = why_unread(answer)
    if reason.startswith(INFRA) or reason in (TRUNCATED_REASONING, TOO_LONG):
        return unread(reason)
    text = tidy(answer.text) if protocol.strict else answer.text
    return _READERS[record.subset.kind](record, text, protocol)


def read_native(record: Record, answer: Answer, one: OneCall) -> Parsed:
    """Returns the first native call in the format of :func:`read_answer`, or the reason why there is none."""
    visible = clean(answer)
    if one.call is None:
        reason = why_unread(visible)
        return unread(reason if reason.startswith(INFRA) or reason == TRUNCATED_REASONING else one.reason)
    arguments = one.call.arguments if isinstance(one.call.arguments, dict) else {}
    name = 'action' if record.subset.kind == 'instruct' else 'name'
    return Parsed({'thought': visible.text.strip(), name: one.call.name, 'args': arguments}, 'call')
