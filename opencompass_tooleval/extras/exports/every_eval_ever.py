"""Every Eval Ever 0.3: an aggregate record per model and data set, and a line per sample and score.

Fields, paths and rules follow its schemas and its validator (``every-eval-ever`` 0.3.0, github.com/evaleval).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from opencompass_tooleval.catalogue.benchmark import find_benchmark
from opencompass_tooleval.catalogue.metrics import lower_is_better, words_of_metric
from opencompass_tooleval.core.calls.messages import Message, object_arguments
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import read_others, spending_of
from opencompass_tooleval.core.statistics.sample import TWIN
from opencompass_tooleval.core.statistics.trials import Estimate
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.extras.exports.evaluation import Evaluation, Sample
from opencompass_tooleval.extras.exports.settings import (
    ExportSettings,
    as_settings,
    dumps,
    find_entry,
    is_hub_id,
    published,
)
from opencompass_tooleval.plugin import BENCHMARKS
from opencompass_tooleval.report.figure import slug

VERSION = '0.3.0'
UNKNOWN = 'unknown'


def files_of(evaluation: Evaluation, settings: ExportSettings) -> Iterator[tuple[str, str]]:
    """Yields path and text of the samples, if there are any, and of the aggregate."""
    model = model_id(evaluation, settings)
    developer, _, name = model.rpartition('/')
    collection = slug(evaluation.benchmark or 'opencompass')
    identity = '/'.join([collection, model, evaluation.scored.folder, evaluation.scored.dataset, _epoch(evaluation)])
    # In the form of a version 4 UUID, which the datastore's paths require; the same run gives the same UUID.
    uuid = UUID(bytes=hashlib.sha256(identity.encode('utf-8', 'backslashreplace')).digest()[:16], version=4)
    stem = f'data/{collection}/{developer or UNKNOWN}/{name}/{uuid}'
    aggregate = _aggregate(evaluation, settings, identity, model)
    rows = [dumps(row) for sample in evaluation.samples for row in _rows(evaluation, sample, identity, model)]
    if rows:
        text = ''.join(f'{row}\n' for row in rows)
        aggregate['detailed_evaluation_results'] = {
            'format': 'jsonl',
            'file_path': f'{stem}_samples.jsonl',
            'hash_algorithm': 'sha256',
            'checksum': hashlib.sha256(text.encode('utf-8')).hexdigest(),
            'total_rows': len(rows),
        }
        yield f'{stem}_samples.jsonl', text
    yield f'{stem}.json', dumps(aggregate, indent=2) + '\n'


def model_id(evaluation: Evaluation, settings: ExportSettings) -> str:
    """Returns the model's id on the hub if known, else its abbr; never a local path."""
    hub_entry, path = find_entry(settings.hub_models, evaluation.scored.folder), evaluation.cfg.get('path')
    if hub_entry:
        return hub_entry.id
    return path if isinstance(path, str) and is_hub_id(path) else slug(evaluation.scored.folder)


def _epoch(evaluation: Evaluation) -> str:
    return str(int(evaluation.scored_at.timestamp()))


def _aggregate(evaluation: Evaluation, settings: ExportSettings, identity: str, model: str) -> dict[str, Any]:
    provenance, scored = evaluation.scored.provenance, evaluation.scored
    developer = {} if '/' in model else {'developer': UNKNOWN}
    return {
        'schema_version': VERSION,
        'evaluation_id': identity,
        'evaluation_timestamp': _epoch(evaluation),
        'retrieved_timestamp': _epoch(evaluation),
        'source_metadata': {
            'source_name': 'opencompass-tooleval',
            'source_type': 'evaluation_run',
            'source_organization_name': settings.organization or UNKNOWN,
            'evaluator_relationship': settings.relationship,
            'additional_details': as_settings({**evaluation.remarks(), 'source_url': settings.source_url or None}),
        },
        'eval_library': {
            'name': 'opencompass-tooleval',
            'version': provenance.opencompass_tooleval or UNKNOWN,
            'additional_details': as_settings({'opencompass': provenance.opencompass or None}),
        },
        'model_info': {
            'name': scored.folder,
            'id': model,
            **developer,
            'additional_details': {'deployment_type': UNKNOWN, 'model_availability': UNKNOWN},
        },
        'evaluation_results': [_result(evaluation, settings, *score) for score in evaluation.scores()],
    }


