"""The context of the task that this process runs, for models and inferencers, which OpenCompass builds from configs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.work_dir.lock import Report, report_nothing


@dataclass(frozen=True)
class RunContext:
    """Context of a task.

    Attributes:
        engine_log: Log file of engines that the process starts, for a model or a judge; None for a temporary file.
        report: Receives the progress on the data set.
        report_wait: Receives a description of the server that is waited for; '' when the wait ends.
    """

    engine_log: Path | None = None
    report: Report = report_nothing
    report_wait: Callable[[str], None] = lambda text: None


_current = RunContext()


def run_context() -> RunContext:
    """Returns the context of the task; without a task one that reports nothing."""
    return _current


@contextmanager
def in_context(
    engine_log: Path | None = None, report: Report | None = None, report_wait: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Sets parts of the context until the end of the block; the others stay."""
    global _current
    before = _current
    _current = RunContext(engine_log or before.engine_log, report or before.report, report_wait or before.report_wait)
    try:
        yield
    finally:
        _current = before
