"""Decides which results of one data set are comparable, by the keys of their provenance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.core.scoring.sampling_settings import MAX_OUT_LEN, PUBLISHED, SAMPLING
from opencompass_tooleval.core.statistics.intervals import FEWEST
from opencompass_tooleval.core.statistics.paired import Result, details_of
from opencompass_tooleval.core.statistics.sample import DRAW, LOOK, SEED, UNSEEN, WITHOUT_TWIN
from opencompass_tooleval.core.text.jsonable import bounded_text

DATA, VERSION, BANK, JUDGE, PROMPTS, SETTINGS, SAMPLES = (
    'data', 'VERSION', 'bank', 'judge', 'prompts', 'settings', 'samples'
)  # fmt: skip
"""Kinds of reasons."""
NOTED, OF_ONE_RUN = 'noted', 'of one run'
"""Kinds of keys that may differ between comparable results: the difference is noted, or ignored."""

CLUSTERED_BY = 'clustered_by'
"""Key of the unit whose samples are correlated: ``query``, or ``record`` if the queries of the records are unknown."""

_OF_RECORDS = _RECORDS, _PROMPTS = 'records_sha256', 'prompts_sha256'

_KINDS: Mapping[str, str] = {
    **dict.fromkeys(('version', 'agents_version', 'twins_version'), VERSION),
    **dict.fromkeys(('bank', 'simulator', 'simulator_prompt', 'live', 'stateful_tools', 'preferred_source'), BANK),
    **dict.fromkeys(('judgement_kinds', 'judgements_per_answer', 'reference', 'reference_digest'), JUDGE),
    **dict.fromkeys(('benchmark', 'subset', 'language', 'data_version', 'gold', 'rebuilt', _RECORDS), DATA),
    **dict.fromkeys(
        ('instructions', 'instructions_sha256', 'tools', 'prompt_style', 'system_prompt', _PROMPTS), PROMPTS
    ),
    # A release that changes scores raises VERSION; whether a simulator was asked depends on the calls.
    **dict.fromkeys(('opencompass', 'opencompass_tooleval', 'simulated_by', 'wire', CLUSTERED_BY), NOTED),
    **dict.fromkeys((SEED, DRAW), SAMPLES),
    **dict.fromkeys((LOOK, UNSEEN, WITHOUT_TWIN), NOTED),
    **dict.fromkeys((MAX_OUT_LEN, PUBLISHED), NOTED),  # a limit matters only if it cuts answers
    # The number of requests, the path of a file, and the sampling settings, which may differ between models.
    **dict.fromkeys(('judge_calls', 'judgements', SAMPLING), OF_ONE_RUN),
}
"""Key of a provenance -> its kind. Other keys are of kind ``JUDGE`` if they begin with ``judge``, else ``SETTINGS``."""

GOLD_DIGEST = 'gold_digest'
"""Key that replaces ``gold`` in details without the data's text."""


def kind_of(key: str) -> str:
    """Returns the kind of a key of the provenance."""
    return _KINDS.get(key, JUDGE if key.startswith('judge') else SETTINGS)


def result_provenance(result: Any) -> dict[str, Any]:
    """Returns the provenance of a result without the keys that only describe its run."""
    return {key: value for key, value in Provenance.of(result).stored.items() if kind_of(key) != OF_ONE_RUN}


def decides(key: str) -> bool:
    """Tests if results are comparable only if they have the same value of a key."""
    return kind_of(key) not in (NOTED, OF_ONE_RUN)


def deciding_settings(result: Any) -> dict[str, Any]:
    """Returns the keys and values that must be equal in comparable results, without empty values."""
    settings = Provenance.of(result).stored.items()
    return {key: value for key, value in settings if decides(key) and value not in (None, '')}


def unlike(settings: Mapping[str, Mapping[str, Any]], same_records: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each key that makes results of one data set not comparable, with their values; None for a missing value.

    Digests of records and prompts count only for results with the same records. A result without such a digest, or
    without the seed of a sample, is not compared by that key: a sample is a part of all records.

    Args:
        settings: Name of a result -> its :func:`deciding_settings`.
        same_records: True if all have the same records.
    """
    for key in dict.fromkeys(key for of_result in settings.values() for key in of_result):
        values = {name: of_result.get(key) for name, of_result in settings.items()}
        if key in _OF_RECORDS or kind_of(key) == SAMPLES:
            values = {name: value for name, value in values.items() if value is not None}
        first = next(iter(values.values()))
        if any(value != first for value in values.values()) and (same_records or key not in _OF_RECORDS):
            yield key, values


def gold_digest(detail: Mapping[str, Any]) -> str | None:
    """Returns 16 hex digits that identify a sample's gold answer; None if the detail has none."""
    if GOLD_DIGEST in detail or detail.get('gold') is None:
        known = detail.get(GOLD_DIGEST)
        return None if known is None else str(known)
    text = json.dumps(detail['gold'], sort_keys=True).encode('utf-8', 'surrogatepass')
    return hashlib.sha256(text).hexdigest()[:16]


def why_not_comparable(first: Result, second: Result, may_differ: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yields kind and text of each reason why two results are not comparable.

    Results with the same records must have the same digests of records and prompts. If the records differ, as with a
    ``test_range`` or a smaller sample, the shared records must have the same gold answers. Two samples must have the
    same seed.

    Args:
        first: A result with ``details``.
        second: Another result of the same data set.
        may_differ: Keys of the provenance that may differ.
    """
    golds = [{str(detail['id']): gold_digest(detail) for detail in details_of(result)} for result in (first, second)]
    shared = golds[0].keys() & golds[1].keys()
    if all(golds) and len(shared) < FEWEST:
        yield SAMPLES, f'{len(shared)} records are in both, of {len(golds[0])} and {len(golds[1])}'
        return
    same_records = golds[0].keys() == golds[1].keys()
    settings = {name: deciding_settings(result) for name, result in (('baseline', first), ('run', second))}
    for key, values in unlike(settings, same_records):
        if key not in may_differ:
            name = key if key.isidentifier() else _shown(key)
            both = ' and '.join(f'{_shown(values.get(one))} of the {one}' for one in settings)
            yield kind_of(key), f'{name} is {both}'
    digests_tell = same_records and all(Provenance.of(result).records_sha256 for result in (first, second))
    others = [name for name in sorted(shared) if None not in (golds[0][name], golds[1][name])
              and golds[0][name] != golds[1][name]]  # fmt: skip
    if others and not digests_tell and _RECORDS not in may_differ:
        yield DATA, f'{len(others)} of {len(shared)} records have another gold answer, such as {_shown(others[0])}'


def _shown(value: Any) -> str:
    return repr(bounded_text(value, 80)) if isinstance(value, str) else bounded_text(value, 80) or 'none'
