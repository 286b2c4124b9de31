"""Converts trajectories for the sample browser and exports, and limits their size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from opencompass_tooleval import plugin
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory, parse_trajectory
from opencompass_tooleval.core.scoring.usage import Usage, read_usage, whole_number
from opencompass_tooleval.core.text.jsonable import beyond_bounds, to_jsonable
from opencompass_tooleval.report.names import as_text, cut

MOST_STEPS = 500
"""Maximum number of steps shown, and of calls shown per step."""
THOUGHT = 20_000
ARGUMENTS = 5_000
OBSERVATION = 10_000
NAME = 200
"""Maximum number of characters shown of each kind of text."""
TOGETHER = 300_000
"""Maximum number of characters of all texts together; later texts are cut to :data:`LEAST` characters."""
LEAST = 200

_OPINION = ('value', 'decided_by', 'why', 'fault')
_MOST_OPINIONS = 50


class _Space:
    """Keeps count of the characters that remain for one trajectory."""

    def __init__(self) -> None:
        self.left = TOGETHER

    def text(self, text: str, most: int) -> str:
        """Cuts a text to ``most`` characters, or fewer if the remaining space is smaller."""
        most = min(most, max(self.left, LEAST))
        self.left -= min(len(text), most)
        return cut(text, most)

    def arguments(self, value: Any) -> Any:
        """Returns small arguments as JSON values, and others as cut text."""
        if isinstance(value, str):
            return self.text(value, ARGUMENTS)
        plain = to_jsonable(value)
        text = json.dumps(plain, ensure_ascii=False)
        shown = self.text(text, ARGUMENTS)
        return plain if shown == text and not beyond_bounds(plain) else shown


def read_trajectory(prediction: str) -> Trajectory | None:
    """Parses a prediction; returns None if it is not a trajectory."""
    try:
        return parse_trajectory(prediction)
    except ValueError:
        return None


def bounded(trajectory: Trajectory) -> Trajectory:
    """Limits the steps, calls and texts of a trajectory, for pages and exports."""
    space, count = _Space(), min(len(trajectory.steps), MOST_STEPS)
    return replace(
        trajectory,
        steps=tuple(_step(step, space) for step in trajectory.steps[:count]),
        loop=space.text(trajectory.loop, NAME),
        final_answer=space.text(trajectory.final_answer, THOUGHT),
        stopped=space.text(trajectory.stopped, NAME),
        path=tuple(place for place in trajectory.path if place < count),
    )


def _step(step: Step, space: _Space) -> Step:
    return replace(
        step,
        text=space.text(step.text, THOUGHT),
        calls=tuple(_call(call, space) for call in step.calls[:MOST_STEPS]),
        purpose=space.text(step.purpose, NAME),
        reason=space.text(step.reason, NAME),
        sent=None,
    )


def _call(call: AnsweredCall, space: _Space) -> AnsweredCall:
    return replace(
        call,
        error=space.text(call.error or '', NAME),
        name=space.text(call.name, NAME),
        arguments=space.arguments(call.arguments),
        observation=space.text(call.observation, OBSERVATION),
        source=space.text(call.source, NAME),
        fault=space.text(call.fault, NAME),
    )


def shown_trajectory(trajectory: Trajectory, prediction: Mapping[str, Any]) -> dict[str, Any]:
    """Converts the trajectory of an agent to values for the sample browser.

    Args:
        trajectory: The trajectory.
        prediction: The row of predictions.

    Returns:
        ``loop``, ``answer``, ``stopped``, ``path`` (indices of the steps that lead to the end),
        ``omitted_observations`` (their number), ``settings``, ``all`` (number of steps), ``tokens`` and ``seconds`` of
        all steps (None if unknown), and ``steps``. A step has ``text``, ``calls``, ``parent``, ``purpose``, ``reason``,
        ``tokens`` (of prompt and answer), ``seconds``, and the keys that ``plugin.ADDED`` adds. A call has ``name``,
        ``arguments``, ``observation``, ``source``, ``fault``, ``error`` if the recording has one, and ``seen`` and
        ``whole`` (numbers of characters) if the loop cut the observation.
    """
    further = _further(trajectory, prediction)
    shown, usages = bounded(trajectory), [read_usage(step.usage) or Usage() for step in trajectory.steps]
    return {
        'loop': shown.loop,
        'answer': shown.final_answer,
        'stopped': shown.stopped,
        'path': shown.path,
        'omitted_observations': shown.omitted_observations,
        'settings': _settings(shown.settings),
        'all': len(usages),
        'tokens': [_total(usage.prompt for usage in usages), _total(usage.completion for usage in usages)],
        'seconds': _total(usage.seconds for usage in usages),
        'steps': [
            {
                'text': step.text,
                'calls': [_row(*pair) for pair in zip(whole.calls, step.calls, strict=False)],
                'parent': step.parent,
                'purpose': step.purpose,
                'reason': step.reason,
                'tokens': [usage.prompt, usage.completion],
                'seconds': usage.seconds,
                **further.get(place, {}),
            }
            for place, (whole, step, usage) in enumerate(zip(trajectory.steps, shown.steps, usages, strict=False))
        ],
    }


def _further(trajectory: Trajectory, prediction: Mapping[str, Any]) -> dict[int, dict[str, dict[str, str]]]:
    """Returns index of a step -> key -> texts that ``plugin.ADDED`` adds to it, with a common limit."""
    space, found = _Space(), dict[int, dict[str, dict[str, str]]]()
    for add in plugin.added('steps'):
        for place, members in add(trajectory.steps[:MOST_STEPS], prediction):
            cut_members = {
                name: {key: space.text(text, THOUGHT) for key, text in texts.items()} for name, texts in members.items()
            }
            found[place] = {**found.get(place, {}), **cut_members}
    return found


def _row(call: AnsweredCall, shown: AnsweredCall) -> dict[str, Any]:
    seen, whole = len(call.observation), call.observation_chars
    return {
        'name': shown.name,
        'arguments': shown.arguments,
        'observation': shown.observation,
        'source': shown.source,
        'fault': shown.fault,
        **({'error': shown.error} if shown.error else {}),
        **({'seen': seen, 'whole': whole} if whole > seen else {}),
    }


def shown_rounds(trajectory: Trajectory) -> dict[str, Any] | None:
    """Converts a dialogue to values for the sample browser; None if its steps contain no requests.

    Returns:
        ``rounds`` (request and answer), ``calls`` (name, arguments, result or None if the call failed, error) and
        ``answer``.
    """
    rounds = [[as_text(step.asked), as_text(step.text)] for step in trajectory.steps if step.asked is not None]
    calls = [
        [as_text(call.name), to_jsonable(call.arguments), None if call.error else call.observation, call.error or '']
        for call in trajectory.calls
    ]
    return {'rounds': rounds, 'calls': calls, 'answer': as_text(trajectory.final_answer)} if rounds else None


def matches_of(detail: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns for each gold call the index of its matched call (or None), and whether their arguments are equal.

    Indices count the tool calls in the steps of ``path``.
    """
    matches = detail.get('matches')
    rows = matches if isinstance(matches, list) and _are_objects(matches) else []
    return [{'call': whole_number(row.get('call')), 'same': row.get('same') is True} for row in rows[:MOST_STEPS]]