def _result(
    evaluation: Evaluation, settings: ExportSettings, metric: str, estimator: str, score: Estimate
) -> dict[str, Any]:
    scored, words, ours = evaluation.scored, words_of_metric(metric), bool(evaluation.benchmark)
    config = {
        'evaluation_description': words.sentence or None,
        'metric_id': '.'.join(filter(None, [evaluation.benchmark or scored.dataset, metric, estimator])),
        'metric_name': f'{words.name} {estimator}'.strip(),
        'metric_unit': 'percent' if ours else None,
        'metric_parameters': {'estimator': estimator, 'trials': evaluation.trials} if estimator else None,
        'lower_is_better': lower_is_better(metric),
        **({'score_type': 'continuous', 'min_score': 0.0, 'max_score': 100.0} if ours else {}),
        'additional_details': evaluation.judge_of(metric) or None,
    }
    error = {'standard_error': {'value': score.standard_error, 'method': 'analytic, clustered by query'}}
    return {
        'evaluation_result_id': _result_id(evaluation, metric, estimator),
        'evaluation_name': scored.dataset,
        'source_data': _source(evaluation, settings),
        'metric_config': {key: value for key, value in config.items() if value is not None},
        'score_details': {
            'score': score.value,
            'details': as_settings(_counts(evaluation, score)),
            **({'uncertainty': error} if score.standard_error is not None else {}),
        },
        'generation_config': {
            'generation_args': evaluation.generation(),
            'additional_details': as_settings({**scored.provenance.stored, **_spent(evaluation)}),
        },
    }


def _result_id(evaluation: Evaluation, metric: str, estimator: str = '') -> str:
    return '/'.join(filter(None, [evaluation.scored.dataset, metric, estimator]))


def _counts(evaluation: Evaluation, score: Estimate) -> dict[str, Any]:
    """Returns the numbers of answers behind a score: all, those with a value, and those without an answer."""
    samples = evaluation.scored.part('samples')
    with_value = {'with_value': score.records} if evaluation.samples else {}
    return {**{f'samples_{name}': count for name, count in samples.items()}, **with_value, 'trials': evaluation.trials}


def _source(evaluation: Evaluation, settings: ExportSettings) -> dict[str, Any]:
    """Returns where the data come from: the hub, the paper, or a private set."""
    provenance, dataset = evaluation.scored.provenance.stored, evaluation.scored.dataset
    hashes = {key: value for key, value in provenance.items() if key.endswith('sha256')}
    details: dict[str, Any] = {'private': 'true' if evaluation.is_private else None, **hashes}
    details |= {key: provenance[key] for key in (TWIN, 'twin_seed') if key in provenance}
    is_elsewhere = evaluation.is_private or TWIN in provenance
    hub_entry = None if is_elsewhere else find_entry(settings.hub_datasets, dataset)
    benchmark = find_benchmark(evaluation.benchmark) if evaluation.benchmark in BENCHMARKS else None
    if hub_entry:
        details |= {'hf_revision': hub_entry.revision or None, 'hf_task': hub_entry.task or None}
    named = {'dataset_name': dataset, 'additional_details': as_settings(details)}
    if hub_entry:
        return {**named, 'source_type': 'hf_dataset', 'hf_repo': hub_entry.id}
    if evaluation.is_private or benchmark is None or not benchmark.paper.startswith('arXiv '):
        return {**named, 'source_type': 'other'}
    return {**named, 'source_type': 'url', 'url': [f'https://arxiv.org/abs/{benchmark.paper.removeprefix("arXiv ")}']}


def _spent(evaluation: Evaluation) -> dict[str, Any]:
    """Returns tokens and cost of all answers, and of judges and simulators."""
    usage = evaluation.scored.part('usage')
    spent = spending_of(usage)
    rows = {'usage': spent} if spent else {}
    rows |= {f'usage of {other.name}': other.spent for other in read_others(usage)}
    names = ('answers', 'prompt', 'completion', 'cost', 'counted', 'unknown', 'incomplete')
    return {name: {key: getattr(row, key) for key in names} for name, row in rows.items()}


