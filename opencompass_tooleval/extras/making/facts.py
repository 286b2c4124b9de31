"""Facts of an answer, which the tools returned and the answer repeats; facts and names that a query gives away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from opencompass_tooleval.agents.scoring.goal_check import holds_fact
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.scoring.typed_result import plain_text
from opencompass_tooleval.core.text.reading import parse_literal, unread
from opencompass_tooleval.extras.making.made_task import Solution

MAX_FACT = 80
MAX_FACTS = 40
_MAX_CANDIDATES = 1_000
_MAX_ANSWER = 20_000
_MAX_OBSERVATION = 100_000

_TOKEN = re.compile(r'[^\s,;()\[\]{}<>"\'`|]+')
_NUMBERING = re.compile(r'^[ \t]{0,20}\d{1,2}[.)]\s', re.MULTILINE)
_EDGES = '.:!?*=#-_/'
_WORDLESS = {'true', 'false', 'null', 'none', ''}
_TECHNICAL = re.compile(r'[A-Za-z0-9]+[_.][A-Za-z0-9]|[a-z][A-Z]')
"""A name that nobody uses in a sentence by chance: ``file_path``, ``checkIn``, ``Tool.function``; not ``date``."""

_SERVICE = re.compile(r'^(?:GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS) /', re.IGNORECASE)


def find_facts(solution: Solution, query: str) -> tuple[str, ...]:
    """Finds the facts of a solution's answer, in the order of the observations.

    A fact is a value of a JSON or Python response, a line of a text response, or a token of it with a digit, a capital
    letter or a sign inside, such as a number, a date, a name, a path. It is in the answer and not in the query. Where
    the solution has effects, plain words are no facts: that the response to a change says ``added`` is incidental.

    Args:
        solution: Its calls without error count.
        query: The query.
    """
    answer, asked = plain_text(_NUMBERING.sub('', solution.answer[:_MAX_ANSWER])), plain_text(query)
    found: dict[str, str] = {}
    for candidate in _candidates(call.observation for call in solution.calls if not call.error):
        plain = plain_text(candidate)
        if solution.changes and not _is_telling(candidate):
            continue
        if plain in found or plain in _WORDLESS or holds_fact(asked, candidate) or not holds_fact(answer, candidate):
            continue
        found[plain] = candidate
        if len(found) == MAX_FACTS:
            break
    return _longest(found)


def _longest(found: dict[str, str]) -> tuple[str, ...]:
    """Leaves out the facts that another fact contains."""
    return tuple(
        fact for plain, fact in found.items() if not any(plain != other and holds_fact(other, fact) for other in found)
    )


def _candidates(observations: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for text in observations:
        for candidate in _of_one(text[:_MAX_OBSERVATION]):
            short = candidate.strip()
            if 0 < len(short) <= MAX_FACT and short not in seen:
                seen.add(short)
                yield short
            if len(seen) >= _MAX_CANDIDATES:
                return


def _of_one(text: str) -> Iterator[str]:
    # A Python tool may return "{'time': '2023-10-19'}"; a single number is text, as it is in a sentence.
    read = parse_literal(text) if text.lstrip()[:1] in ('{', '[') else unread('')
    if read.ok:
        yield from _leaves(read.value)
        return
    yield from text.splitlines()  # not all of them as one text: a right answer may make a list of it
    yield from _tokens(text)


def observed_text(observations: Iterable[str]) -> str:
    """Returns all that observations hold, in plain form; of JSON also its values, without their escapes."""
    texts = []
    for text in observations:
        read = parse_literal(text) if text.lstrip()[:1] in ('{', '[') else unread('')
        texts += [text, *(_leaves(read.value) if read.ok else ())]
    return plain_text('\n'.join(texts))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield from _of_text(value)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _of_text(text: str) -> Iterator[str]:
    """Yields the lines of a text inside JSON; of a long text also its tokens."""
    yield from text.splitlines()
    if len(text) > MAX_FACT:
        yield from _tokens(text)


def _tokens(text: str) -> Iterator[str]:
    tokens = (match[0].strip(_EDGES) for match in _TOKEN.finditer(text))
    return (token for token in tokens if _is_telling(token))


def _is_telling(token: str) -> bool:
    """Returns whether a token is specific; a single digit and a plain word in lower case are not."""
    if len(token) < 2:
        return False
    has_sign = any(not letter.isalnum() for letter in token[1:-1])
    return has_sign or any(letter.isdigit() or letter.isupper() for letter in token)


def leaked_names(query: str, tools: Iterable[ToolSchema]) -> tuple[str, ...]:
    """Returns the technical names of tools and parameters that a query contains."""
    text = plain_text(query)
    return tuple(dict.fromkeys(name for name in _names(tools) if holds_fact(text, name)))


def leaked_facts(query: str, facts: Iterable[str]) -> tuple[str, ...]:
    """Returns the facts that a query contains."""
    text = plain_text(query)
    return tuple(fact for fact in facts if holds_fact(text, fact))


def _names(tools: Iterable[ToolSchema]) -> Iterator[str]:
    for tool in tools:
        for name in (tool.name, tool.name.rpartition('.')[2], *(tool.parameters.get('properties') or {})):
            if _TECHNICAL.search(name) or _SERVICE.match(name):
                yield name
