"""Damages correct answers deterministically, for the noisy oracle."""

from __future__ import annotations

import json
from random import Random
from typing import Any

_TRIES = 10


def _damage_list(items: list[Any], rng: Random) -> list[Any]:
    items = list(items)
    index = rng.randrange(len(items))
    match rng.randrange(4):
        case 0:
            del items[index]
        case 1:
            items.insert(index, rng.choice(items))
        case 2:
            rng.shuffle(items)
        case _:
            items[index] = _damage_value(items[index], rng)
    return items


def _damage_dict(fields: dict[str, Any], rng: Random) -> dict[str, Any]:
    fields = dict(fields)
    key = rng.choice(list(fields))
    if rng.random() < 0.3:
        del fields[key]
    else:
        fields[key] = _damage_value(fields[key], rng)
    return fields


def _damage_text(text: str, rng: Random) -> str:
    words = text.split(' ')
    index = rng.randrange(len(words))
    match rng.randrange(4):
        case 0:
            return text[: rng.randrange(len(text) + 1)]
        case 1:
            return ' '.join(words[:index] + words[index + 1 :])
        case 2:
            return ' '.join([*words[:index], 'something', 'else', *words[index:]])
        case _:
            return ' '.join(rng.sample(words, len(words)))


def _damage_value(value: Any, rng: Random) -> Any:
    if isinstance(value, list) and value:
        return _damage_list(value, rng)
    if isinstance(value, dict) and value:
        return _damage_dict(value, rng)
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return _damage_text(value, rng) if isinstance(value, str) else 'something else'


def _damage_once(answer: str, rng: Random) -> str:
    if rng.random() < 0.15:
        return _damage_text(answer, rng)
    try:
        return json.dumps(_damage_value(json.loads(answer), rng))
    except (ValueError, RecursionError):  # not JSON, or too deep
        return _damage_text(answer, rng)


def damage(answer: str, rng: Random) -> str:
    """Returns ``answer`` with a fault: in a JSON value if it is JSON, else in its words.

    Args:
        answer: A correct answer.
        rng: Chooses the fault. The same state gives the same fault.
    """
    for _ in range(_TRIES):
        damaged = _damage_once(answer, rng)
        # A shuffle does not change a list with one item, or with equal items.
        if damaged.strip() != answer.strip():
            return damaged
    return f'{answer} something else'
