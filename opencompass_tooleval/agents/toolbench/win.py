"""Judges which of two answers to a query is better (the preference of ToolBench's evaluator), in rounds.

Pure: judging is a generator, and the runner of dialogues sends its requests. By ToolBench's rule, an answer that passes
wins all rounds against one that does not. Otherwise an answer wins without a request if only it is solved, or if only
it is unsure and neither is solved. If both have the same status, the judge selects one; for equal answers, a coin.
As published, final answers are cut and methods removed before any request, including the judgement of ``solved``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from opencompass_tooleval.agents.toolbench.judge_prompts import SELECT, SOLVED, UNSURE
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.opinion import coin
from opencompass_tooleval.agents.toolbench.solved import TIMES, ask_whole, judge_passed, judge_solved, votes_of
from opencompass_tooleval.judging.judge_item import Judging
from opencompass_tooleval.judging.judgement import Opinion

CANDIDATE, REFERENCE = 'candidate', 'reference'

RANDOM, BOTH = 'random', 'both'
ANSWER_ORDERS = (RANDOM, BOTH)
"""Orders in which the judge sees two answers: random for each round, as published; or the reference first in rounds
0, 2, ... and last in the other rounds."""

COMPARISONS = 4
"""Number of rounds; default as in ToolBench's instructions."""

STABLETOOLBENCH, TOOLBENCH = 'stabletoolbench', 'toolbench'
RULES = (STABLETOOLBENCH, TOOLBENCH)
"""Rules, named after their authors. ToolBench's script first compares the labels of the pass rate. StableToolBench's
script has the same lines, but never runs them: its files store the judgements of all repetitions in one text."""

ONLY_PASSED = 'only_passed'
NO_REFERENCE, ONLY_SOLVED, ONLY_UNSURE, IDENTICAL = 'no_reference', 'only_solved', 'only_unsure', 'identical'
"""Rules that decide a round without a request."""

_PASSED, _FAILED = 'passed', 'failed'

WIN, TIE, LOSS = 'win', 'tie', 'loss'


def reference_first(query_id: str, number: int, answer_order: str, seed: int) -> bool:
    """Decides if the judge sees the reference first.

    Args:
        query_id: Query id of the two answers.
        number: The round, from 0.
        answer_order: One of :data:`ANSWER_ORDERS`.
        seed: Seed of the random choice.
    """
    return number % 2 == 0 if answer_order == BOTH else coin('order', seed, query_id, number)


def judge_round(
    candidate: JudgedAnswer,
    reference: JudgedAnswer | None,
    number: int = 0,
    answer_order: str = RANDOM,
    seed: int = 0,
    times: int = TIMES,
) -> Judging[Opinion]:
    """Judges one round; the value of the opinion is ``candidate`` or ``reference``.

    Args:
        candidate: The answer to compare.
        reference: The reference; None, so that the candidate wins, if it has no answer to the query.
        number: The round, from 0.
        answer_order: One of :data:`ANSWER_ORDERS`.
        seed: Seed of all random choices.
        times: Number of judgements of each answer's status; with 4, round 5 uses judgement 1.
    """
    if reference is None:
        return Opinion(CANDIDATE, NO_REFERENCE)
    candidate, reference = candidate.compared, reference.compared
    answers = {REFERENCE: reference, CANDIDATE: candidate}
    status = {}
    for name, answer in answers.items():
        named = answer if name == CANDIDATE else replace(answer, id=f'{answer.id}/{REFERENCE}')
        opinion = yield from judge_solved(named, number % times, is_compared=True)
        if opinion.fault:
            return opinion
        status[name] = opinion.value
    for value, rule in ((SOLVED, ONLY_SOLVED), (UNSURE, ONLY_UNSURE)):
        having = [name for name in answers if status[name] == value]
        if len(having) == 1:
            return Opinion(having[0], rule)
        if having:
            break
    if candidate.is_same(reference):
        return Opinion(CANDIDATE if coin('same', seed, candidate.id, number) else REFERENCE, IDENTICAL)
    shown = (
        [REFERENCE, CANDIDATE] if reference_first(candidate.id, number, answer_order, seed) else [CANDIDATE, REFERENCE]
    )
    first, second = (answers[name] for name in shown)
    whole = {'query': candidate.query, 'answer_0': first.content, 'answer_1': second.content}
    short = {**whole, 'answer_0': first.shortened.content, 'answer_1': second.shortened.content}
    opinion = yield from ask_whole(candidate, SELECT, number, whole, short)
    return opinion if opinion.fault else Opinion(shown[int(opinion.value)], SELECT.name, opinion.why)


def judge_rounds(
    candidate: JudgedAnswer,
    reference: JudgedAnswer | None,
    rounds: int,
    answer_order: str = RANDOM,
    seed: int = 0,
    times: int = TIMES,
) -> Judging[list[Opinion]]:
    """Judges all rounds by ToolBench's rule, which first compares if the two answers pass (``times`` judgements each).

    Args:
        candidate: The answer to compare.
        reference: The reference; None, so that the candidate wins, if it has no answer to the query.
        rounds: Number of rounds.
        answer_order: One of :data:`ANSWER_ORDERS`.
        seed: Seed of all random choices.
        times: Number of judgements of whether an answer passes.
    """
    if reference is not None:
        labels = []
        for answer in (candidate, replace(reference, id=f'{candidate.id}/{REFERENCE}')):
            label = yield from _label(answer, times)
            if label.fault:
                return [label] * rounds
            labels.append(label.value)
        if labels[0] != labels[1]:
            return [Opinion(CANDIDATE if labels[0] == _PASSED else REFERENCE, ONLY_PASSED)] * rounds
    found = []
    for number in range(rounds):
        found.append((yield from judge_round(candidate, reference, number, answer_order, seed, times)))
    return found


def _label(answer: JudgedAnswer, times: int) -> Judging[Opinion]:
    """Judges if an answer passes, by majority; as published, a coin decides a tie."""
    solved, solvable = [], []
    for repeat in range(times):
        of_answer, of_task = yield from judge_passed(answer, repeat)
        if of_answer.fault or of_task.fault:
            return of_answer if of_answer.fault else of_task
        solved.append(of_answer)
        solvable.append(of_task)
    votes = [vote for vote, _ in votes_of(answer.id, solved, solvable)]
    balance = 2 * sum(votes) - len(votes)
    return Opinion(_PASSED if balance > 0 or (balance == 0 and coin('label', answer.id)) else _FAILED)


def outcome(rounds: Sequence[Opinion]) -> str:
    """Returns the result of rounds: ``win`` if more of them prefer the candidate; ``''`` without rounds."""
    given = Counter(opinion.value for opinion in rounds if not opinion.fault)
    if not given:
        return ''
    balance = given[CANDIDATE] - given[REFERENCE]
    return WIN if balance > 0 else LOSS if balance < 0 else TIE


POINTS = {'win_rate': (1.0, 0.0), 'win_rate_half_ties': (1.0, 0.5), 'tie_rate': (0.0, 1.0)}
"""Metric -> values of a win and of a tie. The first metric is ToolBench's, where a tie counts as a loss."""


def points(rounds: Sequence[Opinion]) -> dict[str, float | None]:
    """Returns the metrics of :data:`POINTS`, 0-1; None without rounds."""
    result = outcome(rounds)
    worth = {WIN: 0, TIE: 1}.get(result)
    return {
        metric: None if not result else 0.0 if worth is None else values[worth] for metric, values in POINTS.items()
    }
