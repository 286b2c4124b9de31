"""Where the tests of real models write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ['OMP_NUM_THREADS'] = str(os.cpu_count())  # one task runs at a time


@pytest.fixture(scope='session')
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where everything is written: ``$TOOLEVAL_REAL``, to be looked at afterwards, or a temporary folder."""
    named = os.environ.get('TOOLEVAL_REAL')
    folder = Path(named).resolve() if named else tmp_path_factory.mktemp('real')
    folder.mkdir(parents=True, exist_ok=True)
    return folder
