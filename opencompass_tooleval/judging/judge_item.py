"""Requests to a judge, and dialogues with several requests as generators. Pure: the caller sends the requests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from opencompass_tooleval.core.calls.tool_set import ToolSet

T = TypeVar('T')


def fill(template: str, **values: str) -> str:
    """Replaces ``{name}`` in a template with values; braces within a value are not replaced."""
    return re.sub(rf'\{{({"|".join(values)})\}}', lambda match: values[match[1]], template)


def prompt_hash(text: str) -> str:
    """Returns 12 hex digits that identify a judge's prompt, for the provenance of a judgement."""
    return hashlib.sha256(text.encode('utf-8')).hexdigest()[:12]


@dataclass(frozen=True)
class JudgeItem:
    """One request to a judge.

    Attributes:
        id: Name in messages and for a replayed judge, such as ``12`` or ``12/1.2``.
        prompt: The user message.
        read: Parses a reply: returns the verdict, or an :class:`~.judgement.Unread`.
        system: The judge's system prompt, or ``''``.
        repeat: Number of this judgement among several of the same item, from 0; each has its own request and reply.
        tools: Tools for native calls; a call is parsed as its JSON, ``{"name", "arguments"}``. None for no tools.
    """

    id: str
    prompt: str
    read: Callable[[str], Any] = field(compare=False)
    system: str = ''
    repeat: int = 0
    tools: ToolSet | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """32 hex digits that identify the request and ``repeat``."""
        asked = f'{self.system}\n\n{self.prompt}' if self.system else self.prompt
        asked += f'\n\n{self.tools.to_text()}' if self.tools else ''
        asked += f'\n\nrepeat {self.repeat}' if self.repeat else ''
        return hashlib.blake2b(asked.encode('utf-8', 'backslashreplace'), digest_size=16).hexdigest()


Judging = Generator[JudgeItem, Any, T]
"""A dialogue with a judge that returns a ``T``. Each item that it yields gets a verdict, or an ``Unread`` that says why
there is none."""


def single(item: JudgeItem) -> Judging[Any]:
    """Yields one item and returns its verdict."""
    return (yield item)


def begun(judging: Judging[T]) -> tuple[list[JudgeItem], Judging[T]]:
    """Starts a dialogue; returns its first item (none if it ends at once), and the dialogue from its beginning."""

    def again(item: JudgeItem | None) -> Judging[T]:
        while item is not None:
            verdict = yield item
            try:
                item = judging.send(verdict)
            except StopIteration as end:
                return cast(T, end.value)
        return cast(T, ended)

    ended: Any = None
    try:
        first = [next(judging)]
    except StopIteration as end:
        first, ended = [], end.value
    return first, again(first[0] if first else None)


def carry_out(judging: Judging[T], ask: Callable[[JudgeItem], Generator[Any, Any, Any]]) -> Generator[Any, Any, T]:
    """Runs a dialogue with another way of getting verdicts.

    Args:
        judging: The dialogue.
        ask: Item -> a dialogue that returns the item's verdict.
    """
    try:
        item = next(judging)
        while True:
            item = judging.send((yield from ask(item)))
    except StopIteration as end:
        return cast(T, end.value)
