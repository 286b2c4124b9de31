"""The judge of plans and created tools (arXiv 2401.17167, section 3.1 and App. B.2): questions, replies and scores.

A judge gives 1-10 per dimension, shown as 0-100. Judgements are data, and each counts only for the answer that it
judged. Pure: `judging` sends the requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import Record, Subset
from opencompass_tooleval.benchmarks.ultratool.prompts import JUDGE_PROMPTS, JUDGE_SYSTEM
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.score_steps import (
    NOT_JUDGED,
    NOT_PERFECT,
    TOOL_MISSING,
    SampleResult,
    StepScore,
    item_of,
)
from opencompass_tooleval.core.calls.answer import EMPTY, strip_reasoning, unfence
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, answer_digest, bounded_text, to_jsonable
from opencompass_tooleval.core.text.reading import Parsed, parse_enclosed
from opencompass_tooleval.judging import judge_item
from opencompass_tooleval.judging.grading import Item
from opencompass_tooleval.judging.judge_item import JudgeItem, fill
from opencompass_tooleval.judging.judgement import (
    FAILED,
    MISSING,
    NO_JUDGEMENT,
    UNJUDGED,
    UNREAD,
    Judgement,
    Unread,
    unread_reply,
)

LOWEST, HIGHEST = 1, 10

LABELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    'planning': {
        'accuracy': ('准确性分数', 'Accuracy Score'),
        'completeness': ('完整性分数', 'Completeness Score'),
        'executability': ('可执行性分数', 'Executability Score'),
        'syntactic_soundness': ('语法健全性分数', 'Syntactic Soundness Score'),
        'structural_rationality': ('结构合理性分数', 'Structural Rationality Score'),
        'efficiency': ('高效性分数', 'Efficiency Score'),
        'overall': ('总分', 'Overall Score'),
    },
    'tool_creation': {
        'format_compliance': ('格式遵从性分数', 'Format Compliance Score'),
        'accuracy': ('准确性分数', 'Accuracy Score'),
        'content_reasonableness': ('内容合理性分数', 'Content Reasonableness Score'),
        'executability': ('可执行性分数', 'Executability Score'),
        'richness': ('丰富度分数', 'Richness Score'),
        'overall': ('总分', 'Total Score'),
    },
}
"""Task -> dimension -> its label in a Chinese and an English reply, in the paper's order."""

# 'Accuracy Score: 1-10' repeats the scale, and '2024' must not be read as 202.
_SCORE = r'(\d{1,3}(?:\.\d+)?)(?![\d.]|\s*[-–~]\s*\d)'
_QUOTED = re.compile(r'["\']([^"\'{}\[\]:]{1,60}?)["\']\s*[:：]\s*["\']?' + _SCORE)
_SCORE_BEHIND = re.compile(r'[\s*]*' + _SCORE)
_WHOLE_SCORE = re.compile(r'(\d{1,3}(?:\.\d+)?)\s*(?:/\s*10|分)?')
_MAX_SCORE_CHARS = 40
_COLON = re.compile('[:：]')
_LINE_MARKS = ' \t\r\f\v>*#-'
_NO_LABEL = re.compile(r'[{}\[\]"]')
_MAX_LABEL_CHARS = 60

_LETTERS = re.compile(r'[\W_]+')


@dataclass(frozen=True)
class Scores:
    """Content of a judge's reply.

    Attributes:
        scores: Dimension -> score, for every dimension of the task.
        why: Dimension -> the judge's reason, cut in length, if given. It does not affect scores.
    """

    scores: Mapping[str, float]
    why: Mapping[str, str] = field(default_factory=dict)

    def to_row(self) -> dict[str, Any]:
        """Returns the members for a row in a file of judgements."""
        return {'scores': dict(self.scores), 'why': dict(self.why)}


def prompt_hash(task: str, language: str) -> str:
    """Returns the hash of the system prompt and the template."""
    return judge_item.prompt_hash(JUDGE_SYSTEM + JUDGE_PROMPTS[task, language])


def judge_prompt(task: str, language: str, question: str, reference: str, answer: str) -> str:
    """Fills the judge's template.

    Args:
        task: ``planning`` or ``tool_creation``.
        language: ``zh`` or ``en``.
        question: The user's request; for a created tool, the step that needs it.
        reference: The gold plan or tool.
        answer: The plan or tool to judge.
    """
    return fill(JUDGE_PROMPTS[task, language], question=question, reference=reference, answer=answer)


