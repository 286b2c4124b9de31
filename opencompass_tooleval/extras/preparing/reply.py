"""Parses a description with its list of functions, or an example, from a model's reply.

Replies are hostile: nothing is evaluated, and a reply longer than ``MAX_CHARS`` is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.calls.answer import strip_reasoning, unfence
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, clean_text
from opencompass_tooleval.core.text.reading import Parsed, bounded, json_values, parse_enclosed, parse_literal
from opencompass_tooleval.extras.preparing.prompts import DESCRIPTION_CUE
from opencompass_tooleval.extras.preparing.validate import UNKNOWN_FUNCTION, Flaw
from opencompass_tooleval.tool_docs.instruction import Example

EMPTY = 'description:empty'
TOO_LONG = 'description:too_long'
NOT_TEXT = 'description:not_text'
INVENTED = 'description:unknown_function'
NOT_JSON = 'example:not_json'
NOT_AN_EXAMPLE = 'example:not_an_example'

_CHARS_PER_TOOL, _CHARS_PER_FUNCTION = 1_500, 500
"""Maximum length of a concise description; those in Table 8 have about 120 characters per function."""

_MOST_NAME = 200

_QUOTES = '\'"`*\u2018\u2019\u201c\u201d'
_NUMBER = re.compile(r'(?:^|(?<=\s))(\d{1,3})[.)]\s+')
_ENDS = ('. ', '! ', '? ')
_QUOTED = re.compile(rf'[{_QUOTES}]+([^{_QUOTES}\s][^{_QUOTES}]{{0,{_MOST_NAME}}})[{_QUOTES}]')
_VERB = re.compile(r'^(?:is (?:used )?to\s|can\s|is an? \w+ (?:that|which) can\s|[:\u2013\u2014-])\s*', re.IGNORECASE)
_START = re.compile(r"""\{\s*["']scenario["']\s*:""", re.IGNORECASE)
_CUE = re.compile(rf'[Oo]ne scenario for (?=[{_QUOTES}])')


@dataclass(frozen=True)
class Description:
    """A description of a tool.

    Attributes:
        text: The complete description on one line.
        purpose: The purpose of the tool as a whole: the text before the list of functions.
        functions: Function -> its purpose, for the functions in the list.
        fault: Why the description comes from the documentation; None if the model wrote it.
    """

    text: str
    purpose: str
    functions: Mapping[str, str] = field(default_factory=dict)
    fault: Flaw | None = None


def _bare(name: str) -> str:
    return re.sub(r'\W+', '', name).casefold()


def _items(text: str) -> list[tuple[int, int]]:
    """Finds the entries 1, 2, 3, ... of a list: the start of each entry, and the start of its text."""
    spans: list[tuple[int, int]] = []
    for match in _NUMBER.finditer(text):
        if int(match[1]) == 1 and len(spans) <= 1:  # 'in version 1. It has: 1. ...'
            spans = [match.span()]
        elif int(match[1]) == len(spans) + 1:
            spans.append(match.span())
    return spans


def _opening(text: str) -> str:
    """Returns the text before a list, without the clause that announces the list."""
    text = text.strip()
    if not text.endswith(':'):
        return text
    return text[: max(text.rfind(end) for end in _ENDS) + 1].strip()


def read_description(reply: str, functions: Iterable[str], tool: str = '') -> Description | list[Flaw]:
    """Parses a tool's description.

    Args:
        reply: The model's reply; reasoning, a fence and a repeated cue are dropped.
        functions: The tool's functions.
        tool: Name of the tool, with which the list may begin.

    Returns:
        The description, or its errors: it is missing, not text, too long, or lists a function that the tool does not
        have.
    """
    names = list(functions)
    if len(reply) > MAX_CHARS:
        return [Flaw(TOO_LONG, 'The description is much too long.')]
    text = clean_text(' '.join(unfence(strip_reasoning(reply).text).replace(DESCRIPTION_CUE, ' ').split()))
    most = _CHARS_PER_TOOL + _CHARS_PER_FUNCTION * len(names)
    if not text:
        return [Flaw(EMPTY, 'The description is empty.')]
    if text[0] in '{[':
        return [Flaw(NOT_TEXT, 'The description is not text, but an object or a list.')]
    if len(text) > most:
        return [Flaw(TOO_LONG, f'The description is longer than {most} characters.')]
    spans = _items(text)
    ends = [*(start for start, _ in spans), len(text)][1:]
    described: dict[str, str] = {}
    for (_, start), end in zip(spans, ends, strict=True):
        item = text[start:end].strip()
        name = _named(item, names)
        if name is not None:
            described.setdefault(name, _functionality(item.lstrip(_QUOTES)[len(name) :]))
        elif (quoted := _QUOTED.match(item)) and _bare(quoted[1]) not in {_bare(name) for name in (*names, tool)}:
            functions = ', '.join(map(repr, names))
            return [Flaw(INVENTED, f'The tool has no function {quoted[1]!r}; its functions are {functions}.')]
    described = {name: line for name, line in described.items() if line}
    purpose = _opening(text[: spans[0][0]]) if described else text
    return Description(text, purpose, described)


def _named(item: str, names: Iterable[str]) -> str | None:
    """Returns the longest function name with which an entry of the list begins; None without a match."""
    text = item.lstrip(_QUOTES).casefold()
    fitting = [n for n in names if text.startswith(n.casefold()) and not text[len(n.casefold()) :][:1].isalnum()]
    # "'get_all': ..." begins with both get and get_all.
    return max(fitting, key=len, default=None)


def _functionality(rest: str) -> str:
    line = _VERB.sub('', rest.lstrip(_QUOTES).strip()).strip()
    return line[:1].upper() + line[1:]


def _candidates(text: str) -> Iterator[Parsed]:
    """Yields possible parses of the object in a reply, the most likely first."""
    start = _START.search(text)
    if start is None:
        yield parse_enclosed(text, '{', '}')
        return
    rest = text[start.start() :]
    yield parse_literal(rest[: rest.rfind('}') + 1])
    yield from (bounded(value, 'json') for value in json_values(rest, '{', 1))


def _other_function(text: str, function: str) -> str:
    """Returns the other function that a reply is about, if it repeats the cue with another function; else ``''``."""
    cue = _CUE.search(text)
    named = text[cue.end() :].lstrip(_QUOTES) if cue else function
    if named.startswith(function.lstrip(_QUOTES)):
        return ''
    return re.split(f'[{_QUOTES}]', named[:_MOST_NAME], maxsplit=1)[0]


def read_example(reply: str, function: str) -> Example | list[Flaw]:
    """Parses ``{"Scenario": ..., "Parameters": {...}}``.

    Args:
        reply: The model's reply; reasoning, a fence, and text around the object are dropped.
        function: The requested function; a reply that repeats the cue with another function is an error.

    Returns:
        The example unchanged, or its errors: not JSON, other keys, or another function.
    """
    if len(reply) > MAX_CHARS:
        return [Flaw(NOT_JSON, 'The answer is much too long.')]
    text = unfence(strip_reasoning(reply).text)
    other = _other_function(text, function)
    if other:
        return [Flaw(UNKNOWN_FUNCTION, f'The scenario is for {other!r} and should be for {function!r}.')]
    value: Any = next((parsed.value for parsed in _candidates(text) if parsed.ok), None)
    if not isinstance(value, dict):
        return [Flaw(NOT_JSON, 'The answer holds no JSON object that can be read.')]
    if set(value) != {'Scenario', 'Parameters'} or not isinstance(value['Parameters'], dict):
        keys = ', '.join(map(repr, list(value)[:5]))[:200]
        expected = 'exactly the keys "Scenario" and "Parameters", the latter an object'
        return [Flaw(NOT_AN_EXAMPLE, f'The object must have {expected}; it has {keys or "none"}.')]
    scenario = value['Scenario']
    return Example(clean_text(scenario).strip() if isinstance(scenario, str) else '', value['Parameters'])
