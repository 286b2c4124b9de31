"""Twins of real and of the demo's records, for the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from opencompass_tooleval.benchmarks.teval.data import Sample, load_samples, split_stem
from opencompass_tooleval.twins import teval, ultratool
from opencompass_tooleval.twins.more import Most
from opencompass_tooleval.twins.names import OPAQUE, PLAIN, Pool
from opencompass_tooleval.twins.translation import Translation
from opencompass_tooleval.twins.twin import Changes

Open = Callable[[Mapping[str, Any]], Any]


def kinds_of(room: ModuleType) -> dict[str, Open]:
    return {
        'order': lambda rows: room.order,
        'names': lambda rows: room.names(rows, Pool(OPAQUE, 0)),
        'plain': lambda rows: room.names(rows, Pool(PLAIN, 0)),
        'values': lambda rows: room.values,
        'more5': lambda rows: room.more(rows, Most(5)),
    }


TEVAL, ULTRATOOL = kinds_of(teval), kinds_of(ultratool)


def teval_pairs(file: Path, kind: str, seed: int = 0) -> list[tuple[Sample, Sample, Translation]]:
    subset, _, _ = split_stem(file.stem)
    originals = {sample.record.id: sample for sample in load_samples(file, subset)}
    changes = Changes(TEVAL[kind], kind, seed)
    twins = load_samples(file, subset, '', changes)
    return [(originals[twin.record.id], twin, changes.translations[twin.record.id]) for twin in twins]
