"""Which results compare: those of an earlier release do where the benchmark's VERSION is equal."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval import __version__
from opencompass_tooleval.benchmarks.teval import VERSION
from opencompass_tooleval.catalogue.comparable import deciding_settings, unlike


def of(package: str, version: str) -> dict[str, Any]:
    """The deciding settings of a result."""
    provenance = {'benchmark': 'teval', 'subset': 'plan_json', 'version': version, 'opencompass_tooleval': package}
    return deciding_settings({'f1_score': 50.0, 'provenance': provenance})


def test_results_of_0_2_0_compare_where_the_version_is_equal() -> None:
    assert VERSION == '3', 'that of 0.2.0: the table "Scores that changed" of the changelog says that nothing did'
    assert list(unlike({'old': of('0.2.0', '3'), 'new': of(__version__, VERSION)}, same_records=True)) == []
    ((key, values),) = unlike({'old': of('0.2.0', '4'), 'new': of(__version__, '5')}, same_records=True)
    assert (key, values) == ('version', {'old': '4', 'new': '5'})
