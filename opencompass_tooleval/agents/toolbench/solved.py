"""Judges if an answer solves its query, and if it passes: the rules of ToolBench's evaluator, as in StableToolBench.

Pure: judging is a generator, and the caller sends the requests. An answer whose last call is no ``Finish``, one
without a final answer, and one with ``give_up_and_restart`` is unsolved without a request. For others, also for a
``Finish`` with an empty answer, the judge reads the final answer, and if it is unsure, the complete run.
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
from opencompass_tooleval.core.text.bounds import MAX_CHARS
from opencompass_tooleval.judging.judge_item import JudgeItem, Judging
from opencompass_tooleval.judging.judgement import Opinion, Unread

TIMES = 4
"""Number of judgements of each answer; default as in ToolBench."""

NO_FINISH, NO_ANSWER, GAVE_UP, TOO_LONG = 'no_finish', 'no_answer', 'gave_up', 'too_long'
"""Rules by which an answer is unsolved without a request."""

POINTS = {SOLVED: 1.0, UNSURE: 0.5, UNSOLVED: 0.0}


def unasked(answer: JudgedAnswer, is_compared: bool = False) -> str:
    """Returns the rule by which an answer is unsolved without a request; ``''`` if the judge is asked.

    As published, an answer that is compared with another needs no ``Finish``.
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
    """Asks about complete runs; about shortened ones if they are too long for the judge.

    Args:
        judged: The answer whose id the question has.
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

    There is no request if the answer solves it, nor, as published, without a call of ``Finish``: that always fails.

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
    """Judges once if the task is solved, and if it can be."""
    solved = yield from judge_solved(answer, repeat)
    if solved.fault:
        return solved, Opinion('', SOLVABLE_TASK.name, fault=solved.fault)
    return solved, (yield from judge_solvable(answer, solved, repeat))


def points(opinions: Sequence[Opinion]) -> float | None:
    """Computes the mean of the available judgements of one answer, 0-1; None without any."""
    given = [POINTS[opinion.value] for opinion in opinions if not opinion.fault]
    return math.fsum(given) / len(given) if given else None


def rates(answers: Sequence[Sequence[Opinion]]) -> list[float]:
    """Computes the solved rate by each judgement, 0-1: by the first of every answer, by the second, ..."""
    most = max(map(len, answers), default=0)
    columns = ([answer[index] for answer in answers if index < len(answer)] for index in range(most))
    return [rate for column in columns if (rate := points(column)) is not None]


def deviation(values: Sequence[float]) -> float | None:
    """Computes the standard deviation of values, divided by their number, as ToolBench does; None without any."""
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def passes(solved: str, solvable: str) -> bool | None:
    """Returns if an answer passes by one judgement; None if ToolBench's evaluator is unsure, and flips a coin."""
    if solved == SOLVED or solvable == UNSOLVABLE:
        return True
    return False if solved == UNSOLVED and solvable == SOLVABLE else None


def votes_of(answer_id: str, solved: Sequence[Opinion], solvable: Sequence[Opinion]) -> list[tuple[bool, bool]]:
    """Returns for each pair of judgements if the answer passes, and if a coin decided; see :func:`passed`."""
    votes = []
    for index, (answer, task) in enumerate(zip(solved, solvable, strict=False)):
        if not answer.fault and not task.fault:
            vote = passes(answer.value, task.value)
            votes.append((coin('pass', answer_id, index), True) if vote is None else (vote, False))
    return votes


def passed(answer_id: str, solved: Sequence[Opinion], solvable: Sequence[Opinion]) -> float | None:
    """Returns 1 if at least as many judgements pass an answer as not, else 0; as published, unsure ones flip a coin.

    Args:
        answer_id: Its query id, the seed of the coin, with the same result in every process.
        solved: Judgements of the answer.
        solvable: Judgements of the task, one for each.

    Returns:
        None without a judgement.
    """
    votes = [vote for vote, _ in votes_of(answer_id, solved, solvable)]
    if not votes:
        return None
    return float(2 * sum(votes) >= len(votes))
