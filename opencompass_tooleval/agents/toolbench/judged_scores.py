"""Computes scores from judgements of agents' answers: values and a reason per answer, and the judgements' agreement.

A missing judgement is left out and counted, never scored; more than 1% missing is an error.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.agents.questions import YES_NO
from opencompass_tooleval.agents.scorer import AgentScorer
from opencompass_tooleval.agents.scoring.scoring import AgentScore
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench import solved, win
from opencompass_tooleval.agents.toolbench.judge_prompts import SOLVABLE, UNSOLVED, UNSURE
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.judgements import (
    AREAS,
    PASS,
    SOLVABLE_AREA,
    SOLVED_AREA,
    WIN_AREA,
    Opinions,
    match_answer,
)
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.judging.judgement import NO_JUDGEMENT, UNJUDGED, Judgement, Opinion
from opencompass_tooleval.judging.yes_no import NO, NOT_SUCCESSFUL, points

METRICS = {
    SOLVED_AREA: 'solved_rate',
    PASS: 'pass_rate',
    WIN_AREA: 'win_rate',
    **{name: question.metric.name for name, question in YES_NO.items()},
}
"""Kind of judgement -> the metric that decides if an answer is correct."""

NOT_SOLVED, NOT_PASSED, NOT_BETTER = 'judge:unsolved', 'judge:failed', 'judge:not_better'
REASONS = {SOLVED_AREA: NOT_SOLVED, PASS: NOT_PASSED, WIN_AREA: NOT_BETTER, **dict.fromkeys(YES_NO, NOT_SUCCESSFUL)}


def metrics_of(kinds: Sequence[str]) -> tuple[str, ...]:
    """Returns the metrics of kinds of judgements, in order; the win rate is followed by metrics of ties."""
    return tuple(metric for kind in kinds for metric in (win.POINTS if kind == WIN_AREA else (METRICS[kind],)))


@dataclass(frozen=True)
class Judged:
    """Judgements of one answer.

    Attributes:
        id: Query id.
        values: Metric -> 0-1; None without a judgement.
        opinions: Area -> opinions.
        answer_digest: Digest of the answer; ``''`` if the answer is missing.
        infra: Reason for a missing answer that the agent did not cause, or ``''``.
    """

    id: str
    values: Mapping[str, float | None]
    opinions: Mapping[str, tuple[Opinion, ...]]
    answer_digest: str = ''
    infra: str = ''

    @property
    def reason(self) -> str:
        """The first reason for a lost point, in the order of the metrics."""
        if self.infra:
            return self.infra
        lost = ((kind, self.values[metric]) for kind, metric in METRICS.items() if metric in self.values)
        return next((UNJUDGED if value is None else REASONS[kind] for kind, value in lost if value != 1), OK)

    def to_detail(self) -> dict[str, Any]:
        """Returns the judgements for a sample's detail: area -> opinions."""
        return {area: [opinion.to_row() for opinion in opinions] for area, opinions in self.opinions.items()}


def judge_answer(answer: JudgedAnswer, judgements: Sequence[Judgement[Opinions]], kinds: Sequence[str]) -> Judged:
    """Computes the scores of one answer from judgements.

    Args:
        answer: The answer.
        judgements: Judgements of its query; only the one of this answer counts.
        kinds: Kinds to score, of :data:`~opencompass_tooleval.agents.toolbench.judgements.KINDS`.
    """
    if answer.infra:
        unsolved = {SOLVED_AREA: (Opinion(UNSOLVED, answer.infra),)} if {SOLVED_AREA, PASS} & {*kinds} else {}
        return Judged(answer.id, dict.fromkeys(metrics_of(kinds), 0.0), unsolved, infra=answer.infra)
    judgement = match_answer(answer, judgements)
    found = judgement.found or {}
    areas = dict.fromkeys(area for kind in kinds for area in AREAS[kind])
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
            values[METRICS[kind]] = points(next((one for one in opinions[kind] if one.value), None))
    return Judged(answer.id, values, opinions, answer.digest)


