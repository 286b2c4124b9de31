"""Errors in the published tool_usage gold, found by comparison with the plans in ``test.json``, and their repair.

The authors made their file from the plans by cutting each argument at its first comma (see
:func:`~opencompass_tooleval.extras.preparing.ultratool_rows.published_value`). Of its 6,809 values these are damaged:

* ``cut``: values with a comma, 267 in English and 36 in Chinese. ``'Hello, AI'`` became ``Hell``, and a list its
  first item: ``['a', 'b']`` became ``['a'``.
* ``quoted``: values in double quotes, which were kept: 21 in English and 24 in Chinese. (Three more of the English
  values have a comma and count as cut.)

Three arguments in the plans, two in row 901 and one in row 348, have their *name* in quotes
(``set_reminder(reminder_title='Feeding', "reminder_time"=...)``). A parser of unquoted names takes the first two as
part of the value before them, and so counts 269 and 38 values as cut. They are not damaged: the tool has no argument
with that name, and the published gold correctly leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import Argument, Call, PlanSample
from opencompass_tooleval.extras.preparing.ultratool_rows import PUBLISHED_WITHOUT, gold_arguments, usage_row

KINDS = ('cut', 'quoted')


@dataclass(frozen=True)
class Erratum:
    """One damaged value.

    Attributes:
        row: Number of the row in tool_usage.json, from 0.
        step: Text of the step.
        tool: Tool of the step.
        argument: Name of the argument.
        published: The value in the file.
        repaired: The value in the plan.
        kind: One of ``KINDS``.
    """

    row: int
    step: str
    tool: str
    argument: str
    published: str
    repaired: str
    kind: str


def _compare(row: int, item: Mapping[str, Any], call: Call, right: Mapping[str, str]) -> Iterator[Erratum]:
    raw: dict[str, Argument] = {argument.name: argument for argument in call.arguments}
    for name, published in item['param'].items():
        if name in right and published != right[name]:
            kind = 'cut' if ',' in raw[name].raw else 'quoted'
            yield Erratum(row, item['step'], item['tool'], name, str(published), right[name], kind)


def _row_errata(raw: Mapping[str, Any], sample: PlanSample) -> Iterator[Erratum]:
    calls = {(sample.steps[position].text, call.tool): call for position, call in sample.calls.items()}
    for item in raw['reference']:
        call = calls.get((item['step'], item['tool']))
        if call is None:
            raise ValueError(
                f'tool_usage, row {sample.row}: the plan has no call of {item["tool"]!r} in {item["step"]!r}'
            )
        yield from _compare(sample.row, item, call, gold_arguments(call, sample.tool(call.tool)))


def find_errata(rows: Sequence[Mapping[str, Any]], samples: Iterable[PlanSample]) -> list[Erratum]:
    """Compares every gold value with the plan.

    Args:
        rows: The rows of tool_usage.json, in its order.
        samples: The annotated samples from which the file was made, in the same order.

    Returns:
        The values that differ, in the order of the file.

    Raises:
        ValueError: A row belongs to no sample, or a gold step to no call; the error names the row.
    """
    by_row = {sample.row: sample for sample in samples}
    errata: list[Erratum] = []
    for number, raw in enumerate(rows):
        sample = by_row.get(number)
        if sample is None or sample.question != raw.get('question'):
            raise ValueError(
                f'tool_usage, row {number}: test.json has another question in this row; '
                'both files must have the same language and release'
            )
        errata.extend(_row_errata(raw, sample))
    return errata


def plan_errata(samples: Iterable[PlanSample]) -> list[Erratum]:
    """Finds the errors of a published file that is missing, by applying the authors' cuts to the plans.

    For test.json the result equals that of :func:`find_errata` on the published file.
    """
    return [
        erratum
        for sample in samples
        for erratum in _row_errata(usage_row(sample, without=PUBLISHED_WITHOUT, published=True), sample)
    ]


def repair_rows(rows: Sequence[Mapping[str, Any]], errata: Iterable[Erratum]) -> list[dict[str, Any]]:
    """Returns copies of ``rows`` with damaged values replaced by the plan's; adds no arguments."""
    values: dict[tuple[int, str], dict[str, str]] = {}
    for erratum in errata:
        values.setdefault((erratum.row, erratum.step), {})[erratum.argument] = erratum.repaired
    return [
        {
            **raw,
            'reference': [
                {**item, 'param': {**item['param'], **values.get((number, item['step']), {})}}
                for item in raw['reference']
            ],
        }
        for number, raw in enumerate(rows)
    ]
