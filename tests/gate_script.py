"""Answers of a model under test: ``serve_model.py --script tests/gate_script.py:released``, or ``:regressed``.

``released`` knows the gold answers of the demo records of T-Eval; ``regressed`` knows one of four.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests import tutorial_script

Messages = list[dict[str, Any]]


def released(messages: Messages) -> str:
    return tutorial_script._answers()[tutorial_script._key(messages)]


def regressed(messages: Messages) -> str:
    known = hashlib.sha256(tutorial_script._key(messages).encode()).digest()[0] % 4 == 0
    return released(messages) if known else 'I cannot help with that.'
