"""Reasons for which a measured score is not comparable with the published ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opencompass_tooleval.catalogue.benchmark import all_benchmarks, part_in_words, published_size, records_of
from opencompass_tooleval.catalogue.comparable import decides
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.core.scoring.answer_limit import MAX_OUT_LEN, PUBLISHED
from opencompass_tooleval.core.scoring.result import many_failed
from opencompass_tooleval.embedding.locate import is_official
from opencompass_tooleval.plugin import BENCHMARKS
from opencompass_tooleval.report.figure import short_name
from opencompass_tooleval.report.names import title_of
from opencompass_tooleval.report.read import ModelResult

FEW = 100
"""Fewer records than this are taken for a part of the data if its published size is unknown."""

_GPT_4 = re.compile(r'(.*/)?gpt-4(-turbo)?(-\d{4}(-\d\d-\d\d)?)?(-32k(-\d{4})?)?(-preview)?', re.IGNORECASE)
"""Names of GPT-4 and GPT-4 Turbo only, with or without a date or a provider before them."""


_NO_REFERENCE = 'no_reference'
"""Value of :data:`opencompass_tooleval.agents.toolbench.win.NO_REFERENCE`."""


def caveats_of(entry: ModelResult) -> tuple[str, ...]:
    """Returns a sentence per reason; none if the score is comparable."""
    return tuple(_caveats(entry))


def caveats_note(entries: Iterable[ModelResult]) -> str:
    """Joins all reasons of several scores to a note for a chart; '' if all are comparable."""
    return as_note(caveat for entry in entries for caveat in caveats_of(entry))


def as_note(caveats: Iterable[str]) -> str:
    """Joins distinct reasons to a note; '' for none."""
    reasons = '; '.join(dict.fromkeys(caveats))
    return f'Not comparable with published scores: {reasons}.' if reasons else ''


def unlike(entries: Iterable[ModelResult]) -> Iterator[str]:
    """Yields reasons for which agents on the same data set are not comparable: settings that affect scores differ.

    Args:
        entries: Results of any data sets; those that are no agent's are skipped.
    """
    by_dataset: dict[str, list[ModelResult]] = {}
    for entry in entries:
        if entry.part('provenance').get('loop'):
            by_dataset.setdefault(entry.dataset, []).append(entry)
    for dataset, dataset_entries in by_dataset.items():
        settings = {entry.model: settings_of(entry) for entry in dataset_entries}
        for key in dict.fromkeys(key for values in settings.values() for key in values):
            models: dict[str, list[str]] = {}
            for model, values_of_model in settings.items():
                models.setdefault(values_of_model.get(key, 'none'), []).append(model)
            if len(models) > 1:
                values = '; '.join(f'{short_name(value)} ({first_of(who)})' for value, who in models.items())
                yield f'{title_of(dataset)}: not comparable, since {key.replace("_", " ")} differs: {values}'


def settings_of(entry: ModelResult) -> dict[str, str]:
    """Returns the parts of a provenance that decide which results compare, as text; without empty ones."""
    settings = entry.part('provenance').items()
    return {key: str(value) for key, value in settings if decides(key) and value not in (None, '')}


def _caveats(entry: ModelResult) -> Iterator[str]:
    provenance, samples = entry.part('provenance'), entry.part('samples')
    encoder, language = provenance.get('encoder'), provenance.get('language')
    if encoder and language in ('EN', 'ZH') and not is_official(str(encoder), str(language)):
        yield f'another sentence encoder: {encoder}'
    if provenance.get('rebuilt'):
        yield 'data built by this package, not the official files'
    if provenance.get('scoring') == 'strict':
        yield "scoring='strict', not the published scoring"
    limit, published = provenance.get(MAX_OUT_LEN), provenance.get(PUBLISHED)
    if isinstance(limit, int) and isinstance(published, int) and limit < published:
        yield f'answers of at most {limit} tokens; the published ones had {published}'
    yield from _of_gold(provenance)
    yield from _of_judge(provenance)
    yield from _of_reference(entry.part('breakdown'))
    yield from _of_environment(provenance)
    version, protocol = provenance.get('data_version'), provenance.get('protocol')
    protocols = {name: expected for benchmark in all_benchmarks() for name, expected in benchmark.protocols.items()}
    if version and protocol and protocol != protocols.get(str(version)):
        yield f'protocol {protocol} on data {version}'
    part = part_in_words(entry.dataset, entry.result)
    if str(version).endswith('subset'):
        yield 'sampled subset of the data'
    if part:
        yield f'records: {part}'
    elif not str(version).endswith('subset'):
        yield from _of_size(entry)
    if many_failed(samples):
        what = 'samples failed because of the infrastructure; they count as wrong'
        yield f'{samples["infra"]} of {samples["all"]} {what}'


def _of_gold(provenance: Mapping[str, Any]) -> Iterator[str]:
    golds = {gold.strip() for gold in str(provenance.get('gold') or '').split(',')} - {'', 'official'}
    if provenance.get('rebuilt'):
        golds.discard('plan')  # built here implies it
    if golds:
        yield f'gold answers: {", ".join(sorted(golds))}, not the published ones'


def _of_judge(provenance: Mapping[str, Any]) -> Iterator[str]:
    judge = provenance.get('judge')
    if judge and 'judge_hash' not in provenance:  # a file of judgements; a judge model has its settings beside it
        yield f'judgements from {judge}'
    elif judge and provenance.get('benchmark') == 'agents':
        yield f'judged by {judge}; the papers used ChatGPT and GPT-4 of their time'
    elif judge and not _GPT_4.fullmatch(str(judge)):
        yield f'judged by {judge}; the paper used GPT-4'


def _of_reference(breakdown: Mapping[str, Any]) -> Iterator[str]:
    """Yields a note if answers win since the reference has none, as nearly all do against a few published answers."""
    judged = breakdown.get('judged')
    won = judged.get('win') if isinstance(judged, Mapping) else None
    counts = won if isinstance(won, Mapping) else {}
    numbers = [counts.get(name) for name in (_NO_REFERENCE, 'win', 'tie', 'loss')]
    lacking, *tasks = [number if isinstance(number, (int, float)) else 0 for number in numbers]
    if lacking > 0 and sum(tasks) > 0:
        yield f'{lacking / sum(tasks):.0%} of the tasks count as won since the reference has no answer'


def _of_environment(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Yields a note on the source of answers to calls; each simulator has its own, so that differences are marked."""
    if provenance.get('benchmark') != 'agents':
        return
    yield 'calls are answered from recordings; the papers used live tools'
    if provenance.get('simulated_by'):
        yield f'responses that were not recorded are simulated by {provenance["simulated_by"]}'


def _of_size(entry: ModelResult) -> Iterator[str]:
    """Yields a note if the missing part of the published data is unknown."""
    count = records_of(entry.result)
    is_known_benchmark = entry.part('provenance').get('benchmark') in BENCHMARKS
    if is_known_benchmark and count is not None and published_size(entry.dataset, entry.result) is None:
        yield f'fewer than {FEW} records' if count < FEW else 'the published number of records is unknown'
