"""The data of tables and charts, by hand-computed numbers."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.toolbench.win import NO_REFERENCE
from opencompass_tooleval.benchmarks.teval.figures import TWO_FORMATS
from opencompass_tooleval.benchmarks.teval.figures import figures as teval_figures
from opencompass_tooleval.benchmarks.ultratool.figures import MAIN as ULTRATOOL_TASKS
from opencompass_tooleval.benchmarks.ultratool.figures import figures as ultratool_figures
from opencompass_tooleval.catalogue.benchmark import find_variant
from opencompass_tooleval.catalogue.metrics import lower_is_better
from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens
from opencompass_tooleval.instructions.figures import retrieval_figure, selection_figure
from opencompass_tooleval.report.board import (
    Board,
    board_table,
    boards,
    cell_of,
    printed_table,
    without_other_data,
)
from opencompass_tooleval.report.charts import to_plotly
from opencompass_tooleval.report.figure import (
    CUT,
    LINE,
    Figure,
    Series,
    Table,
    as_table,
    short_name,
    short_names,
)
from opencompass_tooleval.report.files import to_csv, to_latex, to_markdown
from opencompass_tooleval.report.provenance import results_table, runs_table
from opencompass_tooleval.report.published import FOLDER, published, published_on
from opencompass_tooleval.report.reasons import OTHERS, SHOWN, reason_figures
from opencompass_tooleval.report.samples import index_of, messages_of
from opencompass_tooleval.report.script import to_script
from opencompass_tooleval.report.variant_figures import comparisons, variant_figures, variant_table
from opencompass_tooleval.results.table import Material, Missing, ModelResult, read
from opencompass_tooleval.results.variants import Gain
from opencompass_tooleval.work_dir import work_dir
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.report.support import HOSTILE, add, arguments_of, detail, plain_run, result_of, write

HERE = WorkDir(Path('nowhere'))


def scored(model: str, dataset: str, **result: Any) -> ModelResult:
    return ModelResult(model, dataset, HERE, model, result)


def material(*entries: ModelResult) -> Material:
    return Material((), entries, ())


def teval_entries(model: str, shift: float) -> list[ModelResult]:
    """All of T-Eval v2: json scores 80, string scores 60, review 90, less ``shift``."""
    errors = {'standard_errors': {}}
    scores: dict[str, dict[str, float]] = {
        'instruct': {
            'json_format_metric': 80,
            'json_args_em_metric': 80,
            'string_format_metric': 60,
            'string_args_em_metric': 60,
        },
        'plan_json': {'f1_score': 80},
        'plan_str': {'f1_score': 60},
        'reason_retrieve_understand_json': {'thought': 80, 'name': 80, 'args': 80},
        'reason_str': {'thought': 60},
        'retrieve_str': {'name': 60},
        'understand_str': {'args': 60},
        'review_str': {'review_quality': 90},
    }
    return [
        scored(model, f'tooleval-teval-{name}_v2', **{key: value - shift for key, value in values.items()}, **errors)
        for name, values in scores.items()
    ]


def board_of(found: list[Board], name: str) -> Board:
    return next(board for board in found if board.name == name)


def test_teval_golden() -> None:
    found = boards(material(*teval_entries('a', 0), *teval_entries('b', 10)), published_columns())
    board = board_of(found, 'tooleval-teval_v2')
    cells = {row.model: dict(zip(board.columns, row.cells, strict=True)) for row in board.rows}
    assert cells['a']['overall'].value == pytest.approx((5 * 70 + 90) / 6)
    assert cells['b']['overall'].value == pytest.approx((5 * 60 + 80) / 6)
    assert cells['a']['overall'].best and not cells['b']['overall'].best
    assert cells['GPT-4-Turbo (Nov 2023)']['review'].value == 94.5
    assert not cells['GPT-4-Turbo (Nov 2023)']['review'].best, 'published scores are no competitors'
    figures = {figure.name: figure for figure in teval_figures(found, material())}
    radar = figures['tooleval-teval_v2-abilities']
    assert [series.name for series in radar.series][:2] == ['a', 'b']
    assert radar.series[0].values == pytest.approx((70, 70, 70, 70, 70, 90))
    assert {series.name for series in radar.series if series.published} == {'GPT-4-Turbo (Nov 2023)', 'Qwen-7B'}
    gap = figures['tooleval-teval_v2-formats-1']
    assert gap.choice == 'b'
    assert [(series.name, series.values[0]) for series in gap.series] == [('json', 70), ('string', 50)]


def test_errors_of_a_column_move_together_within_a_data_set_as_its_records_say() -> None:
    one = scored('m', 'd', x=10.0, y=20.0, standard_errors={'x': 3.0, 'y': 3.0}, correlations={('x', 'd', 'y'): 0.5})
    two = scored('m', 'e', x=40.0, standard_errors={'x': 4.0})
    known = {('m', 'd'): one, ('m', 'e'): two}
    cell = cell_of('m', {('d', 'x'): 0.25, ('d', 'y'): 0.25, ('e', 'x'): 0.5}, known)
    assert cell.value == pytest.approx(27.5)
    assert cell.error == pytest.approx(math.hypot(0.75, 0.75, 0.75, 0.5 * 4))


def test_a_column_with_a_part_missing_has_no_score_and_says_so() -> None:
    cell = cell_of('m', {('d', 'x'): 0.5, ('e', 'x'): 0.5}, {('m', 'd'): scored('m', 'd', x=10.0)})
    assert cell.value is None and cell.lacks == ('e',)
    unmeasured = cell_of('m', {('d', 'x'): 1.0}, {('m', 'd'): scored('m', 'd', x=None)})
    assert unmeasured.value is None and unmeasured.lacks == ('d x',)


def test_fewer_errors_are_better() -> None:
    entries = [scored(name, 'd', tool_error_rate=rate) for name, rate in (('a', 9.0), ('b', 3.0))]
    board = board_of(boards(material(*entries), {}), 'others')
    assert [row.cells[0].best for row in board.rows] == [True, False], 'fewer errors come first'


@pytest.mark.parametrize(
    ('changes', 'said'),
    [
        ({'provenance': {'encoder': 'offline:x', 'language': 'EN'}}, 'another sentence encoder: offline:x'),
        ({'provenance': {'encoder': 'all-mpnet-base-v2', 'language': 'EN'}}, None),
        ({'provenance': {'rebuilt': True}}, 'data built by this package'),
        ({'provenance': {'judge': 'mine', 'judge_hash': 'x'}}, 'judged by mine'),
        *(
            ({'provenance': {'judge': name, 'judge_hash': 'x'}}, None)
            for name in ('GPT-4-0613', 'gpt-4', 'gpt-4-turbo-2024-04-09', 'gpt-4-1106-preview', 'openai/gpt-4-32k')
        ),
        *(
            ({'provenance': {'judge': name, 'judge_hash': 'x'}}, f'judged by {name}; the paper used GPT-4')
            for name in ('gpt-4o-mini', 'gpt-4.1-nano', 'not-gpt-4', 'gpt-4-mini')
        ),
        ({'provenance': {'judge': 'x/gpt-4/planning_eval.json'}}, 'judgements from x/gpt-4/planning_eval.json'),
        ({'provenance': {'gold': 'official, repaired'}}, 'gold answers: repaired, not the published ones'),
        ({'provenance': {'gold': 'plan', 'rebuilt': True}}, 'data built by this package'),
        ({'provenance': {'gold': 'official'}}, None),
        ({'provenance': {'data_version': 'v2', 'protocol': 'v1'}}, 'protocol v1 on data v2'),
        ({'provenance': {'data_version': 'v2', 'protocol': 'v2'}}, None),
        ({'provenance': {'data_version': 'v2_subset'}}, 'sampled subset'),
        ({'provenance': {'scoring': 'strict'}}, 'strict'),
        ({'samples': {'all': 200, 'infra': 2}}, '2 of 200 samples'),
        ({'samples': {'all': 200, 'infra': 1}}, None),
        (
            {
                'provenance': {'benchmark': 'teval', 'subset': 'review_str', 'data_version': 'v1'},
                'samples': {'all': 7},
            },
            'records: 7 of 487, not a sample',
        ),
        *(
            (
                {
                    'provenance': {'benchmark': 'teval', 'subset': subset, 'data_version': 'v1'},
                    'samples': {'all': count},
                },
                said,
            )
            for subset, count, said in (
                ('reason_str', 3213, None),
                ('retrieve_str', 3213, None),
                ('understand_str', 3540, None),
                ('understand_str', 3213, 'records: 3,213 of 3,540, not a sample'),
                ('reason_retrieve_understand_json', 3213, None),
            )
        ),
        *(
            ({'provenance': {'benchmark': 'teval', 'subset': 'plan_str', 'data_version': 'v2'}, **size}, said)
            for size, said in (
                ({'samples': {'all': 6}}, 'fewer than 100 records'),
                ({'samples': {'all': 198}, 'runs': [{}, {}]}, 'fewer than 100 records'),
                ({'samples': {'all': 553}}, 'the published number of records is unknown'),
            )
        ),
        *(
            ({'provenance': {'benchmark': 'toolbench', 'subset': subset}, 'samples': {'all': count}}, said)
            for subset, count, said in (
                ('selection_5', 6, 'records: 6 of 163, not a sample'),
                ('calls_g2', 124, None),
                ('success', 3, 'fewer than 100 records'),
            )
        ),
        (
            {
                'provenance': {'benchmark': 'ultratool', 'subset': 'planning'},
                'samples': {'all': 2000},
                'runs': [{}, {}],
            },
            None,
        ),
    ],
)
def test_caveats(changes: dict[str, Any], said: str | None) -> None:
    caveats = scored('m', 'tooleval-d', **changes).caveats
    assert len(caveats) == (said is not None), caveats
    assert said is None or said in caveats[0]


def test_simulators_are_caveats() -> None:
    caveats = [
        scored('m', 'd', provenance={'benchmark': 'agents', 'subset': 'teval', 'simulated_by': simulator}).caveats
        for simulator in ('small', 'large', '')
    ]
    assert 'simulated by small' in caveats[0][1] and 'simulated by large' in caveats[1][1]
    assert caveats[2] == caveats[0][:1] + caveats[0][2:] and 'recordings' in caveats[2][0]


def test_the_judge_of_agents_is_a_caveat() -> None:
    provenance = {'benchmark': 'agents', 'subset': 'toolbench_g1', 'judge': 'gpt-4', 'judge_hash': 'ab'}
    assert any(
        caveat.startswith('judged by gpt-4; the papers used')
        for caveat in scored('m', 'd', provenance=provenance).caveats
    )


def test_answers_that_win_without_a_reference_are_a_caveat() -> None:
    """Against ToolBench's three published examples nearly every other query of a set is won."""
    judged = {
        'judged': {
            'win': {'win': 98, 'tie': 1, 'loss': 1, NO_REFERENCE: 96, 'decided_by': {'select_better_answer': 16}}
        }
    }
    provenance = {'benchmark': 'agents', 'subset': 'toolbench_g1'}

    def won(breakdown: Any) -> list[str]:
        return [text for text in scored('m', 'd', provenance=provenance, breakdown=breakdown).caveats if 'won' in text]

    assert won(judged) == won([judged, judged]) == ['96% of the tasks count as won since the reference has no answer']
    for odd in (
        {},
        {'judged': {'win': {NO_REFERENCE: ['x']}}},
        {'judged': 3},
        {'judged': {'win': {NO_REFERENCE: 3, 'win': 'x'}}},
    ):
        assert won(odd) == []


