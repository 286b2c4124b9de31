"""What an agent did: what the predictions file keeps of a task, and all that is scored, judged and shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from opencompass_tooleval.core.jsonable import to_jsonable
from opencompass_tooleval.environments.observation import FAULTS, SOURCES

NOT_FINISHED = 'finish:missing'
"""It stopped calling tools, and did not finish."""
GAVE_UP = 'finish:gave_up'
TOO_MANY_STEPS = 'limit:steps'
TOO_MANY_CALLS = 'limit:calls'
NO_ROOM = 'limit:context'
"""What is asked is too long for the model, though no observation is left in it."""

STATE_LOST = 'infra:environment'
"""The live server failed, and its state at the end is not known."""


@dataclass(frozen=True)
class AnsweredCall:
    """A call, and what the model was told.

    Attributes:
        name: The name that the model gave, known or not.
        arguments: What it passed, as JSON values; the text where that is no JSON.
        observation: What it was told, cut as the loop cuts it.
        source: One of :data:`~opencompass_tooleval.environments.observation.SOURCES`; ``''`` for what the loop itself
            answers, such as a finish.
        fault: One of ``FAULTS`` there, where the source is ``error``.
        whole_chars: Characters of the observation before it was cut.
        error: As :attr:`~opencompass_tooleval.environments.observation.Observation.error`.
    """

    name: str
    arguments: Any
    observation: str
    source: str = ''
    fault: str = ''
    whole_chars: int = 0
    error: str | None = None


@dataclass(frozen=True)
class Step:
    """One answer of the model, and what came of it.

    Attributes:
        text: What it said beside its calls: the thought.
        calls: Its calls, in order.
        parent: Place of the step that it follows; -1 for the first of a chain.
        purpose: What it was asked for, where a loop asks for several things, such as ``choose_tool``.
        reason: Why nothing came of it, as ``area:code``; ``''`` if something did.
        usage: What the answer cost, as :meth:`~opencompass_tooleval.core.usage.Usage.to_payload`; None if unknown.
    """

    text: str
    calls: tuple[AnsweredCall, ...] = ()
    parent: int = -1
    purpose: str = ''
    reason: str = ''
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Trajectory:
    """One task from beginning to end.

    Attributes:
        loop: Name in :data:`~opencompass_tooleval.agents.loops.LOOPS`.
        steps: In the order in which they were taken. A tree where the loop goes back (``dfsdt``), else a chain.
        final_answer: What the user is told; ``''`` if nothing.
        stopped: ``''``, or why the agent ended before it had an answer, as ``area:code``.
        path: Places of the steps that lead to the end, in order: of a chain all of them.
        left_out: Observations that were left out of what was asked, since it was too long.
        settings: What the numbers depend on: those of loop and environment.
        changes: Part of the environment's state -> its value at the end, ``''`` where it is gone; only what differs
            from the start. None where no state was read.
    """

    loop: str
    steps: tuple[Step, ...] = ()
    final_answer: str = ''
    stopped: str = ''
    path: tuple[int, ...] = ()
    left_out: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, str] | None = None

    @property
    def calls(self) -> tuple[AnsweredCall, ...]:
        """All calls of tools, those of abandoned branches too, without what the loop itself answers."""
        return tuple(call for step in self.steps for call in step.calls if call.source)

    @property
    def path_calls(self) -> tuple[AnsweredCall, ...]:
        """The calls of tools on the way to the end."""
        return tuple(call for place in self.path for call in self.steps[place].calls if call.source)

    @property
    def sources(self) -> dict[str, int]:
        """Source -> how many calls of tools it answered."""
        return {source: sum(call.source == source for call in self.calls) for source in SOURCES}

    def to_json(self) -> str:
        """As JSON text; :func:`parse_trajectory` gives it back."""
        payload = asdict(self)
        if self.changes is None:
            del payload['changes']
        return json.dumps(to_jsonable(payload))


def parse_trajectory(text: str) -> Trajectory:
    """Reads :meth:`Trajectory.to_json`.

    Raises:
        ValueError: It is no such text.
    """
    try:
        raw = json.loads(text)
        steps = tuple(
            Step(**{**step, 'calls': tuple(AnsweredCall(**call) for call in step['calls'])}) for step in raw['steps']
        )
        trajectory = Trajectory(**{**raw, 'steps': steps, 'path': tuple(raw['path'])})
        _check(trajectory)
        return trajectory
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f'this is no trajectory ({type(error).__name__}: {error})') from error


def _check(trajectory: Trajectory) -> None:
    texts: list[Any] = [trajectory.loop, trajectory.final_answer, trajectory.stopped]
    for place, step in enumerate(trajectory.steps):
        texts += [step.text, step.purpose, step.reason]
        if not isinstance(step.parent, int) or not -1 <= step.parent < place:
            raise ValueError(f'step {place} follows none before it')
        for call in step.calls:
            texts += [call.name, call.observation, call.error or '']
            if call.source not in ('', *SOURCES) or call.fault not in ('', *FAULTS):
                raise ValueError(f'step {place} has a call with no such source or fault')
    if not all(isinstance(text, str) for text in texts):
        raise ValueError('what should be text is none')
    if not all(isinstance(place, int) and 0 <= place < len(trajectory.steps) for place in trajectory.path):
        raise ValueError("'path' names no step")
    if not isinstance(trajectory.settings, dict):
        raise ValueError("'settings' is no object")
    changes = trajectory.changes
    if changes is not None and not (
        isinstance(changes, dict) and all(isinstance(now, str) for now in changes.values())
    ):
        raise ValueError("'changes' is no object of texts")