def _plain(label: str) -> str:
    """Normalizes a label: ignores case, spaces and marks, since judges write ``**Accuracy score**``."""
    return _LETTERS.sub('', label).casefold()


def _number(value: Any) -> float | None:
    """Parses a score as a number: ``8``, ``"8"``, ``"8/10"`` and ``"8分"`` are 8."""
    # In Python true equals 1, which would be the lowest score.
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:  # an integer of thousands of digits
            return None
    text = value.strip() if isinstance(value, str) else ''
    match = _WHOLE_SCORE.fullmatch(text) if len(text) <= _MAX_SCORE_CHARS else None
    return float(match.group(1)) if match else None


def _items(value: Any) -> list[dict[Any, Any]]:
    """Returns the dicts of a list, or a single dict in a list."""
    return [item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, dict)]


def _fields(items: Iterable[Mapping[Any, Any]]) -> dict[str, Any]:
    """Merges dicts: label -> value."""
    return _collect((str(label), content) for item in items for label, content in item.items())


def _collect(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Returns normalized label -> value; None for a label with two different values."""
    fields: dict[str, Any] = {}
    for label, content in pairs:
        name = _plain(label)
        fields[name] = content if fields.get(name, content) == content else None
    return fields


@dataclass(frozen=True)
class _Scored:
    """A label with its score, and their positions in a reply."""

    label: str
    score: str
    start: int
    end: int


def _quoted_scores(text: str) -> list[_Scored]:
    """Finds ``"label": 7`` anywhere in a text."""
    return [_Scored(match.group(1), match.group(2), match.start(), match.end()) for match in _QUOTED.finditer(text)]


def _line_scores(text: str) -> list[_Scored]:
    """Finds lines ``Label: 7``, with the marks of lists and headings; the score may follow on the next line.

    Lines are split at their first colon without a pattern: a pattern for marks, label and spaces would try every split
    of 200,000 spaces.
    """
    scores = []
    start = 0
    for line in text.split('\n'):
        colon = _COLON.search(line)
        label = line[: colon.start()].strip().lstrip(_LINE_MARKS) if colon else ''
        if colon and 0 < len(label) <= _MAX_LABEL_CHARS and not _NO_LABEL.search(label):
            match = _SCORE_BEHIND.match(text, start + colon.end())
            if match:
                scores.append(_Scored(label, match.group(1), start, match.end()))
        start += len(line) + 1
    return scores


_REASON_WORDS = ('Reasoning', 'Scoring Reason', 'Reason', '打分理由', '评分理由', '理由')
_REASON_LABELS = frozenset(map(_plain, _REASON_WORDS))
_REASON = re.compile(rf'(?:{"|".join(_REASON_WORDS)})["\'*]*\s*[:：]', re.IGNORECASE)
_AROUND_REASON = ' \t\r\n,;"\'*{}[]'


def _reasons(items: Iterable[Mapping[Any, Any]]) -> dict[str, str]:
    """Returns normalized label -> the reason in the same dict; dicts with several scores are skipped."""
    reasons: dict[str, str] = {}
    for item in items:
        fields = {_plain(str(label)): content for label, content in item.items()}
        reason = next((fields[name] for name in fields if name in _REASON_LABELS), None)
        scored = [
            name for name, content in fields.items() if name not in _REASON_LABELS and _number(content) is not None
        ]
        if reason and len(scored) == 1:
            reasons.setdefault(scored[0], bounded_text(reason))
    return reasons


def _reasons_between(text: str, scores: Sequence[_Scored]) -> dict[str, str]:
    """Finds reasons in a reply that is not JSON, before a score and after the last one."""
    reasons: dict[str, str] = {}
    position = 0
    for scored in scores:
        reason = _REASON.search(text, position, scored.start)
        if reason:
            reason_text = text[reason.end() : scored.start].strip(_AROUND_REASON)
            reasons.setdefault(_plain(scored.label), bounded_text(reason_text))
        position = scored.end
    return reasons


def _read(text: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Parses the content of a reply: a list, an object, or else ``"label": number`` or lines ``Label: number``.

    Returns:
        Label -> value, and label -> reason for scores with a reason.
    """
    for start, end in (('[', ']'), ('{', '}')):
        parsed = parse_enclosed(text, start, end)
        items = _items(parsed.value) if parsed.ok else []
        fields = _fields(items)
        if fields:
            return fields, _reasons(items)
    scores = _quoted_scores(text) or _line_scores(text)
    return _collect((scored.label, scored.score) for scored in scores), _reasons_between(text, scores)


def parse_scores(reply: Any, task: str, lowest: float = LOWEST) -> Scores | Unread:
    """Parses a judge's reply; never raises.

    Args:
        reply: The text of the reply, or a list from a file of judgements.
        task: ``planning`` or ``tool_creation``.
        lowest: The lowest valid score. 0 for the published judgements: one plan has 0 in six dimensions, and Table 4
            counts it.

    Returns:
        A score from ``lowest`` to 10 for every dimension, with its reason if given; or why a score is missing
        (``unread``, ``missing:<dimension>``, ``range:<dimension>``). Labels in either language are accepted.
    """
    if isinstance(reply, str) and len(reply) > MAX_CHARS:
        return Unread('too_long')
    if isinstance(reply, str):
        fields, reasons = _read(unfence(strip_reasoning(reply).text))
    else:
        items = _items(reply)
        fields, reasons = _fields(items), _reasons(items)
    if not fields:
        return unread_reply(reply) if isinstance(reply, str) else Unread(UNREAD)
    scores: dict[str, float] = {}
    why: dict[str, str] = {}
    for dimension, labels in LABELS[task].items():
        label = next((name for name in map(_plain, labels) if name in fields), None)
        number = None if label is None else _number(fields[label])
        if number is None:
            return Unread(f'missing:{dimension}')
        if not lowest <= number <= HIGHEST:
            return Unread(f'range:{dimension}')
        scores[dimension] = number
        if label in reasons:
            why[dimension] = reasons[label]
    return Scores(scores, why)


JUDGED_KINDS = ('planning', 'creation')
"""Kinds of subsets that need a judge."""

NOTHING_TO_JUDGE = frozenset({TOOL_MISSING, EMPTY})
"""Reasons of steps without an item to judge: no created tool, or no plan."""


Judged = Judgement[Scores]
"""The judgement of a plan, or of the created tool for a gold step: ``step`` is the step's number."""


def dimensions(subset: Subset) -> tuple[str, ...]:
    """Returns the judge's dimensions of a task, in the paper's order."""
    return tuple(LABELS[subset.task])


def _is_tool(tool: Any) -> bool:
    return isinstance(tool, dict) and bool(tool)


def _with_lists(value: Any) -> Any:
    """Replaces tuples by lists: the published code converts created tools to JSON for its judge."""
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return [_with_lists(item) for item in value] if isinstance(value, (list, tuple)) else value


def created_tools(record: Record, items: Sequence[Any], protocol: Protocol) -> dict[str, Mapping[str, Any]]:
    """Returns the created tools to judge: number of a gold step -> its tool, a non-empty object.

    In official scoring the first item with the number and a tool decides, valid or not; in strict scoring the first
    item whose tool can be judged.
    """
    tools = {}
    for step in record.reference:
        item, _ = item_of(
            items, step, protocol, lambda item: _is_tool(item.get('tool')) if protocol.strict else 'tool' in item
        )
        if item is not None and _is_tool(item['tool']):
            tools[step.number] = _with_lists(item['tool'])
    return tools


def judged_parts(record: Record, parsed: Parsed, protocol: Protocol) -> dict[str, Any]:
    """Returns the parts of an answer to judge: its plan under ``''``, or the created tools by step number.

    A missing plan (an empty answer, unfinished thoughts, no text) is left out.
    """
    if record.subset.kind == 'planning':
        return {'': parsed.value} if isinstance(parsed.value, str) and parsed.value.strip() else {}
    return dict(created_tools(record, parsed.value if isinstance(parsed.value, list) else (), protocol))


def complete(record: Record, judgements: Sequence[Judged]) -> list[Judged]:
    """Returns the judgements of a record with an unknown answer, one per possible item.

    An item without a row is ``unjudged``; for a gold step without a created tool, files have a row with ``missing``.
    """
    by_step = {judged.step: judged for judged in judgements}
    return [by_step.get(number, Judged(record.id, number, FAILED, fault=NO_JUDGEMENT)) for number in numbers(record)]


def numbers(record: Record) -> list[str]:
    """Returns the step number of each possible item."""
    return [''] if record.subset.kind == 'planning' else [step.number for step in record.reference]


def not_judged(record: Record, parsed: Parsed, protocol: Protocol) -> SampleResult:
    """Returns the result of an answer without a judge: every score is None."""
    parts, names = judged_parts(record, parsed, protocol), dimensions(record.subset)
    missing = EMPTY if record.subset.kind == 'planning' else TOOL_MISSING
    reasons = {number: NOT_JUDGED if number in parts else missing for number in numbers(record)}
    steps = tuple(
        StepScore(number, dict.fromkeys(names), reason, codes=(reason,)) for number, reason in reasons.items()
    )
    return SampleResult(dict.fromkeys(names), steps)


def _step(judged: Judged, names: Sequence[str]) -> StepScore:
    if found := judged.found:
        values: dict[str, float | None] = {name: found.scores[name] / HIGHEST for name in names}
        reason = OK if all(value == 1 for value in values.values()) else NOT_PERFECT
        return StepScore(
            judged.step, values, reason, dict(found.scores), why=dict(found.why), answer_digest=judged.answer_digest
        )
    if judged.status == MISSING:
        reason = TOOL_MISSING if judged.step else EMPTY
        return StepScore(judged.step, dict.fromkeys(names, 0.0), reason, codes=(reason,))
    return StepScore(
        judged.step,
        dict.fromkeys(names),
        UNJUDGED,
        codes=(UNJUDGED,),
        answer_digest=judged.answer_digest,
        fault=judged.fault,
    )


def score_judged(subset: Subset, judgements: Sequence[Judged], protocol: Protocol) -> SampleResult:
    """Computes the scores of one sample: the scores of its plan, or means over its created tools.

    In official scoring a missing tool is left out, unless the sample has no tool at all: then each step counts 0. In
    strict scoring every missing tool counts 0. Missing judgements are left out of the mean and counted.
    """
    names = dimensions(subset)
    steps = tuple(_step(judged, names) for judged in judgements)
    counted = [step for step in steps if step.reason not in {*NOTHING_TO_JUDGE, UNJUDGED}]
    tried = any(step.reason not in NOTHING_TO_JUDGE for step in steps)
    if protocol.strict or not tried:
        counted = [step for step in steps if step.reason != UNJUDGED]
    else:  # a detail must not show a 0 that is left out
        steps = tuple(
            replace(step, values=dict.fromkeys(names)) if step.reason in NOTHING_TO_JUDGE else step for step in steps
        )
    flat = {name: tuple(float(step.values[name] or 0) for step in counted) for name in names}
    return SampleResult(
        {name: sum(values) / len(values) if values else None for name, values in flat.items()}, steps, flat=flat
    )


def _tool_text(tool: Any, protocol: Protocol) -> str:
    """Formats a tool; in official scoring as Python does."""
    return json.dumps(to_jsonable(tool), ensure_ascii=False) if protocol.strict else str(tool)


def _question(step: str, protocol: Protocol) -> str:
    """Returns the question for the judge of a created tool; in official scoring, the word after the step's number.

    For ``1.2 Query the rate`` it is ``Query``; a Chinese step is mostly one word.
    """
    return step if protocol.strict else ''.join(step.split(' ')[1:2])


def items_to_judge(record: Record, parsed: Parsed, protocol: Protocol) -> Iterator[Item[Scores]]:
    """Yields the plan in an answer, or the created tool for each gold step.

    Yields:
        The judgement without the judge's reply, and the question; None if nothing can be judged. ``12`` names the plan
        of record 12, ``12/1.2`` its tool for step 1.2.
    """
    parts, task = judged_parts(record, parsed, protocol), record.subset.task
    texts = {
        step.number: (_question(step.text, protocol), _tool_text(step.tool, protocol)) for step in record.reference
    }
    for number in numbers(record):
        if number not in parts:
            yield Judgement(record.id, number, MISSING), None
            continue
        part = parts[number]
        shown = (*texts[number], _tool_text(part, protocol)) if number else (record.question, record.plan, part)
        prompt, name = judge_prompt(task, record.language, *shown), f'{record.id}/{number}' if number else record.id
        item = JudgeItem(name, prompt, partial(parse_scores, task=task), JUDGE_SYSTEM)
        yield Judgement(record.id, number, FAILED, answer_digest=answer_digest(part)), item
