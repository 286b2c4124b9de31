"""Questions to a judge, and judging that takes several questions, as generators: pure, the caller asks the judge."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from opencompass_tooleval.core.tool_set import ToolSet

T = TypeVar('T')


def fill(template: str, **values: str) -> str:
    """Puts values into the places ``{name}`` of a template; what is put in is never read as a place itself."""
    return re.sub(rf'\{{({"|".join(values)})\}}', lambda place: values[place[1]], template)


def prompt_hash(text: str) -> str:
    """12 hex digits that stand for a judge's prompt, so that a judgement says what it was asked with."""
    return hashlib.sha256(text.encode('utf-8')).hexdigest()[:12]


@dataclass(frozen=True)
class JudgeItem:
    """One thing to judge.

    Attributes:
        id: Names it in messages and for a replayed judge, such as ``12`` or ``12/1.2``.
        prompt: The question.
        read: A reply -> what it says, or an :class:`~.judgement.Unread`.
        system: The judge's system prompt, or ``''``.
        repeat: Which of several judgements of the same, from 0: each is asked for and kept by itself.
        tools: What it may call natively; a call is read as its JSON, ``{"name", "arguments"}``. None for nothing.
    """

    id: str
    prompt: str
    read: Callable[[str], Any] = field(compare=False)
    system: str = ''
    repeat: int = 0
    tools: ToolSet | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """32 hex digits that stand for what the judge is sent, and for which of several judgements."""
        asked = f'{self.system}\n\n{self.prompt}' if self.system else self.prompt
        asked += f'\n\n{self.tools.to_text()}' if self.tools else ''
        asked += f'\n\nrepeat {self.repeat}' if self.repeat else ''
        return hashlib.blake2b(asked.encode('utf-8', 'backslashreplace'), digest_size=16).hexdigest()


Judging = Generator[JudgeItem, Any, T]
"""Judging that ends in a ``T``. What comes back for an item is its verdict, or an ``Unread`` that says why there is
none."""


def single(item: JudgeItem) -> Judging[Any]:
    """Judging that is one question, and ends in its verdict."""
    return (yield item)


def carry_out(judging: Judging[T], ask: Callable[[JudgeItem], Generator[Any, Any, Any]]) -> Generator[Any, Any, T]:
    """The same judging, each of its questions asked in another way.

    Args:
        judging: The judging.
        ask: A question -> the dialogue that brings its verdict.
    """
    try:
        item = next(judging)
        while True:
            item = judging.send((yield from ask(item)))
    except StopIteration as end:
        return cast(T, end.value)