def test_waste_of_agents_should_be_low() -> None:
    assert lower_is_better('repeated_call_rate') and lower_is_better('tooleval-teval-agent_fc invalid_call_rate')
    assert lower_is_better('tool_error_rate') and not lower_is_better('call_recall')


def ultratool_material() -> Material:
    names = {
        'planning': {'overall': 50.0, 'accuracy': 40.0},
        'tool_creation': {'overall': 50.0, 'json_rate': 100.0},
        'tool_creation_awareness': {'global_accuracy': 50.0, 'local_accuracy': 50.0, 'json_rate': 90.0},
        'tool_usage_awareness': {'global_accuracy': 50.0, 'local_accuracy': 50.0, 'json_rate': 80.0},
        'tool_selection': {'global_accuracy': 50.0, 'local_accuracy': 50.0, 'json_rate': 70.0},
        'tool_usage': {'local_levenshtein': 50.0, 'json_rate': 60.0},
    }
    domains = {'breakdown': {'domains': {'Music': {'overall': 90.0}, 'Train': {'local_accuracy': 30.0}}}}
    return material(
        *(scored('m', f'tooleval-ultratool-{name}_en', **values, **domains) for name, values in names.items())
    )


def test_ultratool_golden() -> None:
    found = ultratool_material()
    figures = {figure.name: figure for figure in ultratool_figures(boards(found, published_columns()), found)}
    nine = figures['tooleval-ultratool_en-columns']
    assert len(nine.labels) == 9 and nine.series[0].values == pytest.approx((50,) * 9)
    assert nine.series[1].name == 'GPT-4 (published)' and nine.series[1].published
    assert figures['ultratool-en-planning'].series[0].values[:2] == (40.0, None)
    gpt4 = figures['ultratool-en-planning'].series[-1]
    assert gpt4.name.startswith('GPT-4') and gpt4.values[0] == 77.59
    domains = figures['ultratool-en-domains']
    assert (domains.labels, domains.series[0].values) == (('Music', 'Train'), (90.0, 30.0))
    points = figures['ultratool-en-json-rate']
    assert (points.series[0].x, points.series[0].values) == ((80.0,), pytest.approx((50.0,)))
    at = points.labels.index('GPT-4')
    assert (points.series[1].x[at], points.series[1].values[at]) == (99.98, 74.58)


