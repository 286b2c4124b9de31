"""Scores trajectories: one record and one prediction in, one :class:`QuestionScore` out (EasyTool, Section 5.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from opencompass_tooleval.benchmarks.funcqa import VERSION
from opencompass_tooleval.benchmarks.funcqa.data import (
    TOOL_NAMES,
    Record,
    find_subset,
    parse_payload,
    plain,
    round_as_tools,
)
from opencompass_tooleval.benchmarks.funcqa.reading import Number, read_number, read_numbers
from opencompass_tooleval.core.calls.answer import EMPTY, TRUNCATED_REASONING, Answer, strip_reasoning
from opencompass_tooleval.core.calls.call_evidence import without_call_in_text
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from opencompass_tooleval.core.errors import Fault
from opencompass_tooleval.core.scoring.refusal import REFUSED, is_refusal
from opencompass_tooleval.core.scoring.result import OK, SampleScore
from opencompass_tooleval.core.scoring.scorer import Scorer

EASYTOOL = 'easytool'
"""The method whose ``accuracy`` follows the published labels."""

WITHOUT_TOOLS = ('zero_shot', 'cot')
"""Methods that cannot call a tool, and so have no tool-related errors."""

ACCURACY = 'accuracy'
STRICT_ACCURACY = 'strict_accuracy'
TOOL_ERROR = 'tool_error_rate'
NAME_ERROR = 'tool_name_error_rate'
PARAMETER_ERROR = 'parameter_error_rate'
WRONG_NUMBER = 'answer:wrong_number'
ANOTHER_NUMBER = 'answer:another_number'
NO_RESULT = 'step:no_result'

_NAME_ERRORS = 'name:'
_PARAMETER_ERRORS = 'args:'

_TOOLS = tuple(ToolSchema(name, '', {}) for name in TOOL_NAMES)
TOLERANCE = Fraction(1, 1000)
"""Relative tolerance (Section 5.3); an absolute one if the gold answer is 0."""


@dataclass(frozen=True)
class QuestionScore(SampleScore):
    """The score of one question; ``parsed`` is the number at the end of its answer.

    Attributes:
        trajectory: The trajectory; None without an answer.
    """

    trajectory: Trajectory | None = None

    def to_detail(self) -> dict[str, Any]:
        """Returns the detail of the sample."""
        return {**super().to_detail(), 'trajectory': self.trajectory.to_dict() if self.trajectory else None}


def is_right(number: Number, gold: int | float) -> bool:
    """Tests if a number is within 0.1% of the gold answer; a percentage may also count as its hundredth."""
    if number.value is None:
        return False
    # Fraction(0.1) is not 1/10, but repr gives the text in the file.
    expected = Fraction(repr(gold))
    tolerance = TOLERANCE * (abs(expected) or 1)
    values = (number.value, number.value / 100) if number.percent else (number.value,)
    return any(abs(value - expected) <= tolerance for value in values)


def find_right(text: str, gold: int | float) -> Fraction | None:
    """Returns the number that makes an answer correct by FuncQA's published labels; None without such a number.

    Any number in the answer may be within 0.1% of the gold answer, or equal to it after both are rounded as tool
    results are. The rule agrees with 58 of ChatGPT's 60 published labels in one-hop and 63 of 68 in multi-hop. It often
    accepts an answer with many numbers, so it is only used for the method and the logs that have these labels.
    """
    numbers = read_numbers(text)
    nearest = min(numbers, key=lambda value: abs(value - Fraction(repr(gold))), default=None)
    if is_right(Number(nearest), gold):
        return nearest
    rounded_gold = round_as_tools(float(gold))
    return next((value for value in numbers if round_as_tools(float(value)) == rounded_gold), None)


def tool_errors(trajectory: Trajectory) -> tuple[str, ...]:
    """Returns the tool-related errors in order: the errors of calls with a name.

    A call without a readable name is not included, for any method; the reason of the answer reports it.
    """
    return tuple(call.error for call in trajectory.calls if call.error and call.name)


def score_trajectory(record: Record, trajectory: Trajectory) -> QuestionScore:
    """Scores the trajectory of one question.

    Returns:
        ``strict_accuracy``: 1 if the final number is within 0.1% of the gold answer. ``accuracy``: the same, for the
        method EasyTool also 1 if the published labels accept it (:func:`find_right`). ``tool_error_rate``: 1 if at
        least one tool call failed (Table 6); two further rates count failures by the tool's name and by its parameters.
        Lower is better; None for methods without tools. The reason of a question is its first tool-related error, even
        if the answer is correct.
    """
    trajectory = without_call_in_text(trajectory, _TOOLS)
    number = read_number(trajectory.final_answer)
    strict = is_right(number, record.answer)
    lenient = trajectory.loop == EASYTOOL and not strict
    other = find_right(trajectory.final_answer, record.answer) if lenient else None
    errors = tool_errors(trajectory)
    shown = number.value if other is None else other
    right = strict or other is not None
    return QuestionScore(
        id=record.id,
        values={
            ACCURACY: float(right),
            STRICT_ACCURACY: float(strict),
            **_error_values(errors, trajectory.loop not in WITHOUT_TOOLS),
        },
        reason=errors[0] if errors else _answer_reason(trajectory, number, right, strict),
        parsed=None if shown is None else _shown(shown),
        parse_method='none'
        if shown is None
        else 'any'
        if other is not None
        else 'percent'
        if number.percent
        else 'number',
        gold=plain(record.answer),
        trajectory=trajectory,
    )


def _answer_reason(trajectory: Trajectory, number: Number, right: bool, strict: bool) -> str:
    if right:
        return OK if strict else ANOTHER_NUMBER
    # The trajectory's answer leaves out an unfinished thought.
    if number.reason == EMPTY and strip_reasoning(_last_reply(trajectory)).reason == TRUNCATED_REASONING:
        return TRUNCATED_REASONING
    if number.value is None and _is_declined(trajectory):
        return REFUSED
    if trajectory.tasks and not trajectory.stopped and not any(task['done'] for task in trajectory.tasks):
        return NO_RESULT
    return trajectory.stopped or number.reason or WRONG_NUMBER


def _last_reply(trajectory: Trajectory) -> str:
    return trajectory.steps[-1].text if trajectory.steps else ''


def _is_declined(trajectory: Trajectory) -> bool:
    """Tests if the model called no tool and its last text declines the question."""
    text = strip_reasoning(trajectory.final_answer or _last_reply(trajectory)).text.strip()
    return not any(call.name for call in trajectory.calls) and is_refusal(text)


def _shown(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    return f'{Decimal(value.numerator) / Decimal(value.denominator):.12g}'


def _error_values(errors: Sequence[str], has_tools: bool) -> dict[str, float | None]:
    areas = {
        TOOL_ERROR: (_NAME_ERRORS, _PARAMETER_ERRORS),
        NAME_ERROR: (_NAME_ERRORS,),
        PARAMETER_ERROR: (_PARAMETER_ERRORS,),
    }
    if not has_tools:
        return dict.fromkeys(areas)
    return {metric: float(any(error.startswith(area) for error in errors)) for metric, area in areas.items()}


def score_predictions(records: Sequence[Record], predictions: Sequence[Answer]) -> list[QuestionScore]:
    """Scores a subset: one score per record, in the same order.

    Args:
        records: The records.
        predictions: The JSON of one trajectory each. A prediction with an ``infra:`` reason stands for a question
            without an answer, and counts as wrong.

    Raises:
        ValueError: The numbers of records and predictions differ.
        Fault: A prediction is not a trajectory.
    """
    if len(records) != len(predictions):
        raise ValueError(f'{len(records)} records, but {len(predictions)} predictions')
    done = [
        None if prediction.reason else _parse(record, prediction.text)
        for record, prediction in zip(records, predictions, strict=True)
    ]
    has_tools = any(trajectory.loop not in WITHOUT_TOOLS for trajectory in done if trajectory) or not any(done)
    unanswered = {ACCURACY: 0.0, STRICT_ACCURACY: 0.0, **_error_values((), has_tools)}
    return [
        score_trajectory(record, trajectory)
        if trajectory
        else QuestionScore(record.id, unanswered, str(prediction.reason), gold=plain(record.answer))
        for record, trajectory, prediction in zip(records, done, predictions, strict=True)
    ]


def _parse(record: Record, prediction: str) -> Trajectory:
    try:
        return parse_trajectory(prediction)
    except ValueError as error:
        raise Fault(f'prediction of question {record.id!r}: {error}') from error


class FuncQAScorer(Scorer):
    """Scores the trajectories of one subset.

    Args:
        subset: ``one_hop`` or ``multi_hop``.
    """

    def __init__(self, subset: str) -> None:
        self.subset = find_subset(subset)
        self._golds: set[str] = set()
        self._methods: set[str] = set()
        self._settings: dict[str, Any] = {}

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {
            'benchmark': 'funcqa',
            'subset': self.subset.name,
            'method': ', '.join(sorted(self._methods)),
            'gold': ', '.join(sorted(self._golds)),
            'version': VERSION,
            **self._settings,
        }

    read_record = staticmethod(parse_payload)

    def breakdown(self, scores: Sequence[QuestionScore]) -> dict[str, Any]:
        """Returns a result's parts other than its metrics.

        Returns:
            ``methods`` (method -> questions), ``tool_calls`` (number of all and of failed calls), ``tool_errors``
            (code -> calls), ``tools`` (name -> calls), ``rounds`` (number of the model's answers), ``stopped`` (reason
            -> questions), ``checks`` (final check in the method EasyTool -> questions).
        """
        trajectories = [score.trajectory for score in scores if score.trajectory]
        calls = [call for trajectory in trajectories for call in trajectory.calls if call.name]
        errors = [error for trajectory in trajectories for error in tool_errors(trajectory)]
        called_tools = Counter(call.name for call in calls if not (call.error or '').startswith(_NAME_ERRORS))
        return {
            'methods': dict(Counter(trajectory.loop for trajectory in trajectories)),
            'tool_calls': {'all': len(calls), 'failed': len(errors)},
            'tool_errors': dict(Counter(errors).most_common()),
            'tools': dict(called_tools.most_common()),
            'rounds': sum(step.asked is not None for trajectory in trajectories for step in trajectory.steps),
            'stopped': dict(Counter(trajectory.stopped for trajectory in trajectories if trajectory.stopped)),
            'checks': dict(Counter(trajectory.check for trajectory in trajectories if trajectory.check)),
        }

    def score_records(self, records: Sequence[Record], answers: Sequence[Answer]) -> list[QuestionScore]:
        """Scores trajectories against records."""
        scores = score_predictions(records, answers)
        self._golds.update(record.gold for record in records)
        for score in scores:
            if score.trajectory:
                self._methods.add(score.trajectory.loop)
                self._settings |= score.trajectory.settings
        return scores
