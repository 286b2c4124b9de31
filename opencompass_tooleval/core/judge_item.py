"""What a judge is asked, and judging that takes several questions, as generators: pure, the host asks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from opencompass_tooleval.core.tool_set import ToolSet

T = TypeVar('T')


@dataclass(frozen=True)
class JudgeItem:
    """One thing to judge.

    Attributes:
        id: Names it in messages and for a replayed judge, such as ``12`` or ``12/1.2``.
        prompt: What the judge is asked.
        system: Its system prompt, or ``''``.
        repeat: Which of several judgements of the same, from 0: each is asked for and kept by itself.
        read: A reply -> what it says, or an :class:`~opencompass_tooleval.core.verdicts.Unread`; None where the judge
            reads all replies alike.
        tools: What it may call natively; a call is read as its JSON, ``{"name", "arguments"}``. None for nothing.
    """

    id: str
    prompt: str
    system: str = ''
    repeat: int = 0
    read: Callable[[str], Any] | None = field(default=None, compare=False)
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
