"""Converts results to rows of a file, for baselines and exports. Imports no OpenCompass.

A row has ``model``, ``dataset``, ``metrics``, and parts of the result under their names. A baseline adds the values of
each sample; an export has the samples in a separate file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from opencompass_tooleval.catalogue.benchmark import check_parts
from opencompass_tooleval.core.errors import Fault
from opencompass_tooleval.core.statistics.paired import Result
from opencompass_tooleval.core.text.jsonable import is_number

Row = dict[str, Any]

PARTS = ('standard_errors', 'reasons', 'samples', 'provenance', 'breakdown', 'runs', 'serving')
"""Parts of a result that tables and notes need in addition to the metrics."""
MAX_NAME = 200
"""Maximum number of bytes in the name of a model or a data set: OpenCompass uses them as file names."""


class Results(Protocol):
    """Results of models on data sets: a run or a baseline file."""

    @property
    def path(self) -> Path:
        """Path of the run or the file."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields model and data set of every result, sorted."""

    def result(self, model: str, dataset: str) -> Result | None:
        """Returns a result with its details; None if it is missing."""


def valid_result(results: Results, model: str, dataset: str) -> Result | None:
    """Reads a result with its details; None if it is missing or an error."""
    result = results.result(model, dataset)
    return None if result is None or 'error' in result else result


def result_row(model: str, dataset: str, result: Result, parts: Sequence[str] = PARTS) -> Row:
    """Converts a result to a row, with those of ``parts`` that the result has."""
    numbers = {name: value for name, value in result.items() if value is None or type(value) in (int, float)}
    metrics = {name: value if is_number(value) else None for name, value in numbers.items()}
    kept = {part: result[part] for part in parts if result.get(part) is not None}
    return {'model': model, 'dataset': dataset, 'metrics': metrics, **kept}


def result_of(row: Mapping[str, Any]) -> Row:
    """Converts a checked row to a result."""
    return {**row['metrics'], **{name: row[name] for name in row if name not in ('model', 'dataset', 'metrics')}}


def checked_row(row: Any) -> Row:
    """Checks an untrusted row: its names, its scores, and the parts that identify results.

    Raises:
        Fault: The row is invalid.
    """
    if not isinstance(row, dict) or not isinstance(row.get('metrics'), dict):
        raise Fault('it is not a JSON object with metrics')
    check_names(row)
    if not all(value is None or is_number(value) for value in row['metrics'].values()):
        raise Fault('a score is not a number')
    check_parts(row)
    return row


def check_names(row: Mapping[str, Any]) -> None:
    """Checks the names of a row's model and data set, which become parts of file names.

    Raises:
        Fault: A name cannot be a file name.
    """
    for column in ('model', 'dataset'):
        name = row.get(column)
        # In bytes, as file systems count: 100 Chinese characters are 300 bytes.
        if not isinstance(name, str) or not name or len(name.encode('utf-8', 'surrogatepass')) > MAX_NAME:
            raise Fault(f'its {column} is not a name')
        # '..' and '.lock' have no separator, but name another folder or file.
        if not name.isprintable() or set(name) & {'/', '\\'} or name.startswith('.'):
            raise Fault(f'its {column} {name!r} cannot be the name of a file')
