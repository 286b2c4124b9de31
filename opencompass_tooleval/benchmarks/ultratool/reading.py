"""Parses the text of an answer as a plan or list of items, by the rules of the protocol.

The published scorer rewrites the complete text, cuts it to its list, and then tries a list of repairs, each evaluated
as Python. Here each try parses a Python literal. A repair converts an unreadable text to another, and returns ``''``
if it does not apply. Every parse method has a name, which is stored in the details. Strict parsing changes no value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import json_repair

from opencompass_tooleval.core.calls.answer import Answer, as_answer, clean, unfence
from opencompass_tooleval.core.text.fullwidth import PARSE_METHOD, ascii_punctuation, has_full_width, tidy
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, TOO_LONG
from opencompass_tooleval.core.text.reading import (
    BUDGET,
    NO_BRACKETS,
    NOT_JSON,
    READ_ERRORS,
    Parsed,
    bounded,
    cost,
    cost_of_json,
    json_values,
    literal,
    read_first_possible,
    unread,
)
from opencompass_tooleval.work_dir.recorded import GPT

SCORINGS = ('official', 'strict')
LIST_CHOICES = ('last', 'span')


@dataclass(frozen=True)
class Protocol:
    """The rules for a run.

    Attributes:
        scoring: ``official`` keeps the published behaviour with its quirks, ``strict`` fixes them (see
            docs/explanation/ultratool.md).
        list_choice: The list that is scored if an answer has several. ``last``: the last one (the authors' choice for
            open models); ``span``: everything from the first bracket to the last (their choice for GPT).
        gold: The gold answers of the records; only stored in results, since the records decide.

    Raises:
        ValueError: A name is unknown.
    """

    scoring: str = 'official'
    list_choice: str = 'last'
    gold: str = 'official'

    def __post_init__(self) -> None:
        for field, allowed in (
            ('scoring', SCORINGS),
            ('list_choice', LIST_CHOICES),
            ('gold', ('official', 'repaired')),
        ):
            if getattr(self, field) not in allowed:
                raise ValueError(f'{field} {getattr(self, field)!r} is not one of {", ".join(allowed)}')

    def with_shapes(self, shapes: Iterable[str | None]) -> Protocol:
        """Returns the rules with the ``list_choice`` of the files in which answers were recorded.

        Args:
            shapes: The published format of each answer (:mod:`~opencompass_tooleval.work_dir.recorded`); None for a
                model's own answers. ``span`` if all have the format of the GPT files, else ``last``.
        """
        return replace(self, list_choice='span' if set(shapes) == {GPT} else 'last')

    @property
    def strict(self) -> bool:
        """True if the quirks of the published code are fixed."""
        return self.scoring == 'strict'


_FIRST_STEP = '1. '
_DIGITS = '0123456789'
# Complete marks first, since the short ones would leave their '>'.
_MARKS = ('<|im_start|>', '<|im_end|>', '<|im_start|', '<|im_end|')


def _cut_plan(text: str) -> str:
    """Cuts a plan as the published evaluation does for the judge, unless it begins with ``1. ``.

    The plan starts at the first ``1. ``, if any; the last of several paragraphs is removed, unless it begins with a
    digit. Paragraphs are split from the left: after ``1. a`` and three line breaks, the third is a last paragraph. A
    refusal in one paragraph stays, since a published judgement quotes one (GPT-3.5, Chinese, row 958).
    """
    if text.strip().startswith(_FIRST_STEP):
        return text
    position = text.find(_FIRST_STEP)
    paragraphs = text[max(0, position) :].split('\n\n')
    if len(paragraphs) > 1 and paragraphs[-1] and paragraphs[-1][0] not in _DIGITS:
        del paragraphs[-1]
    return '\n\n'.join(paragraphs)


def _cut_plan_strictly(text: str) -> str:
    """Cuts the text from the first ``1. `` on, without a closing remark; a text without ``1. `` stays."""
    position = text.find(_FIRST_STEP)
    if position <= 0:
        return text
    plan, blank, last = text[position:].rpartition('\n\n')
    return plan if blank and not last[:1].isdigit() else text[position:]


def read_plan(answer: Any, protocol: Protocol) -> Parsed:
    """Cuts a plan to the part that the judge sees.

    Parse methods: ``text`` (the complete text, except marks of a chat template), ``cut``.
    """
    if not isinstance(answer, str):
        return unread('parse:not_text')
    if len(answer) > MAX_CHARS:
        return unread(TOO_LONG)
    for mark in _MARKS:
        answer = answer.replace(mark, '')
    plan = _cut_plan_strictly(answer) if protocol.strict else _cut_plan(answer)
    return Parsed(plan, 'text' if plan == answer else 'cut')


def without_thoughts(answer: Any) -> Any:
    """Returns an answer without thoughts; a parsed list stays."""
    return clean(as_answer(answer)) if isinstance(answer, (Answer, str)) else answer


def read(answer: Any, reading: str, protocol: Protocol) -> Parsed:
    """Parses an answer; never raises.

    Args:
        answer: An :class:`~opencompass_tooleval.core.calls.answer.Answer` or its text, or a parsed list.
        reading: ``plan``, ``items``, ``names``, ``calls`` or ``tools``.
        protocol: The rules.
    """
    answer = answer.text if isinstance(answer, Answer) else answer
    if isinstance(answer, list) and answer and isinstance(answer[0], str):
        answer = answer[0]  # the authors' files of open models store each answer as the first item of a list
    if reading == 'plan':
        return read_plan(answer, protocol)
    return read_strict(answer) if protocol.strict else read_official(answer, reading, protocol.list_choice)


def is_json(answer: Any) -> bool:
    """Tests if an answer is a JSON list without repairs, except for spaces and one fence around it."""
    answer = answer.text if isinstance(answer, Answer) else answer
    if not isinstance(answer, str) or len(answer) > MAX_CHARS:
        return isinstance(answer, list)
    text = answer.strip()
    try:
        return isinstance(json.loads(unfence(text) if text.startswith('```') else text), list)
    except READ_ERRORS:
        return False


Repair = Callable[[str], str]
ParseMethod = tuple[str, Repair]

Edits = tuple[tuple[str, str], ...]


def before_last(mark: str) -> Repair:
    """Inserts ``mark`` before the last character."""
    return lambda text: text[:-1] + mark + text[-1:]


def drop_before_last(count: int = 1) -> Repair:
    """Removes the ``count`` characters before the last one."""
    return lambda text: text[: -1 - count] + text[-1:]


def braces(count: int, better: int) -> Repair:
    """Replaces each ``count`` closing braces by ``better``."""
    return lambda text: text.replace('}' * count, '}' * better)


def close_behind(mark: str) -> Repair:
    """Cuts before the comma of the last ``mark``, which ends a complete item, and closes the list.

    The comma must go: ``[{...}},]`` with a brace too many becomes ``[{...}}]``, which the next repairs, editing the
    last characters, can parse.
    """

    def repair(text: str) -> str:
        position = text.rfind(mark)
        return '' if position < 0 else text[: position + len(mark) - 1] + ']'

    return repair


def replace_all(edits: Edits) -> Repair:
    """Makes all edits everywhere, in order."""

    def repair(text: str) -> str:
        for old, new in edits:
            text = text.replace(old, new)
        return text

    return repair


def in_turn(*repairs: Repair) -> Repair:
    """Applies repairs one after the other."""

    def repair(text: str) -> str:
        for step in repairs:
            text = text and step(text)
        return text

    return repair


def doubled(*marks: str) -> Edits:
    """Returns edits that replace every single quote of each mark by a double one."""
    return tuple((mark, mark.replace("'", '"')) for mark in marks)


QUOTES = doubled("{'", "'}", "', '", '", \'', '\', "', "': '", '\': "', '": \'', "': {")
"""Quotes that tool creation also fixes. Each edit is applied to the result of earlier edits."""

_QUOTES_AT_BRACKETS = (*QUOTES, ("['", '['), ("']", ']'), (", '", ', "'), ("'),", ')",'))

fix_item_quotes = replace_all((*_QUOTES_AT_BRACKETS, ('""None""', '"None"'), ('"{step', '{"step'), ("')}", ')"}')))
fix_call_quotes = replace_all(
    (
        *_QUOTES_AT_BRACKETS,
        ("': ", '": '),
        ("', {", '", {'),
        ("')}", ')"}'),
        ('}}," {', '}}, {'),
        ('""None""', '"None"'),
    )
)

_COMPLETE = {'items': '},', 'names': '},', 'calls': '}},', 'tools': '}}}},'}
"""Reading -> text that ends a complete item, with the comma after it."""

ITEM_PARSE_METHODS: tuple[ParseMethod, ...] = (
    ('as_is', str),
    ('brace', before_last('}')),
    ('quote_brace', before_last('"}')),
    ('complete_items', close_behind(_COMPLETE['items'])),
    ('quotes', fix_item_quotes),
)
"""Parse methods of awareness and selection."""

CALL_PARSE_METHODS: tuple[ParseMethod, ...] = (
    ('as_is', str),
    ('brace', before_last('}')),
    ('two_braces', before_last('}}')),
    ('brace_per_step', replace_all((('"}, {"step', '"}}, {"step'),))),
    ('quote_brace', before_last('"}')),
    ('bracket_braces', before_last(']}}')),
    ('drop_one', drop_before_last()),
    ('drop_two', drop_before_last(2)),
    ('three_to_two', braces(3, 2)),
    ('complete_items', close_behind(_COMPLETE['calls'])),
    ('quotes', fix_call_quotes),
    ('quotes_three_to_two', in_turn(fix_call_quotes, braces(3, 2))),
    ('quotes_bracket_braces', in_turn(fix_call_quotes, before_last(']}}'))),
)
"""Parse methods of usage."""


_close_behind_tool = close_behind('}}},')  # one brace fewer than in the first cut of an unfinished answer


def _at_run(length: int, drop: int = 0, insert: str = '') -> Repair:
    """Removes ``drop`` characters and inserts ``insert`` at the first run of ``length`` closing braces."""

    def repair(text: str) -> str:
        position = text.find('}' * length)
        return '' if position < 0 else text[:position] + insert + text[position + drop :]

    return repair


def _drop_third_bracket(text: str) -> str:
    """Removes a ``]`` at the third place from the end."""
    return text[:-3] + text[-2:] if text[-3:-2] == ']' else ''


def _open_next_item(text: str) -> str:
    """Inserts a ``{`` after the first ``}}}}, `` if no ``{`` follows; later places are ignored."""
    mark = '}}}}, '
    position = text.find(mark)
    rest = text[position + len(mark) :]
    return '' if position < 0 or not rest or rest[0] == '{' else text[: position + len(mark)] + '{' + rest


fix_tool_quotes = replace_all(
    (*QUOTES, *doubled("}, '", "': ", ", '", "':"), ('}, "step', '}, {"step')),
)

_drop = drop_before_last()


def _on_fixed(name: str, repair: Repair) -> ParseMethod:
    return f'quotes_{name}', in_turn(fix_tool_quotes, repair)


TOOL_PARSE_METHODS: tuple[ParseMethod, ...] = (
    ('as_is', str),
    ('brace', before_last('}')),
    ('two_braces', before_last('}' * 2)),
    ('three_braces', before_last('}' * 3)),
    ('four_braces', before_last('}' * 4)),
    ('quote_brace', before_last('"}')),
    ('quote_braces', before_last('"}"}}')),
    # left out: the published "}"}}"}}} puts a string directly after a brace, which never parses
    ('drop_one', _drop),
    ('drop_two', drop_before_last(2)),
    ('run_of_nine', _at_run(9, drop=2)),
    ('run_of_nine_drop_one', in_turn(_at_run(9, drop=2), _drop)),
    ('run_of_seven', _at_run(7, drop=1)),
    ('run_of_seven_drop_one', in_turn(_at_run(7, drop=1), _drop)),
    ('run_of_six', _at_run(6, drop=1)),
    ('run_of_six_drop_one', in_turn(_at_run(6, drop=1), _drop)),
    ('run_of_four', _at_run(4, insert='}')),
    ('run_of_four_drop_one', in_turn(_at_run(4, insert='}'), _drop)),
    ('third_bracket', _drop_third_bracket),
    ('complete_items', _close_behind_tool),
    ('open_next', _open_next_item),
    ('five_to_four', braces(5, 4)),
    ('six_to_five', braces(6, 5)),
    ('six_to_seven', braces(6, 7)),
    ('seven_to_eight', braces(7, 8)),
    ('seven_to_eight_brace', in_turn(braces(7, 8), before_last('}'))),
    ('four_to_five', braces(4, 5)),
    ('four_to_three', braces(4, 3)),
    ('quotes', fix_tool_quotes),
    _on_fixed('four_to_three', braces(4, 3)),
    _on_fixed('drop_one', _drop),
    _on_fixed('six_to_five', braces(6, 5)),
    _on_fixed('third_bracket', _drop_third_bracket),
    _on_fixed('drop_last_two', lambda text: text[:-2]),
    _on_fixed('four_to_five', braces(4, 5)),
    _on_fixed('brace', before_last('}')),
    _on_fixed('six_to_eight', braces(6, 8)),
    _on_fixed('complete_items', _close_behind_tool),
)
"""Parse methods of tool creation, in the published order.

Models miscount the braces of a nested tool; most parse methods guess the intended number. Balancing the braces instead
would accept answers that the published scorer rejects: all of GPT-3.5's, for which Table 6 has 99.00.
"""


_LITERALS = (('true', 'True'), ('false', 'False'), ('null', '"null"'))
_ITEM_EDITS = (('})', '}'), ('，', ','), ('}, "step', '}, {"step'), ('# ...', ''))
_BLANKS = 12


def normalise(text: str, reading: str) -> str:
    """Rewrites a complete answer, inside values too, as the published scorer does before it parses.

    Args:
        text: The answer.
        reading: ``items`` (awareness), ``names`` (selection), ``calls`` (usage) or ``tools`` (creation).
    """
    text = text.replace('json', '').strip('`').replace('输出：', '').replace('\n', '').replace('\\_', '_')
    edits: tuple[tuple[str, str], ...] = (*_LITERALS, ('})', '}'))
    if reading != 'tools':
        edits = (*_LITERALS, ('None', '"None"'), *_ITEM_EDITS)
    if reading == 'calls':
        edits = (*edits, ('}{', '}, {'))
    # Inside values too: 'nullable' becomes '"null"able', which makes the answer unreadable, as published.
    for old, new in edits:
        text = text.replace(old, new)
    for blanks in range(1, _BLANKS + 1):
        # Not a pattern: '} } }' must become '}} }', since the parse methods below count adjacent braces.
        text = text.replace('}' + ' ' * blanks + '}', '}}')
    return text


def _last_list(text: str) -> str:
    """Returns the last ``[{ ... }]`` (each as short as possible), or else everything up to the first ``]``.

    It equals ``re.findall(r'\\[\\{.*?\\}\\]', text)[-1]``, in linear time.
    """
    last_match, start = '', text.find('[{')
    while start >= 0:
        end = text.find('}]', start + 2)
        if end < 0:
            break
        last_match, start = text[start : end + 2], text.find('[{', end + 2)
    return last_match or text[: text.find(']') + 1]


def cut(text: str, reading: str, list_choice: str) -> str:
    """Cuts a normalised answer to its list; a text without ``[`` is only cut after its last ``]``."""
    start = text.find('[')
    if start > 0:
        text = text[start:]
    if ']' in text:
        text = text[: text.rfind(']') + 1]
    elif start >= 0:
        text = close_behind(_COMPLETE[reading])(text) or text + ']'
    return _last_list(text) if list_choice == 'last' and text.count(']') > 1 else text


_BUDGETS = {'tools': 300_000}
"""Maximum cost of all tries, for readings with many parse methods."""

PARSE_METHODS: dict[str, tuple[ParseMethod, ...]] = {
    'items': ITEM_PARSE_METHODS,
    'names': ITEM_PARSE_METHODS,
    'calls': CALL_PARSE_METHODS,
    'tools': TOOL_PARSE_METHODS,
}


def _selection_items(value: Any) -> Any:
    """Returns the first of ``[..], [..]``, then the only element of ``[[..]]``; ``[[..], [..]]`` has no items."""
    if isinstance(value, tuple):
        value = value[0] if value else []
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return value


_ITEMS: dict[str, Callable[[Any], Any]] = {
    # A tuple ({...}, {...}) or a single object has no items.
    'items': lambda value: value if isinstance(value, list) else [],
    'names': _selection_items,
    # The first of [[..], [..]]; accepts {...}, {...}; [..], [..] has no items.
    'calls': lambda value: value[0] if isinstance(value, list) and value and isinstance(value[0], list) else value,
    'tools': lambda value: [] if value is Ellipsis else value,
}
"""Reading -> the function that returns the items of a value."""


def _items(parsed: Parsed, reading: str) -> Parsed:
    """Returns the items of a value.

    A value without items, such as a single object, still counts as JSON. A value that stops the published scorer, such
    as a number, does not.
    """
    if not parsed.ok:
        return parsed
    value = _ITEMS[reading](parsed.value)
    if isinstance(value, (list, tuple)):
        return Parsed(list(value), parsed.parse_method)
    if isinstance(value, (dict, set, str, bytes)):
        return Parsed([], parsed.parse_method)
    return unread('parse:not_a_list')


def read_official(answer: Any, reading: str, list_choice: str = 'last') -> Parsed:
    """Parses an answer as the published scorer does.

    Args:
        answer: The answer's text; a list is used unchanged.
        reading: ``items``, ``names``, ``calls`` or ``tools``.
        list_choice: ``last`` or ``span``, see :class:`~opencompass_tooleval.benchmarks.ultratool.reading.Protocol`.

    Returns:
        The list of items and the parse method, or the reason why there is no list.
    """
    if not isinstance(answer, str):
        return _items(bounded(answer, 'value'), reading)
    if len(answer) > MAX_CHARS:
        return unread(TOO_LONG)
    text = cut(normalise(answer, reading), reading, list_choice)

    def tries() -> Iterator[tuple[str, Callable[[], Any], int]]:
        tried = {''}
        for parse_method, repair in PARSE_METHODS[reading]:
            repaired = repair(text)
            if repaired not in tried:
                tried.add(repaired)
                yield parse_method, partial(literal, repaired), cost(repaired)

    parsed = read_first_possible(tries(), _BUDGETS.get(reading, BUDGET))
    if parsed.reason == NOT_JSON and '[' not in answer:
        return unread(NO_BRACKETS)
    return _items(parsed, reading)


REPAIR_BUDGET = 20_000
MAX_REPAIR_CHARS = 20_000
MAX_LISTS = 32


class _Spent(Exception):
    """The repair exceeded its budget."""


class _Metered(str):
    """Text that can be read only a limited number of times.

    json_repair reads its text character by character, and texts such as ``]{]{]{...`` more often than the square of
    their length: 8,000 such characters take seconds.
    """

    left: list[int]

    def __new__(cls, text: str, left: list[int]) -> _Metered:
        metered = super().__new__(cls, text)
        metered.left = left
        return metered

    def __getitem__(self, key: Any) -> str:
        value = super().__getitem__(key)
        self.left[0] -= 1 + len(value) // 50
        if self.left[0] < 0:
            raise _Spent
        return _Metered(value, self.left) if isinstance(key, slice) else value

    def __add__(self, other: str) -> str:
        return _Metered(super().__add__(other), self.left)


def _repaired(text: str) -> Any:
    if len(text) > MAX_REPAIR_CHARS or not ('[' in text or '{' in text):
        raise ValueError(text[:20])
    try:
        return json_repair.loads(_Metered(text, [REPAIR_BUDGET]), skip_json_loads=True)
    except Exception as error:  # any library error, on any text
        raise ValueError(str(error)) from error


def _last_of_lists(text: str) -> Any:
    """Parses the last JSON list of objects in prose, with any number of other brackets around it."""
    # Only lists of objects count, since the [1] of a footnote is a list too.
    lists = [value for value in json_values(text, '[', MAX_LISTS) if isinstance(value[0] if value else None, dict)]
    if not lists:
        raise ValueError('no list')
    return lists[-1]


def _json_or_literal(text: str) -> Any:
    try:
        # JSON first: as a Python literal '"\/"' would have two characters.
        return json.loads(text)
    except READ_ERRORS:
        return literal(text)


def _full_width(text: str) -> Any:
    """Parses the list from the first bracket to the last, with full-width punctuation converted to ASCII."""
    if not has_full_width(text):
        raise ValueError('nothing is full-width')
    text = ascii_punctuation(text)
    return _json_or_literal(text[max(0, text.find('[')) : text.rfind(']') + 1])


def read_strict(answer: Any) -> Parsed:
    """Parses an answer without changing any value.

    Parse methods: ``json`` and ``literal`` (the complete answer), ``fence`` (the content of the first fenced block),
    ``prose`` (from the first bracket to the last, or the last JSON list of objects in between), ``fullwidth`` (as
    ``prose``, with full-width punctuation outside texts converted to ASCII), ``repaired`` (by json_repair).

    Args:
        answer: The answer's text; a list is used unchanged.

    Returns:
        The list of items and the parse method, or the reason why there is no list.
    """
    if not isinstance(answer, str):
        return _as_list(bounded(answer, 'value'))
    if len(answer) > MAX_CHARS:
        return unread(TOO_LONG)
    text = tidy(answer)
    inside = tidy(unfence(text))
    if '[' not in inside:  # a closing fence without an opening one
        inside = text.strip('`').strip()
    span = inside[max(0, inside.find('[')) : inside.rfind(']') + 1]
    broken = inside[max(0, inside.find('[')) :]
    tries: tuple[tuple[str, Callable[[], Any], int], ...] = (
        ('json', lambda: json.loads(text), cost_of_json(text)),
        ('literal', lambda: literal(text), cost(text)),
        ('fence', lambda: _json_or_literal(inside), cost(inside) if inside != text else 0),
        ('prose', lambda: _json_or_literal(span), cost(span) if span != inside else 0),
        ('prose', lambda: _last_of_lists(inside), 0),
        (PARSE_METHOD, lambda: _full_width(inside), cost(inside) if has_full_width(inside) else 0),
        ('repaired', lambda: _repaired(broken), 0),
    )
    parsed = read_first_possible(tries)
    if parsed.reason == NOT_JSON and '[' not in text and '［' not in text:
        return unread(NO_BRACKETS)
    return _as_list(parsed)


def _as_list(parsed: Parsed) -> Parsed:
    if not parsed.ok or isinstance(parsed.value, list):
        return parsed
    return unread('parse:not_a_list')
