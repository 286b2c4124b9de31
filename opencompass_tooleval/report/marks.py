"""What keeps a measured score from being compared with the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.easytool.funcqa.subsets import SUBSETS as FUNCQA
from opencompass_tooleval.easytool.restbench.subsets import SUBSETS as RESTBENCH
from opencompass_tooleval.embedding.locate import is_official
from opencompass_tooleval.report.read import Scored
from opencompass_tooleval.teval.subsets import SUBSETS as TEVAL
from opencompass_tooleval.ultratool.subsets import SUBSETS as ULTRATOOL

INFRA_SHARE = 0.005
"""More failures than this are told: as the summarizer does."""

_TEVAL: Sequence[Mapping[str, Any]] = TEVAL
_SIZES: dict[tuple[object, object, object], object] = {
    **{('teval', row['name'], version): count for row in _TEVAL for version, count in row['counts'].items()},
    **{('ultratool', row['name'], None): row['count'] for row in ULTRATOOL},
    **{('funcqa', row['name'], None): row['count'] for row in FUNCQA},
    **{('restbench', row['name'], None): row['records'] for row in RESTBENCH},
}


def marks_of(entry: Scored) -> tuple[str, ...]:
    """Sentences, each a reason; none if the score compares."""
    return tuple(_marks(entry))


def _marks(entry: Scored) -> Iterator[str]:
    provenance, samples = entry.part('provenance'), entry.part('samples')
    encoder, language = provenance.get('encoder'), provenance.get('language')
    if encoder and language in ('EN', 'ZH') and not is_official(str(encoder), str(language)):
        yield f'other sentence encoder: {encoder}'
    if provenance.get('rebuilt'):
        yield 'data built here, not the official files'
    if provenance.get('scoring') == 'strict':
        yield "scoring='strict', not the published one"
    judge = provenance.get('judge')
    if judge and 'gpt-4' not in str(judge).lower():
        yield f'judged by {judge}, in the paper by GPT-4'
    if str(provenance.get('data_version', '')).endswith('subset'):
        yield 'sampled subset of the data'
    count, runs = samples.get('all'), entry.result.get('runs')
    size = _SIZES.get((provenance.get('benchmark'), provenance.get('subset'), provenance.get('data_version')))
    if isinstance(count, int) and isinstance(size, int):
        each = count // len(runs) if isinstance(runs, list) and runs else count
        if each < size:
            yield f'{each} of {size} records'
    if isinstance(count, int) and samples.get('infra', 0) > INFRA_SHARE * count:
        yield f'{samples["infra"]} of {count} samples failed through no fault of the model; they count as wrong'
