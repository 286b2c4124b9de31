"""Suppresses OpenCompass's logger, which writes to standard output, while a command works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opencompass.utils import get_logger


@contextmanager
def quiet(level: str) -> Iterator[None]:
    """Suppresses OpenCompass's log messages below a level while the block runs.

    It does not use ``logging.disable``: mmengine's loggers cache its effect and would stay silent for good.
    """
    before = get_logger().level
    get_logger().setLevel(level)
    try:
        yield
    finally:
        get_logger().setLevel(before)
