"""Metrics are rows of benchmarks, and nothing below the benchmarks names one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from opencompass_tooleval.agents.tasks.records import TABLE as AGENTS
from opencompass_tooleval.benchmarks.funcqa.records import TABLE as FUNCQA
from opencompass_tooleval.benchmarks.restbench.records import TABLE as RESTBENCH
from opencompass_tooleval.benchmarks.teval.records import TABLE as TEVAL
from opencompass_tooleval.benchmarks.teval.records import native_subset
from opencompass_tooleval.benchmarks.toolbench.records import TABLE as TOOLBENCH
from opencompass_tooleval.benchmarks.ultratool.records import TABLE as ULTRATOOL
from opencompass_tooleval.catalogue import benchmark, metrics
from opencompass_tooleval.catalogue.benchmark import Benchmark, all_benchmarks
from opencompass_tooleval.catalogue.metrics import OVERALL, Metric, lower_is_better, main_metrics, words_of_metric
from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.extras.conformance.records import TABLE as CONFORMANCE
from opencompass_tooleval.plugin import BENCHMARKS

TABLES = {
    'teval': TEVAL, 'ultratool': ULTRATOOL, 'restbench': RESTBENCH, 'funcqa': FUNCQA, 'toolbench': TOOLBENCH,
    'conformance': CONFORMANCE, 'agents': AGENTS,
}  # fmt: skip


def test_every_metric_of_a_subset_has_one_row_and_meaning() -> None:
    for found in all_benchmarks():
        names = [row.name for row in found.metrics]
        assert len(names) == len(set(names)), found.name
        used = {metric for subset in TABLES[found.name] for metric in subset.metrics}
        assert used <= {*names, OVERALL}, found.name
        assert not [row.name for row in found.metrics if row.binary and not row.higher_is_better]
    # A judge's points are no right or wrong; else a name means the same everywhere.
    rows: dict[str, Metric] = {}
    for found in all_benchmarks():
        for row in found.metrics:
            other = rows.setdefault(row.name, row)
            assert (other.words, other.higher_is_better, other.rank) == (row.words, row.higher_is_better, row.rank)


def test_binary_metrics_and_names_of_subsets() -> None:
    assert TEVAL.find('reason_retrieve_understand_json').binary_metrics == ('name', 'parse_rate')
    assert native_subset('instruct').binary_metrics == ('json_format_metric',)
    assert native_subset('reason_retrieve_understand_json').success == ()
    assert FUNCQA.find('one_hop').binary_metrics == ('accuracy', 'strict_accuracy')
    assert ULTRATOOL.find('planning').binary_metrics == (), 'a judge gives points'
    assert AGENTS.find('toolbench_g2').binary_metrics == ('finish_rate',)
    table = Table(SubsetRow, ({'name': name, 'metrics': ()} for name in ('plan', 'review')), 'Riddles', 'part')
    assert table.find('review') is table[1]
    with pytest.raises(ValueError, match="Riddles has no part 'plam'; it has plan, review"):
        table.find('plam')


def test_a_benchmark_of_others_brings_its_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (
        Metric('guesses', 'Guesses', 'how often it guesses', higher_is_better=False),
        Metric('solved', 'Done', 'is right', rank=2),
    )
    monkeypatch.setattr(metrics, 'RIDDLES', Benchmark('riddles', 'Riddles', '', (), rows), raising=False)
    monkeypatch.setitem(BENCHMARKS, 'riddles', f'{metrics.__name__}:RIDDLES')
    assert words_of_metric('guesses') == ('Guesses', 'how often it guesses; lower is better')
    assert lower_is_better('riddles-short guesses') and not lower_is_better('solved')
    assert main_metrics(['guesses', 'solved']) == ('solved',)


def test_core_names_no_benchmark() -> None:
    """What core needs of a benchmark stands in a table that the package fills."""
    names = set(BENCHMARKS) - {'agents'}
    for file in Path(benchmark.__file__).parent.glob('*.py'):
        tree = ast.parse(file.read_text(encoding='utf-8'))
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [
            node.value.lower().replace('-', '')
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        ]
        assert not [(file.name, text) for text in texts for name in names if name in text]
