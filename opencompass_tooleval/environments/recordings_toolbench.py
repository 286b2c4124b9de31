"""Recorded calls of stored runs in ToolEval's format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.easytool.files import read_json
from opencompass_tooleval.easytool.toolbench.responses import error_kind
from opencompass_tooleval.easytool.toolbench.trajectories import load_runs
from opencompass_tooleval.environments.bank import RecordedCall


def is_trajectories(path: Path) -> bool:
    """Whether a file is an object of runs."""
    if not path.is_file() or not path.name.endswith(('.json', '.json.gz')):
        return False
    try:
        rows = read_json(path)
    except DataError:
        return False
    first = next(iter(rows.values()), None) if isinstance(rows, dict) else None
    return isinstance(first, dict) and isinstance(first.get('answer'), dict) and 'answer_details' in first['answer']


def read_trajectories(file: Path, label: str) -> Iterator[RecordedCall]:
    """The recorded calls of a file of runs: a query is a task.

    Args:
        file: May be gzipped.
        label: What the bank calls it.

    Raises:
        DataError: It is damaged.
    """
    for run in load_runs(file):
        for call in run.calls:
            yield RecordedCall(label, run.id, call.name, call.arguments, call.response, error_kind(call.response))
