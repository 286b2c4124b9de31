"""Reads recorded calls from stored runs in ToolBench's format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opencompass_tooleval.benchmarks.toolbench.data import holds_runs, read_runs
from opencompass_tooleval.benchmarks.toolbench.reading import error_kind
from opencompass_tooleval.environments.bank import RecordedCall


def is_trajectories(path: Path) -> bool:
    """Tests if a file is an object of runs.

    Raises:
        DataError: The first run is too long or nested too deeply.
    """
    return path.is_file() and path.name.endswith(('.json', '.json.gz')) and holds_runs(path)


def read_trajectories(file: Path, label: str) -> Iterator[RecordedCall]:
    """Yields the recorded calls of a file of runs: each query is a task.

    Args:
        file: A file, which may be gzipped.
        label: Name of the file in the bank.

    Raises:
        DataError: The file is damaged.
    """
    for run in read_runs(file):
        for call in run.calls:
            yield RecordedCall(label, run.id, call.name, call.arguments, call.observation, error_kind(call.observation))