def test_easytool_golden(tmp_path: Path) -> None:
    before = result_of([detail(f'{i}', float(i % 2)) for i in range(40)])
    after = result_of([detail(f'{i}', 1.0) for i in range(40)])
    for name, result in (
        ('tooleval-toolbench-selection_5', before),
        ('tooleval-toolbench-selection_5-easytool', after),
    ):
        add(tmp_path, 'm', name, {**result, 'accuracy': result['review_quality']})
    found = read([tmp_path])
    compared = list(comparisons(find_variant('easytool'), found))
    lengths = {
        'tooleval-toolbench-selection_5': (100.0, 300.0),
        'tooleval-toolbench-selection_5-easytool': (25.0, 30.0),
    }
    tokens = {('m', name): PromptTokens(*sides, 'a tokenizer') for name, sides in lengths.items()}
    table = variant_table('easytool', compared, tokens)
    row = dict(zip(table.columns, table.rows[1], strict=True))
    assert (row['dataset'], row['metric'], row['delta']) == ('ToolBench selection 5', 'Review', '50.00')
    assert (row['first prompt reduction'], row['task prompts reduction']) == ('75.00', '90.00')
    assert row['records'] == '40' and all(any(cells) for cells in zip(*table.rows, strict=True)), 'no empty column'
    assert 25 < float(row['low']) < 50 < float(row['high']) < 75
    drawn = [*variant_figures('easytool', compared, tokens), selection_figure(found)]
    figures = {figure.name: figure for figure in drawn}
    lines = figures['toolbench-selection'].series
    assert [(one.name, one.x, one.values) for one in lines] == [
        ('m, documentation', (5,), (50.0,)),
        ('m, instructions', (5,), (100.0,)),
    ]
    assert [one.values for one in figures['easytool-tokens-0'].series] == [(100.0,), (25.0,)]
    assert [one.values for one in figures['easytool-task-tokens-0'].series] == [(300.0,), (30.0,)]
    assert 'a tokenizer' in figures['easytool-tokens-0'].note
    half = {('other', 'tooleval-toolbench-selection_5'): PromptTokens(90.0, 90.0, 'a tokenizer'), **tokens}
    del half['m', 'tooleval-toolbench-selection_5']
    figures = {figure.name: figure for figure in variant_figures('easytool', compared, half)}
    assert figures['easytool-tokens-0'].is_empty(), "one model's documentation is not set beside another's instructions"


