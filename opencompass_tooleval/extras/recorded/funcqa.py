"""Reads stored trajectories of FuncQA, and logs of EasyTool's authors, for ``tooleval score``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from opencompass_tooleval.benchmarks.funcqa.data import DATA_PATH, FIX, TABLE, find_subset, load_records
from opencompass_tooleval.benchmarks.funcqa.scoring import ACCURACY, FuncQAScorer, QuestionScore, tool_errors
from opencompass_tooleval.catalogue.benchmark import RecordedRun
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.extras.recorded.funcqa_logs import LoggedQuestion, count_labels, load_log
from opencompass_tooleval.extras.recorded.right_subset import load_answers

_PUBLISHED_ERROR = 2.34
"""Published error rate in Table 6, for ChatGPT with EasyTool, over both subsets."""


def _about_log(breakdown: Mapping[str, Any]) -> Iterator[str]:
    log, labels = breakdown.get('log'), breakdown.get('labels')
    if log is None:
        return
    if labels is None:
        yield 'labels: none; the accuracy above follows a rule, not the labels of the authors'
    else:
        share = f'{labels["right"]} of {labels["questions"]} = {labels["accuracy"]:.2f}'
        yield f"labels: {share}, the sum that the paper reports; accuracy's rule gives {labels['agreeing']} of them"
    yield (
        f'tool errors: {log["questions_with_error"]} questions have a call that a tool rejects, '
        f'{log["questions_with_discarded_try"]} a discarded try, whose reason is not in the log; '
        f'the paper has {_PUBLISHED_ERROR}% over both subsets'
    )
    yield f'results: {log["differing_results"]} logged results differ from those of the tools'


class _LogScorer(FuncQAScorer):
    """Scores a log; its result also contains what else the log records."""

    def __init__(self, subset: str, logged: Sequence[LoggedQuestion]) -> None:
        super().__init__(subset)
        self._logged = logged

    def breakdown(self, scores: Sequence[QuestionScore]) -> dict[str, Any]:
        """Returns the result's parts other than its metrics."""
        labels = count_labels(self._logged, [bool(score.values[ACCURACY]) for score in scores])
        return {
            **super().breakdown(scores),
            'labels': labels.to_dict() if labels else None,
            'log': {
                'questions_with_error': sum(bool(tool_errors(question.trajectory)) for question in self._logged),
                'questions_with_discarded_try': sum(bool(question.discarded) for question in self._logged),
                'discarded_tries': sum(question.discarded for question in self._logged),
                'differing_results': sum(question.differing for question in self._logged),
            },
        }


def read(
    subset: str,
    predictions: Path,
    *,
    data: Annotated[Path | None, "FuncQA's data file; default: where prepare puts it."] = None,
    gold: Annotated[
        Literal['official', 'repaired'], 'repaired fixes the wrong answers of the published data.'
    ] = 'official',
) -> RecordedRun:
    """Reads trajectories: a predictions file, other recorded answers with their JSON, or a log of the authors.

    Raises:
        DataError: A file is missing or damaged, or files do not belong together.
        ValueError: The subset does not exist.
    """
    row = find_subset(subset)
    records = load_records(data or resolve_data_path(f'{DATA_PATH}/{row.file}', FIX), subset, gold)
    ids = [record.id for record in records]
    logged = load_log(predictions, records)
    if logged is None:
        scorer, what = FuncQAScorer(subset), '{method}'
        answers = load_answers(predictions, subset, [row.name for row in TABLE], ids)
    else:
        scorer, what = _LogScorer(subset, logged), "the authors' log"
        answers = {name: Answer(entry.trajectory.to_json()) for name, entry in zip(ids, logged, strict=True)}
    return RecordedRun(
        scorer,
        records,
        answers,
        f'{{subset}}, {what}, {{gold}} gold',
        ('gold', 'version'),
        counts=('tool_calls', 'tool_errors', 'tools'),
        lines=_about_log,
        expected=row.count,
        unit='questions',
    )
