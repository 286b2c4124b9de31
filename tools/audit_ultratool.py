"""Look for faults of UltraTool's official files, against one another and against the plans, and count them.

Usage: python tools/audit_ultratool.py data/ultratool/English-dataset/test.json data/ultratool/English-dataset

A count of 0 is a finding too. Errata that are repaired are in
:mod:`~opencompass_tooleval.extras.preparing.build_ultratool`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import TASKS, PlanSample, properties, read_rows, read_samples
from opencompass_tooleval.extras.preparing.build_ultratool import find_errata
from opencompass_tooleval.extras.preparing.ultratool_rows import (
    gold_arguments,
    planning_row,
    published_withheld,
    usage_awareness_row,
)
from opencompass_tooleval.extras.preparing.ultratool_tools import same_function

Rows = Sequence[Mapping[str, Any]]
Hits = Iterator[tuple[str, int]]

_HAN = re.compile('[\u4e00-\u9fff]')
_REREAD = ('json', '\n', 'true', 'false', 'null', 'None', '，', '\\_')
_FAULTS: dict[str, dict[str, str]] = {
    'planning': {'differs': 'row that differs from the plan'},
    'tool_usage_awareness': {
        'differs': 'row that differs from the plan',
        'leaf_as_parent': 'leaf step that the plan marks as a parent: not asked',
        'parent_as_leaf': 'parent step that is asked',
    },
    'tool_creation': {
        'withheld_shown': 'withheld tool among the tools to look at',
        'serves': 'tool to look at that could do a withheld step, by our criterion',
        'tool_differs': 'gold tool that differs from the toolset of the plan',
        'later_call': 'later step that calls a withheld tool: not asked',
    },
    'tool_usage': {
        'cut': 'value cut at a comma (repaired)',
        'quoted': 'value that kept its double quotes (repaired)',
        'no_call': 'step whose call was left out, with its tool',
        'no_tool': 'gold tool not in the toolset',
        'no_property': 'gold argument not in the properties of its tool',
        'foreign': 'argument of the plan that its tool does not have: left out',
        'lost': 'argument of the plan that is left out otherwise',
        'bare': 'step without any argument',
        'required': 'required argument that is missing',
        'empty': 'empty value',
        'chinese': 'value in Chinese script in an English file',
        'words': 'number or integer whose value is words',
        'boolean': 'boolean, written true or false',
        'altered': 'value that the published reading alters in a right answer',
    },
}
"""Task -> key of a fault -> what it is."""

_FAULTS_OF_STEPS = {
    'outside': 'gold step that is not in the input',
    'unanswered': 'step that is asked, without gold',
    'twice': 'two gold steps of one number',
}
"""Faults of every task but planning."""


@dataclass(frozen=True)
class Finding:
    """One kind of fault.

    Attributes:
        task: Whose file.
        what: The fault.
        count: How often it occurs.
        rows: The first rows that have it, each once.
    """

    task: str
    what: str
    count: int
    rows: tuple[int, ...]


def _plan_hits(task: str, rows: Rows, samples: Sequence[PlanSample]) -> Hits:
    rebuild = planning_row if task == 'planning' else usage_awareness_row
    for number, (raw, sample) in enumerate(zip(rows, samples, strict=True)):
        if {key: raw.get(key) for key in ('input', 'reference')} != rebuild(sample):
            yield 'differs', number
        if task == 'planning':
            continue
        numbers = [step.text.split(None, 1)[0].rstrip('.') for step in sample.steps]
        for step, step_number in zip(sample.steps, numbers, strict=True):
            has_children = any(other.startswith(f'{step_number}.') for other in numbers)
            if step.is_parent != has_children:
                yield 'leaf_as_parent' if step.is_parent else 'parent_as_leaf', number


def _creation_hits(rows: Rows, samples: Sequence[PlanSample]) -> Hits:
    withheld = published_withheld(rows)
    for number, (raw, sample) in enumerate(zip(rows, samples, strict=True)):
        gold = [item['tool'] for item in raw['reference']]
        for shown in raw['toolset']:
            if shown['name'] in withheld[number]:
                yield 'withheld_shown', number
            elif any(same_function(shown, tool) for tool in gold):
                yield 'serves', number
        yield from (('tool_differs', number) for tool in gold if tool not in sample.tools)
        asked = {item['step'] for item in raw['reference']}
        for position, call in sample.calls.items():
            if call.tool in withheld[number] and sample.steps[position].text not in asked:
                yield 'later_call', number


def _value_hits(value: str, schema: Any, english: bool) -> Iterator[str]:
    kind = schema.get('type') if isinstance(schema, Mapping) else None
    if not value:
        yield 'empty'
    if english and _HAN.search(value):
        yield 'chinese'
    if kind in ('integer', 'number') and value and not value.startswith('<') and not _is_number(value):
        yield 'words'
    if value in ('true', 'false'):
        yield 'boolean'
    if any(mark in value for mark in _REREAD):
        yield 'altered'


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _usage_hits(rows: Rows, samples: Sequence[PlanSample]) -> Hits:
    for erratum in find_errata(rows, samples):
        yield 'cut' if erratum.kind == 'cut' else 'quoted', erratum.row
    english = sum(bool(_HAN.search(sample.question)) for sample in samples) < len(samples) / 2
    for number, (raw, sample) in enumerate(zip(rows, samples, strict=True)):
        tools = {tool['name']: tool for tool in raw['toolset']}
        gold = {(item['step'], item['tool']): item['param'] for item in raw['reference']}
        for position, call in sample.calls.items():
            values = gold.get((sample.steps[position].text, call.tool))
            if values is None:
                yield 'no_call', number
                continue
            documented = gold_arguments(call, sample.tool(call.tool))
            yield from (('foreign', number) for argument in call.arguments if argument.name not in documented)
            yield from (('lost', number) for name in documented if name not in values)
        for (_, name), param in gold.items():
            tool = tools.get(name)
            if tool is None:
                yield 'no_tool', number
                continue
            if not param:
                yield 'bare', number
            required = tool.get('arguments', {}).get('required', ())
            yield from (('required', number) for key in required if key not in param)
            for key, value in param.items():
                if key not in properties(tool):
                    yield 'no_property', number
                for hit in _value_hits(str(value), properties(tool).get(key), english):
                    yield hit, number


def _step_hits(rows: Rows) -> Hits:
    for number, raw in enumerate(rows):
        given = {item['step'] for item in raw['input']}
        asked = {item['step'] for item in raw['input'] if 'tool' in item}
        gold = [item['step'] for item in raw['reference']]
        yield from (('outside', number) for step in gold if step not in given)
        yield from (('unanswered', number) for step in asked - set(gold))
        numbers = [step.split(None, 1)[0] for step in gold]
        yield from (('twice', number) for _ in range(len(numbers) - len(set(numbers))))


def _hits(task: str, rows: Rows, samples: Sequence[PlanSample]) -> Hits:
    if task in ('planning', 'tool_usage_awareness'):
        yield from _plan_hits(task, rows, samples)
    elif task == 'tool_creation':
        yield from _creation_hits(rows, samples)
    elif task == 'tool_usage':
        yield from _usage_hits(rows, samples)
    if task != 'planning':
        yield from _step_hits(rows)


def audit(files: Mapping[str, Rows], samples: Sequence[PlanSample], *, examples: int = 3) -> list[Finding]:
    """Looks for faults.

    Args:
        files: Task -> rows of its official file; of the six, the four that are published.
        samples: The annotated samples of the same rows.
        examples: How many rows a finding names.

    Returns:
        Every question that was asked of each file, with its count.

    Raises:
        ValueError: A file has not as many rows as there are samples, or is of others.
    """
    findings = []
    for task, rows in files.items():
        if len(rows) != len(samples):
            raise ValueError(f'{task} has {len(rows)} rows and test.json {len(samples)}')
        faults = _FAULTS.get(task, {}) | (_FAULTS_OF_STEPS if task != 'planning' else {})
        rows_with: dict[str, list[int]] = {fault: [] for fault in faults}
        for fault, row in _hits(task, rows, samples):
            rows_with[fault].append(row)
        for fault, numbers in rows_with.items():
            findings.append(Finding(task, faults[fault], len(numbers), tuple(dict.fromkeys(numbers))[:examples]))
    return findings


def format_findings(findings: Iterable[Finding]) -> str:
    """The findings as lines of text: count, file, fault, first rows."""
    lines = []
    for finding in findings:
        rows = f' (rows {", ".join(map(str, finding.rows))}{", ..." if finding.count > len(finding.rows) else ""})'
        lines.append(f'{finding.count:>6}  {finding.task}: {finding.what}{rows if finding.rows else ""}')
    return '\n'.join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('samples', type=Path, help='the annotated samples: test.json')
    parser.add_argument('official', type=Path, help="folder whose test_set holds the authors' files")
    options = parser.parse_args(arguments)
    files = {task: options.official / 'test_set' / f'{task}.json' for task in TASKS}
    read = {task: [row for _, row in read_rows(file)] for task, file in files.items() if file.is_file()}
    official = {task: rows for task, rows in read.items() if not any(row.get('rebuilt') for row in rows)}
    print(format_findings(audit(official, read_samples(options.samples))))


if __name__ == '__main__':
    main()
