"""Mutations of JSON: one value of a file is replaced by another, or removed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2.5, float('nan'), float('inf'), 10**400, '', 'x', '\x1b[2J', '[/bold]', '../../x',
    '\0', '\ud800',    [], {}, [[]], [None], {'a': 1}, {'': None}, [{'a': []}] * 3,
)  # fmt: skip


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Yields container and key of each value; of long lists the first ones."""
    if depth < 12:
        keys = list(value) if isinstance(value, dict) else range(len(value))[:4] if isinstance(value, list) else ()
        for key in keys:
            yield value, key
            yield from _places(value[key], depth + 1)


def mutate(value: Any, chance: random.Random) -> Any:
    """Returns a copy with one or two values replaced or removed."""
    changed = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 2))):
        places = list(_places(changed))
        if not places:
            return chance.choice(VALUES)
        container, key = chance.choice(places)
        if chance.random() < 0.2:
            del container[key]
        else:
            container[key] = copy.deepcopy(chance.choice(VALUES))
    return changed


def mutate_file(file: Path, original: bytes, chance: random.Random) -> None:
    """Writes a mutation of a JSON or JSON lines file; now and then of its bytes."""
    if chance.random() < 0.1:
        place = chance.randrange(len(original))
        file.write_bytes(chance.choice((original[:place], original[:place] + b'\0\xff' + original[place:])))
    elif file.suffix == '.jsonl':
        lines = original.decode('utf-8').split('\n')
        number = chance.choice([number for number, line in enumerate(lines) if line.strip()])
        lines[number] = json.dumps(mutate(json.loads(lines[number]), chance))
        file.write_text('\n'.join(lines), encoding='utf-8')
    else:
        file.write_text(json.dumps(mutate(json.loads(original), chance), indent=4), encoding='utf-8')
