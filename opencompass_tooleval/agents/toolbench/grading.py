"""Grades agents' answers with a judge: settings, dialogues, judgements and scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.questions import YES_NO
from opencompass_tooleval.agents.toolbench import solved, win
from opencompass_tooleval.agents.toolbench.judge_prompts import by_function
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.judged_scores import Judged, judge_answer
from opencompass_tooleval.agents.toolbench.judgements import (
    KINDS,
    MAX_OPINIONS,
    PASS,
    SOLVABLE_AREA,
    SOLVED_AREA,
    WIN_AREA,
    Opinions,
    read_opinions,
    read_published,
)
from opencompass_tooleval.agents.toolbench.opinion import no_opinion
from opencompass_tooleval.agents.toolbench.references import check_compared, compared_digest, references_digest
from opencompass_tooleval.core.calls.answer import Answer, why_unread
from opencompass_tooleval.judging.grading import Grading
from opencompass_tooleval.judging.judge_item import Judging, carry_out, single
from opencompass_tooleval.judging.judgement import Judgement, Opinion, Unjudged, Unread, read_judgement
from opencompass_tooleval.judging.judgement_files import read_judgements
from opencompass_tooleval.judging.yes_no import NO
from opencompass_tooleval.work_dir.data_files import read_json


@dataclass(frozen=True)
class JudgeSettings:
    """Kinds and numbers of judgements.

    Attributes:
        kinds: Kinds of :data:`~opencompass_tooleval.agents.toolbench.judgements.KINDS`.
        judgements_per_answer: Number of judgements of each answer, for ``solved`` and ``pass``.
        comparisons_per_answer: Number of comparisons of each answer with the reference.
        answer_order: One of :data:`~opencompass_tooleval.agents.toolbench.win.ANSWER_ORDERS`.
        seed: Seed of random choices.
        win_rule: One of :data:`~opencompass_tooleval.agents.toolbench.win.RULES`.
        function_calls: True if the judge calls a function natively, as ToolBench's does; False for a reply in JSON.
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
        """Kinds whose value for one answer is 0 or 1."""
        return tuple(kind for kind in self.kinds if kind != SOLVED_AREA)

    def to_row(self) -> dict[str, Any]:
        """Returns the settings that affect a result's scores."""
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
            raise ValueError(f'judgement_kinds={list(self.kinds)}: it is a list of {", ".join(KINDS)}')
        if (
            min(self.judgements_per_answer, self.comparisons_per_answer) < 1
            or max(self.judgements_per_answer, self.comparisons_per_answer) > MAX_OPINIONS
        ):
            raise ValueError(f'judgements_per_answer and comparisons_per_answer must be between 1 and {MAX_OPINIONS}')
        if self.answer_order not in win.ANSWER_ORDERS:
            raise ValueError(f'answer_order={self.answer_order!r}: it is one of {", ".join(win.ANSWER_ORDERS)}')
        if self.win_rule not in win.RULES:
            raise ValueError(f'win_rule={self.win_rule!r}: it is one of {", ".join(win.RULES)}')


DialogueKey = tuple[str, str, int]
"""Query id, area, and index of the repetition or round."""


