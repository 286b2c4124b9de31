"""The provenance of a result as a typed record: the data, prompts, models and settings that produced it.

Evaluators write it as a dict of JSON values. All other code reads it through this module: a folder may come from
anybody, so any value may be missing or of the wrong type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

KEY = 'provenance'
"""Key of the provenance in a result."""
_MOST_CHARS = 1000


@dataclass(frozen=True)
class Provenance:
    """The provenance of a result. A missing value, or one of the wrong type, is empty.

    Attributes:
        stored: All keys with their values, as the result has them.
        benchmark: Name of the benchmark; ``''`` for a data set of another package.
        subset: The subset.
        version: ``VERSION`` of the benchmark.
        language: ``EN`` or ``ZH``.
        data_version: Version of the data.
        protocol: How the data were asked, where there are several ways.
        rebuilt: True if the data were built by this package.
        gold: Kinds of gold answers, with commas.
        scoring: ``published`` or ``strict``.
        encoder: The sentence encoder.
        judge: The judge, or a file of judgements.
        judge_hash: Digest of the settings of the judge.
        loop: How an agent works.
        simulated_by: The simulator, if it was called, with its prompt.
        max_out_len: Maximum number of tokens of an answer.
        published_max_out_len: The same limit in the published runs.
        records_sha256: Digest of the records.
        opencompass_tooleval: Version of this package.
        opencompass: Version of OpenCompass.
    """

    stored: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    benchmark: str = ''
    subset: str = ''
    version: str = ''
    language: str = ''
    data_version: str = ''
    protocol: str = ''
    rebuilt: bool = False
    gold: str = ''
    scoring: str = ''
    encoder: str = ''
    judge: str = ''
    judge_hash: str = ''
    loop: str = ''
    simulated_by: str = ''
    max_out_len: int | None = None
    published_max_out_len: int | None = None
    records_sha256: str = ''
    opencompass_tooleval: str = ''
    opencompass: str = ''

    @classmethod
    def of(cls, result: Any) -> Provenance:
        """Reads the provenance of a result, if any. If it has several runs, the first value of each key counts."""
        stored = {str(key): value for part in reversed(_parts(result)) for key, value in part.items()}
        known = {one.name: _read(stored.get(one.name), one.default) for one in fields(cls) if one.name != 'stored'}
        return cls(stored, **known)


def _parts(result: Any) -> list[Mapping[str, Any]]:
    given = result.get(KEY) if isinstance(result, Mapping) else None
    return [part for part in (given if isinstance(given, list) else [given]) if isinstance(part, Mapping)]


def names_that_are_no_text(result: Any) -> list[str]:
    """Returns the keys that identify the data of a result but have a value that is not a string."""
    names = ('benchmark', 'subset', 'data_version', 'language')
    parts = _parts(result)
    return [name for name in names if any(not isinstance(part.get(name), (str, type(None))) for part in parts)]


def _read(value: Any, default: Any) -> Any:
    if isinstance(default, bool):
        return bool(value)
    if default is None:
        return value if type(value) is int else None
    return str(value)[:_MOST_CHARS] if isinstance(value, (str, int, float)) and value is not False else ''
