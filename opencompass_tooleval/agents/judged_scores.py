"""What judgements of agents' answers come to: values and a reason for one answer, and how far judgements agree.

What could not be judged is never a score: it is left out, counted, and an error where it is more than 1%.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.agents import solved, win
from opencompass_tooleval.agents.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.judgements import (
    SOLVABLE_AREA,
    SOLVED_AREA,
    WIN_AREA,
    Opinions,
    match_answer,
)
from opencompass_tooleval.agents.judgings import PASS
from opencompass_tooleval.agents.scoring import AgentScore
from opencompass_tooleval.agents.toolbench_judge_prompts import SOLVABLE, UNSOLVED, UNSURE
from opencompass_tooleval.agents.yes_no import NO_ANSWER, YES_NO, share_of_yes
from opencompass_tooleval.benchmarks.toolbench.success import NO
from opencompass_tooleval.core.result import OK
from opencompass_tooleval.judging.judgement import (
    NO_JUDGEMENT,
    Judgement,
    Opinion,
    Unjudged,
    by_record,
    check_unjudged,
)

METRICS = {
    SOLVED_AREA: 'solved_rate',
    PASS: 'pass_rate',
    WIN_AREA: 'win_rate',
    **{name: question.metric.name for name, question in YES_NO.items()},
}
"""Of each kind of judgement the one that says whether an answer is right."""

UNJUDGED = 'judge:unjudged'
NOT_SOLVED, NOT_PASSED, NOT_BETTER, NOT_SUCCESSFUL = 'judge:unsolved', 'judge:failed', 'judge:not_better', 'judge:no'
REASONS = {SOLVED_AREA: NOT_SOLVED, PASS: NOT_PASSED, WIN_AREA: NOT_BETTER, **dict.fromkeys(YES_NO, NOT_SUCCESSFUL)}

_AREAS = {
    SOLVED_AREA: (SOLVED_AREA,),
    PASS: (SOLVED_AREA, SOLVABLE_AREA),
    WIN_AREA: (WIN_AREA,),
    **{name: (name,) for name in YES_NO},
}


def metrics_of(kinds: Sequence[str]) -> tuple[str, ...]:
    """All metrics of kinds of judgements, in their order; beside the win rate it has what ties make of it."""
    return tuple(metric for kind in kinds for metric in (win.POINTS if kind == WIN_AREA else (METRICS[kind],)))


@dataclass(frozen=True)
class Judged:
    """What was found about one answer, as far as it was asked for.

    Attributes:
        id: Query id.
        values: Metric -> 0-1; None where it could not be judged.
        opinions: Area -> opinions.
        answer_digest: Of the answer, if there is one.
        infra: Why there is no answer through no fault of the agent, or ``''``.
    """

    id: str
    values: Mapping[str, float | None]
    opinions: Mapping[str, tuple[Opinion, ...]]
    answer_digest: str = ''
    infra: str = ''

    @property
    def reason(self) -> str:
        """The first cause of a lost point, in the order of the metrics."""
        if self.infra:
            return self.infra
        lost = ((kind, self.values[metric]) for kind, metric in METRICS.items() if metric in self.values)
        return next((UNJUDGED if value is None else REASONS[kind] for kind, value in lost if value != 1), OK)

    def to_detail(self) -> dict[str, Any]:
        """What a sample says of its judgements: area -> opinions."""
        return {area: [opinion.to_row() for opinion in opinions] for area, opinions in self.opinions.items()}


def judge_answer(answer: JudgedAnswer, judgements: Sequence[Judgement[Opinions]], kinds: Sequence[str]) -> Judged:
    """What judgements say of one answer.

    Args:
        answer: The answer.
        judgements: What there is for its query, of which only that of this very answer counts.
        kinds: What is wanted, of :data:`~opencompass_tooleval.agents.judgings.KINDS`.
    """
    if answer.infra:
        unsolved = {SOLVED_AREA: (Opinion(UNSOLVED, answer.infra),)} if {SOLVED_AREA, PASS} & {*kinds} else {}
        return Judged(answer.id, dict.fromkeys(metrics_of(kinds), 0.0), unsolved, infra=answer.infra)
    judgement = match_answer(answer, judgements)
    found = judgement.found or {}
    areas = dict.fromkeys(area for kind in kinds for area in _AREAS[kind])
    opinions = {area: found.get(area) or _unasked(answer, area, judgement.fault) for area in areas}
    values: dict[str, float | None] = {}
    for kind in kinds:
        if kind == SOLVED_AREA:
            values[METRICS[kind]] = solved.points(opinions[SOLVED_AREA])
        elif kind == PASS:
            values[METRICS[kind]] = solved.passed(answer.id, opinions[SOLVED_AREA], opinions[SOLVABLE_AREA])
        elif kind == WIN_AREA:
            values |= win.points(opinions[WIN_AREA])
        else:
            values[METRICS[kind]] = share_of_yes(opinions[kind])
    return Judged(answer.id, values, opinions, answer.digest)


def _unasked(answer: JudgedAnswer, area: str, fault: str) -> tuple[Opinion, ...]:
    """What is known of an answer that no judgement is of: what needs no judge, or why there is nothing."""
    rule = solved.unasked(answer)
    if rule and area == SOLVED_AREA:
        return (Opinion(UNSOLVED, rule),)
    if rule == solved.NO_FINISH and area == SOLVABLE_AREA:
        return (Opinion(SOLVABLE, rule),)
    if not answer.told.strip() and area in YES_NO:
        return (Opinion(NO, NO_ANSWER),)
    return (Opinion('', fault=fault or NO_JUDGEMENT),)


def judge_answers(
    answers: Sequence[JudgedAnswer], judgements: Sequence[Judgement[Opinions]], kinds: Sequence[str], fix: str = ''
) -> list[Judged]:
    """What judgements say of answers: one for each, in the same order.

    Args:
        answers: The answers.
        judgements: What was judged.
        kinds: As :func:`judge_answer`.
        fix: What to do where too much could not be judged.

    Raises:
        ValueError: A judgement is of none of them.
        UnjudgedError: More than 1% of what was to be judged could not be.
    """
    of_query = by_record(judgements, [answer.id for answer in answers])
    judged = [judge_answer(answer, of_query[answer.id], kinds) for answer in answers]
    everything = [
        (one.id, area, opinion)
        for one in judged
        for area, area_opinions in one.opinions.items()
        for opinion in area_opinions
    ]
    faults = [Unjudged(f'{area} of task {task}', opinion.fault) for task, area, opinion in everything if opinion.fault]
    check_unjudged(faults, len(everything), fix)
    return judged


@dataclass(frozen=True)
class JudgedAgentScore(AgentScore):
    """An agent's score with what the judge found."""

    judged: Judged = field(default_factory=lambda: Judged('', {}, {}))

    def to_detail(self) -> dict[str, Any]:
        """See :meth:`SampleScore.to_detail`."""
        return {**super().to_detail(), **self.judged.to_detail(), 'answer_digest': self.judged.answer_digest}


