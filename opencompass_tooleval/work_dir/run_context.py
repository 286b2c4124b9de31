"""The context of the current task, for models and inferencers, which OpenCompass builds from configs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from opencompass_tooleval.core.scoring.sampling_settings import StoredAnswers
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.work_dir.budget_file import Ledger, LockedTask
from opencompass_tooleval.work_dir.replicas import Claims


class Report(Protocol):
    """Receives the numbers of samples answered so far and in earlier runs, and the usage of new answers."""

    def __call__(self, answered: int, earlier: int, usages: Iterable[Usage | None]) -> None: ...


def report_nothing(answered: int, earlier: int, usages: Iterable[Usage | None]) -> None:
    """Ignores the progress; a :class:`Report` for callers without a task."""


_ALL = StoredAnswers()


@dataclass(frozen=True)
class RunContext:
    """The context of a task.

    Attributes:
        engine_log: Log file of the engines that the process starts (for a model or a judge); None for a temporary file.
        report: Receives the progress on the dataset.
        locked_task: The task, while it sends requests; None outside of a task.
        ledger: The ledger of the model under test; None if it has no budget.
        postprocess: Extracts the scored parts of answers, as the evaluation's config says; None in other tasks.
        claims: The ranges of the dataset that this replica claims; None if it has the whole dataset.
        stored: Decides which answers of earlier runs the config accepts; outside of a task, all.
        report_wait: Receives a description of the wait for a server; '' when the wait ends.
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
    """Returns the context of the current task, or one that reports nothing."""
    return _current


@contextmanager
def in_context(**parts: Any) -> Iterator[None]:
    """Sets parts of the context until the end of the block. Other parts, and parts given as None, stay."""
    global _current
    before = _current
    _current = replace(before, **{name: part for name, part in parts.items() if part is not None})
    try:
        yield
    finally:
        _current = before
