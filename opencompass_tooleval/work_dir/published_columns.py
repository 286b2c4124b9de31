"""Columns of the package's tables, as its summarizers define them."""

from __future__ import annotations

from pkgutil import resolve_name

from opencompass_tooleval.core.benchmark import VARIANTS, all_benchmarks, find_variant
from opencompass_tooleval.core.intervals import Score
from opencompass_tooleval.core.tables import columns_of


def published_columns() -> dict[Score, dict[Score, float]]:
    """Returns table and column -> data set and metric -> share, for every benchmark with tables and its variants."""
    names = [name for benchmark in all_benchmarks() for name in benchmark.groups]
    names += [name for variant in VARIANTS for name in find_variant(variant).groups]
    return columns_of(group for name in names for group in resolve_name(name))
