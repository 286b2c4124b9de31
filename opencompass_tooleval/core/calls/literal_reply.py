"""Reads replies as Python literals, and repeats requests with unreadable replies, as EasyTool's scripts do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer, as_answer, visible_text
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import read_messages
from opencompass_tooleval.core.text.reading import Parsed, parse_literal, unread

TRIES = 12
"""Maximum number of requests: an unreadable reply is repeated up to eleven times."""


def first_block(text: str) -> str:
    """Returns the text before the first blank line."""
    return text.split('\n\n')[0]


def last_block(text: str) -> str:
    """Returns the text after the last blank line, stripped."""
    return text.split('\n\n')[-1].strip()


def read_literal(answer: Any, cut: Callable[[str], str]) -> Parsed:
    """Returns the literal in an answer, or the reason why it is unreadable; never raises.

    Args:
        answer: An :class:`~opencompass_tooleval.core.calls.answer.Answer` or its text. Thoughts are removed.
        cut: Returns the part of the text that must be the literal.
    """
    if not isinstance(answer, (Answer, str)):
        return unread('parse:not_text')
    visible = visible_text(as_answer(answer))
    if visible.reason:
        return unread(visible.reason)
    parsed = parse_literal(cut(visible.text))
    if parsed.ok and parsed.parse_method != 'literal':
        return unread('parse:not_a_literal')  # [{"Task": "x", "ID": null}] is JSON, but not Python
    return parsed


class LiteralDialogues:
    """Repeats a request as EasyTool's script does until an answer is readable; the prediction is the last answer.

    Args:
        tries: Maximum number of requests per question; 1 for recorded answers.
    """

    cut: Callable[[str], str]
    """Returns the part of an answer that must be the literal; a subclass defines it."""

    def __init__(self, tries: int = TRIES) -> None:
        self.tries = tries

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[Answer]:
        """Returns the dialogue for one row."""
        messages = tuple(read_messages(row['messages']))
        return ask_until_read(ModelRequest(messages, row['gold_answer']), self.cut, self.tries)


def ask_until_read(request: ModelRequest, cut: Callable[[str], str], tries: int) -> Dialogue[Answer]:
    """Repeats a request until the answer is readable; returns the last answer.

    Raises:
        ValueError: ``tries`` is below 1.
    """
    if tries < 1:
        raise ValueError(f'tries must be at least 1, not {tries}')
    answer = Answer('')
    for _ in range(tries):
        answer = yield request
        if read_literal(answer, cut).ok:
            break
    return answer
