"""Builds the steps of a trajectory from answers, calls and observations, limited in size; and chains of steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from opencompass_tooleval.core.calls.answer import Answer, step_payloads, visible_text
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import TOOL, Message, object_arguments
from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.core.calls.sent import without_bound_thoughts
from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.scoring.result import TRUNCATED
from opencompass_tooleval.core.text.jsonable import bounded_text, clean_text, to_jsonable

MAX_TEXT = 20_000
"""Maximum number of stored characters of a thought, a call's arguments, an observation and a final answer. The model
sees calls and observations with the same limit."""

CUT_MARK = '...'
"""Added to an observation that is cut, as in ToolBench."""


def as_written(text: str) -> str:
    """Returns a text without the whitespace around it, cut at :data:`MAX_TEXT`."""
    return clean_text(text[:MAX_TEXT])


def bounded_value(value: Any) -> Any:
    """Returns a JSON value; if it has more than :data:`MAX_TEXT` characters, returns its JSON text, cut."""
    value = to_jsonable(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MAX_TEXT else bounded_text(text, MAX_TEXT)


def repeated_arguments(arguments: Any) -> dict[str, Any]:
    """Returns arguments for the conversation: always an object of limited size."""
    return object_arguments(bounded_value(arguments))


def shown_observation(text: str, most: int = MAX_TEXT) -> str:
    """Returns an observation for the model: cut after ``most`` characters, with three dots."""
    text = clean_text(text)  # before the cut: cleaning makes text longer
    return text if len(text) <= most else f'{text[:most]}{CUT_MARK}'


def bounded_written(written: str | None) -> str | None:
    """Returns the text of arguments for a step, without surrogates; None if it is too long."""
    return None if written is None or len(written) > MAX_TEXT else as_written(written)


def answered_call(
    name: str, arguments: Any, observation: Observation, most: int = MAX_TEXT, written: str | None = None
) -> AnsweredCall:
    """Creates the record of a call.

    Args:
        name: The name that the model gave.
        arguments: The arguments that the model gave.
        observation: The complete observation.
        most: Maximum number of characters of the observation that the model sees.
        written: The arguments in the model's own text, if known.
    """
    return AnsweredCall(
        bounded_text(name, MAX_NAME_CHARS),
        bounded_value(arguments),
        shown_observation(observation.text, most),
        observation.source,
        observation.fault,
        len(observation.text),
        observation.error,
        bounded_written(written),
    )


def thought_of(answer: Answer) -> str:
    """Returns an answer's text for a step, without a reasoning model's thoughts unless it has no other text."""
    return bounded_text(visible_text(answer).text or answer.text, MAX_TEXT)


@dataclass
class Chain:
    """A trajectory under construction, without branches.

    Attributes:
        loop: Name of the loop.
        settings: Settings that the scores depend on.
        steps: The steps so far.
        omitted_observations: Number of observations that were left out of requests.
    """

    loop: str
    settings: Mapping[str, Any]
    steps: list[Step] = field(default_factory=list)
    omitted_observations: int = 0

    def add(
        self,
        answer: Answer,
        calls: Sequence[AnsweredCall] = (),
        reason: str = '',
        text: str | None = None,
        purpose: str = '',
    ) -> None:
        """Adds a step for an answer.

        Args:
            answer: The answer.
            calls: Its calls, with observations.
            reason: Why the answer had no effect.
            text: The thought; :func:`thought_of` the answer by default.
            purpose: Purpose of the request, if a loop has several kinds.
        """
        thought = thought_of(answer) if text is None else bounded_text(text, MAX_TEXT)
        self.steps.append(Step(thought, tuple(calls), len(self.steps) - 1, purpose, reason, **step_payloads(answer)))

    def add_call(self, call: AnsweredCall, index: int = -1) -> None:
        """Adds a call to a step, the last one by default."""
        step = self.steps[index]
        self.steps[index] = replace(step, calls=(*step.calls, call))

    def add_reason(self, reason: str) -> None:
        """Records why the last step had no effect."""
        self.steps[-1] = replace(self.steps[-1], reason=reason)

    def end(self, final_answer: str = '', stopped: str = '') -> Trajectory:
        """Returns the trajectory, with its final answer or the reason why the answer is missing."""
        return Trajectory(
            self.loop,
            tuple(self.steps),
            bounded_text(final_answer, MAX_TEXT),
            stopped,
            tuple(range(len(self.steps))),
            self.omitted_observations,
            self.settings,
        )


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
