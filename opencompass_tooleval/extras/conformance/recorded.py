"""Reads recorded answers to Conformance, for ``tooleval score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from opencompass_tooleval.catalogue.benchmark import RecordedRun
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.extras.conformance.description import BENCHMARK
from opencompass_tooleval.extras.conformance.files import DATA_PATH
from opencompass_tooleval.extras.conformance.records import FIX, find_subset, load_records
from opencompass_tooleval.extras.conformance.scoring import ConformanceScorer
from opencompass_tooleval.extras.recorded.right_subset import load_answers


def read(
    subset: str,
    predictions: Path,
    *,
    data: Annotated[Path | None, 'Folder with the requests; default: the requests of this package.'] = None,
) -> RecordedRun:
    """Reads recorded answers: rows with the text and the ``calls`` of each request.

    Raises:
        DataError: A file is missing, damaged, or does not belong to the others.
        ValueError: The subset does not exist.
    """
    row = find_subset(subset)
    records = load_records(data or resolve_data_path(DATA_PATH, FIX))
    answers = load_answers(predictions, subset, BENCHMARK.subsets, [record.id for record in records])
    return RecordedRun(ConformanceScorer(subset), records, answers, '{subset}', expected=row.requests)
