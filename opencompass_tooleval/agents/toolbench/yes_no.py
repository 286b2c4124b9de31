"""Questions of yes or no to a judge about an agent's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.opinion import no_opinion
from opencompass_tooleval.benchmarks.toolbench import success
from opencompass_tooleval.benchmarks.toolbench.success import NO, YES
from opencompass_tooleval.core.calls.answer import Answer, why_unread
from opencompass_tooleval.judging.judge_item import JudgeItem, Judging
from opencompass_tooleval.judging.judgement import Opinion, Unread

NO_ANSWER = 'no_answer'
"""Rule by which an answer without text is a no, without a request."""


_QUESTIONS: Mapping[str, Callable[[str, JudgedAnswer], JudgeItem]] = {
    'success': lambda name, answer: success.question_of(name, answer.query, answer.told),
}
"""Row of :data:`~opencompass_tooleval.agents.metrics.YES_NO` -> creates the question from its id and the answer.

Its reply is an opinion with ``yes`` or ``no``.
"""


def judge_yes_no(name: str, answer: JudgedAnswer) -> Judging[Opinion]:
    """Asks one of these questions; without text the opinion is ``no``, without a request."""
    if why_unread(Answer(answer.told)):
        return Opinion(NO, NO_ANSWER)
    opinion = yield _QUESTIONS[name](f'{answer.id}/{name}', answer)
    return no_opinion(opinion, name) if isinstance(opinion, Unread) else opinion


def share_of_yes(opinions: Sequence[Opinion]) -> float | None:
    """Returns 1 for a yes, 0 for a no, from the first available opinion; None without any."""
    return next((float(opinion.value == YES) for opinion in opinions if opinion.value), None)
