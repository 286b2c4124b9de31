"""Prompts and replies of the judge of plans and created tools (arXiv 2401.17167, App. B.2).

Pure: `judging` sends the requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.benchmarks.ultratool import judge_prompts
from opencompass_tooleval.core.calls.answer import strip_reasoning, unfence
from opencompass_tooleval.core.text.bounds import MAX_CHARS
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.core.text.reading import parse_enclosed
from opencompass_tooleval.judging import judge_item
from opencompass_tooleval.judging.judge_item import fill
from opencompass_tooleval.judging.judgement import UNREAD, Unread, unread_reply

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

_PROMPTS = {
    ('planning', 'zh'): judge_prompts.PLANNING_ZH,
    ('planning', 'en'): judge_prompts.PLANNING_EN,
    ('tool_creation', 'zh'): judge_prompts.TOOL_CREATION_ZH,
    ('tool_creation', 'en'): judge_prompts.TOOL_CREATION_EN,
}
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
    return judge_item.prompt_hash(judge_prompts.SYSTEM + _PROMPTS[task, language])


def judge_prompt(task: str, language: str, question: str, reference: str, answer: str) -> str:
    """Fills the judge's template.

    Args:
        task: ``planning`` or ``tool_creation``.
        language: ``zh`` or ``en``.
        question: The user's request; for a created tool, the step that needs it.
        reference: The gold plan or tool.
        answer: The plan or tool to judge.
    """
    return fill(_PROMPTS[task, language], question=question, reference=reference, answer=answer)


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
