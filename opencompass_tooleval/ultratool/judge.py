"""The judge of plans and created tools: what it is asked, and what its reply says (arXiv 2401.17167, App. B.2).

Pure: asking is the host's business.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.answer import strip_reasoning, unfence
from opencompass_tooleval.core.parse import parse_enclosed
from opencompass_tooleval.ultratool import judge_prompts

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
"""Task -> dimension -> its label in a Chinese and in an English reply, in the paper's order."""

_PROMPTS = {
    ('planning', 'zh'): judge_prompts.PLANNING_ZH,
    ('planning', 'en'): judge_prompts.PLANNING_EN,
    ('tool_creation', 'zh'): judge_prompts.TOOL_CREATION_ZH,
    ('tool_creation', 'en'): judge_prompts.TOOL_CREATION_EN,
}
_PLACEHOLDER = re.compile(r'\{(question|reference|answer)\}')
_LETTERS = re.compile(r'[\W_]+')


@dataclass(frozen=True)
class Judgement:
    """What a judge's reply says.

    Attributes:
        scores: Dimension -> score, every dimension of the task; empty if ``fault``.
        fault: Why the reply is no judgement (``unread``, ``missing:<dimension>``, ``range:<dimension>``), or ``''``.
    """

    scores: Mapping[str, float]
    fault: str = ''


def prompt_hash(task: str, language: str) -> str:
    """12 hex digits of the template, so that a judgement says what it was asked with."""
    return hashlib.sha256(_PROMPTS[task, language].encode('utf-8')).hexdigest()[:12]


def judge_prompt(task: str, language: str, question: str, reference: str, answer: str) -> str:
    """Fills the judge's template; what is filled in is never read as a placeholder itself.

    Args:
        task: ``planning`` or ``tool_creation``.
        language: ``zh`` or ``en``.
        question: The user's request; for a created tool the step that needs it.
        reference: The gold plan or tool.
        answer: What is judged.
    """
    values = {'question': question, 'reference': reference, 'answer': answer}
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], _PROMPTS[task, language])


def _plain(label: str) -> str:
    """A label without case, blanks and marks: judges write ``**Accuracy score**``."""
    return _LETTERS.sub('', label).casefold()


def _number(value: Any) -> float | None:
    """A score as a number: ``8``, ``"8"``, ``"8/10"`` and ``"8分"`` all are 8."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    match = re.match(r'\s*(\d{1,3}(?:\.\d+)?)\s*(?:/\s*10|分)?\s*$', value) if isinstance(value, str) else None
    return float(match.group(1)) if match else None


def _fields(value: Any) -> dict[str, Any]:
    """Label -> value over a list of dicts, or one dict."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return _collect(
        (str(label), content) for item in items if isinstance(item, dict) for label, content in item.items()
    )


def _collect(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Plain label -> value; None for a label with two values, which says nothing."""
    fields: dict[str, Any] = {}
    for label, content in pairs:
        name = _plain(label)
        fields[name] = content if fields.get(name, content) == content else None
    return fields


_SCORE = r'(\d{1,3}(?:\.\d+)?)(?![\d.]|\s*[-–~]\s*\d)'
_QUOTED = re.compile(r'["\']([^"\'{}\[\]:]{1,60}?)["\']\s*[:：]\s*["\']?' + _SCORE)
_LINE = re.compile(r'^[\s>*#-]*([^\n:：{}\[\]"]{1,60}?)\s*[:：][\s*]*' + _SCORE, re.MULTILINE)


def _read(text: str) -> dict[str, Any]:
    """Label -> value of a reply: a list, an object, or else ``"label": number`` or lines ``Label: number``."""
    for start, end in (('[', ']'), ('{', '}')):
        parsed = parse_enclosed(text, start, end)
        fields = _fields(parsed.value) if parsed.ok else {}
        if fields:
            return fields
    return _collect(_QUOTED.findall(text)) or _collect(_LINE.findall(text))


def parse_judgement(reply: Any, task: str, lowest: float = LOWEST) -> Judgement:
    """Reads a judge's reply; never raises.

    Args:
        reply: The text of the reply, or the list that a file of judgements holds in its place.
        task: ``planning`` or ``tool_creation``.
        lowest: The lowest score that counts. The published judgements hold a plan with 0 in six dimensions, and Table 4
            counts it: they are read with 0 here.

    Returns:
        A score from ``lowest`` to 10 for every dimension, or the fault. Labels of either language are read in either.
    """
    fields = _read(unfence(strip_reasoning(reply))) if isinstance(reply, str) else _fields(reply)
    if not fields:
        return Judgement({}, 'unread')
    scores: dict[str, float] = {}
    for dimension, labels in LABELS[task].items():
        found = next((fields[name] for name in map(_plain, labels) if name in fields), None)
        number = _number(found)
        if number is None:
            return Judgement({}, f'missing:{dimension}')
        if not lowest <= number <= HIGHEST:
            return Judgement({}, f'range:{dimension}')
        scores[dimension] = number
    return Judgement(scores)
