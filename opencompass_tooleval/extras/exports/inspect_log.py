"""Inspect's logs (``inspect_ai.log.EvalLog``, version 2): one per model and data set, for Inspect View and its readers.

A score of a sample is 0-1, as in the result; the scores of the log are the result's own, 0-100.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.catalogue.labels import words_of_reason
from opencompass_tooleval.catalogue.metrics import lower_is_better, main_metrics, words_of_metric
from opencompass_tooleval.core.calls.answer import CUT
from opencompass_tooleval.core.calls.messages import TOOL, Message, object_arguments
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import OTHERS, Spending, read_others, spending_of
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.extras.exports.evaluation import Evaluation, Sample
from opencompass_tooleval.extras.exports.published import as_settings, dumps
from opencompass_tooleval.extras.exports.settings import ExportSettings
from opencompass_tooleval.report.figure import slug
from opencompass_tooleval.report.trajectories import opinions_of

VERSION = 2
_STOPS = {'stop': 'stop', CUT: 'max_tokens', 'tool_calls': 'tool_calls', 'content_filter': 'content_filter'}
_SOURCES = {'assistant': 'generate'}
_TEXT = 20_000
_PACKAGES = ('opencompass_tooleval', 'opencompass')


def files_of(evaluation: Evaluation, settings: ExportSettings) -> Iterator[tuple[str, str]]:
    """Yields name and text of the log; the name has the form by which Inspect finds and sorts logs."""
    scored, created = evaluation.scored, evaluation.scored_at.isoformat()
    task_id = _id(scored.folder, scored.dataset, created)
    log = {
        'version': VERSION,
        'status': 'success',
        'eval': _spec(evaluation, settings, task_id),
        'plan': {'steps': [{'solver': str(scored.part('provenance').get('loop') or 'generate')}]},
        'results': {
            'total_samples': len(evaluation.samples),
            'completed_samples': sum(not sample.error for sample in evaluation.samples),
            'scores': list(_scores(evaluation)),
        },
        'stats': {'completed_at': created, **_usages(evaluation)},
        'samples': [_sample(evaluation, sample) for sample in evaluation.samples],
    }
    name = f'{created.replace(":", "-")}_{slug(scored.dataset).replace("_", "-")}_{task_id}.json'
    yield f'{scored.folder}/{name}', dumps(log, indent=1) + '\n'


def _id(*parts: object) -> str:
    return hashlib.sha256('\0'.join(map(str, parts)).encode('utf-8', 'backslashreplace')).hexdigest()[:22]


def _spec(evaluation: Evaluation, settings: ExportSettings, task_id: str) -> dict[str, Any]:
    scored, provenance = evaluation.scored, evaluation.scored.part('provenance')
    more = {'source_url': settings.source_url or None, 'organization': settings.organization or None}
    parts = {name: scored.part(name) for name in ('samples', 'usage')}
    main = main_metrics(evaluation.metrics)
    return {
        'eval_id': task_id,
        'run_id': _id(scored.run.path.name),
        'task_id': task_id,
        'created': evaluation.scored_at.isoformat(),
        'task': scored.dataset,
        'task_version': str(provenance.get('version') or 0),
        'tags': ['private'] if evaluation.is_private else None,
        'dataset': {'name': scored.dataset, 'samples': len({sample.id for sample in evaluation.samples})},
        'model': scored.folder,
        'model_generate_config': evaluation.generation(),
        'model_roles': {'judge': {'model': str(provenance['judge'])}} if provenance.get('judge') else None,
        'config': {'epochs': evaluation.trials},
        'packages': {name: str(provenance[name]) for name in _PACKAGES if provenance.get(name)},
        'metadata': as_settings({**provenance, **evaluation.remarks(), **more, **parts}),
        'headline_metric': {'scorer': main[0], 'metric': _NAME} if main else None,
    }


_NAME = 'percent'
"""Name of a score in a log: it is no fraction, as those that Inspect computes."""


def _scores(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yields each score with its standard error, and its estimates from several trials."""
    numbers: dict[str, dict[str, float]] = {}
    for metric, estimator, score in evaluation.scores():
        pairs = [(estimator or _NAME, score.value), (f'{estimator} stderr'.strip(), score.standard_error)]
        numbers.setdefault(metric, {}).update((name, value) for name, value in pairs if value is not None)
    for metric, values in numbers.items():
        words, count = words_of_metric(metric), sum(metric in sample.values for sample in evaluation.samples)
        about = {'label': words.name, 'meaning': words.sentence, 'lower_is_better': lower_is_better(metric)}
        yield {
            'name': metric,
            'scorer': metric,
            'scored_samples': count,
            'unscored_samples': len(evaluation.samples) - count,
            'metrics': {name: {'name': name, 'value': value} for name, value in values.items()},
            'metadata': {**about, **({'judge': judge} if (judge := evaluation.judge_of(metric)) else {})},
        }


