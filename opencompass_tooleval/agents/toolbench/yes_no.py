"""Questions of yes or no to a judge about an agent's answer: a question and a metric per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.opinion import no_opinion
from opencompass_tooleval.benchmarks.toolbench import success
from opencompass_tooleval.benchmarks.toolbench.success import NO, YES
from opencompass_tooleval.catalogue.metrics import SUCCESS_RATE, Metric
from opencompass_tooleval.core.calls.answer import Answer, why_unread
from opencompass_tooleval.judging.judge_item import JudgeItem, Judging
from opencompass_tooleval.judging.judgement import Opinion, Unread

NO_ANSWER = 'no_answer'
"""Rule by which an answer without text is a no, without a request."""


@dataclass(frozen=True)
class YesNo:
    """A question about an answer.

    Attributes:
        metric: The share of answers with a yes.
        question: Creates the question from its id and the answer; its reply is an opinion with ``yes`` or ``no``.
    """

    metric: Metric
    question: Callable[[str, JudgedAnswer], JudgeItem]


YES_NO: Mapping[str, YesNo] = {
    'success': YesNo(SUCCESS_RATE, lambda name, answer: success.question_of(name, answer.query, answer.told)),
}
"""Name in ``judgement_kinds=[...]`` and in files of judgements -> the question. ``success`` is EasyTool's."""


def judge_yes_no(name: str, answer: JudgedAnswer) -> Judging[Opinion]:
    """Asks one of these questions; without text the opinion is ``no``, without a request."""
    if why_unread(Answer(answer.told)):
        return Opinion(NO, NO_ANSWER)
    opinion = yield YES_NO[name].question(f'{answer.id}/{name}', answer)
    return no_opinion(opinion, name) if isinstance(opinion, Unread) else opinion


def share_of_yes(opinions: Sequence[Opinion]) -> float | None:
    """Returns 1 for a yes, 0 for a no, from the first available opinion; None without any."""
    return next((float(opinion.value == YES) for opinion in opinions if opinion.value), None)
