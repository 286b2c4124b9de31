"""What to do where a conversation is too long for the model: the oldest observations are left out.

A model's server refuses what is too long, or the prompt is counted before it is sent: the answer comes back with the
reason ``infra:truncated``. Then the older half of the observations that are still whole, at least one, is replaced by
:data:`LEFT_OUT`, and the same is asked again. What was left out once stays left out, so that a conversation keeps its
beginning from round to round. Requests, thoughts, calls and the list of tools are never left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.messages import TOOL, Message
from opencompass_tooleval.core.result import TRUNCATED

LEFT_OUT = '(left out: the conversation is too long)'
"""Stands for an observation that is left out."""


class Reply(NamedTuple):
    """What came of asking.

    Attributes:
        answer: The answer; its reason is ``infra:truncated`` where it is too long with no observation left.
        left_out: Observations that are left out now, the oldest ones: what the next round begins with.
    """

    answer: Answer
    left_out: int

    @property
    def has_no_room(self) -> bool:
        """Whether what is asked is too long though no observation is left in it."""
        return self.answer.reason == TRUNCATED


def is_tool_message(message: Message) -> bool:
    """Whether a message of a native conversation is an observation."""
    return message.role == TOOL


def ask(
    request: ModelRequest,
    left_out: int = 0,
    is_observation: Callable[[Message], bool] = is_tool_message,
    note: str = LEFT_OUT,
) -> Dialogue[Reply]:
    """Asks; as long as it is too long, asks for the same with fewer observations.

    Args:
        turn: With the whole conversation; ``may_be_too_long`` is set here.
        left_out: Observations, counted from the oldest, that were left out before.
        is_observation: Which messages are observations.
        note: Stands for an observation that is left out.
    """
    places = [place for place, message in enumerate(request.messages) if is_observation(message)]
    left_out = min(left_out, len(places))
    while True:
        messages = list(request.messages)
        for place in places[:left_out]:
            messages[place] = replace(messages[place], content=note)
        answer = yield replace(request, messages=tuple(messages), may_be_too_long=True)
        whole = len(places) - left_out
        if answer.reason != TRUNCATED or not whole:
            return Reply(answer, left_out)
        left_out += max(1, whole // 2)
