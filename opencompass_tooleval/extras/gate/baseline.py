"""Saves and reads baselines: the results of a run in one small file, for later comparisons. Imports no OpenCompass.

The file has what a paired comparison needs: scores, provenance, and the id, values and reason of each sample. It has no
text of the data, prompts or answers, so it can be stored with the code under test; a digest replaces each gold answer.
An export has all of these texts, and is a hundred times as large.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.comparable import GOLD_DIGEST, gold_digest, result_provenance
from opencompass_tooleval.catalogue.provenance import KEY
from opencompass_tooleval.core.errors import DataError, Fault
from opencompass_tooleval.core.statistics.paired import Result, details_of
from opencompass_tooleval.core.text.jsonable import is_number
from opencompass_tooleval.results.result_row import (
    Results,
    Row,
    checked_row,
    result_of,
    result_row,
    valid_result,
)
from opencompass_tooleval.work_dir.data_files import json_lines
from opencompass_tooleval.work_dir.whole_file import write_whole
from opencompass_tooleval.work_dir.work_dir import WorkDir

_FORMAT = {'tooleval_baseline': 2}
_PARTS = ('standard_errors', 'samples', 'trials', 'runs')
_FIX = 'tooleval gate RUN --save FILE'


@dataclass(frozen=True)
class Baseline:
    """The results in a baseline file.

    Attributes:
        path: The file.
        results: Model and data set -> result.
    """

    path: Path
    results: Mapping[tuple[str, str], dict[str, Any]]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields model and data set of every result, sorted."""
        yield from sorted(self.results)

    def result(self, model: str, dataset: str) -> dict[str, Any] | None:
        """Returns a result with its reduced details; None if it is missing."""
        return self.results.get((model, dataset))


def find_results(path: Path) -> Results:
    """Opens a baseline file, or finds a run with :meth:`WorkDir.find`.

    Raises:
        DataError: The path is neither, or the file is damaged.
    """
    if not path.is_file():
        return WorkDir.find(path)
    lines = json_lines(path)
    if next(lines, ('', None))[1] != _FORMAT:
        raise DataError(path, 'it is not a baseline of this version: save it again', fix=_FIX)
    results = {}
    for where, line in lines:
        try:
            row = checked_row(line)
            if not isinstance(details := row.get('details'), list) or not all(map(_is_detail, details)):
                raise Fault('its details are not samples')
        except Fault as fault:
            raise DataError(path, f'{where}: {fault}', fix=_FIX) from fault
        results[row['model'], row['dataset']] = result_of(row)
    return Baseline(path, results)


def save_baseline(work: Results, file: Path) -> tuple[int, list[str]]:
    """Writes the results of a run to a file of ASCII JSON lines; the same results give the same bytes.

    Returns:
        Number of results in the file, and ``model: data set`` for each result that is an error and was left out.

    Raises:
        DataError: A result is damaged, or there is nothing to save.
        OSError: The file cannot be written.
    """
    rows = {pair: _row(*pair, result) for pair in work.pairs() if (result := valid_result(work, *pair)) is not None}
    if not rows:
        raise DataError(work.path, 'there is no result to save')
    write_whole(file, ''.join(f'{json.dumps(row)}\n' for row in (_FORMAT, *rows.values())))
    return len(rows), [': '.join(pair) for pair in work.pairs() if pair not in rows]


def _row(model: str, dataset: str, result: Result) -> Row:
    row = result_row(model, dataset, result, _PARTS)
    row |= {KEY: result_provenance(result)} if KEY in result else {}
    return {**row, 'details': list(map(_reduced_detail, details_of(result)))}


def _reduced_detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    kept = {'id': str(detail['id']), 'values': detail['values'], 'reason': detail.get('reason')}
    if isinstance(steps := detail.get('steps'), list):
        kept['steps'] = [{'values': step.get('values', {})} for step in steps]
    digest = gold_digest(detail)
    return kept if digest is None else {**kept, GOLD_DIGEST: digest}


def _is_detail(detail: Any) -> bool:
    if not isinstance(detail, dict) or not isinstance(detail.get('id'), str):
        return False
    steps = detail.get('steps', [])
    parts = [detail, *steps] if isinstance(steps, list) else [None]
    return isinstance(detail.get('reason'), (str, type(None))) and all(
        isinstance(part, dict) and isinstance(part.get('values'), dict) and all(map(_is_value, part['values'].values()))
        for part in parts
    )


def _is_value(value: Any) -> bool:
    return value is None or (is_number(value) and -1e6 <= value <= 1e6)