def test_every_pair_of_a_variant_has_a_label_in_both_charts() -> None:
    names = [f'tooleval-ultratool-{task}_{language}' for task in ULTRATOOL_TASKS for language in ('zh', 'en')]
    compared = [('m', Gain(name, 'local_accuracy', 50.0, 60.0, None)) for name in names]
    tokens = {('m', name + ending): PromptTokens(9.0, 9.0, 'x') for name in names for ending in ('', '-easytool')}
    for figure in variant_figures('easytool', compared, tokens):
        chart = to_plotly(figure)
        ticks = chart['layout']['yaxis']['ticktext']
        assert len(ticks) == len(set(ticks)) == 12 and not any('…' in tick for tick in ticks), 'no name is cut'
        assert max(len(line) for tick in ticks for line in tick.split('<br>')) <= LINE
        assert figure.height >= 12 * 26, 'each row has room'
        assert all(len(trace['y']) == 12 and trace['y'][0] == 0 for trace in chart['data'])


def test_names_of_points_take_free_sides_only() -> None:
    near = (Series('published', (1.0,) * 9, x=(1.0,) * 9, published=True),)
    same = to_plotly(Figure('n', 's', 't', 'points', tuple('abcdefghi'), near, 'x', 'y', top=None))
    assert len([name for name in same['data'][0]['text'] if name]) == 4, 'one on each side, none above another'


def test_charts_have_places_for_measured_values_only() -> None:
    some = [one for one in teval_entries('a', 0) if 'plan' in one.dataset or 'review' in one.dataset]
    drawn = {one.name: one for one in teval_figures(boards(material(*some), published_columns()), material())}
    assert list(drawn) == ['tooleval-teval_v2-formats-0'], 'two abilities make no radar'
    assert drawn['tooleval-teval_v2-formats-0'].labels == ('plan',)
    one_domain = {'breakdown': {'domains': {'Music': {'overall': 90.0}}}}
    found = material(scored('m', 'tooleval-ultratool-planning_en', overall=50.0, **one_domain))
    names = {
        one.name: one for one in ultratool_figures(boards(found, published_columns()), found) if not one.is_empty()
    }
    assert 'ultratool-en-domains' not in names and names['tooleval-ultratool_en-columns'].labels == ('planning',)


