"""Charts and tables of agents, with numbers from results made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.labels import SOURCES
from opencompass_tooleval.catalogue.metrics import words_of_metric
from opencompass_tooleval.core.scoring.usage_summary import REPORTED, PromptTokens
from opencompass_tooleval.report.agent_figures import agent_figures, agent_tables
from opencompass_tooleval.report.build import write_report
from opencompass_tooleval.report.figure import Figure
from opencompass_tooleval.report.variant_figures import variant_figures
from opencompass_tooleval.results.table import Material, ModelResult, read
from opencompass_tooleval.results.variants import Gain
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.report.agents import DATASET, PROVENANCE, compared_run
from tests.report.support import csv_of
from tests.report.test_pages import Tags


def scored(model: str, breakdown_: Any, dataset: str = DATASET, **changes: Any) -> ModelResult:
    result = {'breakdown': breakdown_, 'provenance': PROVENANCE, **changes}
    return ModelResult(model, dataset, WorkDir(Path('run')), model, result)


def figures_of(*entries: ModelResult) -> dict[str, Figure]:
    return {figure.name: figure for figure in agent_figures(Material((), entries, ()))}


def values(figure: Figure) -> dict[str, tuple[float | None, ...]]:
    return {series.name: series.values for series in figure.series}


COUNTS = {
    'steps': {'total': 9, 'mean': 2.25, 'p50': 2, 'p95': 4},
    'calls': {'total': 8, 'mean': 2, 'p50': 2, 'p95': 3},
    'prompt': {'total': 4000, 'mean': 1000, 'p50': 900, 'p95': 2500},
    'sources': {'exact': 5, 'other_task': 0, 'simulated': 2, 'error': 1},
    'ends': {'limit:steps': {'4': 1}, 'finished': {'1': 2, '3': 1}},
    'omitted_observations': {'observations': 3, 'tasks': 1},
}  # fmt: skip


def test_ends_and_sources() -> None:
    by = {**PROVENANCE, 'simulated_by': 'Big-Model'}
    nothing = scored('none', {**COUNTS, 'sources': {}, 'ends': {}})
    figures = figures_of(scored('m', COUNTS, provenance=by), nothing)
    ends, sources = (figures[name] for name in (f'ends-{DATASET}-0', f'sources-{DATASET}'))
    assert ends.labels == ('1', '2', '3', '4') and figures[f'ends-{DATASET}-1'].is_empty()
    assert values(ends) == {'finished': (50, 0, 25, 0), 'too many steps': (0, 0, 0, 25)}
    assert sources.labels == ('m', 'none') and sources.note == 'm: simulated by Big-Model'
    assert tuple(values(sources)) == tuple(words.name for words in SOURCES.values()), 'one colour each in all charts'
    assert values(sources)['recorded'] == (62.5, None) and values(sources)['emulated'] == (0, None)
    assert values(sources)['simulated'] == (25, None) and values(sources)['error'] == (12.5, None)


def test_what_is_no_count_is_left_out() -> None:
    ends = {'finished': {'x': 1, '9' * 5000: 1, '²': 1}, 'y': 4}
    figures = figures_of(scored('m', {'steps': {}, 'sources': {'exact': 'x', 'error': True, 'new': 3}, 'ends': ends}))
    assert values(figures[f'sources-{DATASET}'])['new'] == (100,)
    assert figures[f'ends-{DATASET}-0'].is_empty()
    assert not figures_of(scored('m', {'sources': {}}), scored('m', None, 'other'))


def test_what_a_task_takes() -> None:
    (table,) = agent_tables('agents', [scored('m', COUNTS), scored('o', None, 'other')])
    assert table.columns[2:] == ('steps', 'calls', 'prompt tokens', 'answer tokens', 'seconds', 'observations left out')
    assert [row[1:] for row in table.rows] == [('m', '2.2 (4)', '2.0 (3)', '1000.0 (2500)', '', '', '3')]
    assert not list(agent_tables('agents', [scored('o', None)]))
    more = {**COUNTS, 'calls': {'total': 40, 'mean': 10, 'p50': 9, 'p95': 20}}
    (several,) = agent_tables('agents', [scored('m', [COUNTS, more])])
    assert several.rows[0][2:5] == ('2.2', '6.0', '1000.0'), 'no percentile: that of all trials is not known'
    assert several.rows[0][-1] == '6'


def test_scores_with_repaired_gold_stand_beside_the_official_ones() -> None:
    counts = {**COUNTS, 'repaired': {'calls': 25, 'tasks': 21, 'arguments': 98.5, 'call_order': None, 'odd': []}}
    official: dict[str, Any] = {'arguments': 97.25, 'call_order': 100.0}
    spent, repaired = agent_tables('agents', [scored('m', counts, **official), scored('none', COUNTS, **official)])
    assert spent.name == 'spent-agents' and repaired.columns[3:] == ('official', 'repaired')
    assert [row[1:] for row in repaired.rows] == [('m', words_of_metric('arguments').name, '97.25', '98.50')]


def test_a_page_of_agents(tmp_path: Path) -> None:
    """The evaluator's own counts are drawn."""
    out = write_report([compared_run(tmp_path / 'run')], tmp_path / 'out').parent
    text = Tags(out / 'agents.html').text
    assert 'not comparable, since bank differs: old (one); new (two).' in text and 'Usage per answered task' in text
    assert 'How tasks end, by step' in text and 'Sources of observations' in text
    assert [row['steps'] for row in csv_of(out, 'spent-agents')] == ['5.7 (6)'] * 2
    figures = {figure.name: figure for figure in agent_figures(read([tmp_path / 'run']))}
    assert values(figures[f'ends-{DATASET}-0'])['finished'] == (0, 0, 0, 0, 100 / 3, 100 / 3)
    assert sum(series.values[0] or 0 for series in figures[f'sources-{DATASET}'].series) == 100


def test_variants_of_agents_are_drawn_by_what_stands_for_the_data_set() -> None:
    """Finishing, the first metric, is no success: F1 of calls is drawn, or what a judge says."""
    metrics = ['finish_rate', 'call_f1', 'pass_rate', 'solved_rate']
    compared = [('m', Gain(DATASET, metric, 50.0, 60.0 + at, None)) for at, metric in enumerate(metrics)]
    for number, shown in ((2, 'F1'), (3, 'Passed'), (4, 'Solved')):
        differences, tokens = variant_figures('easytool', compared[:number], {})
        assert differences.labels == (f'Agents T-Eval ReAct, {shown}',)
        assert differences.series[0].values == (9.0 + number,) and not tokens.labels
    known = {('m', name): PromptTokens(1.0, 3.0, REPORTED) for name in (DATASET, f'{DATASET}-easytool')}
    _, first, whole = variant_figures('easytool', compared, known)
    assert (first.title, first.series[0].values) == ('Tokens of the first prompt', (1.0,))
    assert (whole.title, whole.series[0].values) == ('Tokens of all prompts of a task', (3.0,))
    assert first.note.endswith(f'{REPORTED}.')
