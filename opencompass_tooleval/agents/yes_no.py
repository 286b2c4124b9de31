"""What a judge says yes or no to about an agent's answer: a question and a metric in a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.agents.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.opinion import no_opinion
from opencompass_tooleval.benchmarks.toolbench import success
from opencompass_tooleval.benchmarks.toolbench.success import NO, YES
from opencompass_tooleval.core.answer import Answer, why_unread
from opencompass_tooleval.core.metrics import SUCCESS_RATE, Metric
from opencompass_tooleval.judging.judge_item import JudgeItem, Judging
from opencompass_tooleval.judging.judgement import Opinion, Unread

NO_ANSWER = 'no_answer'
"""By what rule an answer without text is a no, without asking."""


@dataclass(frozen=True)
class YesNo:
    """A question about an answer.

    Attributes:
        metric: The share of answers with a yes.
        question: Makes the question from its id and the answer; its reply is read as an opinion with ``yes`` or ``no``.
    """

    metric: Metric
    question: Callable[[str, JudgedAnswer], JudgeItem]


YES_NO: Mapping[str, YesNo] = {
    'success': YesNo(SUCCESS_RATE, lambda name, answer: success.question_of(name, answer.query, answer.told)),
}
"""Name, as in ``judged=[...]`` and in files of judgements -> the question. ``success`` is EasyTool's."""


def judge_yes_no(name: str, answer: JudgedAnswer) -> Judging[Opinion]:
    """Asks one of these questions; where there is nothing to read the answer is ``no``, and nobody is asked."""
    if why_unread(Answer(answer.told)):
        return Opinion(NO, NO_ANSWER)
    opinion = yield YES_NO[name].question(f'{answer.id}/{name}', answer)
    return no_opinion(opinion, name) if isinstance(opinion, Unread) else opinion


def share_of_yes(opinions: Sequence[Opinion]) -> float | None:
    """1 for a yes, 0 for a no, of the first opinion that could be had; None if there is none."""
    return next((float(opinion.value == YES) for opinion in opinions if opinion.value), None)
