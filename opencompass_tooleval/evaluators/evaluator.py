"""Base class of evaluators: scores samples, and builds an OpenCompass result with details."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import opencompass
from datasets import Dataset
from opencompass.openicl.icl_evaluator import BaseEvaluator
from opencompass.utils import get_logger

from opencompass_tooleval import __version__, plugin
from opencompass_tooleval.catalogue.benchmark import FIRST
from opencompass_tooleval.catalogue.comparable import CLUSTERED_BY
from opencompass_tooleval.catalogue.metrics import main_first
from opencompass_tooleval.core.calls.answer import USAGE, Answer, postprocessed
from opencompass_tooleval.core.calls.tool_calls import calls_text, read_calls
from opencompass_tooleval.core.scoring.result import SampleScore, split_runs
from opencompass_tooleval.core.scoring.scorer import Scored, Scorer
from opencompass_tooleval.core.scoring.usage_summary import OTHERS
from opencompass_tooleval.core.statistics.sample import SEED
from opencompass_tooleval.core.statistics.trials import BinaryMetrics, Estimate, of_trials
from opencompass_tooleval.core.text.jsonable import texts_digest
from opencompass_tooleval.models.dataset import SHOWN

_DIGESTS = {'record': 'records_sha256', 'messages': 'prompts_sha256'}
"""Column of a dataset -> key of its digest in the provenance."""

OF = 'of'
"""Column with the number of records in the whole dataset, before ``test_range`` is applied."""


def as_dataset(rows: Sequence[Mapping[str, Any]]) -> Dataset:
    """Converts records to an OpenCompass dataset, with the number of all records."""
    return Dataset.from_list([{**row, OF: len(rows)} for row in rows])


def check_record_ids(expected: Sequence[str], predicted: Sequence[str]) -> None:
    """Checks that each prediction is at the position of its record.

    Raises:
        ValueError: A record is missing, repeated, unknown or out of place; the message names the first few.
    """
    if list(expected) == list(predicted):
        return
    expected_counts, predicted_counts = Counter(expected), Counter(predicted)
    faults = {
        'missing': list((expected_counts - predicted_counts).elements()),
        'doubled': [
            record
            for record, count in predicted_counts.items()
            if record in expected_counts and count > expected_counts[record]
        ],
        'unknown': [record for record in predicted_counts if record not in expected_counts],
        'out of place': [a for a, b in zip(expected, predicted, strict=False) if a != b],
    }
    listing = '; '.join(f'{len(ids)} {fault}: {", ".join(map(str, ids[:5]))}' for fault, ids in faults.items() if ids)
    raise ValueError(
        f'predictions do not belong to the data set ({listing}). Delete the predictions file and run again.'
    )


class ToolEvalEvaluator(Scorer, BaseEvaluator):
    """Base class of the benchmarks' evaluators: a scorer that gets its answers from OpenCompass and returns its result.

    It overrides :meth:`BaseEvaluator.evaluate`, which changes results with details: it wraps values in lists and
    converts booleans to floats. The row ``subset`` may have ``binary_metrics`` and ``success`` (see
    :class:`~opencompass_tooleval.core.statistics.trials.BinaryMetrics`).
    """

    def __init__(self, pred_postprocessor: Any = None) -> None:
        BaseEvaluator.__init__(self, pred_postprocessor)

    def score_samples(self, references: Sequence[str], answers: Sequence[Answer]) -> list[SampleScore]:
        """Scores postprocessed answers against the dataset's column ``record``."""
        return self.score_answers([self.read_record(reference) for reference in references], answers)

    @property
    def binary_metrics(self) -> BinaryMetrics:
        """The rule for a correct sample, used with several trials; by default the one in the subset's row."""
        return BinaryMetrics(getattr(self.subset, 'binary_metrics', ()), getattr(self.subset, 'success', ()))

    def check_model(self, model: str) -> None:
        """Raises, before inference, if a model's answers could not be scored. By default checks nothing.

        Args:
            model: The model's abbr.
        """

    def judge_name(self) -> str:
        """Returns the name of the judge that an evaluation uses; ``''`` (the default) if it uses none."""
        return ''

    def other_usage(self) -> list[dict[str, Any]]:
        """Returns the usage of auxiliary models, such as a judge, for ``auxiliary_models`` in ``usage``; or none."""
        return []

    def scored_parts(self, texts: list[str]) -> Sequence[str]:
        """Extracts the scored parts of answers; by default the whole answers."""
        return texts

    def evaluate(self, k: Any, n: int, original_dataset: Dataset, **columns: Any) -> dict[str, Any]:
        """Scores ``n`` runs of a dataset.

        Args:
            k: Unused; part of OpenCompass's interface.
            n: Number of runs. The dataset has each record ``n`` times.
            original_dataset: The rows, with ``record_id``.
            columns: Other arguments of :meth:`score`.

        Returns:
            Metrics as floats on 0-100 (the mean over runs), main ones first, then nested dicts that OpenCompass's
            summarizer ignores: ``standard_errors``, ``reasons``, ``samples``, ``provenance``, ``breakdown``, ``runs``
            and ``trials`` (for several runs), those that :data:`~opencompass_tooleval.plugin.ADDED` adds, and
            ``details``, run after run.

        Raises:
            ValueError: Predictions belong to other records, or a record does not occur ``n`` times.
        """
        check_record_ids(original_dataset['record_id'], columns['record_id'])
        positions = split_runs(columns['record_id'], n)
        parts = [{key: part_of(value, rows) for key, value in columns.items()} for rows in positions]
        runs = [self.summarize(self.score(**part), part['record_id']) for part in parts]
        result = self._result(runs, original_dataset)
        for add in plugin.added('result'):
            add(self, result, runs, positions, columns)
        if n > 1:
            result['trials'] = self._trials(runs, result, _same_answers(columns))
            result['details'] = result.pop('details')  # stays last
        rows = original_dataset.select(positions[0])
        if OF in rows.column_names and len(rows) < rows[0][OF]:
            result['samples'][OF] = rows[0][OF]
            if SEED not in result['provenance'] and 'idx' in rows.column_names:
                result['samples'] |= {FIRST: len(rows)} if list(rows['idx']) == [*range(len(rows))] else {}
        for column, name in _DIGESTS.items():
            if column in rows.column_names:
                result['provenance'][name] = texts_digest(rows[column])
        return result

    def score(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        record_id: Sequence[str],
        infra: Sequence[str | None],
    ) -> list[SampleScore]:
        """Scores one run. OpenCompass passes the columns named by the parameters."""
        answers = [Answer(str(text), reason) for text, reason in zip(predictions, infra, strict=True)]
        return self.score_samples(references, postprocessed(answers, self.pred_postprocess))

    def _result(self, runs: list[Scored], dataset: Dataset) -> dict[str, Any]:
        totals = [run.total for run in runs]
        reasons: Counter[str] = Counter()
        for total in totals:
            reasons.update(total.reasons)
        result: dict[str, Any] = {}
        # A summarizer that names no metric shows the first one.
        for metric in main_first(self.metrics, getattr(self.subset, 'METRICS', ())):
            values = [value for total in totals if (value := total.metrics[metric]) is not None]
            result[metric] = sum(values) / len(values) if values else None
            if not values:
                get_logger().warning(f'{metric}: no sample has a value; it is not measured')
        result['standard_errors'] = self.total([score for run in runs for score in run.scores]).standard_errors
        if len(totals) > 1:
            result['runs'] = [total.metrics for total in totals]
        result['reasons'] = dict(reasons.most_common())
        result['samples'] = {
            'all': sum(total.samples for total in totals),
            'infra': sum(total.infra for total in totals),
        }
        result['provenance'] = {
            **self.provenance(),
            **(json.loads(dataset[0][SHOWN]) if SHOWN in dataset.column_names else {}),
            CLUSTERED_BY: 'query' if any(score.query for score in runs[0].scores) else 'record',
            'opencompass_tooleval': __version__,
            'opencompass': opencompass.__version__,
        }
        breakdowns = [run.breakdown for run in runs]
        if any(breakdowns):
            result['breakdown'] = breakdowns[0] if len(runs) == 1 else breakdowns
        others = self.other_usage()
        if others:
            result[USAGE] = {OTHERS: others}
        result['details'] = [
            {**score.to_detail(), **({'trial': trial} if len(runs) > 1 else {})}
            for trial, run in enumerate(runs)
            for score in run.scores
        ]
        return result

    def _trials(self, runs: Sequence[Scored], result: Mapping[str, Any], same_answers: int) -> dict[str, Any]:
        """Returns ``n``, ``success`` (see :class:`BinaryMetrics`), ``same_answers``, and ``metrics``."""
        rule, scores = self.binary_metrics, [score for run in runs for score in run.scores]
        averages = {
            metric: Estimate(
                result[metric],
                result['standard_errors'][metric],
                len({score.id for score in scores if score.values[metric] is not None}),
            )
            for metric in self.metrics
        }
        samples = [(score.id, score.values) for score in scores]
        clusters = {score.id: score.cluster for score in scores}
        estimates = of_trials(samples, len(runs), averages, rule, clusters)
        return {
            'n': len(runs),
            'success': list(rule.success),
            'same_answers': same_answers,
            'metrics': {
                metric: {name: asdict(estimate) for name, estimate in by_kind.items()}
                for metric, by_kind in estimates.items()
            },
        }


