"""Yes-or-no questions to a judge about an agent's answer, with their metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opencompass_tooleval.catalogue.labels import SHARED, Metric

if TYPE_CHECKING:
    from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
    from opencompass_tooleval.judging.judge_item import JudgeItem


@dataclass(frozen=True)
class YesNo:
    """A question about an answer.

    Attributes:
        metric: The share of answers that the judge answers with yes.
        question: Creates the question from its id and the answer. The reply is parsed to an opinion ``yes`` or ``no``.
            Its dependencies are imported when it is called, since tables only need the metric.
    """

    metric: Metric
    question: Callable[[str, JudgedAnswer], JudgeItem]


def _success(name: str, answer: JudgedAnswer) -> JudgeItem:
    from opencompass_tooleval.benchmarks.toolbench.scoring import question_of

    return question_of(name, answer.query, answer.told)


YES_NO: Mapping[str, YesNo] = {
    'success': YesNo(SHARED['success_rate'], _success),
}
"""Name in ``judgement_kinds=[...]`` and in files of judgements -> the question. ``success`` is EasyTool's."""
