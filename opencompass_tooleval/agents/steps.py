"""Answers, calls and observations as steps of a trajectory, bounded in size; and chains of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opencompass_tooleval.agents.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.answer import Answer, visible_text
from opencompass_tooleval.core.jsonable import bounded_text, clean_text, to_jsonable
from opencompass_tooleval.core.tool_calls import MAX_NAME_CHARS
from opencompass_tooleval.core.tool_messages import object_arguments
from opencompass_tooleval.environments.observation import Observation

MAX_TEXT = 20_000
"""Characters at most of a thought, of the arguments of a call, of an observation and of a final answer, as they are
kept; of calls and observations also as they are shown to the model."""

CUT_MARK = '...'
"""Follows what is shown of an observation that is cut, as in ToolBench."""


def as_written(text: str) -> str:
    """A text with the blanks around it, cut at :data:`MAX_TEXT`."""
    return clean_text(text[:MAX_TEXT])


def bounded_value(value: Any) -> Any:
    """JSON values as they are; what takes more than :data:`MAX_TEXT` characters becomes its JSON text, cut."""
    value = to_jsonable(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MAX_TEXT else bounded_text(text, MAX_TEXT)


def repeated_arguments(arguments: Any) -> dict[str, Any]:
    """Arguments as they stand in the conversation that goes on: a bounded object in any case."""
    return object_arguments(bounded_value(arguments))


def shown_observation(text: str, most: int = MAX_TEXT) -> str:
    """An observation as the model sees it: ``most`` characters, and three dots where there are more."""
    text = clean_text(text)  # first: it makes text longer
    return text if len(text) <= most else f'{text[:most]}{CUT_MARK}'


def answered_call(name: str, arguments: Any, observation: Observation, most: int = MAX_TEXT) -> AnsweredCall:
    """A call that was carried out.

    Args:
        name: As the model gave it.
        arguments: As the model gave them.
        observation: What came of it, whole.
        most: Characters of the observation that are shown.
    """
    return AnsweredCall(
        bounded_text(name, MAX_NAME_CHARS),
        bounded_value(arguments),
        shown_observation(observation.text, most),
        observation.source,
        observation.fault,
        len(observation.text),
        observation.error,
    )


def thought_of(answer: Answer) -> str:
    """What a step keeps of an answer's text: without a reasoning model's thoughts, unless there is nothing else."""
    return bounded_text(visible_text(answer).text or answer.text, MAX_TEXT)


@dataclass
class Chain:
    """A trajectory in the making, each step after the other.

    Attributes:
        loop: As :class:`~opencompass_tooleval.agents.trajectory.Trajectory`.
        settings: As there.
        steps: Those that were taken.
        left_out: As there.
    """

    loop: str
    settings: Mapping[str, Any]
    steps: list[Step] = field(default_factory=list)
    left_out: int = 0

    def add(
        self,
        answer: Answer,
        calls: Sequence[AnsweredCall] = (),
        reason: str = '',
        text: str | None = None,
        purpose: str = '',
    ) -> None:
        """Adds what an answer led to.

        Args:
            answer: The answer.
            calls: Its calls, carried out.
            reason: Why nothing came of it.
            text: The thought; by default :func:`thought_of` the answer.
            purpose: What it was asked for, where a loop asks for several things.
        """
        thought = thought_of(answer) if text is None else bounded_text(text, MAX_TEXT)
        usage = answer.usage.to_payload() if answer.usage else None
        self.steps.append(Step(thought, tuple(calls), len(self.steps) - 1, purpose, reason, usage))

    def add_call(self, call: AnsweredCall, place: int = -1) -> None:
        """Adds a call to a step, by default the last."""
        step = self.steps[place]
        self.steps[place] = replace(step, calls=(*step.calls, call))

    def add_reason(self, reason: str) -> None:
        """Says of the last step why nothing came of it."""
        self.steps[-1] = replace(self.steps[-1], reason=reason)

    def end(self, final_answer: str = '', stopped: str = '') -> Trajectory:
        """The trajectory, with the answer that it ends in or why it has none."""
        return Trajectory(
            self.loop,
            tuple(self.steps),
            bounded_text(final_answer, MAX_TEXT),
            stopped,
            tuple(range(len(self.steps))),
            self.left_out,
            self.settings,
        )
