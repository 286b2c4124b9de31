"""Fixtures of tests of models."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from opencompass.utils import get_logger


@pytest.fixture
def logged() -> Iterator[list[str]]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    get_logger().addHandler(handler)
    yield lines
    get_logger().removeHandler(handler)
