"""Reason, retrieve and understand: the next thought, API and arguments (T-Eval, App. C.3 to C.5).

One scorer for four subsets: ``call`` answers in JSON with all three parts, the others in plain text with one part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from opencompass_tooleval.benchmarks.teval.protocol import Protocol
from opencompass_tooleval.benchmarks.teval.records import FINISH, PARTS, CallGold, Record
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.core.text.fullwidth import read_either
from opencompass_tooleval.core.text.reading import Parsed, parse_enclosed, parse_literal

V2_EPSILON = 1e-5
"""The authors add this to the number of gold arguments before they divide: a perfect answer scores at most 99.999."""

SAME = 1 - 1e-6
"""Minimum cosine of equal texts."""

_DOTTED = re.compile(r'(?<!\w)\w+\.\w+')  # the official pattern, anchored: without the anchor it is quadratic
_AROUND_NAME = ' \t\r\n`\'"*.:'

Values = dict[str, float | None]


def _parse_dict(text: str) -> Parsed:
    return parse_enclosed(text, '{', '}')


def read(record: Record, text: str, protocol: Protocol) -> Parsed:
    """Parses an answer; the value is a dict with the parts that the subset requests."""
    if record.format == 'str':
        return Parsed({PARTS[record.subset.kind][0]: text}, 'text')
    parsed = protocol.parse(text, _parse_dict)
    if not parsed.ok:
        return parsed
    if type(parsed.value) is not dict:
        return Parsed(None, 'none', 'parse:not_a_dict')
    args = parsed.value.get('args')
    value = {
        'thought': str(parsed.value.get('thought', '')),
        'name': str(parsed.value.get('name', '')),
        'args': args if isinstance(args, dict) else {},
    }
    return Parsed(value, parsed.parse_method)


def _compared(record: Record, parsed: Parsed, protocol: Protocol) -> dict[str, tuple[str, str]]:
    """Returns the parts that are compared by embedding: part -> (predicted, gold)."""
    if not parsed.ok:
        return {}
    gold = cast(CallGold, record.gold)
    pairs = {
        'thought': (parsed.value.get('thought'), gold.thought),
        'args': (parsed.value.get('args'), gold.args),
    }
    parts = ('thought', 'args') if protocol.name == 'v1' else ('thought',)
    return {
        part: (str(pairs[part][0]), str(pairs[part][1]))
        for part in parts
        if part in parsed.value and not (protocol.strict and not str(pairs[part][0]).strip())
    }


def texts(record: Record, parsed: Parsed, protocol: Protocol) -> Iterator[str]:
    """Yields the texts that :func:`score` compares."""
    for pair in _compared(record, parsed, protocol).values():
        yield from pair


def retrieved(text: str, name: str, strict: bool) -> bool:
    """Tests if an answer in plain text names the API.

    Official: ``name`` is in the text, and every other ``a.b`` and ``FinishAction`` in it equals ``name``. Strict: the
    text is only the name, at most with quotes, backticks or a full stop.
    """
    if strict:
        return text.strip(_AROUND_NAME) == name
    others = _DOTTED.findall(text) + ([FINISH] if FINISH in text else [])
    return name in text and all(other == name for other in others)


def _share(predicted: Mapping[Any, Any], gold: Mapping[str, Any], epsilon: float) -> float:
    """Returns the share of gold arguments that are present with an equal ``str()``."""
    if not gold:
        return float(not predicted)
    equal = sum(key in predicted and str(predicted[key]) == str(value) for key, value in gold.items())
    return equal / (len(gold) + epsilon)


def equal_args(predicted: Any, gold: Any, strict: bool) -> float:
    """Returns how far arguments are equal (protocol v2), 0-1.

    Args:
        predicted: A dict, or text for ``understand_str``.
        gold: A value of the same kind.
        strict: True to divide by the exact number of arguments, and to parse text as a dict if possible, so that
            ``{"a": 1}`` equals ``{'a': 1}``.
    """
    if isinstance(gold, dict):
        return _share(predicted, gold, 0.0 if strict else V2_EPSILON)
    if strict:
        asked, given = parse_literal(gold), read_either(predicted, _parse_dict)
        if isinstance(asked.value, dict) and isinstance(given.value, dict):
            return _share(given.value, asked.value, 0.0)
    return float(predicted.strip("'").strip('"') == gold)


def _args_reason(predicted: Any, gold: Any) -> str:
    missing = isinstance(gold, dict) and isinstance(predicted, dict) and any(key not in predicted for key in gold)
    return 'args:missing' if missing else 'args:wrong'


def _reason(record: Record, parsed: Parsed, values: Values) -> str:
    gold = cast(CallGold, record.gold)
    if values.get('name', 1) != 1:
        return 'name:wrong'
    args = values.get('args')
    if args is not None and args < SAME - V2_EPSILON:
        return _args_reason(parsed.value['args'], gold.args)
    thought = values.get('thought')
    return 'thought:differs' if thought is not None and thought < SAME else OK


def score(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> tuple[Values, str]:
    """Computes the subset's metrics for one answer, 0-1, and the reason."""
    values: Values = dict.fromkeys(record.subset.metrics, 0.0)
    if not parsed.ok:
        return values, parsed.reason
    gold = cast(CallGold, record.gold)
    values['parse_rate'] = 1.0
    for part, (predicted, expected) in _compared(record, parsed, protocol).items():
        # In single precision, equal vectors may have a cosine of 1.0000001.
        values[part] = min(1.0, float(similarity.matrix([predicted], [expected])[0, 0]))
    if 'name' in parsed.value:
        name = parsed.value['name']
        right = name == gold.name if record.format == 'json' else retrieved(name, gold.name, protocol.strict)
        values['name'] = float(right)
    if 'args' in parsed.value and protocol.name == 'v2':
        values['args'] = equal_args(parsed.value['args'], gold.args, protocol.strict)
    return values, _reason(record, parsed, values)


def show(record: Record, call: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the parts that the subset requests, predicted and gold."""
    gold = cast(CallGold, record.gold)
    return call, {part: getattr(gold, part) for part in PARTS[record.subset.kind]}
