"""Scripts of ``tools/serve_model.py``: answers after a while, after another question, or the request itself."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from typing import Any

_MOST_SECONDS = 300
_PLACE = re.compile(r'(?P<wait>wait for (?P<other>\w+), )?(?P<name>\w+)')

_answered: set[str] = set()
_changed = threading.Condition()


def _answer(name: str) -> str:
    with _changed:
        _answered.add(name)
        _changed.notify_all()
    return f'<{name}>'


def shuffled(messages: list[dict[str, str]]) -> str:
    """The same to the same question, after a time that differs at each."""
    time.sleep(random.uniform(0, 0.05))
    return f'<{messages[-1]["content"]}>'


def in_order(messages: list[dict[str, str]]) -> str:
    """Answers ``wait for b, a`` once ``b`` was answered, and ``b`` at once.

    Raises:
        TimeoutError: ``b`` was not asked, in minutes: who asks waits for the answer to ``a`` first.
    """
    place = _PLACE.fullmatch(messages[-1]['content'])
    assert place is not None
    if place['wait']:
        with _changed:
            if not _changed.wait_for(lambda: place['other'] in _answered, _MOST_SECONDS):
                raise TimeoutError(place['other'])
    return _answer(place['name'])


def echo(messages: list[dict[str, Any]], request: dict[str, Any]) -> str:
    return json.dumps(request)
