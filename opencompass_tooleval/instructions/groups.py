"""Summary groups of the tables with instructions: T-Eval's and UltraTool's groups, with instructed data sets.

``config_groups.py`` has the same groups for OpenCompass, whose configs cannot import modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opencompass_tooleval.benchmarks.teval.tables import tooleval_teval_summary_groups
from opencompass_tooleval.benchmarks.ultratool.tables import tooleval_ultratool_summary_groups
from opencompass_tooleval.benchmarks.variant_kinds import SUFFIX
from opencompass_tooleval.instructions.subsets import TEVAL_VARIANTS, ULTRATOOL_VARIANTS


def _instructed_groups() -> Iterator[Mapping[str, Any]]:
    starts = [f'tooleval-teval-{name}_v' for name in TEVAL_VARIANTS]
    starts += [f'tooleval-ultratool-{name}_{language}' for name in ULTRATOOL_VARIANTS for language in ('zh', 'en')]
    columns: set[tuple[str, str]] = set()
    groups: Iterable[Mapping[str, Any]] = (*tooleval_teval_summary_groups, *tooleval_ultratool_summary_groups)
    for group in groups:
        is_instructed = [
            name.startswith(tuple(starts)) or (name, metric) in columns for name, metric in group['subsets']
        ]
        if any(is_instructed):
            columns.add((group['name'], group['metric']))
            subsets = [
                [name + SUFFIX * instructed, metric]
                for (name, metric), instructed in zip(group['subsets'], is_instructed, strict=True)
            ]
            yield dict(name=group['name'] + SUFFIX, metric=group['metric'], subsets=subsets)


SUMMARY_GROUPS = list(_instructed_groups())
