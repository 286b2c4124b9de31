"""The record of a run: every answer of a model, its calls, and their observations.

The predictions file stores it as JSON text, and scoring, judging, the report and exports use it. This module alone
writes and reads the text, and knows its format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from opencompass_tooleval.core.calls.observation import FAULTS, SOURCES, Observation
from opencompass_tooleval.core.calls.tool_calls import written_arguments
from opencompass_tooleval.core.scoring.refusal import is_refusal, without_offer
from opencompass_tooleval.core.text.jsonable import clean_text, to_jsonable

FORMAT = 2
"""Number of the format."""

NOT_FINISHED = 'finish:missing'
"""The agent stopped calling tools without a finish."""
GAVE_UP = 'finish:gave_up'
TOO_MANY_STEPS = 'limit:steps'
TOO_MANY_CALLS = 'limit:calls'
OVER_CONTEXT = 'limit:context'
"""The prompt is too long for the model, even without any observation."""

STATE_LOST = 'infra:environment'
"""The live server failed, and its state at the end is unknown."""

_QUESTION_MARKS = ('?', '\N{FULLWIDTH QUESTION MARK}')


def asks_back(answer: str) -> bool:
    """Returns whether an answer asks the user something: it has a question mark, of English or Chinese."""
    return any(mark in answer for mark in _QUESTION_MARKS)


@dataclass(frozen=True)
class AnsweredCall:
    """A call and its observation.

    Attributes:
        name: The name that the model gave, known or not.
        arguments: Its arguments, as JSON values; the text if it is not JSON.
        observation: The text that the model was shown, cut by the loop.
        source: One of :data:`~opencompass_tooleval.core.calls.observation.SOURCES`; ``''`` for an answer of the loop
            itself, such as to a finish.
        fault: One of ``FAULTS`` there, if the source is ``error``.
        observation_chars: Number of characters of the observation before it was cut.
        error: Value of :attr:`~opencompass_tooleval.core.calls.observation.Observation.error`.
        written: The arguments in the model's own text; None if that is unknown, or equals the indented JSON. It does
            not affect equality.
    """

    name: str
    arguments: Any
    observation: str
    source: str = ''
    fault: str = ''
    observation_chars: int = 0
    error: str | None = None
    written: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, name: Any, arguments: Any, observation: Observation) -> AnsweredCall:
        """Creates the record of a call from any name and arguments, and the complete observation."""
        called = name if isinstance(name, str) else json.dumps(to_jsonable(name))
        text, source = observation.text, observation.source
        fault, error = observation.fault, observation.error
        return cls(clean_text(called), to_jsonable(arguments), text, source, fault, len(text), error)

    @property
    def arguments_text(self) -> str:
        """The arguments in the model's own text; if that is unknown, as indented JSON."""
        return written_arguments(self.arguments) if self.written is None else self.written


@dataclass(frozen=True)
class Step:
    """One answer of the model, and its calls.

    Attributes:
        text: Its text beside the calls: the thought.
        calls: Its calls, in order.
        parent: Index of the step that it follows; -1 for the first of a chain.
        purpose: Purpose of the request, if a loop has several kinds, such as ``choose_tool``.
        reason: The reason for which it had no effect, as ``area:code``; else ``''``.
        usage: Usage of the answer, from ``to_payload``; None if unknown.
        asked: The last message of the request, for loops that store it; else None.
        observed: Place of its record among those of the row; None if it has none. In runs of earlier versions, the
            finding itself.
        sent: Members of the server's message for the next request; None without any.
    """

    text: str
    calls: tuple[AnsweredCall, ...] = ()
    parent: int = -1
    purpose: str = ''
    reason: str = ''
    usage: Mapping[str, Any] | None = None
    asked: str | None = None
    observed: int | Mapping[str, Any] | None = None
    sent: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Trajectory:
    """The run of one task.

    Attributes:
        loop: Name in :data:`~opencompass_tooleval.agents.loops.loops.LOOPS`.
        steps: The steps in order. They are a tree if the loop goes back (``dfsdt``), else a chain.
        final_answer: The answer to the user; ``''`` if none.
        stopped: ``''``, or the reason for which the agent ended without an answer, as ``area:code``.
        path: Indices of the steps that lead to the end, in order; all steps of a chain.
        omitted_observations: Number of observations that were left out of requests, since these were too long.
        settings: Settings of loop and environment that the numbers depend on.
        changes: Part of the environment's state -> its difference from the start, as JSON text. None if no state was
            read.
        tasks: FuncQA's EasyTool: ``{'task', 'answer', 'done': True if a call had a result, 'tries'}`` of each subtask.
        check: FuncQA's EasyTool: the model's check of its answer: ``yes``, ``no`` or ``unreadable``; it has no effect.
            ``''`` if it was not requested.
    """

    loop: str
    steps: tuple[Step, ...] = ()
    final_answer: str = ''
    stopped: str = ''
    path: tuple[int, ...] = ()
    omitted_observations: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, str] | None = None
    tasks: tuple[Mapping[str, Any], ...] = ()
    check: str = ''

    @property
    def calls(self) -> tuple[AnsweredCall, ...]:
        """All calls of tools, also those of abandoned branches, without those that the loop itself answers."""
        return tuple(call for step in self.steps for call in step.calls if call.source)

    @property
    def path_calls(self) -> tuple[AnsweredCall, ...]:
        """The calls of tools on the path to the end."""
        return tuple(call for index in self.path for call in self.steps[index].calls if call.source)

    @property
    def is_declined(self) -> bool:
        """True if the model called nothing, and its last text declines the task and asks the user for nothing."""
        last = self.steps[self.path[-1]].text if self.path else ''
        text = self.final_answer or last
        is_idle = not any(step.calls for step in self.steps)
        return is_idle and is_refusal(text) and not asks_back(without_offer(text))

    @property
    def sources(self) -> dict[str, int]:
        """Source -> number of calls of tools that it answered."""
        return {source: sum(call.source == source for call in self.calls) for source in SOURCES}

    def to_dict(self) -> dict[str, Any]:
        """Converts to JSON values."""
        return {'format': FORMAT, **to_jsonable(asdict(self, dict_factory=_without_defaults))}

    def to_json(self) -> str:
        """Converts to JSON text for :func:`parse_trajectory`."""
        return json.dumps(self.to_dict())


