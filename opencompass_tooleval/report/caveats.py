"""What keeps a measured score from being compared with the published ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opencompass_tooleval.core.benchmark import BENCHMARKS, all_benchmarks, part_of, published_size, records_of
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.embedding.locate import is_official
from opencompass_tooleval.report.figure import short_name
from opencompass_tooleval.report.names import MADE, title_of
from opencompass_tooleval.report.read import Scored

INFRA_SHARE = 0.005
"""More failures than this are told: as the summarizer does."""

FEW = 100
"""Fewer records than this are a part of the data wherever its size is not published."""

_GPT_4 = re.compile(r'(.*/)?gpt-4(-turbo)?(-\d{4}(-\d\d-\d\d)?)?(-32k(-\d{4})?)?(-preview)?', re.IGNORECASE)
"""Names of GPT-4 and GPT-4 Turbo, with or without a date or a provider before them; no other model's."""


_NO_REFERENCE = 'no_reference'
"""As :data:`opencompass_tooleval.agents.win.NO_REFERENCE`."""

_ALIKE = {'opencompass', 'opencompass_tooleval', 'judgements', 'judge_calls', 'model_made_it'}
"""Parts of the provenance that change no number."""


def caveats_of(entry: Scored) -> tuple[str, ...]:
    """Sentences, each a reason; none if the score compares."""
    return tuple(_caveats(entry))


def caveats_note(entries: Iterable[Scored]) -> str:
    """All reasons of several scores as a sentence for a chart; '' if all compare."""
    return as_note(caveat for entry in entries for caveat in caveats_of(entry))


def as_note(caveats: Iterable[str]) -> str:
    """Reasons as a sentence, each once; '' if there is none."""
    reasons = '; '.join(dict.fromkeys(caveats))
    return f'Not comparable with published scores: {reasons}.' if reasons else ''


def unlike(entries: Iterable[Scored]) -> Iterator[str]:
    """Why models that were agents on the same data set do not compare with each other: what they depend on differs.

    Args:
        entries: Results of any data sets; those that are no agent's are left out.
    """
    by_dataset: dict[str, list[Scored]] = {}
    for entry in entries:
        if entry.part('provenance').get('loop'):
            by_dataset.setdefault(entry.dataset, []).append(entry)
    for dataset, dataset_entries in by_dataset.items():
        settings = {entry.model: entry.part('provenance') for entry in dataset_entries}
        # Whom a simulator that both were given stood in for is a matter of what they called.
        same = _ALIKE | (
            {'simulated_by'} if any(provenance.get('simulator') for provenance in settings.values()) else set()
        )
        for key in dict.fromkeys(key for provenance in settings.values() for key in provenance if key not in same):
            models: dict[str, list[str]] = {}
            for model, provenance in settings.items():
                value = provenance.get(key)
                models.setdefault('none' if value in (None, '') else str(value), []).append(model)
            if len(models) > 1:
                values = '; '.join(f'{short_name(value)} ({first_of(who)})' for value, who in models.items())
                yield f'{title_of(dataset)}: {key.replace("_", " ")} is {values}: do not compare these'


def _caveats(entry: Scored) -> Iterator[str]:
    provenance, samples = entry.part('provenance'), entry.part('samples')
    encoder, language = provenance.get('encoder'), provenance.get('language')
    if encoder and language in ('EN', 'ZH') and not is_official(str(encoder), str(language)):
        yield f'other sentence encoder: {encoder}'
    if provenance.get('rebuilt'):
        yield 'data built here, not the official files'
    if provenance.get('scoring') == 'strict':
        yield "scoring='strict', not the published one"
    yield from _of_gold(provenance)
    yield from _of_judge(provenance)
    yield from _of_reference(entry.part('breakdown'))
    yield from _of_environment(provenance)
    yield from _of_making(provenance)
    version, protocol = provenance.get('data_version'), provenance.get('protocol')
    protocols = {name: expected for benchmark in all_benchmarks() for name, expected in benchmark.protocols.items()}
    if version and protocol and protocol != protocols.get(str(version)):
        yield f'protocol {protocol} on data {version}'
    part = part_of(entry.result)
    if str(version).endswith('subset'):
        yield 'sampled subset of the data'
    if part:
        yield f'{part[0]} of {part[1]} records'
    elif not str(version).endswith('subset'):
        yield from _of_size(entry)
    count = samples.get('all')
    if isinstance(count, int) and samples.get('infra', 0) > INFRA_SHARE * count:
        yield f'{samples["infra"]} of {count} samples failed through no fault of the model; they count as wrong'


def _of_gold(provenance: Mapping[str, Any]) -> Iterator[str]:
    golds = {gold.strip() for gold in str(provenance.get('gold') or '').split(',')} - {'', 'official'}
    if provenance.get('rebuilt'):
        golds.discard('plan')  # that is what built here means
    if golds:
        yield f'gold answers: {", ".join(sorted(golds))}, not the published ones'


def _of_judge(provenance: Mapping[str, Any]) -> Iterator[str]:
    judge = provenance.get('judge')
    if judge and 'judge_hash' not in provenance:  # a file; a model that was asked has its settings beside it
        yield f'judgements from {judge}'
    elif judge and provenance.get('benchmark') == 'agents':
        yield f'judged by {judge}, in the papers by ChatGPT and GPT-4 of then'
    elif judge and not _GPT_4.fullmatch(str(judge)):
        yield f'judged by {judge}, in the paper by GPT-4'


def _of_reference(breakdown: Mapping[str, Any]) -> Iterator[str]:
    """Answers that win since the reference has none: against published answers to a few queries, nearly all do."""
    judged = breakdown.get('judged')
    won = judged.get('win') if isinstance(judged, Mapping) else None
    counts = won if isinstance(won, Mapping) else {}
    numbers = [counts.get(name) for name in (_NO_REFERENCE, 'win', 'tie', 'loss')]
    lacking, *tasks = [number if isinstance(number, (int, float)) else 0 for number in numbers]
    if lacking and any(tasks):
        yield f'{lacking / sum(tasks):.0%} of the tasks are won since the reference has no answer'


def _of_environment(provenance: Mapping[str, Any]) -> Iterator[str]:
    """What answered an agent's calls: another simulator is another sentence, so that no two stand unmarked."""
    if provenance.get('benchmark') != 'agents':
        return
    yield 'calls are answered from recordings, in the papers by live tools'
    if provenance.get('simulated_by'):
        yield f'responses that were not recorded are simulated by {provenance["simulated_by"]}'


def _of_making(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Who made a set that is made from a user's tools, and what of it no person has looked at."""
    if provenance.get('benchmark') != MADE:
        return
    if provenance.get('model_made_it'):
        yield 'this model made the set'
    reviewed = provenance.get('reviewed')
    if isinstance(reviewed, (int, float)) and reviewed < 1:
        yield f'no person has looked at {1 - reviewed:.0%} of the tasks'
    if provenance.get('simulated_by'):
        yield f'responses are simulated by {provenance["simulated_by"]}'


def _of_size(entry: Scored) -> Iterator[str]:
    """That nobody knows what it lacks of the published data."""
    count = records_of(entry.result)
    is_known_benchmark = entry.part('provenance').get('benchmark') in BENCHMARKS
    if is_known_benchmark and count is not None and published_size(entry.result) is None:
        yield f'fewer than {FEW} records' if count < FEW else 'the published number of records is not known'
