"""Collects native calls without running them: RestBench's paths, and ToolBench's calls.

A model may make all calls in one answer or, as many chat models are trained to, one call per answer. To collect all
calls in both cases, every call gets the response :data:`NOTED`, and the dialogue continues until an answer has no call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import read_messages, tool_messages
from opencompass_tooleval.core.calls.tool_calls import MAX_CALLS, ToolCall, write_answer
from opencompass_tooleval.core.calls.tool_set import ToolSet

MAX_STEPS = 10
"""Maximum number of answers per request. RestBench's longest gold path has four steps, a ToolBench request six APIs."""

NOTED = 'Noted.'
"""Response to every call, instead of a tool's response."""

_LAST = write_answer('These are all calls.')


class PlannedCallDialogues:
    """Continues a dialogue until an answer has no call; the prediction is the last answer with all calls so far.

    Args:
        max_steps: Maximum number of answers per request; with 1, only the calls in the first answer count, as with
            written calls.

    Raises:
        ValueError: ``max_steps`` is below 1.
    """

    def __init__(self, max_steps: int = MAX_STEPS) -> None:
        if max_steps < 1:
            raise ValueError(f'max_steps must be at least 1, not {max_steps}')
        self.max_steps = max_steps

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[Answer]:
        """Starts the dialogue for one row, which has ``messages``, ``tools`` and ``gold_answer``."""
        request = ModelRequest(tuple(read_messages(row['messages'])), row['gold_answer'], ToolSet.of_text(row['tools']))
        return plan_calls(request, self.max_steps)


def plan_calls(request: ModelRequest, max_steps: int) -> Dialogue[Answer]:
    """Sends requests until an answer has no call or there are more calls than needed; returns the last answer.

    Args:
        request: The first request.
        max_steps: Maximum number of answers; at least one.
    """
    calls: tuple[ToolCall, ...] = ()
    for step in range(max_steps):
        answer = yield request
        if answer.calls and step + 1 < max_steps:
            results = tool_messages(answer, [NOTED] * len(answer.calls), request.messages)
            request = ModelRequest((*request.messages, *results), _LAST, request.tools)
        calls += answer.calls
        if not answer.calls or len(calls) >= MAX_CALLS:
            break
    return replace(answer, calls=calls)
