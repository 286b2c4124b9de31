"""Leaves out the oldest observations if a conversation is too long for the model.

The model's server rejects a prompt that is too long, or the prompt's tokens are counted before sending: the answer then
has the reason ``infra:truncated``. :data:`LEFT_OUT` replaces the older half of the remaining observations, at least
one, and the request is repeated. An observation that was left out stays so, which keeps the beginning of a conversation
the same from round to round. Requests, calls and the list of tools are never left out, nor are thoughts; but those of
Responses and Messages are bound to all earlier messages, and are left out after the first changed one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import TOOL, Message
from opencompass_tooleval.core.calls.sent import without_bound_thoughts
from opencompass_tooleval.core.scoring.result import TRUNCATED

LEFT_OUT = '(left out: the conversation is too long)'
"""Replaces an observation that is left out."""


class Reply(NamedTuple):
    """Result of a request.

    Attributes:
        answer: The answer; its reason is ``infra:truncated`` if the prompt is too long even without observations.
        omitted_observations: Number of oldest observations left out so far, for the next round.
    """

    answer: Answer
    omitted_observations: int

    @property
    def is_over_context(self) -> bool:
        """True if the prompt is too long even without observations."""
        return self.answer.reason == TRUNCATED


def is_tool_message(message: Message) -> bool:
    """Tests if a message is an observation, in a conversation with native calls."""
    return message.role == TOOL


def ask(
    request: ModelRequest,
    omitted_observations: int = 0,
    is_observation: Callable[[Message], bool] = is_tool_message,
    note: str = LEFT_OUT,
) -> Dialogue[Reply]:
    """Sends a request, and repeats it with fewer observations while it is too long.

    Args:
        request: The request with the complete conversation; ``may_be_too_long`` is set here.
        omitted_observations: Number of oldest observations already left out.
        is_observation: Tests if a message is an observation.
        note: Replaces an observation that is left out.
    """
    indices = [index for index, message in enumerate(request.messages) if is_observation(message)]
    omitted_observations = min(omitted_observations, len(indices))
    while True:
        messages = list(request.messages)
        for index in indices[:omitted_observations]:
            messages[index] = replace(messages[index], content=note)
        for index in range(indices[0] + 1, len(messages)) if omitted_observations else ():
            messages[index] = replace(messages[index], sent=without_bound_thoughts(messages[index].sent))
        answer = yield replace(request, messages=tuple(messages), may_be_too_long=True)
        whole = len(indices) - omitted_observations
        if answer.reason != TRUNCATED or not whole:
            return Reply(answer, omitted_observations)
        omitted_observations += max(1, whole // 2)
