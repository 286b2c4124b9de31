"""Tests that the cost of work grows no faster than its input."""

from __future__ import annotations

import gc
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any, TypeVar

import pytest

STOP = 30.0
"""Seconds of processor time after which work is stopped, on any machine."""

TRIES = 8
POWER = 1.5
"""How fast the cost may grow with the size: between linear (1) and quadratic (2)."""

_SMALL = 5
"""Work of so many small sums is not compared: a few milliseconds differ eightfold by chance, and what is quadratic in
the 64 K characters of these tests takes seconds."""

_EDGE = 200
_MAX_PERIOD = 1_000
_RUN = re.compile(r'(.{1,80}?)\1{9,}', re.DOTALL)

T = TypeVar('T')
R = TypeVar('R')


@lru_cache(maxsize=64)
def halved(text: str) -> str:
    """A text of the same shape and half as long.

    One that repeats a part, but for its beginning and its end, has half as many of it; of any other each run of a
    repeated part has: ``[[[[]]]]a`` becomes ``[[]]a``.
    """
    inner = text[_EDGE:-_EDGE]
    for period in range(1, min(_MAX_PERIOD, len(inner) // 10)):
        if inner.startswith(inner[period : 2 * period]) and inner[period:] == inner[:-period]:
            kept, cut = len(text) // 4, len(text) // 2 // period * period
            return text[:kept] + text[kept + cut :]
    return _RUN.sub(lambda run: run[1] * (len(run[0]) // len(run[1]) // 2), text)


def in_linear_time(work: Callable[[T], R], whole: T, half: T | None = None) -> R:
    """Does the work and returns its result, once its time grows at most like the size to the power of ``POWER``.

    Machines differ, and no test compares a time with a constant. What takes a machine less than a few small sums is not
    compared, and one is left for what does not grow. The best of several tries counts, of processor time, since the
    machine may have other things to do.

    Args:
        work: What is done.
        whole: On what.
        half: Half as much; of a text that repeats itself a quarter is found.
    """
    best = best_of_part = float('inf')
    part, times = half, 2.0
    for _ in range(TRIES):
        seconds, result = _timed(work, whole)
        best = min(best, seconds)
        if best < _SMALL * _moment():
            return result
        if part is None:
            part, times = _part_of(whole)
        best_of_part = min(best_of_part, _timed(work, part)[0])
        if best < times**POWER * best_of_part + _moment():
            return result
    pytest.fail(f'{best:.3f} s of processor time, and {best_of_part:.3f} s for {1 / times:.0%} as much')


def _part_of(whole: Any) -> tuple[Any, float]:
    """A quarter of a text, or as much less as there is of the same shape, and how many times longer the whole is."""
    part = halved(halved(whole)) if isinstance(whole, str) else ''
    times = len(whole) / max(len(part), 1)
    assert part and times > 1.6, 'it takes long, and the test gives no half of it'
    return part, times


def _timed(work: Callable[[T], R], on: T) -> tuple[float, R]:
    was_collecting = gc.isenabled()
    gc.disable()  # its cost depends on all that the process has imported
    try:
        with stopped():
            start = time.process_time()
            result = work(on)
            return time.process_time() - start, result
    finally:
        if was_collecting:
            gc.enable()


@cache
def _moment() -> float:
    """What a small sum takes on this machine."""
    return min(_timed(lambda count: sum(number % 7 for number in range(count)), 300_000)[0] for _ in range(3))


@contextmanager
def stopped() -> Iterator[None]:
    """Fails what takes more than ``STOP``; for work whose cost has nothing to be compared with."""

    def stop(*_: object) -> None:
        pytest.fail(f'stopped after {STOP:.0f} s of processor time')

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, STOP)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