def _usages(evaluation: Evaluation) -> dict[str, Any]:
    """Usage of the model, and by role that of judges and simulators."""
    usage = evaluation.scored.part('usage')
    spent, others = spending_of(usage), read_others(usage)
    return {
        'model_usage': {evaluation.scored.folder: _spent(spent, usage)} if spent else {},
        'role_usage': {f'{other.role} {other.model}': _spent(other.spent, {}) for other in others},
    }


def _spent(spent: Spending, usage: Mapping[str, Any]) -> dict[str, Any]:
    cached = usage.get('cached')
    read = cached.get('total') if isinstance(cached, dict) else None
    read = min(read, spent.prompt) if type(read) is int and read >= 0 else 0
    tokens = {'input_tokens': spent.prompt - read, 'output_tokens': spent.completion}
    more = {'input_tokens_cache_read': read or None, 'total_cost': spent.cost}
    return {**tokens, 'total_tokens': spent.prompt + spent.completion, **more}


def _sample(evaluation: Evaluation, sample: Sample) -> dict[str, Any]:
    model, usage, gold = evaluation.scored.folder, sample.usage, sample.detail.get('gold')
    known = {model: _tokens(usage)} if usage and usage.has_tokens else {}
    stop = _STOPS.get(str(sample.prediction.get('finish_reason')), 'unknown')
    conversation = [*sample.asked, *sample.turns]
    answer = Message('assistant', sample.answer, () if sample.is_agent or not sample.turns else sample.turns[-1].calls)
    choice = {'message': _message(answer, {}, 'generate'), 'stop_reason': stop}
    names = {call.id: call.name for turn in conversation for call in turn.calls}
    asked = [_message(turn, names, 'input') for turn in sample.asked]
    error = words_of_reason(sample.error)
    message = f'{sample.error}: {error.sentence}; the sample counts as wrong'
    return {
        'id': sample.id,
        'epoch': sample.run + 1,
        'input': asked or '',
        'target': bounded_text(gold, _TEXT),
        'messages': [*asked, *(_message(turn, names, _SOURCES.get(turn.role)) for turn in sample.turns)],
        'output': {'model': model, 'choices': [] if sample.error else [choice], 'error': sample.error or None},
        'scores': {metric: _sample_score(evaluation, sample, metric) for metric in sample.values},
        'metadata': _metadata(sample),
        'model_usage': known,
        'total_time': usage.seconds if usage else None,
        'error': {'message': message, 'traceback': '', 'traceback_ansi': ''} if sample.error else None,
        'turn_count': sum(turn.role == 'assistant' for turn in sample.turns),
    }


def _metadata(sample: Sample) -> dict[str, Any]:
    words = words_of_reason(sample.reason)
    rows = {'reason': sample.reason, 'why': words.sentence or words.name, **sample.more}
    others = sample.prediction.get(OTHERS)
    return as_settings({**rows, 'other_models': others, 'domain': sample.detail.get('domain')})


def _sample_score(evaluation: Evaluation, sample: Sample, metric: str) -> dict[str, Any]:
    """Returns a value with what was read from the answer, and the opinions of the judge that gave it."""
    read, opinions = sample.detail.get('parsed'), opinions_of(sample.detail) if evaluation.judge_of(metric) else []
    lines = [f'{row["area"]}: {row["value"] or row["fault"]} ({row["decided_by"]}) {row["why"]}' for row in opinions]
    return {
        'value': sample.values[metric],
        'answer': None if read is None else bounded_text(read, _TEXT),
        'explanation': bounded_text('\n'.join([sample.reason, *lines]), _TEXT),
        'metadata': {'parse_method': str(sample.detail.get('parse_method') or '')},
    }


def _message(turn: Message, names: Mapping[str, str], source: str | None) -> dict[str, Any]:
    calls = [
        {'id': call.id, 'function': call.name, 'arguments': object_arguments(call.arguments), 'type': 'function'}
        for call in turn.calls
    ]
    reply = {'tool_call_id': turn.call_id, 'function': names.get(turn.call_id)} if turn.role == TOOL else {}
    return {
        'role': turn.role,
        'content': turn.content,
        'source': source,
        **({'tool_calls': calls} if calls else {}),
        **reply,
    }


def _tokens(usage: Usage) -> dict[str, Any]:
    cached = min(usage.cached or 0, usage.prompt or 0)
    prompt, completion = usage.prompt or 0, usage.completion or 0
    return {
        'input_tokens': prompt - cached,
        'output_tokens': completion,
        'total_tokens': prompt + completion,
        'input_tokens_cache_read': usage.cached,
        'reasoning_tokens': usage.reasoning,
    }