def test_a_table_leaves_out_columns_for_data_sets_that_no_run_had() -> None:
    found = material(scored('m', 'tooleval-ultratool-planning_en', overall=50.0))
    table = next(table for table in boards(found, published_columns()) if table.name == 'tooleval-ultratool_en')
    shown = without_other_data(table, found)
    assert shown.columns == ('planning',) and len(shown.rows) == len(table.rows)
    assert shown.note.startswith('Not shown: Overall. No model was asked UltraTool tool creation awareness English, ')
    lost = [Missing('m', f'tooleval-ultratool-{task}_en', 'out of memory') for task in ULTRATOOL_TASKS]
    assert without_other_data(table, replace(found, missing=tuple(lost))) == table, 'what failed is missing'


def test_scores_as_published_are_named() -> None:
    printed = published('ultratool_main_en').rows
    for planning, expected in ((printed['GPT-4']['planning'], ['GPT-4']), (50.0, [])):
        found = material(scored('GPT-4', 'tooleval-ultratool-planning_en', overall=planning))
        table = next(table for table in boards(found, published_columns()) if table.name == 'tooleval-ultratool_en')
        assert list(table.as_published.values()) == expected


def test_domains_of_a_model_with_fewer_tasks_are_marked() -> None:
    whole = ultratool_material()
    short = [replace(entry, model='short') for entry in whole.scored if 'planning' not in entry.dataset]
    found = material(*whole.scored, *short)
    figures = {figure.name: figure for figure in ultratool_figures(boards(found, published_columns()), found)}
    domains = figures['ultratool-en-domains']
    assert [(one.name, one.values) for one in domains.series] == [
        ('m', (90.0, 30.0)),
        ('short (4 of 5 tasks)', (90.0, 30.0)),
    ]


def test_charts_with_published_models_say_what_does_not_compare() -> None:
    rebuilt = {'provenance': {'rebuilt': True}}
    marked = [replace(one, result={**one.result, **rebuilt}) for one in ultratool_material().scored]
    marked += [replace(one, result={**one.result, **rebuilt}) for one in teval_entries('a', 0)]
    tables = boards(material(*marked), published_columns())
    figures = {
        one.name: one for one in (*teval_figures(tables, material()), *ultratool_figures(tables, material(*marked)))
    }
    for name in (
        'tooleval-teval_v2-abilities',
        'tooleval-ultratool_en-columns',
        'ultratool-en-planning',
        'ultratool-en-json-rate',
    ):
        said = 'Not comparable with published scores: data built by this package, not the official files.'
        assert said in figures[name].note, name
    plain = boards(material(*teval_entries('a', 0)), published_columns())
    assert next(iter(teval_figures(plain, material()))).note == ''


def test_several_runs_are_combined() -> None:
    errors = {'x': 4.0, 'y': 2.0}
    domains = [{'domains': {'Music': {'overall': 80.0}}}, {'domains': {'Music': {'overall': 60.0}}}]
    entry = scored('m', 'd', x=10.0, runs=[{}, {}], standard_errors=errors, breakdown=domains)
    assert entry.part('standard_errors') == {'x': 4.0, 'y': 2.0}
    assert entry.part('breakdown') == {'domains': {'Music': {'overall': 70.0}}}
    assert cell_of('m', {('d', 'x'): 1.0}, {('m', 'd'): entry}).error == pytest.approx(4.0)
    old = scored('m', 'd', x=10.0, runs=[{}, {}], standard_errors=[errors, errors])
    assert cell_of('m', {('d', 'x'): 1.0}, {('m', 'd'): old}).error is None  # errors of runs are not that of their mean


def test_retrieval_golden() -> None:
    one = {
        'subset': 'G2',
        'documentation': {'metrics': {'ndcg@1': 40.0}},
        'instructions': {'metrics': {'ndcg@1': 55.0}},
    }
    figure = retrieval_figure([one])
    assert figure.labels == ('G2 ndcg@1',)
    assert [series.values for series in figure.series] == [(40.0,), (55.0,)]


