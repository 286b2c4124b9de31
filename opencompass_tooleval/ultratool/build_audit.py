"""Faults of the official files, looked for against one another and against the plans, and counted.

A count of 0 is a finding too. Errata that are repaired are in :mod:`~opencompass_tooleval.ultratool.errata`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.ultratool.build import (
    gold_arguments,
    planning_row,
    published_withheld,
    usage_awareness_row,
)
from opencompass_tooleval.ultratool.build_read import PlanSample, properties
from opencompass_tooleval.ultratool.build_tools import same_function
from opencompass_tooleval.ultratool.errata import find_errata

Rows = Sequence[Mapping[str, Any]]
Hits = Iterator[tuple[str, int]]

_HAN = re.compile('[\u4e00-\u9fff]')
_REREAD = ('json', '\n', 'true', 'false', 'null', 'None', '，', '\\_')
_QUESTIONS: dict[str, tuple[str, ...]] = {
    'planning': ('row that differs from the plan',),
    'tool_usage_awareness': (
        'row that differs from the plan',
        'leaf step that the plan marks as a parent: not asked',
        'parent step that is asked',
    ),
    'tool_creation': (
        'withheld tool among the tools to look at',
        'tool to look at that could do a withheld step, by our criterion',
        'gold tool that differs from the toolset of the plan',
        'later step that calls a withheld tool: not asked',
    ),
    'tool_usage': (
        'value cut at a comma (repaired)',
        'value that kept its double quotes (repaired)',
        'step whose call was left out, with its tool',
        'gold tool not in the toolset',
        'gold argument not in the properties of its tool',
        'argument of the plan that its tool does not have: left out',
        'argument of the plan that is left out otherwise',
        'step without any argument',
        'required argument that is missing',
        'empty value',
        'value in Chinese script in an English file',
        'number or integer whose value is words',
        'boolean, written true or false',
        'value that the published reading alters in a right answer',
    ),
}
_ANY_TASK = (
    'gold step that is not in the input',
    'step that is asked, without gold',
    'two gold steps of one number',
)


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
    differs, *awareness = _QUESTIONS[task]
    rebuild = planning_row if task == 'planning' else usage_awareness_row
    for number, (raw, sample) in enumerate(zip(rows, samples, strict=True)):
        if {key: raw.get(key) for key in ('input', 'reference')} != rebuild(sample):
            yield differs, number
        if not awareness:
            continue
        numbers = [step.text.split(None, 1)[0].rstrip('.') for step in sample.steps]
        for step, own in zip(sample.steps, numbers, strict=True):
            has_children = any(other.startswith(f'{own}.') for other in numbers)
            if step.is_parent != has_children:
                yield awareness[0] if step.is_parent else awareness[1], number


def _creation_hits(rows: Rows, samples: Sequence[PlanSample]) -> Hits:
    inside, serves, differs, later = _QUESTIONS['tool_creation']
    withheld = published_withheld(rows)
    for number, (raw, sample) in enumerate(zip(rows, samples, strict=True)):
        gold = [item['tool'] for item in raw['reference']]
        for shown in raw['toolset']:
            if shown['name'] in withheld[number]:
                yield inside, number
            elif any(same_function(shown, tool) for tool in gold):
                yield serves, number
        yield from ((differs, number) for tool in gold if tool not in sample.tools)
        asked = {item['step'] for item in raw['reference']}
        for position, call in sample.calls.items():
            if call.tool in withheld[number] and sample.steps[position].text not in asked:
                yield later, number


def _value_hits(value: str, schema: Any, english: bool) -> Iterator[str]:
    *_, empty, script, words, boolean, altered = _QUESTIONS['tool_usage']
    kind = schema.get('type') if isinstance(schema, Mapping) else None
    if not value:
        yield empty
    if english and _HAN.search(value):
        yield script
    if kind in ('integer', 'number') and value and not value.startswith('<') and not _is_number(value):
        yield words
    if value in ('true', 'false'):
        yield boolean
    if any(mark in value for mark in _REREAD):
        yield altered


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _usage_hits(rows: Rows, samples: Sequence[PlanSample]) -> Hits:
    cut, quoted, no_call, no_tool, no_property, foreign, lost, bare, required, *_ = _QUESTIONS['tool_usage']
    for erratum in find_errata(rows, samples):
        yield cut if erratum.kind == 'cut' else quoted, erratum.row
    english = sum(bool(_HAN.search(sample.question)) for sample in samples) < len(samples) / 2
    for number, (raw, sample) in enumerate(zip(rows, samples, strict=True)):
        tools = {tool['name']: tool for tool in raw['toolset']}
        gold = {(item['step'], item['tool']): item['param'] for item in raw['reference']}
        for position, call in sample.calls.items():
            found = gold.get((sample.steps[position].text, call.tool))
            if found is None:
                yield no_call, number
                continue
            known = gold_arguments(call, sample.tool(call.tool))
            yield from ((foreign, number) for argument in call.arguments if argument.name not in known)
            yield from ((lost, number) for name in known if name not in found)
        for (_, name), param in gold.items():
            tool = tools.get(name)
            if tool is None:
                yield no_tool, number
                continue
            if not param:
                yield bare, number
            yield from ((required, number) for key in tool.get('arguments', {}).get('required', ()) if key not in param)
            for key, value in param.items():
                if key not in properties(tool):
                    yield no_property, number
                for hit in _value_hits(str(value), properties(tool).get(key), english):
                    yield hit, number


def _step_hits(rows: Rows) -> Hits:
    outside, unanswered, twice = _ANY_TASK
    for number, raw in enumerate(rows):
        given = {item['step'] for item in raw['input']}
        asked = {item['step'] for item in raw['input'] if 'tool' in item}
        gold = [item['step'] for item in raw['reference']]
        yield from ((outside, number) for step in gold if step not in given)
        yield from ((unanswered, number) for step in asked - set(gold))
        numbers = [step.split(None, 1)[0] for step in gold]
        yield from ((twice, number) for _ in range(len(numbers) - len(set(numbers))))


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
        hits = list(_hits(task, rows, samples))
        for what in (*_QUESTIONS.get(task, ()), *(_ANY_TASK if task != 'planning' else ())):
            found = [row for hit, row in hits if hit == what]
            findings.append(Finding(task, what, len(found), tuple(dict.fromkeys(found))[:examples]))
    return findings


def format_findings(findings: Iterable[Finding]) -> str:
    """The findings as lines of text: count, file, fault, first rows."""
    lines = []
    for finding in findings:
        rows = f' (rows {", ".join(map(str, finding.rows))}{", ..." if finding.count > len(finding.rows) else ""})'
        lines.append(f'{finding.count:>6}  {finding.task}: {finding.what}{rows if finding.rows else ""}')
    return '\n'.join(lines)