_OPTIONAL = {'written': None, 'asked': None, 'observed': None, 'sent': None, 'changes': None, 'tasks': (), 'check': ''}
"""Member that is left out -> its value then."""


def _without_defaults(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = {name: value for name, value in pairs if name not in _OPTIONAL or value != _OPTIONAL[name]}
    if 'written' in members and members['written'] == written_arguments(members['arguments']):
        del members['written']
    return members


def parse_trajectory(text: str) -> Trajectory:
    """Reads the text of :meth:`Trajectory.to_json`, without losses.

    Raises:
        ValueError: The text has another format, or the format of another version.
    """
    try:
        raw = json.loads(text)
        if (number := raw.pop('format', 'not stated')) != FORMAT:
            raise ValueError(f'its format is {str(number)[:20]}, not {FORMAT}: run the tasks again with this version')
        raw |= {name: tuple(raw.get(name, ())) for name in ('path', 'tasks')}
        trajectory = Trajectory(**{**raw, 'steps': tuple(map(_step, raw['steps']))})
        _check(trajectory)
        return trajectory
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f'this is not a trajectory ({type(error).__name__}: {error})') from error


def without_sent(prediction: Any) -> Any:
    """Removes what servers sent for the next requests from the text of a trajectory; returns others unchanged."""
    if not isinstance(prediction, str) or '"sent"' not in prediction:
        return prediction
    try:
        trajectory = parse_trajectory(prediction)
    except ValueError:
        return prediction
    return replace(trajectory, steps=tuple(replace(step, sent=None) for step in trajectory.steps)).to_json()


def _step(raw: Mapping[str, Any]) -> Step:
    calls = tuple(AnsweredCall(**call) for call in raw['calls'])
    earlier = {'observed': raw['serving']} if 'serving' in raw else {}
    return Step(**{**{name: value for name, value in raw.items() if name != 'serving'}, 'calls': calls, **earlier})


def _check(trajectory: Trajectory) -> None:
    texts: list[Any] = [trajectory.loop, trajectory.final_answer, trajectory.stopped, trajectory.check]
    optional: list[Any] = []
    numbers: list[Any] = [trajectory.omitted_observations, *trajectory.path]
    for index, step in enumerate(trajectory.steps):
        if not isinstance(step.sent, (dict, type(None))):
            raise ValueError(f"'sent' of step {index} is not an object")
        if type(step.observed) not in (int, dict, type(None)):
            raise ValueError(f"'observed' of step {index} is neither a number nor an object")
        texts += [step.text, step.purpose, step.reason]
        optional.append(step.asked)
        numbers.append(step.parent)
        for call in step.calls:
            texts += [call.name, call.observation]
            optional += [call.error, call.written]
            numbers.append(call.observation_chars)
            if call.source not in ('', *SOURCES) or call.fault not in ('', *FAULTS):
                raise ValueError(f'step {index} has a call with no such source or fault')
    if not all(isinstance(text, str) for text in [*texts, *(text for text in optional if text is not None)]):
        raise ValueError('a text field is not a string')
    if not all(type(number) is int for number in numbers):
        raise ValueError('a number field is not an integer')
    if lost := [index for index, step in enumerate(trajectory.steps) if not -1 <= step.parent < index]:
        raise ValueError(f'step {lost[0]} has no earlier parent')
    if not all(0 <= index < len(trajectory.steps) for index in trajectory.path):
        raise ValueError("'path' names no step")
    if not isinstance(trajectory.settings, dict):
        raise ValueError("'settings' is not an object")
    if not all(isinstance(task, dict) and isinstance(task.get('done'), bool) for task in trajectory.tasks):
        raise ValueError("a task does not say whether it is 'done'")
    changes = trajectory.changes
    if changes is not None and not (
        isinstance(changes, dict) and all(isinstance(now, str) for now in changes.values())
    ):
        raise ValueError("'changes' is not an object of strings")
