"""Scripted makers, and the browser of the tests of pages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ModelServer, start_server
from tests.making.worlds import SCRIPT, write_key
from tests.report.conftest import browser

__all__ = ['Start', 'browser']

Start = Callable[..., ModelServer]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a scripted maker that knows a key."""
    started: list[ModelServer] = []

    def begin(key: dict[str, Any], maker: str = 'right') -> ModelServer:
        os.environ['MAKER_KEY'] = str(write_key(tmp_path / f'{maker}_key.json', key))
        try:
            started.append(start_server('--script', f'{SCRIPT}:{maker}'))
        finally:
            del os.environ['MAKER_KEY']
        return started[-1]

    yield begin
    for server in started:
        server.stop()