def opinions_of(detail: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns the judges' opinions: ``area`` (``solved`` or ``win``), ``value``, ``decided_by``, ``why``, ``fault``."""
    return [
        {'area': area, **{name: _short(row.get(name)) for name in _OPINION}}
        for area in judged_areas(detail)
        for row in detail[area][:_MOST_OPINIONS]
    ]


def judged_areas(detail: Mapping[str, Any]) -> list[str]:
    """Returns the judged areas of a detail, in order: the keys whose values are lists of opinions."""
    return [area for area, rows in detail.items() if _are_objects(rows) and rows and all(map(_is_opinion, rows))]


def _is_opinion(row: Mapping[str, Any]) -> bool:
    return bool({'value', 'fault'} & set(row)) and set(row) <= set(_OPINION)


def _short(value: Any) -> str:
    return cut(value, ARGUMENTS) if isinstance(value, str) else ''


def said_in(trajectory: Mapping[str, Any]) -> list[str]:
    """Returns the model's answers: a text per step, including its calls."""
    return [
        '\n'.join([step['text'], *(f'{call["name"]} {json.dumps(call["arguments"])}' for call in step['calls'])])
        for step in trajectory['steps']
    ]


def reasons_in(trajectory: Mapping[str, Any]) -> Iterator[str]:
    """Yields the codes of faults in a trajectory."""
    yield from filter(None, (trajectory['stopped'], *(step['reason'] for step in trajectory['steps'])))
    yield from (
        part['cause']
        for step in trajectory['steps']
        for part in step.values()
        if isinstance(part, dict) and 'cause' in part
    )


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, dict) for part in value)


def _settings(given: Mapping[str, Any]) -> dict[str, str]:
    """Converts settings to texts of limited length."""
    texts = {
        key: setting
        if isinstance(setting, str)
        else ''
        if setting is None
        else json.dumps(to_jsonable(setting), ensure_ascii=False)
        for key, setting in list(given.items())[:MOST_STEPS]
    }
    return {cut(key, NAME): cut(text, NAME) for key, text in texts.items()}


def _total(values: Iterable[Any]) -> Any:
    """Returns the sum of values; None if a value is unknown or there are none."""
    known = list(values)
    return sum(known) if known and None not in known else None
