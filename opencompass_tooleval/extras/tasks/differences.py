"""Computes the differences of two states. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rapidfuzz.distance import LCSseq

from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.extras.tasks.leaves import key_of
from opencompass_tooleval.extras.tasks.state import Items, State

NEW, GONE, CHANGED = 'new', 'gone', 'changed'

MAX_ITEMS = 2_000
"""Maximum number of rows or lines that differ; more are compared by a digest."""
_MAX_PARTS, _MAX_TEXT = 2_000, 4_000_000
_DECIMAL = re.compile(r'-?\d{1,30}(?:\.\d{1,30})?')


def changes(before: State, after: State) -> dict[str, str]:
    """Returns the parts that differ -> their difference as JSON text.

    A difference has ``removed``, ``added`` and ``moved`` for items, ``to`` for a new value, ``gone`` for a removed one,
    ``is`` for new or removed empty items. Items with an order also have a digest of those that stay (``rest``) and,
    except for rows of CSV, the places of the added ones (``at``). If it is too large, it has the number of further
    changes as ``more``, and a ``digest`` of all items or of the difference.
    """
    found: dict[str, str] = {}
    left = _MAX_TEXT
    for name in dict.fromkeys([*before, *after]):
        difference = _difference(before.get(name, _MISSING), after.get(name, _MISSING))
        if difference:
            text = json.dumps(difference, ensure_ascii=False)
            left -= len(text)
            found[name] = text if left >= 0 else json.dumps({'more': len(text), 'digest': _digest(text)})
        if len(found) > _MAX_PARTS:
            return {'more parts than can be shown': json.dumps({'more': _MAX_PARTS})}
    return found


_MISSING = object()


def _difference(old: Any, new: Any) -> dict[str, Any]:
    listed = [one for one in (old, new) if isinstance(one, Items)]
    if listed and all(isinstance(one, Items) or one is _MISSING for one in (old, new)):
        items = [one.items if isinstance(one, Items) else [] for one in (old, new)]
        numbers = number_columns(old)
        before, after = ([key_of(with_numbers(item, numbers)) for item in one] for one in items)
        removed, added = Counter(before) - Counter(after), Counter(after) - Counter(before)
        is_ordered = listed[-1].is_ordered
        if (most := max(removed.total(), added.total())) > MAX_ITEMS:
            return {'more': most, 'digest': _digest(*(after if is_ordered else sorted(after)))}
        kept = len(before) - removed.total()
        moved = is_ordered and LCSseq.similarity(before, after, score_cutoff=kept) < kept
        is_changed = bool(removed or added or moved)  # before ``_taken`` uses up the counts
        gone, places = _taken(before, removed), _taken(after, added)
        difference: dict[str, Any] = {
            'removed': [items[0][place] for place in gone],
            'added': [items[1][place] for place in places],
        }
        if is_ordered:
            new_ones = {*places}
            rest = _digest(*(key for place, key in enumerate(after) if place not in new_ones))
            difference |= {'rest': rest} if listed[-1].fills else {'at': places, 'rest': rest}
        if is_changed:
            return difference | ({'moved': True} if moved else {})
        return {} if old is not _MISSING and new is not _MISSING else {'is': NEW if old is _MISSING else GONE}
    old, new = (one.items if isinstance(one, Items) else one for one in (old, new))
    if new is _MISSING:
        return {'gone': True}
    return {} if old is not _MISSING and key_of(old) == key_of(new) else {'to': new}


def number_columns(part: Any) -> tuple[str, ...]:
    """Returns the columns of a CSV whose values are all numbers, some with a point: ``2.50`` is 2.5 there."""
    if not isinstance(part, Items) or not part.is_ordered or not part.fills or not part.items:
        return ()
    columns = {column: [str(item.get(column, '')) for item in part.items] for column in part.fills}
    return tuple(
        column for column, texts in columns.items() if all(map(_DECIMAL.fullmatch, texts)) and '.' in ''.join(texts)
    )


def with_numbers(item: Any, columns: Sequence[str]) -> Any:
    """Converts the texts in some columns of a row to numbers."""
    if not columns or not isinstance(item, dict):
        return item
    return {
        name: float(value) if name in columns and _DECIMAL.fullmatch(str(value)) else value
        for name, value in item.items()
    }


def _digest(*texts: str) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for text in texts:
        digest.update(text.encode('utf-8', 'backslashreplace') + b'\n')
    return digest.hexdigest()


def _taken(keys: Sequence[str], counts: Counter[str]) -> list[int]:
    """Returns the places of each key, as often as counted, in order: its last ones. Uses up the counts."""
    taken = []
    for place in range(len(keys) - 1, -1, -1):
        if counts[keys[place]] > 0:
            counts[keys[place]] -= 1
            taken.append(place)
    return taken[::-1]


def read_difference(text: str) -> dict[str, Any]:
    """Parses a difference; it may come from an untrusted run."""
    found = load_json(text, bounded=True)
    if not isinstance(found, dict) or not all(isinstance(found.get(name, []), list) for name in ('removed', 'added')):
        return {'more': 0}
    return {'removed': [], 'added': [], **found} if 'removed' in found else found
