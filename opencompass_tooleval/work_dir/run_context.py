"""The context of the task that this process runs, for models and inferencers, which OpenCompass builds from configs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.scoring.sampling_settings import StoredAnswers
from opencompass_tooleval.work_dir.budget_file import Ledger, LockedTask
from opencompass_tooleval.work_dir.lock import Report, report_nothing
from opencompass_tooleval.work_dir.replicas import Claims

_ALL = StoredAnswers()


@dataclass(frozen=True)
class RunContext:
    """Context of a task.

    Attributes:
        engine_log: Log file of engines that the process starts, for a model or a judge; None for a temporary file.
        report: Receives the progress on the data set.
        locked_task: The task, while it sends requests; None outside of a task.
        ledger: The ledger of the model under test; None if it has no budget.
        postprocess: Extracts the scored parts of answers as the evaluation does by its config; None outside of one.
        claims: The ranges of the data set that this replica claims; None if it has all.
        stored: The answers of earlier runs that the config accepts; outside of a task all.
        report_wait: Receives a description of the server that is waited for; '' when the wait ends.
    """

    engine_log: Path | None = None
    report: Report = report_nothing
    locked_task: LockedTask | None = None
    ledger: Ledger | None = None
    postprocess: Callable[[list[str]], Sequence[str]] | None = None
    claims: Claims | None = None
    stored: StoredAnswers = _ALL
    report_wait: Callable[[str], None] = lambda text: None


_current = RunContext()


def run_context() -> RunContext:
    """Returns the context of the task; without a task one that reports nothing."""
    return _current


@contextmanager
def in_context(**parts: Any) -> Iterator[None]:
    """Sets parts of the context until the end of the block; the others stay, also for a part that is None."""
    global _current
    before = _current
    _current = replace(before, **{name: part for name, part in parts.items() if part is not None})
    try:
        yield
    finally:
        _current = before
