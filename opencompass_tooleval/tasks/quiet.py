"""OpenCompass's logger, which writes on standard output, kept back while a command works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opencompass.utils import get_logger


@contextmanager
def quiet(level: str) -> Iterator[None]:
    """Keeps back what OpenCompass logs below a level, while the block runs.

    Not by ``logging.disable``: mmengine's loggers remember what it answers, and keep silent for good.
    """
    before = get_logger().level
    get_logger().setLevel(level)
    try:
        yield
    finally:
        get_logger().setLevel(before)