def test_reasons_golden() -> None:
    many = {f'args:{i}': 1 for i in range(SHOWN + 3)}
    entries = [scored('a', 'd', reasons={'ok': 50, **many}), scored('b', 'd', reasons={'args:0': 10})]
    (figure,) = reason_figures(material(*entries))
    shares = {series.name: series.values for series in figure.series}
    assert shares['ok'] == (pytest.approx(5000 / 64), 0.0)
    assert shares['args:0'] == (pytest.approx(100 / 64), 100.0)
    assert shares[OTHERS] == (pytest.approx(300 / 64), 0.0)
    assert sum(values[0] for values in shares.values() if values[0]) == pytest.approx(100)
    assert figure.links[1][1] == 'model=b&dataset=d&reason=args%3A0'
    assert [series.name for series in figure.series][-1] == OTHERS and figure.links[-1] == ('', '')


def test_published_tables_are_as_printed() -> None:
    tables = {file.stem: published(file.stem) for file in FOLDER.glob('*.csv')}
    assert len(tables) == 19
    for name, table in tables.items():
        assert ('arXiv' in table.source or 'opencompass' in name) and len(table.rows) > 1, name
    for language in ('en', 'zh'):
        for model, scores in tables[f'teval_opencompass_{language}'].rows.items():
            halves = [(scores[f'{name}_json'], scores[f'{name}_str']) for name in TWO_FORMATS]
            six = [*(sum(pair) / 2 for pair in halves), scores['review']]  # type: ignore[arg-type]
            assert sum(six) / 6 == pytest.approx(scores['overall'], abs=0.01), (
                f'its average is the mean of abilities: {model}'
            )
    assert [table.source for table in published_on('tooleval-teval_v2_zh')] == [tables['teval_zh'].source]
    shown = {board for table in tables.values() for board in table.boards}
    assert shown <= {board for board, _ in published_columns()}, 'a board that is none of ours shows its table nowhere'
    main = tables['ultratool_main_en'].rows
    for model, scores in main.items():
        nine = [score for column, score in scores.items() if column != 'overall' and score is not None]
        assert sum(nine) / 9 == pytest.approx(scores['overall'], abs=0.1), model
        assert tables['ultratool_planning_en'].rows[model]['overall'] == scores['planning'], model
        assert tables['ultratool_tool_creation_en'].rows[model]['overall'] == scores['creation'], model
    for table in (tables['teval_en'], tables['teval_zh']):
        for model, scores in table.rows.items():
            six = [score for column, score in scores.items() if column != 'overall' and score is not None]
            assert len(six) == 6
            assert scores['overall'] == pytest.approx(sum(six) / 6, abs=0.11), model


def test_two_runs_of_one_model_are_told_apart(tmp_path: Path) -> None:
    for run in ('one', 'two'):
        add(tmp_path / run, 'm', 'tooleval-teval-review_str_v2', result_of([detail('r')]))
    assert read([tmp_path / 'one', tmp_path / 'two']).models == ('m (one)', 'm (two)')
    assert read([tmp_path / 'one', tmp_path / 'one']).models == ('m',)


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    runs = [tmp_path / folder / 'ours' for folder in 'ab']
    for run in runs:
        add(run, 'm', 'd', result_of([detail('r')]))
        write(run, 'predictions', 'm', 'e', {})
    found = read(runs)
    names = ['m (a/ours)', 'm (b/ours)']
    assert [entry.model for entry in found.scored] == [missing.model for missing in found.missing] == names
    assert [row[0] for row in runs_table(found).rows] == ['a/ours', 'b/ours']
    assert [row[2] for row in results_table(found, {}).rows] == ['a/ours', 'b/ours']


def test_models_and_data_sets_that_only_logs_know_are_missing(tmp_path: Path) -> None:
    add(tmp_path, 'm', 'd', result_of([detail('r')]))
    log = tmp_path / 'logs' / 'infer' / 'dead' / 'd_0.out'
    log.parent.mkdir(parents=True)
    log.write_text(
        '1/1 - OpenCompass - INFO - Task [dead/d_0,dead/e]\nTraceback (most recent call last):\nOSError: gone\n'
    )
    found = {(missing.model, missing.dataset): missing.why for missing in read([tmp_path]).missing}
    assert found == {('dead', 'd'): 'OSError: gone', ('dead', 'e'): 'OSError: gone', ('m', 'e'): 'no answers'}


def test_another_language_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    add(tmp_path, 'a', 'x', result_of([detail('r')]))
    add(tmp_path, 'b', 'x_zh', result_of([detail('r')]))
    write(tmp_path, 'predictions', 'b', 'y_0', {})
    write(tmp_path, 'predictions', 'b', 'y_1', {})
    found = {(missing.model, missing.dataset): missing.why for missing in read([tmp_path]).missing}
    assert found == {
        ('a', 'x_zh'): 'no answers',
        ('a', 'y'): 'no answers',
        ('b', 'x'): 'no answers',
        ('b', 'y'): 'answered, not scored',
    }


