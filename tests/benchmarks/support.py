"""Runs of the ``opencompass`` command that several benchmarks' tests read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.forked import run_opencompass


def run(folder: Path, config: str, **environment: str) -> None:
    """Runs a config to its end in a folder, with ``out`` as its working directory."""
    (folder / 'mine.py').write_text(config, encoding='utf-8')
    done = run_opencompass('mine.py', '-w', 'out', '--debug', cwd=folder, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def outcome_of(folder: Path, model: str, name: str, kind: str = 'results') -> Any:
    """What the results (or predictions) file of a data set holds."""
    (file,) = folder.glob(f'out/*/{kind}/{model}/tooleval-{name}.json')
    return json.loads(file.read_text(encoding='utf-8'))


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return path


def digest(text: str) -> str:
    """What ``tests/cases`` and ``shared/expected`` hold of a prompt."""
    return hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]


def cases(name: str) -> Any:
    """A file of ``tests/cases``: golden cases, or digests of prompts."""
    return json.loads((ROOT / 'tests' / 'cases' / f'{name}.json').read_text(encoding='utf-8'))
