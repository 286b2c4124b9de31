"""Converts FuncQA's files to typed records. Only this module knows the quirks of the data.

A file is a JSON list of ``question``, ``answer`` (a number, or a text with a number) and the calculation: one step in
``func`` (one-hop), or several in ``calculation`` (multi-hop), such as ``<power>(0.89, 8)=0.3936``. The id of a row is
its number, from 0.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.arithmetic import PARAMETER, TOOL_NAMES, plain
from opencompass_tooleval.benchmarks.funcqa.description import METRICS
from opencompass_tooleval.benchmarks.funcqa.errata import repair
from opencompass_tooleval.benchmarks.funcqa.subsets import SUBSETS
from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.errors import Fault, naming_record
from opencompass_tooleval.work_dir.data_files import read_list

logger = logging.getLogger(__name__)

FIX = 'tooleval prepare funcqa --from DIR'
GOLDS = ('official', 'repaired')

_STEP = re.compile(r'(?P<minus>-?)<(?P<name>[a-z]+)>\((?P<numbers>[^()]*)\)+=(?P<result>[^=]+)')
_SPLIT = re.compile(r'[,*]')
"""One published step writes its two numbers as a product, ``(12*2.0933)``."""


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.benchmarks.funcqa.subsets.SUBSETS`."""

    METRICS = METRICS
    file: str

    count: int
    repaired: int


@dataclass(frozen=True)
class Calculation:
    """One step of the published calculation.

    Attributes:
        tool: One of :data:`~opencompass_tooleval.benchmarks.funcqa.arithmetic.TOOL_NAMES`.
        numbers: Arguments of the tool; ``4/3`` in the file is 1.3333333333333333.
        result: The published result, with its rounding.
        minus: True if ``result`` is the negative of the tool's result, ``-<log>(...)``.
    """

    tool: str
    numbers: tuple[int | float, ...]
    result: int | float
    minus: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the gold call."""
        return {PARAMETER: list(self.numbers)}


@dataclass(frozen=True)
class Record:
    """One question.

    Attributes:
        id: Row number in the file, from 0.
        subset: ``one_hop`` or ``multi_hop``.
        question: The question in the file, including spaces at its ends, which are part of the prompt.
        answer: The gold answer that is scored.
        published: The gold answer in the file.
        gold: Which gold answer is scored: one of ``GOLDS``.
        steps: The published calculation; it may lack the last step, such as rounding.
    """

    id: str
    subset: str
    question: str
    answer: int | float
    published: int | float
    gold: str
    steps: tuple[Calculation, ...]

    @property
    def gold_answer(self) -> str:
        """The gold final answer."""
        return f'Answer: {plain(self.answer)}'

    def to_payload(self) -> str:
        """Converts the record to JSON text for :func:`parse_payload`."""
        return json.dumps(asdict(self))


TABLE = Table(Subset, SUBSETS, 'FuncQA')
""":data:`~opencompass_tooleval.benchmarks.funcqa.subsets.SUBSETS`, typed."""
find_subset = TABLE.find


def parse_payload(payload: str) -> Record:
    """Parses the text of :meth:`Record.to_payload`."""
    raw = json.loads(payload)
    steps = (Calculation(**{**step, 'numbers': tuple(step['numbers'])}) for step in raw.pop('steps'))
    return Record(steps=tuple(steps), **raw)


def _number(value: Any) -> int | float:
    """Parses a number, or a text such as ``1,385.5`` or ``4/3``."""
    if isinstance(value, str):
        above, _, below = value.replace(',', '').strip().partition('/')
        try:
            value = (
                float(above) / float(below) if below else int(above) if above.lstrip('-').isdecimal() else float(above)
            )
        except (ValueError, ZeroDivisionError) as error:
            raise Fault(f'{value!r} is not a number') from error
    finite = not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not finite:
        raise Fault(f'{value!r} is not a number')
    return value


def read_step(text: Any) -> Calculation:
    """Parses one step of a calculation.

    Raises:
        Fault: The step has another form.
    """
    match = _STEP.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or f'{match["name"]}_' not in TOOL_NAMES:
        raise Fault(f'{text!r} is not a step of a calculation')
    numbers = tuple(_number(part) for part in _SPLIT.split(match['numbers']))
    return Calculation(f'{match["name"]}_', numbers, _number(match['result']), bool(match['minus']))


def _record(number: str, raw: Any, subset: str, gold: str) -> Record:
    if not isinstance(raw, Mapping):
        raise Fault('the row is not a JSON object')
    question = raw.get('question')
    if not isinstance(question, str) or not question.strip():
        raise Fault("field 'question' is not a string")
    published = _number(raw.get('answer'))
    calculation = raw.get('calculation', [raw.get('func')])
    if not isinstance(calculation, list) or not calculation:
        raise Fault("'func' or 'calculation' has no calculation")
    steps = tuple(read_step(text) for text in calculation)
    answer = repair(subset, question, published) if gold == 'repaired' else published
    return Record(number, subset, question, answer, published, gold, steps)


def load_records(file: Path, subset: str, gold: str = 'official', change: Change | None = None) -> list[Record]:
    """Reads a data file.

    Args:
        file: Path of ``funcqa_oh.json`` or ``funcqa_mh.json``.
        subset: Name of the row in the table.
        gold: ``official``: the published answers. ``repaired``: with the fixes of
            :mod:`~opencompass_tooleval.benchmarks.funcqa.errata`.
        change: Changes the rows for a variant.

    Returns:
        One record per row, in the file's order. A count that differs from the published one is logged.

    Raises:
        DataError: The file is missing or damaged; the error names the row.
        ValueError: The subset or gold does not exist.
    """
    row = find_subset(subset)
    if gold not in GOLDS:
        raise ValueError(f'FuncQA has the gold answers {" and ".join(GOLDS)}, not {gold!r}')
    rows = {str(number): raw for number, raw in enumerate(read_list(file, FIX))}
    records = _records(file, rows, subset, gold)
    if len(records) != row.count:
        logger.warning('%s has %d questions; the published %s has %d', file, len(records), subset, row.count)
    return _records(file, change(rows), subset, gold) if change else records


def _records(file: Path, rows: Mapping[str, Any], subset: str, gold: str) -> list[Record]:
    records = []
    for number, raw in rows.items():
        with naming_record(file, number, FIX):
            records.append(_record(number, raw, subset, gold))
    return records