def _unasked(answer: JudgedAnswer, area: str, fault: str) -> tuple[Opinion, ...]:
    """Returns the opinions on an answer without a judgement: by rule, or with the reason why they are missing."""
    rule = solved.unasked(answer)
    if rule and area == SOLVED_AREA:
        return (Opinion(UNSOLVED, rule),)
    if rule == solved.NO_FINISH and area == SOLVABLE_AREA:
        return (Opinion(SOLVABLE, rule),)
    if not answer.told.strip() and area in YES_NO:
        return (Opinion(NO, solved.NO_ANSWER),)
    return (Opinion('', fault=fault or NO_JUDGEMENT),)


@dataclass(frozen=True)
class JudgedAgentScore(AgentScore):
    """An agent's score with the judge's scores."""

    judged: Judged = field(default_factory=lambda: Judged('', {}, {}))

    def to_detail(self) -> dict[str, Any]:
        """Returns the detail of the sample."""
        return {**super().to_detail(), **self.judged.to_detail(), 'answer_digest': self.judged.answer_digest}


def with_judged(score: AgentScore, judged: Judged) -> JudgedAgentScore:
    """Returns a score with the judge's values added; the judge's reason is used if the score has none.

    Args:
        score: The score without a judge.
        judged: Judgements of the same task.
    """
    fields = {name: getattr(score, name) for name in AgentScore.__dataclass_fields__}
    fields |= {
        'values': {**score.values, **judged.values},
        'reason': judged.reason if score.reason == OK else score.reason,
    }
    return JudgedAgentScore(**fields, judged=judged)


def breakdown(judged: Sequence[Judged]) -> dict[str, Any]:
    """Computes how far judgements of the same answer agree, and which rules decided.

    Returns:
        ``unjudged``: number of answers without a judgement; ``unjudged_opinions``: number of missing judgements.
        For ``solved``: ``judgements`` per answer; ``rates`` of each repetition and their ``standard_deviation``, 0-100;
        ``unsure_share`` of all judgements, 0-1; ``split_share``, the share of answers whose judgements differ, 0-1;
        ``decided_by``: question or rule -> number of decisions. For ``pass``: ``drawn_votes``, the number of judgements
        that a coin decided, and ``ties``, the number of answers with equal votes. For ``win``: wins, ties, losses, wins
        without a reference (``no_reference``), ``comparisons``, how many of these a coin decided
        (``drawn_comparisons``), and ``decided_by``.
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
            'decided_by': _by(of_solved),
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
        'no_reference': sum(
            any(opinion.decided_by == win.NO_REFERENCE for opinion in opinions) for opinions in answers
        ),
        'comparisons': sum(by.values()),
        'drawn_comparisons': by.get(win.IDENTICAL, 0),
        'decided_by': by,
    }


def _repeated(answers: Sequence[tuple[Opinion, ...]]) -> list[tuple[Opinion, ...]]:
    """Repeats an opinion by rule for every judgement, since a file may contain it only once."""
    most = max(map(len, answers))
    return [
        opinions * most if len(opinions) == 1 and not opinions[0].fault and opinions[0].value == UNSOLVED else opinions
        for opinions in answers
    ]


def _by(answers: Sequence[tuple[Opinion, ...]]) -> dict[str, int]:
    return dict(
        Counter(opinion.decided_by for opinions in answers for opinion in opinions if not opinion.fault).most_common()
    )


class JudgedAgentScorer(AgentScorer):
    """Scores one subset without a judge, and then adds the judge's scores."""

    kinds: Sequence[str] = ()
    """Kinds of judgements."""

    @property
    def metrics(self) -> Sequence[str]:
        """Names of the metrics; those of the judge come last."""
        return (*self.subset.metrics, *metrics_of(self.kinds))

    def breakdown(self, scores: Sequence[Any]) -> dict[str, Any]:
        """Returns the breakdown of the scores and of the judgements."""
        return {**super().breakdown(scores), 'judged': breakdown([score.judged for score in scores])}

    def score_records(self, records: Sequence[Task], answers: Sequence[Answer]) -> list[JudgedAgentScore]:
        """Scores trajectories against tasks, with a judge."""
        scores = super().score_records(records, answers)
        judged = self.judged(records, scores)
        return [with_judged(score, one) for score, one in zip(scores, judged, strict=True)]

    @abstractmethod
    def judged(self, tasks: Sequence[Task], scores: Sequence[AgentScore]) -> Sequence[Judged]:
        """Returns the judgements of scored trajectories, one per task."""
