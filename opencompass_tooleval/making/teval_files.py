"""Writes T-Eval's step files of a made set."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.benchmarks.teval.protocol import Protocol
from opencompass_tooleval.benchmarks.teval.records import (
    FINISH,
    SUFFIXES,
    Record,
    Step,
    file_stem,
    find_subset,
    parse_record,
)
from opencompass_tooleval.benchmarks.teval.scoring import read_answer, score_answer
from opencompass_tooleval.core.errors import Fault
from opencompass_tooleval.core.jsonable import to_jsonable
from opencompass_tooleval.making.made_task import MadeTask
from opencompass_tooleval.making.teval_records import step_rows
from opencompass_tooleval.making.teval_review import SUBSET as REVIEW
from opencompass_tooleval.making.teval_review import review_rows
from opencompass_tooleval.work_dir.whole_file import write_whole

FOLDER = 'teval'
VERSION = 'v2'
"""Arguments are compared by equality, as T-Eval's authors do today."""

_RULES = Protocol(VERSION, 'strict')


def write_teval(made: Sequence[MadeTask], folder: Path) -> dict[str, int]:
    """Writes ``teval/LANGUAGE/SUBSET_v2.json``, in place of those of an earlier call; none for a subset without rows.

    A row whose own gold answer would not score full marks is left out, such as one with a tool's name that T-Eval's
    reading cannot find in a line.

    Args:
        made: The tasks.
        folder: That of the set.

    Returns:
        Name of each file below ``teval`` -> its rows.
    """
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    counts = {}
    for language in SUFFIXES:
        subsets = {**step_rows(made, language), REVIEW: review_rows(made, language)}
        for subset, rows in subsets.items():
            kept = {name: row for name, row in rows.items() if reaches_full_marks(name, row, subset)}
            if kept:
                file = folder / FOLDER / language / f'{file_stem(subset, VERSION, language)}.json'
                file.parent.mkdir(parents=True, exist_ok=True)
                write_whole(file, json.dumps(to_jsonable(kept), ensure_ascii=False, indent=1))
                counts[f'{language}/{file.name}'] = len(kept)
    return counts


def reaches_full_marks(name: str, row: Mapping[str, Any], subset: str) -> bool:
    """Tests if a row can be read and its own gold answer is right in all metrics."""
    try:
        record = parse_record(name, to_jsonable(dict(row)), find_subset(subset))
    except Fault:
        return False
    answer = gold_answer(record)
    if record.subset.kind == 'plan':
        steps = read_answer(record, answer, _RULES).value or ()
        return _names(steps) == _names(cast(tuple[Step, ...], record.gold))
    return _is_full(record, answer)


def _is_full(record: Record, answer: str) -> bool:
    values = score_answer(record, answer, _RULES).values.values()
    return all(value == 1 for value in values if value is not None)


def _names(steps: Sequence[Step]) -> list[str]:
    return [step.name for step in steps if step.name != FINISH]
