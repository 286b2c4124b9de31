"""Hugging Face's evaluation results: ``.eval_results/DATASET.yaml``, for the repository of a model on the hub.

The fields follow the hub's documentation ("Evaluation Results") and ``huggingface_hub.EvalResultEntry``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from opencompass_tooleval.catalogue.benchmark import record_count
from opencompass_tooleval.catalogue.metrics import lower_is_better, main_metrics, words_of_metric
from opencompass_tooleval.catalogue.tables import errors_of
from opencompass_tooleval.core.statistics.sample import TWIN
from opencompass_tooleval.extras.exports.evaluation import Evaluation
from opencompass_tooleval.extras.exports.settings import ExportSettings, find_entry, published
from opencompass_tooleval.report.figure import shown

FOLDER = '.eval_results'
_NOTES = 1_000


def left_out(evaluation: Evaluation, settings: ExportSettings) -> str:
    """Returns why a result has no entry; ``''`` if it has one."""
    if evaluation.is_private and not settings.include_private:
        return 'the data were made from your own tools; to write it, add --include-private'
    if TWIN in evaluation.scored.provenance.stored:
        return 'its records are twins, which are not those on the hub'
    if find_entry(settings.hub_datasets, evaluation.scored.dataset) is None:
        return "the data set's place on the hub is unknown; name it with --hub-dataset 'PATTERN=OWNER/NAME#TASK'"
    return '' if evaluation.metrics else 'no score was measured'


def files_of(evaluation: Evaluation, settings: ExportSettings) -> Iterator[tuple[str, str]]:
    """Yields the file of a result, with an entry for each of its main metrics."""
    entries = published([_entry(evaluation, settings, metric) for metric in main_metrics(evaluation.metrics)])
    path = f'{evaluation.scored.folder}/{FOLDER}/{evaluation.scored.dataset}.yaml'
    yield path, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1_000)


def _entry(evaluation: Evaluation, settings: ExportSettings, metric: str) -> dict[str, Any]:
    dataset = evaluation.scored.dataset
    entry = find_entry(settings.hub_datasets, dataset)
    assert entry is not None  # results without an entry were left out before
    several = len(main_metrics(evaluation.metrics)) > 1
    task = '-'.join([entry.task or dataset, *([metric] if several else [])])
    source = {'url': settings.source_url, **({'org': settings.organization} if settings.organization else {})}
    return {
        'dataset': {
            'id': entry.id,
            'task_id': task,
            **({'revision': entry.revision} if entry.revision else {}),
        },
        'value': evaluation.scored.result[metric],
        'date': evaluation.scored_at.isoformat().replace('+00:00', 'Z'),
        **({'source': source} if settings.source_url else {}),
        'notes': _notes(evaluation, metric),
    }


def _notes(evaluation: Evaluation, metric: str) -> str:
    """Describes the number: metric, error, samples, trials, failures, judge, and why it may not be comparable."""
    scored, words, judge = evaluation.scored, words_of_metric(metric), evaluation.judge_of(metric)
    error, samples = errors_of(scored.result).get(metric), scored.part('samples')
    infra = samples.get('infra')
    parts = [
        f'{words.name} ({metric}), 0-100{", lower is better" if lower_is_better(metric) else ""}',
        f'standard error {shown(error)}' if error is not None else '',
        f'{record_count(scored.result)} records' if record_count(scored.result) is not None else '',
        f'mean of {evaluation.trials} trials' if evaluation.trials > 1 else '',
        f'{infra} samples without an answer count as wrong' if infra else '',
        f'judge {judge["judge"]}' if judge else '',
        *scored.caveats,
        f'opencompass-tooleval {scored.provenance.opencompass_tooleval}'.strip(),
    ]
    return '; '.join(filter(None, parts))[:_NOTES]