def test_a_log_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'configs').mkdir()
    log = tmp_path / 'logs' / 'infer' / 'm' / 'a.out'
    log.parent.mkdir(parents=True)
    tasks = ','.join(f'm/d{i}' for i in range(5))
    log.write_text(f'Task [{tasks}]\n{"x" * 1_100_000}\nTask [{tasks}]\ntime elapsed: 2.00s\n')
    sizes: list[int] = []
    opened = work_dir.open_plain

    def counting(file: Path, *args: Any) -> Any:
        if file == log:
            sizes.append(log.stat().st_size)
        return opened(file, *args)

    monkeypatch.setattr(work_dir, 'open_plain', counting)
    found = read([tmp_path])
    assert len(found.missing) == 6 and runs_table(found).rows[0][2] == '2.00' and len(sizes) == 1


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    plain_run(tmp_path)
    (tmp_path / 'results' / 'worse' / 'tooleval-funcqa-one_hop-cot.json').write_text('{', encoding='utf-8')
    (tmp_path / 'results' / 'better' / 'tooleval-funcqa-one_hop-cot.json').unlink()
    found = {(missing.model, missing.dataset): missing.why for missing in read([tmp_path]).missing}
    assert 'cannot be read' in found['worse', 'tooleval-funcqa-one_hop-cot']
    assert found['better', 'tooleval-funcqa-one_hop-cot'] == 'answered, not scored'
    with pytest.raises(DataError, match='no run'):
        read([tmp_path / 'predictions'])


def test_scripts_hold_only_data() -> None:
    script = to_script('tooleval.chunk', HOSTILE, [HOSTILE])
    assert script.isascii() and not set('<>&') & set(script)
    assert arguments_of(script) == [HOSTILE, [HOSTILE]]
    assert arguments_of(to_script('f', "it's \\", {'x': [float('nan'), float('-inf'), 1.5]})) == [
        "it's \\",
        {'x': ['nan', '-inf', 1.5]},
    ]


def test_charts_show_markup_as_text() -> None:
    figure = Figure('n', 's', 't', 'bars', ('<b>&',), (Series('<a href="javascript:x">', (1.0,)),))
    chart = to_plotly(figure)
    assert chart['data'][0]['name'] == '&lt;a href="javascript:x"&gt;'
    assert chart['layout']['xaxis']['ticktext'] == ['&lt;b&gt;&amp;']


def test_names_keep_their_ends_and_stay_different() -> None:
    long = 'tooleval-teval-reason_retrieve_understand_json_v2'
    assert short_names([long, 'a', long]) == [short_name(long), 'a', short_name(long)]
    assert len(short_name(long)) == CUT
    assert short_name(long).startswith('tooleval-teval-reaso') and short_name(long).endswith('understand_json_v2')
    same = [f'{"a" * 30}{i}{"b" * 30}' for i in range(3)]
    short = short_names(same)
    assert len(set(short)) == 3 and max(map(len, short)) <= CUT
    figure = Figure('n', 's', 't', 'radar', tuple(same), tuple(Series(name, (1.0, 2.0, 3.0)) for name in same))
    radar = to_plotly(figure)
    assert len({trace['name'] for trace in radar['data']}) == len(set(radar['data'][0]['theta'])) == 3
    assert radar['layout']['polar']['angularaxis'] == {'type': 'category'}


def test_heat_maps_number_their_categories() -> None:
    figure = Figure(
        'n', 's', 't', 'heat', ('1', '<b>', '1'), (Series('m', (1.0, 2.0, 3.0)), Series('m', (4.0, 5.0, 6.0)))
    )
    chart = to_plotly(figure)
    (heat,), layout = chart['data'], chart['layout']
    assert (heat['x'], heat['y']) == ([0, 1, 2], [0, 1])
    assert layout['xaxis'] == {
        'automargin': True,
        'tickvals': [0, 1, 2],
        'ticktext': ['1', '&lt;b&gt;', '1'],
        'autotickangles': [0, -30, -60],
    }
    assert layout['yaxis']['automargin'] and layout['yaxis']['ticktext'] == ['m', 'm']


def test_points_are_named() -> None:
    series = (Series('mine', (1.0,), x=(2.0,)), Series('published', (3.0, 4.0), x=(5.0, 6.0), published=True))
    figure = Figure('n', 's', 't', 'points', ('GPT-4', 'LLaMA'), series, 'x', 'y', top=None)
    assert as_table(figure).rows == (
        ('mine', '2.00', '1.00'),
        ('GPT-4 (published)', '5.00', '3.00'),
        ('LLaMA (published)', '6.00', '4.00'),
    )
    assert to_plotly(figure)['data'][1]['text'] == ['GPT-4', 'LLaMA']
    assert to_plotly(figure)['data'][1]['mode'] == 'markers+text'


