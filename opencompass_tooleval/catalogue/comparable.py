"""Decides which results of one data set compare: the one list of the keys of a provenance, and the reasons why not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.core.scoring.answer_limit import MAX_OUT_LEN, PUBLISHED
from opencompass_tooleval.core.scoring.sampling_settings import SAMPLING
from opencompass_tooleval.core.statistics.intervals import FEWEST
from opencompass_tooleval.core.statistics.paired import Result, details_of
from opencompass_tooleval.core.statistics.sample import DRAW, LOOK, SEED
from opencompass_tooleval.core.text.jsonable import bounded_text

DATA, VERSION, BANK, JUDGE, PROMPTS, SETTINGS, SAMPLES = (
    'data', 'VERSION', 'bank', 'judge', 'prompts', 'settings', 'samples'
)  # fmt: skip
"""Kinds of reasons."""
NOTED, OF_ONE_RUN = 'noted', 'of one run'
"""Kinds of keys whose difference does not keep results from comparing: it is noted, or nobody is told."""

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
    # A change of a package that affects scores raises VERSION; the tools that a simulator answered for depend on the
    # calls.
    **dict.fromkeys(('opencompass', 'opencompass_tooleval', 'simulated_by', CLUSTERED_BY), NOTED),
    **dict.fromkeys((SEED, DRAW), SAMPLES),
    LOOK: NOTED,
    **dict.fromkeys((MAX_OUT_LEN, PUBLISHED), NOTED),  # a limit matters where it cuts answers
    # The number of requests, the path of a file, and the settings of a model, by which models may differ.
    **dict.fromkeys(('judge_calls', 'judgements', SAMPLING), OF_ONE_RUN),
}
"""Key of a provenance -> its kind. Others that begin with ``judge`` are of the judge, and the rest are settings."""

GOLD_DIGEST = 'gold_digest'
"""Key that replaces ``gold`` in details without the data's text."""


def kind_of(key: str) -> str:
    """Returns the kind of a key of the provenance."""
    return _KINDS.get(key, JUDGE if key.startswith('judge') else SETTINGS)


def result_provenance(result: Any) -> dict[str, Any]:
    """Returns the part of a provenance that says something about the result, not only about the run that it is from."""
    return {key: value for key, value in Provenance.of(result).stored.items() if kind_of(key) != OF_ONE_RUN}


def decides(key: str) -> bool:
    """Tests if results compare only where they have the same value of a key."""
    return kind_of(key) not in (NOTED, OF_ONE_RUN)


def deciding_settings(result: Any) -> dict[str, Any]:
    """Returns the parts of a provenance that decide which results compare, without empty ones."""
    settings = Provenance.of(result).stored.items()
    return {key: value for key, value in settings if decides(key) and value not in (None, '')}


def unlike(settings: Mapping[str, Mapping[str, Any]], same_records: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the keys by which results of one data set do not compare, with their values; None for a missing one.

    Digests of records and prompts count for results with the same records. A result that lacks one of these, or the
    seed of a sample, compares in it with every other: a sample is a part of all records.

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
    """Yields the kind and the words of each reason why two results do not compare; nothing if they do.

    Results with the same records must have the same digests of records and prompts. With other records, such as of a
    ``test_range`` or a smaller sample, those of both must have the same gold answers. Two samples must have the same
    seed.

    Args:
        first: A result with ``details``.
        second: Another of the same data set.
        may_differ: Keys of the provenance whose difference is allowed.
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