class AgentGrading(Grading[JudgedAnswer, Opinions, Judged]):
    """Grading of agents' answers.

    Attributes:
        settings: Kinds and numbers of judgements.
        references: Query id -> the answer to compare with.
        reference_digest: Digest of the references, given or named by stored judgements; ``''`` without references.

    Args:
        answers: The answers; those with an infrastructure failure are not judged.
        settings: Sets the attribute.
        references: Sets the attribute.
        candidate: The model whose answers are scored, in ToolBench's ``preference_results``; default: the second.
    """

    def __init__(
        self,
        answers: Sequence[JudgedAnswer],
        settings: JudgeSettings | None = None,
        references: Mapping[str, JudgedAnswer] | None = None,
        candidate: str | None = None,
    ) -> None:
        super().__init__(answers, answers)
        self.settings, self.references = settings or JudgeSettings(), references or {}
        self.reference_digest = references_digest(self.references) if self.references else ''
        self._candidate = candidate

    def read(self, file: Path) -> list[Judgement[Opinions]]:
        """Reads judgements: a file of ours, or ToolBench's ``pass_rate_results`` or ``preference_results`` (JSON).

        Raises:
            DataError: The file is missing or damaged, judges an answer twice, or compares with another reference.
        """
        rows = read_json(file)
        if isinstance(rows, dict) and rows and all(isinstance(row, dict) for row in rows.values()):
            judgements = read_judgements(file, rows.items(), partial(read_published, candidate=self._candidate))
        else:
            named = ((str(number), row) for number, row in enumerate(rows if isinstance(rows, list) else [rows]))
            judgements = read_judgements(file, named, partial(read_judgement, read=read_opinions))
        if self.references:
            check_compared(judgements, self.references, file)
        else:
            self.reference_digest = compared_digest(judgements)
        return judgements

    def members(self, found: Opinions) -> dict[str, Any]:
        """Converts opinions to members of a row."""
        return {area: [opinion.to_row() for opinion in opinions] for area, opinions in found.items()}

    def dialogues(self) -> dict[DialogueKey, Judging[Any]]:
        """Starts all dialogues with the judge."""
        kinds, times = self.settings.kinds, self.settings.judgements_per_answer
        dialogues: dict[DialogueKey, Judging[Any]] = {}
        for answer in (answer for answer in self.answers if not answer.infra):
            if PASS in kinds or SOLVED_AREA in kinds:
                judge = solved.judge_passed if PASS in kinds else solved.judge_solved
                dialogues |= {(answer.id, SOLVED_AREA, repeat): judge(answer, repeat) for repeat in range(times)}
            if WIN_AREA in kinds:
                dialogues |= dict(self._comparisons(answer))
            dialogues |= {(answer.id, name, 0): judge_yes_no(name, answer) for name in YES_NO if name in kinds}
        if self.settings.function_calls:
            return {name: carry_out(one, lambda item: single(by_function(item))) for name, one in dialogues.items()}
        return dialogues

    def _comparisons(self, answer: JudgedAnswer) -> Iterator[tuple[DialogueKey, Judging[Any]]]:
        reference, settings = self.references.get(answer.id), self.settings
        how = (settings.answer_order, settings.seed, settings.judgements_per_answer)
        rounds = settings.comparisons_per_answer
        if settings.win_rule == win.TOOLBENCH:
            yield (answer.id, WIN_AREA, 0), win.judge_rounds(answer, reference, rounds, *how)
        else:
            for number in range(rounds):
                yield (answer.id, WIN_AREA, number), win.judge_round(answer, reference, number, *how)

    def collected(self, found: Mapping[DialogueKey, Any]) -> list[Judgement[Opinions]]:
        """Collects the results of the dialogues into one judgement per judged answer."""
        opinions: dict[str, dict[str, list[Opinion]]] = {answer.id: {} for answer in self.answers}
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
                reference=self.references[answer.id].digest
                if WIN_AREA in opinions[answer.id] and answer.id in self.references
                else '',
            )
            for answer in self.answers
            if opinions[answer.id]
        ]

    def score_answer(
        self, record: JudgedAnswer, answer: JudgedAnswer, judgements: Sequence[Judgement[Opinions]]
    ) -> Judged:
        """Computes the scores of an answer."""
        return judge_answer(answer, judgements, self.settings.kinds)

    def opinions(self, score: Judged) -> Iterator[Unjudged | None]:
        """Yields None for each opinion, or its failure if it is missing."""
        for area, opinions in score.opinions.items():
            for opinion in opinions:
                yield Unjudged(f'{area} of task {score.id}', opinion.fault) if opinion.fault else None


def judge_yes_no(name: str, answer: JudgedAnswer) -> Judging[Opinion]:
    """Asks a question of :data:`YES_NO`; an answer without text gets ``no`` without a request."""
    if why_unread(Answer(answer.told)):
        return Opinion(NO, solved.NO_ANSWER)
    opinion = yield YES_NO[name].question(f'{answer.id}/{name}', answer)
    return no_opinion(opinion, name) if isinstance(opinion, Unread) else opinion