def _rows(evaluation: Evaluation, sample: Sample, identity: str, model: str) -> Iterator[dict[str, Any]]:
    """Yields a line per score that applies to the sample, as the schema requires."""
    asked = '\n\n'.join(
        turn.content if len(sample.asked) == 1 else f'{turn.role}: {turn.content}' for turn in sample.asked
    )
    gold = sample.detail.get('gold')
    shown = published({'raw': asked, 'reference': [] if gold is None else [bounded_text(gold, 20_000)]})
    base = {
        'schema_version': VERSION,
        'evaluation_id': identity,
        'model_id': model,
        'evaluation_name': evaluation.scored.dataset,
        'sample_id': sample.id,
        'sample_hash': _hash(shown),
        'input': shown,
        **_interaction(sample),
        'token_usage': _tokens(sample.usage),
        'performance': _performance(sample.usage),
        'error': sample.error or None,
        'metadata': as_settings(
            {
                'reason': sample.reason,
                'run': sample.run,
                'unit': '0-1',
                'private': 'true' if evaluation.is_private else None,
                'finish_reason': sample.prediction.get('finish_reason'),
                **sample.more,
            }
        ),
    }
    turns = len([turn for turn in sample.turns if turn.role == 'assistant'])
    for metric, value in sample.values.items():
        judged = {'score': value, 'is_correct': sample.is_right(metric), 'num_turns': max(1, turns)}
        if metric in evaluation.metrics:
            yield {
                **base,
                'evaluation_result_id': _result_id(evaluation, metric),
                'evaluation': {**judged, 'tool_calls_count': sample.calls},
            }


def _hash(shown: Mapping[str, Any]) -> str:
    """Returns the hash by which the datastore finds the same sample in other records."""
    text = json.dumps(shown, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode('utf-8')).hexdigest()


def _interaction(sample: Sample) -> dict[str, Any]:
    kind: dict[str, Any]
    read = sample.detail.get('parsed')
    source, index = 'output.raw', 0
    if sample.is_agent or len(sample.turns) > 1:
        messages = [*sample.asked, *sample.turns] or [Message('assistant', sample.answer)]
        index = len(messages) - 1
        source = f'messages[{index}].content'
        kind = {'interaction_type': 'agentic' if sample.is_agent else 'multi_turn', 'output': None}
        kind['messages'] = [_message(turn, i) for i, turn in enumerate(messages)]
    else:
        calls = [dumps(call.to_payload()) for turn in sample.turns for call in turn.calls]
        texts = ['\n'.join(filter(None, [sample.answer, *calls]))]
        kind = {'interaction_type': 'single_turn', 'output': {'raw': texts}, 'messages': None}
    attribution = {
        'turn_idx': index,
        'source': source,
        'extracted_value': bounded_text(read, 20_000),
        'extraction_method': str(sample.detail.get('parse_method') or UNKNOWN),
        'is_terminal': True,
    }
    return {**kind, 'answer_attribution': [] if read is None else [attribution]}


def _message(turn: Message, index: int) -> dict[str, Any]:
    calls = [
        {
            'id': call.id,
            'name': call.name,
            'arguments': {
                key: value if isinstance(value, str) else dumps(value)
                for key, value in object_arguments(call.arguments).items()
            },
        }
        for call in turn.calls
    ]
    return {
        'turn_idx': index,
        'role': turn.role,
        'content': turn.content,
        **({'tool_calls': calls} if calls else {}),
        **({'tool_call_id': [turn.call_id]} if turn.call_id else {}),
    }


def _tokens(usage: Usage | None) -> dict[str, Any] | None:
    """Returns the tokens of all rounds; None unless all prompts and answers are known."""
    if usage is None or not usage.is_whole('prompt') or not usage.is_whole('completion'):
        return None
    prompt, completion = usage.prompt or 0, usage.completion or 0
    tokens = {'input_tokens': prompt, 'output_tokens': completion, 'total_tokens': prompt + completion}
    more = {'input_tokens_cache_read': usage.cached, 'reasoning_tokens': usage.reasoning}
    return {**tokens, **{name: number for name, number in more.items() if number is not None}}


def _performance(usage: Usage | None) -> dict[str, Any] | None:
    return {'latency_ms': 1000 * usage.seconds} if usage and usage.seconds is not None else None