def _same_answers(columns: Mapping[str, Any]) -> int:
    """Counts the records that have the same answer in all trials, and an answer in each."""
    answers: dict[str, set[str]] = {}
    texts = columns['predictions']
    calls = [calls_text(read_calls(row)) for row in columns['calls']] if 'calls' in columns else [''] * len(texts)
    for record_id, *answer in zip(columns['record_id'], texts, calls, strict=True):
        answers.setdefault(record_id, set()).add(repr(answer))  # without the ids of calls, which differ in each answer
    lacking = {record_id for record_id, infra in zip(columns['record_id'], columns['infra'], strict=True) if infra}
    return sum(len(distinct) == 1 for record_id, distinct in answers.items() if record_id not in lacking)


class ToolEvalCallsEvaluator(ToolEvalEvaluator):
    """Base class of evaluators for native calls: it scores answers that have ``calls``."""

    def score(  # type: ignore[override]
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        record_id: Sequence[str],
        infra: Sequence[str | None],
        calls: Sequence[Any],
    ) -> list[SampleScore]:
        """Scores one run, with the column of calls.

        Raises:
            ValueError: A row's calls cannot be read.
        """
        rows = zip(predictions, infra, calls, strict=True)
        answers = [Answer(str(text), reason, calls=read_calls(made)) for text, reason, made in rows]
        return self.score_samples(references, postprocessed(answers, self.pred_postprocess))


def part_of(column: Any, positions: Sequence[int]) -> Any:
    """Returns the rows of a column at some positions; returns other arguments unchanged."""
    if isinstance(column, Dataset):
        return column.select(positions)
    return [column[position] for position in positions] if isinstance(column, Sequence) else column