def test_tables_as_files() -> None:
    table = Table('n', 't', ('model', 'x'), (('=cmd|a', '-1.5'), ('a_b & <i>', '50%')))
    assert to_csv(table) == "model,x\n'=cmd|a,-1.5\na_b & <i>,50%\n"
    assert to_markdown(table).splitlines()[2:] == ['| =cmd\\|a | -1.5 |', '| a\\_b &amp; &lt;i> | 50% |']
    assert r'a\_b \& <i> & 50\% \\' in to_latex(table)
    hostile = Table('n', 't', ('[x', 'y'), (('a\r=cmd|b', '*'), ('\r=cmd', ''), ('*', '')))
    rows = list(csv.reader(io.StringIO(to_csv(hostile), newline='')))
    assert rows == [['[x', 'y'], ['a\n=cmd|b', '*'], ["'\n=cmd", ''], ['*', '']] and '\r' not in to_csv(hostile)
    assert [line for line in to_latex(hostile).splitlines() if line.endswith('\\\\')] == [
        r'{}[x & y \\',
        r'a =cmd|b & * \\',
        r'=cmd &  \\',
        r'{}* &  \\',
    ]
    gaps = as_table(Figure('n', 's', 't', 'bars', ('a',), (Series('x', (1.0,), errors=((1.0, 2.0),)),)))
    assert gaps.rows == (('a', '1.00', '1.00', '2.00'),)


def test_board_files_carry_errors_and_notes() -> None:
    entry = scored('m', 'd', x=1.0, standard_errors={'x': 0.5}, provenance={'rebuilt': True})
    table = board_table(board_of(boards(material(entry), {}), 'others'))
    assert table.columns == ('model', 'source', 'd x', 'd x SE', 'd x notes')
    assert table.rows == (('m', 'measured', '1.00', '0.50', 'data built by this package, not the official files'),)
    better = scored('n', 'd', x=2.0, standard_errors={'x': 0.25})
    printed = printed_table(board_of(boards(material(entry, better), {}), 'others'))
    assert printed.columns == ('model', 'd x')
    assert printed.rows == (('n', '2.00 ± 0.25 ★'), ('m', '1.00 ± 0.50 †')), 'the best comes first'
    assert r'n & 2.00 $\pm$ 0.25 $\star$ \\' in to_latex(printed)
    equal = scored('o', 'd', x=2.0, standard_errors={'x': 0.25})
    tied = board_of(boards(material(entry, better, equal), {}), 'others')
    assert not any(cell.best for row in tied.rows for cell in row.cells), 'of a tie none is the best'


@pytest.mark.parametrize(
    ('metrics', 'main'),
    [
        (('accuracy', 'tool_error_rate', 'tool_name_error_rate', 'parameter_error_rate'), ['accuracy']),
        (('tool_name_error_rate', 'parameter_error_rate', 'error_free_rate'), ['error_free_rate']),
        (('precision', 'recall', 'f1_score', 'parse_rate'), ['f1_score']),
        (('thought', 'name', 'args', 'parse_rate'), ['thought', 'name', 'args']),
        (('global_accuracy', 'local_accuracy', 'json_rate', 'json_rate_unrepaired'), ['local_accuracy']),
        (('local_levenshtein', 'json_rate', 'json_rate_unrepaired'), ['local_levenshtein']),
        (('accuracy', 'completeness', 'overall'), ['overall']),
        (('parse_rate', 'tool_error_rate'), []),
    ],
)
def test_errors_and_formats_are_no_part_of_the_score(metrics: tuple[str, ...], main: list[str]) -> None:
    assert index_of([detail('a', values=dict.fromkeys(metrics, 1.0))])['main'] == main


def test_samples_in_columns() -> None:
    index = index_of([detail('a', domain='X'), detail('b', None, 'args:missing')])
    assert (index['ids'], index['reasons'], index['reason']) == (['a', 'b'], ['ok', 'args:missing'], [0, 1])
    assert (index['domains'], index['domain']) == (['X', ''], [0, 1])
    assert index['values'] == [[1.0, 1.0], [1.0, None]]
    assert messages_of([{'role': 'HUMAN', 'prompt': 'x'}, 'y']) == (('HUMAN', 'x'), ('', 'y'))
    assert messages_of('z') == (('', 'z'),) and messages_of(None) == ()