def with_judged(score: AgentScore, judged: Judged) -> JudgedAgentScore:
    """A score with the judge's values behind its own; the reason is the judge's where it had none.

    Args:
        score: Without a judge.
        judged: Of the same task.
    """
    fields = {name: getattr(score, name) for name in AgentScore.__dataclass_fields__}
    fields |= {
        'values': {**score.values, **judged.values},
        'reason': judged.reason if score.reason == OK else score.reason,
    }
    return JudgedAgentScore(**fields, judged=judged)


def breakdown(judged: Sequence[Judged]) -> dict[str, Any]:
    """How far the judgements of one answer agree, and what they rest on.

    Returns:
        ``unjudged``: answers that a metric says nothing of, since no judgement of them could be had, and
        ``unjudged_opinions``: judgements that could not be had. Of ``solved``: ``judgements`` per answer, ``rates`` by
        each of them and their ``standard_deviation``, 0-100, ``unsure_share`` of all and ``split_share`` of the answers
        whose judgements differ, 0-1, and ``by``: question or rule -> how often it decided. Of ``pass``:
        ``drawn_votes``, judgements in whose place a coin decided, and ``ties``, answers with as many votes for them as
        against them. Of ``win``: wins, ties, losses, wins for want of a reference (``no_reference``), ``rounds`` that
        were compared, how many of these a coin decided (``drawn_rounds``), and ``by``.
    """
    opinions = [opinion for one in judged for area_opinions in one.opinions.values() for opinion in area_opinions]
    found: dict[str, Any] = {
        'unjudged': sum(None in one.values.values() for one in judged),
        'unjudged_opinions': sum(bool(opinion.fault) for opinion in opinions),
    }
    of_solved = [area_opinions for one in judged if (area_opinions := one.opinions.get(SOLVED_AREA))]
    given = [opinion.value for area_opinions in of_solved for opinion in area_opinions if not opinion.fault]
    if given:
        of_solved = _repeated(of_solved)
        rates = solved.rates(of_solved)
        spread = solved.deviation(rates)
        found['solved'] = {
            'judgements': max(map(len, of_solved)),
            'rates': [100 * rate for rate in rates],
            'standard_deviation': None if spread is None else 100 * spread,
            'unsure_share': given.count(UNSURE) / len(given),
            'split_share': sum(
                len({opinion.value for opinion in area_opinions if not opinion.fault}) > 1
                for area_opinions in of_solved
            )
            / len(of_solved),
            'by': _by(of_solved),
        }
    if any(METRICS[PASS] in one.values for one in judged):
        found['pass'] = _of_pass(judged)
    of_win = [area_opinions for one in judged if (area_opinions := one.opinions.get(WIN_AREA))]
    if of_win:
        found['win'] = _of_win(of_win)
    return found


def _of_pass(judged: Sequence[Judged]) -> dict[str, int]:
    of_answers = [
        solved.votes_of(one.id, one.opinions[SOLVED_AREA], one.opinions[SOLVABLE_AREA])
        for one in judged
        if SOLVABLE_AREA in one.opinions
    ]
    return {
        'drawn_votes': sum(is_drawn for votes in of_answers for _, is_drawn in votes),
        'ties': sum(bool(votes) and 2 * sum(vote for vote, _ in votes) == len(votes) for votes in of_answers),
    }


def _of_win(answers: Sequence[tuple[Opinion, ...]]) -> dict[str, Any]:
    outcomes, by = Counter(map(win.outcome, answers)), _by(answers)
    by.pop(win.NO_REFERENCE, None)
    return {
        **{name: outcomes[name] for name in (win.WIN, win.TIE, win.LOSS)},
        'no_reference': sum(any(opinion.by == win.NO_REFERENCE for opinion in opinions) for opinions in answers),
        'rounds': sum(by.values()),
        'drawn_rounds': by.get(win.IDENTICAL, 0),
        'by': by,
    }


def _repeated(answers: Sequence[tuple[Opinion, ...]]) -> list[tuple[Opinion, ...]]:
    """What is unsolved by a rule is so in every judgement, though a file may have it once."""
    most = max(map(len, answers))
    return [
        opinions * most if len(opinions) == 1 and not opinions[0].fault and opinions[0].value == UNSOLVED else opinions
        for opinions in answers
    ]


def _by(answers: Sequence[tuple[Opinion, ...]]) -> dict[str, int]:
    return dict(Counter(opinion.by for opinions in answers for opinion in opinions if not opinion.fault).most_common())
