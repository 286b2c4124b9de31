"""Questions of yes or no to a judge about an agent's answer."""

from __future__ import annotations

from collections.abc import Sequence

from opencompass_tooleval.agents.questions import YES_NO
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.opinion import no_opinion
from opencompass_tooleval.benchmarks.toolbench.success import NO, YES
from opencompass_tooleval.core.calls.answer import Answer, why_unread
from opencompass_tooleval.judging.judge_item import Judging
from opencompass_tooleval.judging.judgement import Opinion, Unread

NO_ANSWER = 'no_answer'
"""Rule by which an answer without text is a no, without a request."""


def judge_yes_no(name: str, answer: JudgedAnswer) -> Judging[Opinion]:
    """Asks one of these questions; without text the opinion is ``no``, without a request."""
    if why_unread(Answer(answer.told)):
        return Opinion(NO, NO_ANSWER)
    opinion = yield YES_NO[name].question(f'{answer.id}/{name}', answer)
    return no_opinion(opinion, name) if isinstance(opinion, Unread) else opinion


def share_of_yes(opinions: Sequence[Opinion]) -> float | None:
    """Returns 1 for a yes, 0 for a no, from the first available opinion; None without any."""
    return next((float(opinion.value == YES) for opinion in opinions if opinion.value), None)
