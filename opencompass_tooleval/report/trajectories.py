"""Trajectories of agents for the sample browser, step by step: read as data, and bounded.

:mod:`opencompass_tooleval.core.calls.trajectory` writes predictions. A report may be of
predictions from an older version or another source: only the members read here are used, and others are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from opencompass_tooleval.core.scoring.usage import read_usage, whole_number
from opencompass_tooleval.core.text.bounds import beyond_bounds
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.report.texts import cut

MOST_STEPS = 500
"""Maximum number of steps shown, and of calls shown of one step."""
THOUGHT = 20_000
ARGUMENTS = 5_000
OBSERVATION = 10_000
NAME = 200
"""Maximum number of characters shown of each kind of text."""
TOGETHER = 300_000
"""Maximum number of characters of all texts; after that, every further text is cut to :data:`LEAST`."""
LEAST = 200

_OPINION = ('value', 'decided_by', 'why', 'fault')
_MOST_OPINIONS = 50


class _Space:
    """Remaining number of characters of one trajectory."""

    def __init__(self) -> None:
        self.left = TOGETHER

    def text(self, value: Any, most: int) -> str:
        """Cuts a text to the bounds; ``''`` for a value that is no text."""
        text = value if isinstance(value, str) else ''
        most = min(most, max(self.left, LEAST))
        self.left -= min(len(text), most)
        return cut(text, most)

    def arguments(self, value: Any) -> Any:
        """Returns small arguments as JSON values, others as text that is cut."""
        if isinstance(value, str):
            return self.text(value, ARGUMENTS)
        plain = to_jsonable(value)
        text = json.dumps(plain, ensure_ascii=False)
        shown = self.text(text, ARGUMENTS)
        return plain if shown == text and not beyond_bounds(plain) else shown


def trajectory_of(prediction: str) -> dict[str, Any] | None:
    """Reads the steps of an agent from JSON; None if the text has none.

    Returns:
        ``loop``, ``answer``, ``stopped``, ``path`` (indices of the steps that lead to the end),
        ``omitted_observations`` (their number), ``settings``, ``all`` (number of steps), ``tokens`` and
        ``seconds`` of all steps if known, and ``steps``: ``text``, ``calls``, ``parent``, ``purpose``, ``reason``,
        ``tokens`` (of prompt and answer), ``seconds``. A call: ``name``, ``arguments``, ``observation``, ``source``,
        ``fault``, ``error`` if the recording has one, and, if the loop cut the observation, ``seen`` of ``whole``
        characters.
    """
    if not prediction.startswith('{'):
        return None
    try:
        raw = load_json(prediction)
    except ValueError:
        return None
    if not isinstance(raw, dict) or not isinstance(raw.get('loop'), str) or not _are_objects(raw.get('steps')):
        return None
    steps, space = raw['steps'], _Space()
    shown = [_step(step, place, space) for place, step in enumerate(steps[:MOST_STEPS])]
    usages = [read_usage(step.get('usage')) for step in steps]
    path = raw.get('path')
    return {
        'loop': space.text(raw['loop'], NAME),
        'answer': space.text(raw.get('final_answer'), THOUGHT),
        'stopped': space.text(raw.get('stopped'), NAME),
        'path': [place for place in path if _is_place(place, len(shown))] if isinstance(path, list) else [],
        'omitted_observations': whole_number(raw.get('omitted_observations')) or 0,
        'settings': _settings(raw.get('settings')),
        'all': len(steps),
        'tokens': [
            _total(usage and usage.prompt for usage in usages),
            _total(use and use.completion for use in usages),
        ],
        'seconds': _total(usage and usage.seconds for usage in usages),
        'steps': shown,
    }


def matches_of(detail: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns for each gold call the index of its matched call (or None), and whether their arguments are equal.

    Indices are among the calls of tools in the steps of ``path``.
    """
    matches = detail.get('matches')
    rows = matches if isinstance(matches, list) and _are_objects(matches) else []
    return [{'call': whole_number(row.get('call')), 'same': row.get('same') is True} for row in rows[:MOST_STEPS]]


