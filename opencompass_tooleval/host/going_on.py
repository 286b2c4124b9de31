"""Tasks of several data sets that go on after one that fails, and say so at the end."""

from __future__ import annotations

from collections.abc import Callable

from opencompass.utils import dataset_abbr_from_cfg, get_logger


class TaskFailedError(RuntimeError):
    """Some data sets of a task failed; the others are done."""


class Failures:
    """Collects what failed in one task."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def attempt(self, work: Callable[[], None], dataset_cfg: object) -> None:
        """Does ``work`` for a data set; an exception is logged and kept."""
        try:
            work()
        except Exception as error:
            said = f'{dataset_abbr_from_cfg(dataset_cfg)}: {type(error).__name__}: {error}'
            get_logger().exception(f'FAILED {said}')
            self._said.append(said)

    def check(self) -> None:
        """Ends the task.

        Raises:
            TaskFailedError: Something failed; the message lists it.
        """
        if self._said:
            raise TaskFailedError(f'{len(self._said)} data sets failed:\n' + '\n'.join(self._said))
