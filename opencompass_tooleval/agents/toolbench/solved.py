"""Judges if an answer solves its query, and if it passes, by the rules of ToolBench's evaluator (StableToolBench).

Pure: judging is a generator, and the caller sends the requests. An answer is unsolved without a request if its last
call is not ``Finish``, if it has no final answer, or if it gave up (``give_up_and_restart``). For other answers,
including a ``Finish`` with an empty answer, the judge reads the final answer, and if unsure, the complete run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from opencompass_tooleval.agents.loops.finish import GIVE_UP
from opencompass_tooleval.agents.toolbench.judge_prompts import (
    CHECK,
    PARSE,
    SOLVABLE,
    SOLVABLE_TASK,
    SOLVED,
    UNSOLVABLE,
    UNSOLVED,
    UNSURE,
    JudgeQuestion,
)
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.opinion import coin, no_opinion, reader
from opencompass_tooleval.core.scoring.result import TRUNCATED
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.judging.judge_item import JudgeItem, Judging
from opencompass_tooleval.judging.judgement import Opinion, Unread

TIMES = 4
"""Number of judgements of each answer; default as in ToolBench."""

NO_FINISH, NO_ANSWER, GAVE_UP, TOO_LONG = 'no_finish', 'no_answer', 'gave_up', 'too_long'
"""Rules by which an answer is unsolved without a request."""

POINTS = {SOLVED: 1.0, UNSURE: 0.5, UNSOLVED: 0.0}


def unasked(answer: JudgedAnswer, is_compared: bool = False) -> str:
    """Returns the rule that makes an answer unsolved without a request; ``''`` if the judge decides.

    As published, an answer in a comparison needs no ``Finish``.
    """
    if not is_compared and not answer.is_finished:
        return NO_FINISH
    if not answer.final_answer:
        return NO_ANSWER
    if GIVE_UP in answer.final_answer:
        return GAVE_UP
    return TOO_LONG if len(answer.final_answer) > MAX_CHARS else ''


def judge_item(judged: JudgedAnswer, question: JudgeQuestion, repeat: int, **values: str) -> JudgeItem:
    """Creates a question about an answer, with the name ``ID/QUESTION/REPEAT``."""
    name = f'{judged.id}/{question.name}/{repeat}'
    return JudgeItem(name, question.prompt(**values), reader(question), repeat=repeat)


def ask_whole(
    judged: JudgedAnswer, question: JudgeQuestion, repeat: int, whole: Mapping[str, str], short: Mapping[str, str]
) -> Judging[Opinion]:
    """Asks about complete runs, or about shortened runs if the complete ones are too long for the judge.

    Args:
        judged: The answer whose id the question uses.
        question: The question.
        repeat: Index among several judgements.
        whole: Values for the question's fields.
        short: The same values, shortened.
    """
    opinion: Opinion | Unread = yield judge_item(judged, question, repeat, **whole)
    if isinstance(opinion, Unread) and opinion.why == TRUNCATED and short != whole:
        opinion = yield judge_item(judged, question, repeat, **short)
    return no_opinion(opinion, question.name) if isinstance(opinion, Unread) else opinion


def judge_solved(answer: JudgedAnswer, repeat: int = 0, is_compared: bool = False) -> Judging[Opinion]:
    """Judges once if an answer solves its query: ``Solved``, ``Unsure`` or ``Unsolved``.

    Args:
        answer: The answer.
        repeat: Index among several judgements.
        is_compared: True if the answer is compared with another.
    """
    rule = unasked(answer, is_compared)
    if rule:
        return Opinion(UNSOLVED, rule)
    opinion: Opinion | Unread = yield judge_item(answer, CHECK, repeat, query=answer.query, answer=answer.final_answer)
    if isinstance(opinion, Unread):
        return no_opinion(opinion, CHECK.name)
    if opinion.value != UNSURE:
        return opinion
    whole, short = ({'query': answer.query, 'answer': it.content} for it in (answer, answer.shortened))
    return (yield from ask_whole(answer, PARSE, repeat, whole, short))


def judge_solvable(answer: JudgedAnswer, solved: Opinion, repeat: int = 0) -> Judging[Opinion]:
    """Judges if the task can be solved: ``Solvable``, ``Unsure`` or ``Unsolvable``.

    No request is sent if the answer solves the task. As published, none is sent either if ``Finish`` was not called:
    such an answer fails.

    Args:
        answer: The answer.
        solved: The opinion of :func:`judge_solved`.
        repeat: Index among several judgements.
    """
    if solved.value == SOLVED or solved.decided_by == NO_FINISH:
        return Opinion(SOLVABLE, solved.decided_by)
    opinion: Opinion | Unread = yield judge_item(answer, SOLVABLE_TASK, repeat, task=answer.task)
    return no_opinion(opinion, SOLVABLE_TASK.name) if isinstance(opinion, Unread) else opinion


def judge_passed(answer: JudgedAnswer, repeat: int = 0) -> Judging[tuple[Opinion, Opinion]]:
    """Judges once if the task is solved, and if it is solvable."""
    solved = yield from judge_solved(answer, repeat)
    if solved.fault:
        return solved, Opinion('', SOLVABLE_TASK.name, fault=solved.fault)
    return solved, (yield from judge_solvable(answer, solved, repeat))


def points(opinions: Sequence[Opinion]) -> float | None:
    """Returns the mean of the available judgements of one answer, 0-1; None without judgements."""
    given = [POINTS[opinion.value] for opinion in opinions if not opinion.fault]
    return math.fsum(given) / len(given) if given else None


def rates(answers: Sequence[Sequence[Opinion]]) -> list[float]:
    """Returns the solved rate, 0-1, of each repetition: of all first judgements, of all second ones, ..."""
    most = max(map(len, answers), default=0)
    columns = ([answer[index] for answer in answers if index < len(answer)] for index in range(most))
    return [rate for column in columns if (rate := points(column)) is not None]


def deviation(values: Sequence[float]) -> float | None:
    """Returns the standard deviation of values, divided by n as in ToolBench; None without values."""
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def passes(solved: str, solvable: str) -> bool | None:
    """Decides if an answer passes by one judgement; None if this is unsure (ToolBench's evaluator flips a coin)."""
    if solved == SOLVED or solvable == UNSOLVABLE:
        return True
    return False if solved == UNSOLVED and solvable == SOLVABLE else None


def votes_of(answer_id: str, solved: Sequence[Opinion], solvable: Sequence[Opinion]) -> list[tuple[bool, bool]]:
    """Returns, for each pair of judgements, if the answer passes and if a coin decided this; see :func:`passed`."""
    votes = []
    for index, (answer, task) in enumerate(zip(solved, solvable, strict=False)):
        if not answer.fault and not task.fault:
            vote = passes(answer.value, task.value)
            votes.append((coin('pass', answer_id, index), True) if vote is None else (vote, False))
    return votes


def passed(answer_id: str, solved: Sequence[Opinion], solvable: Sequence[Opinion]) -> float | None:
    """Returns 1 if at least half of the judgements pass the answer, else 0; as published, a coin decides unsure ones.

    Args:
        answer_id: The query id. It is the seed of the coin, so every process gets the same result.
        solved: Judgements of the answer.
        solvable: Judgements of the task, one for each of ``solved``.

    Returns:
        1 or 0; None without a judgement.
    """
    votes = [vote for vote, _ in votes_of(answer_id, solved, solvable)]
    if not votes:
        return None
    return float(2 * sum(votes) >= len(votes))
