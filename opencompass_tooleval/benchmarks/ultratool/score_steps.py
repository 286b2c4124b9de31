"""Scores of steps, matching of steps, and codes of their errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import GoldStep, Record, published_step_number, step_number
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.core.calls.one_call import UNKNOWN_TOOL
from opencompass_tooleval.core.scoring.result import OK, SampleScore
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.core.text.reading import NO_BRACKETS

STEP_MISSING = 'step:missing'
WRONG_STEP = 'step:wrong_step'
REDUNDANT_STEP = 'step:redundant_step'
UNREADABLE = 'step:unreadable'
WRONG_FLAG = 'awareness:wrong_value'
WRONG_TOOL = 'name:wrong'
ARGS_MISSING = 'args:missing'
ARGS_EXTRA = 'args:extra'
ARGS_WRONG = 'args:wrong'
ARGS_HALLUCINATED = 'args:hallucinated_argument'
ARGS_NO_GOLD = 'args:none_in_gold'
TOOL_MISSING = 'tool:missing'
NOT_JUDGED = 'judge:not_asked'
NOT_PERFECT = 'judge:below_full'

ERROR_TYPES: Mapping[str, tuple[str, ...]] = {
    'not_following_instructions': ('answer:', NO_BRACKETS, UNREADABLE),
    'hallucinations': (UNKNOWN_TOOL, ARGS_HALLUCINATED, WRONG_STEP),
    'redundant_outputs': (REDUNDANT_STEP, ARGS_EXTRA),
    'incomplete_outputs': (STEP_MISSING, TOOL_MISSING, ARGS_MISSING),
    'incorrect_json': ('parse:',),
}
"""The paper's five types (section 4.5, App. B.5) -> codes or areas; the first match counts. Other codes are wrong
choices or values, for which the paper has no type."""

Values = Mapping[str, float | None]


@dataclass(frozen=True)
class ArgumentScore:
    """An argument of the gold answer; or only of the prediction (``extra``, ``hallucinated``), then without a
    ``value``."""

    name: str
    reason: str
    value: float | None = None
    predicted: Any = None
    gold: Any = None


@dataclass(frozen=True)
class StepScore:
    """One gold step.

    Attributes:
        number: Number of the step.
        values: Metric over steps -> 0-1; None if it does not count, such as without a judgement.
        reason: ``ok`` or the reason for a lost point, as ``area:code``.
        predicted: The answer's value.
        gold: The gold value.
        codes: All errors of the step, including those that cost no point.
        arguments: For usage: the step's arguments.
        why: For judged tasks: dimension -> the judge's reason.
        answer_digest: For judged tasks: digest of the judged item.
        fault: Why the judgement is missing; ``''`` otherwise.
    """

    number: str
    values: Values
    reason: str
    predicted: Any = None
    gold: Any = None
    codes: tuple[str, ...] = ()
    arguments: tuple[ArgumentScore, ...] = ()
    why: Mapping[str, str] = field(default_factory=dict)
    answer_digest: str = ''
    fault: str = ''


@dataclass(frozen=True)
class OtherStep:
    """A predicted item that belongs to no gold step: ``step:wrong_step`` or ``step:redundant_step``."""

    number: str | None
    reason: str


@dataclass(frozen=True)
class StepsScore(SampleScore):
    """The score of one sample, with its steps.

    Attributes:
        steps: One per gold step, in order.
        others: Predicted items that belong to no gold step.
        flat: Metric -> values for its mean over all steps of the data set: the paper averages ``local`` metrics, and
            the judge's metrics of created tools, over steps and not over samples.
        domain: One of 22 domains, or ``''``.
    """

    steps: tuple[StepScore, ...] = ()
    others: tuple[OtherStep, ...] = ()
    flat: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    domain: str = ''

    def codes(self) -> Counter[str]:
        """Counts the codes: of the complete answer if it is unreadable, else of its steps."""
        if self.reason.startswith(('parse:', 'answer:', 'infra:')):
            return Counter([self.reason])
        counts = Counter(code for step in self.steps for code in step.codes)
        counts.update(other.reason for other in self.others)
        return counts

    def to_detail(self) -> dict[str, Any]:
        """Returns the detail of the sample, with ``domain``, ``steps`` and ``other_steps``."""
        return {
            **super().to_detail(),
            'domain': self.domain,
            'steps': [_step_detail(step) for step in self.steps],
            'other_steps': [{'step': to_jsonable(other.number), 'reason': other.reason} for other in self.others],
        }


def _step_detail(step: StepScore) -> dict[str, Any]:
    if_any = {
        'why': to_jsonable(step.why),
        'answer_digest': step.answer_digest,
        'fault': to_jsonable(step.fault),
        'arguments': [
            {
                'name': to_jsonable(argument.name),
                'value': argument.value,
                'reason': argument.reason,
                'predicted': to_jsonable(argument.predicted),
                'gold': to_jsonable(argument.gold),
            }
            for argument in step.arguments
        ],
    }
    return {
        'step': to_jsonable(step.number),
        'values': dict(step.values),
        'reason': step.reason,
        'codes': list(step.codes),
        'predicted': to_jsonable(step.predicted),
        'gold': to_jsonable(step.gold),
        **{key: value for key, value in if_any.items() if value},
    }


@dataclass(frozen=True)
class SampleResult:
    """A scorer's result for a sample."""

    values: Values
    steps: tuple[StepScore, ...]
    flat: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """``ok``, or the reason of the first step that lost a point."""
        return next((step.reason for step in self.steps if step.reason != OK), OK)


def number_of(item: Any, protocol: Protocol) -> str | None:
    """Returns the step number of a predicted item; None without one."""
    text = item.get('step') if isinstance(item, dict) else None
    return step_number(text) if protocol.strict else published_step_number(text)


def item_of(
    items: Sequence[Any], step: GoldStep, protocol: Protocol, readable: Callable[[Mapping[str, Any]], bool]
) -> tuple[Mapping[str, Any] | None, bool]:
    """Finds the first readable predicted item with the number of ``step``.

    Returns:
        The item, or None; and True if any item has that number.
    """
    seen = False
    for item in items:
        if number_of(item, protocol) == step.number:
            seen = True
            if readable(item):
                return item, True
    return None, seen


def other_steps(record: Record, items: Sequence[Any], protocol: Protocol) -> Iterator[OtherStep]:
    """Yields predicted items, except for the first item of each gold step."""
    plan = {step.number for step in record.steps}
    unanswered = {step.number for step in record.reference}
    for item in items:
        number = number_of(item, protocol)
        if number in unanswered:
            unanswered.discard(number)
        else:
            yield OtherStep(number, REDUNDANT_STEP if number in plan else WRONG_STEP)


def error_type(code: str) -> str | None:
    """Returns the paper's error type of a code; None without a type."""
    return next(
        (
            name
            for name, patterns in ERROR_TYPES.items()
            if any(code.startswith(pattern) if pattern.endswith(':') else code == pattern for pattern in patterns)
        ),
        None,
    )
