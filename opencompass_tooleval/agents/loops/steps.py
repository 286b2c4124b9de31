"""Builds steps of a trajectory, bounded in size, from answers, calls and observations; and chains of steps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer, step_payloads, visible_text
from opencompass_tooleval.core.calls.messages import object_arguments
from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.text.jsonable import bounded_text, clean_text, to_jsonable

MAX_TEXT = 20_000
"""Maximum number of stored characters of a thought, of the arguments of a call, of an observation and of a final
answer; of calls and observations also as they are shown to the model."""

CUT_MARK = '...'
"""Follows an observation that is shown cut, as in ToolBench."""


def as_written(text: str) -> str:
    """Strips the whitespace around a text, and cuts it at :data:`MAX_TEXT`."""
    return clean_text(text[:MAX_TEXT])


def bounded_value(value: Any) -> Any:
    """Returns JSON values unchanged; a value with more than :data:`MAX_TEXT` characters becomes its JSON text, cut."""
    value = to_jsonable(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MAX_TEXT else bounded_text(text, MAX_TEXT)


def repeated_arguments(arguments: Any) -> dict[str, Any]:
    """Returns arguments as they are repeated in the conversation: always a bounded object."""
    return object_arguments(bounded_value(arguments))


def shown_observation(text: str, most: int = MAX_TEXT) -> str:
    """Cuts an observation for the model: ``most`` characters, and three dots if it is longer."""
    text = clean_text(text)  # first: it makes text longer
    return text if len(text) <= most else f'{text[:most]}{CUT_MARK}'


def bounded_written(written: str | None) -> str | None:
    """Returns the text of arguments for a step: without surrogates, and None if it is too long."""
    return None if written is None or len(written) > MAX_TEXT else as_written(written)


def answered_call(
    name: str, arguments: Any, observation: Observation, most: int = MAX_TEXT, written: str | None = None
) -> AnsweredCall:
    """Creates the record of a call.

    Args:
        name: The name that the model gave.
        arguments: The arguments that the model gave.
        observation: The complete observation.
        most: Number of characters of the observation that are shown.
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
    """Returns an answer's text for a step: without a reasoning model's thoughts, unless there is nothing else."""
    return bounded_text(visible_text(answer).text or answer.text, MAX_TEXT)


@dataclass
class Chain:
    """A trajectory under construction, each step after the other.

    Attributes:
        loop: Name of the loop.
        settings: Settings that the numbers depend on.
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
            reason: The reason for which it had no effect.
            text: The thought; by default :func:`thought_of` the answer.
            purpose: Purpose of the request, if a loop has several kinds.
        """
        thought = thought_of(answer) if text is None else bounded_text(text, MAX_TEXT)
        self.steps.append(Step(thought, tuple(calls), len(self.steps) - 1, purpose, reason, **step_payloads(answer)))

    def add_call(self, call: AnsweredCall, index: int = -1) -> None:
        """Adds a call to a step, by default the last."""
        step = self.steps[index]
        self.steps[index] = replace(step, calls=(*step.calls, call))

    def add_reason(self, reason: str) -> None:
        """Adds the reason for which the last step had no effect."""
        self.steps[-1] = replace(self.steps[-1], reason=reason)

    def end(self, final_answer: str = '', stopped: str = '') -> Trajectory:
        """Returns the trajectory, with its final answer or the reason for a missing one."""
        return Trajectory(
            self.loop,
            tuple(self.steps),
            bounded_text(final_answer, MAX_TEXT),
            stopped,
            tuple(range(len(self.steps))),
            self.omitted_observations,
            self.settings,
        )
