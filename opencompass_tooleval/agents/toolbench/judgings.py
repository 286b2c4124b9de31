"""Dialogues with the judge about agents' answers, and their results. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.agents.questions import YES_NO
from opencompass_tooleval.agents.toolbench import solved, win
from opencompass_tooleval.agents.toolbench.judge_prompts import by_function
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.judgements import (
    MAX_OPINIONS,
    SOLVABLE_AREA,
    SOLVED_AREA,
    WIN_AREA,
    Opinions,
)
from opencompass_tooleval.agents.toolbench.yes_no import judge_yes_no
from opencompass_tooleval.judging.judge_item import Judging, carry_out, single
from opencompass_tooleval.judging.judgement import Judgement, Opinion

PASS = 'pass'
KINDS = (SOLVED_AREA, PASS, WIN_AREA, *YES_NO)
"""Kinds of judgements, in the order of the metrics; ``pass`` requests ``solved`` and ``solvable``."""


@dataclass(frozen=True)
class JudgeSettings:
    """Kinds and numbers of judgements.

    Attributes:
        kinds: Kinds of :data:`KINDS`.
        judgements_per_answer: Number of judgements of each answer, for ``solved`` and ``pass``.
        comparisons_per_answer: Number of comparisons of each answer with the reference.
        answer_order: One of :data:`~opencompass_tooleval.agents.toolbench.win.ANSWER_ORDERS`.
        seed: Seed of random choices.
        win_rule: One of :data:`~opencompass_tooleval.agents.toolbench.win.RULES`.
        function_calls: True if the judge calls a function natively, as ToolBench's does, instead of a reply in JSON.
    """

    kinds: tuple[str, ...] = (SOLVED_AREA,)
    judgements_per_answer: int = solved.TIMES
    comparisons_per_answer: int = win.COMPARISONS
    answer_order: str = win.RANDOM
    seed: int = 0
    win_rule: str = win.STABLETOOLBENCH
    function_calls: bool = False

    @property
    def whole(self) -> tuple[str, ...]:
        """Kinds in which one answer has 0 or 1."""
        return tuple(kind for kind in self.kinds if kind != SOLVED_AREA)

    def to_row(self) -> dict[str, Any]:
        """Returns the settings for a result that affect its numbers."""
        about: dict[str, Any] = {'judgement_kinds': list(self.kinds)}
        if {SOLVED_AREA, PASS, WIN_AREA} & set(self.kinds):
            about['judgements_per_answer'] = self.judgements_per_answer
        if WIN_AREA in self.kinds:
            about |= {
                'comparisons_per_answer': self.comparisons_per_answer,
                'answer_order': self.answer_order,
                'win_rule': self.win_rule,
                'judge_seed': self.seed,
            }
        return {**about, 'judge_calls_functions': True} if self.function_calls else about

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if unknown or not self.kinds:
            raise ValueError(f'judgement_kinds={list(self.kinds)}: it is some of {", ".join(KINDS)}')
        if (
            min(self.judgements_per_answer, self.comparisons_per_answer) < 1
            or max(self.judgements_per_answer, self.comparisons_per_answer) > MAX_OPINIONS
        ):
            raise ValueError(f'judgements_per_answer and comparisons_per_answer are between 1 and {MAX_OPINIONS}')
        if self.answer_order not in win.ANSWER_ORDERS:
            raise ValueError(f'answer_order={self.answer_order!r}: it is one of {", ".join(win.ANSWER_ORDERS)}')
        if self.win_rule not in win.RULES:
            raise ValueError(f'win_rule={self.win_rule!r}: it is one of {", ".join(win.RULES)}')


Place = tuple[str, str, int]
"""Query id, area, and index among several."""


def judgings(
    answers: Sequence[JudgedAnswer], references: Mapping[str, JudgedAnswer], settings: JudgeSettings
) -> dict[Place, Judging[Any]]:
    """Begins all dialogues with the judge.

    Args:
        answers: The answers to judge; those missing through no fault of the agent are skipped.
        references: Query id -> the answer to compare with.
        settings: Kinds and numbers of judgements.
    """
    asked: dict[Place, Judging[Any]] = {}
    for answer in (answer for answer in answers if not answer.infra):
        if PASS in settings.kinds or SOLVED_AREA in settings.kinds:
            judge = solved.judge_passed if PASS in settings.kinds else solved.judge_solved
            asked |= {
                (answer.id, SOLVED_AREA, repeat): judge(answer, repeat)
                for repeat in range(settings.judgements_per_answer)
            }
        if WIN_AREA in settings.kinds:
            reference = references.get(answer.id)
            how = (settings.answer_order, settings.seed, settings.judgements_per_answer)
            rounds = settings.comparisons_per_answer
            if settings.win_rule == win.TOOLBENCH:
                asked[answer.id, WIN_AREA, 0] = win.judge_rounds(answer, reference, rounds, *how)
            else:
                asked |= {
                    (answer.id, WIN_AREA, number): win.judge_round(answer, reference, number, *how)
                    for number in range(rounds)
                }
        asked |= {(answer.id, name, 0): judge_yes_no(name, answer) for name in YES_NO if name in settings.kinds}
    if settings.function_calls:
        return {place: carry_out(judging, lambda item: single(by_function(item))) for place, judging in asked.items()}
    return asked


def collected(
    answers: Sequence[JudgedAnswer], references: Mapping[str, JudgedAnswer], found: Mapping[Place, Any]
) -> list[Judgement[Opinions]]:
    """Collects the results of :func:`judgings`, a judgement per judged answer.

    Args:
        answers: The judged answers.
        references: Query id -> the answer to compare with.
        found: Results of the dialogues.
    """
    opinions: dict[str, dict[str, list[Opinion]]] = {answer.id: {} for answer in answers}
    for (answer_id, area, _), outcome in found.items():
        if isinstance(outcome, list):
            opinions[answer_id].setdefault(area, []).extend(outcome)
            continue
        both = outcome if isinstance(outcome, tuple) else (outcome,)
        for about, opinion in zip((area, SOLVABLE_AREA), both, strict=False):
            opinions[answer_id].setdefault(about, []).append(opinion)
    return [
        Judgement(
            answer.id,
            found={area: tuple(area_opinions) for area, area_opinions in opinions[answer.id].items()},
            answer_digest=answer.digest,
            reference=references[answer.id].digest
            if WIN_AREA in opinions[answer.id] and answer.id in references
            else '',
        )
        for answer in answers
        if opinions[answer.id]
    ]