def opinions_of(detail: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns judges' opinions of the answer: ``area`` (``solved``, ``win``), ``value``, ``by``, ``why``, ``fault``."""
    return [
        {'area': area, **{name: _short(row.get(name)) for name in _OPINION}}
        for area in judged_areas(detail)
        for row in detail[area][:_MOST_OPINIONS]
    ]


def judged_areas(detail: Mapping[str, Any]) -> list[str]:
    """Returns the judged areas of the answer, in the detail's order: the keys of lists of opinions."""
    return [area for area, rows in detail.items() if _are_objects(rows) and rows and all(map(_is_opinion, rows))]


def _is_opinion(row: Mapping[str, Any]) -> bool:
    return bool({'value', 'fault'} & set(row)) and set(row) <= set(_OPINION)


def _short(value: Any) -> str:
    return cut(value, ARGUMENTS) if isinstance(value, str) else ''


def said_in(trajectory: Mapping[str, Any]) -> list[str]:
    """Returns the model's answers: a text per step, with its calls."""
    return [
        '\n'.join([step['text'], *(f'{call["name"]} {json.dumps(call["arguments"])}' for call in step['calls'])])
        for step in trajectory['steps']
    ]


def reasons_in(trajectory: Mapping[str, Any]) -> Iterator[str]:
    """Yields the codes of its faults."""
    yield from filter(None, (trajectory['stopped'], *(step['reason'] for step in trajectory['steps'])))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, dict) for part in value)


def _is_place(value: Any, count: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count


def _step(step: Mapping[str, Any], place: int, space: _Space) -> dict[str, Any]:
    calls, usage, parent = step.get('calls'), read_usage(step.get('usage')), step.get('parent')
    made = calls if isinstance(calls, list) and _are_objects(calls) else []
    return {
        'text': space.text(step.get('text'), THOUGHT),
        'calls': [_call(call, space) for call in made[:MOST_STEPS]],
        'parent': parent if _is_place(parent, place) else -1,
        'purpose': space.text(step.get('purpose'), NAME),
        'reason': space.text(step.get('reason'), NAME),
        'tokens': [usage.prompt, usage.completion] if usage else [None, None],
        'seconds': usage.seconds if usage else None,
    }


def _call(call: Mapping[str, Any], space: _Space) -> dict[str, Any]:
    observation, error = call.get('observation'), space.text(call.get('error'), NAME)
    seen, whole = (
        len(observation) if isinstance(observation, str) else 0,
        whole_number(call.get('observation_chars')) or 0,
    )
    return {
        'name': space.text(call.get('name'), NAME),
        'arguments': space.arguments(call.get('arguments')),
        'observation': space.text(observation, OBSERVATION),
        'source': space.text(call.get('source'), NAME),
        'fault': space.text(call.get('fault'), NAME),
        **({'error': error} if error else {}),
        **({'seen': seen, 'whole': whole} if whole > seen else {}),
    }


def shown_calls(calls: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns calls like those of the steps of :func:`trajectory_of`, bounded."""
    space = _Space()
    return [_call(call, space) for call in islice(calls, MOST_STEPS)]


def _settings(value: Any) -> dict[str, str]:
    """Converts settings to texts."""
    given = value.items() if isinstance(value, dict) else ()
    texts = {
        key: setting
        if isinstance(setting, str)
        else ''
        if setting is None
        else json.dumps(to_jsonable(setting), ensure_ascii=False)
        for key, setting in list(given)[:MOST_STEPS]
    }
    return {cut(key, NAME): cut(text, NAME) for key, text in texts.items()}


def _total(values: Iterable[Any]) -> Any:
    """Adds values; None if one is unknown."""
    known = list(values)
    return sum(known) if known and None not in known else None
