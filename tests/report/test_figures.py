"""The data of tables and charts, by hand-computed numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.host.tables import published_columns
from opencompass_tooleval.host.work_dir import WorkDir
from opencompass_tooleval.report import published
from opencompass_tooleval.report.board import Board, board_table, boards, cell_of
from opencompass_tooleval.report.charts import to_plotly
from opencompass_tooleval.report.easytool_figures import comparisons, easytool_figures, easytool_table, retrieval_figure
from opencompass_tooleval.report.figure import Figure, Series, Table, as_table
from opencompass_tooleval.report.files import to_csv, to_latex, to_markdown
from opencompass_tooleval.report.marks import marks_of
from opencompass_tooleval.report.read import Material, Scored, read
from opencompass_tooleval.report.reasons import OTHERS, SHOWN, reason_figures
from opencompass_tooleval.report.samples import index_of, messages_of
from opencompass_tooleval.report.script import to_script
from opencompass_tooleval.report.teval_figures import teval_figures
from opencompass_tooleval.report.ultratool_figures import ultratool_figures
from tests.report.support import HOSTILE, add, detail, plain_run, result_of

HERE = WorkDir(Path('nowhere'))


def scored(model: str, dataset: str, **result: Any) -> Scored:
    return Scored(model, dataset, HERE, model, result)


def material(*entries: Scored) -> Material:
    return Material((), entries, ())


def teval_entries(model: str, shift: float) -> list[Scored]:
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
        scored(model, f'tooleval-teval-{name}_v2', **{key: value - shift for key, value in mine.items()}, **errors)
        for name, mine in scores.items()
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
    figures = {figure.name: figure for figure in teval_figures(found)}
    radar = figures['tooleval-teval_v2-abilities']
    assert [series.name for series in radar.series][:2] == ['a', 'b']
    assert radar.series[0].values == pytest.approx((70, 70, 70, 70, 70, 90))
    assert {series.name for series in radar.series if series.published} == {'GPT-4-Turbo (Nov 2023)', 'Qwen-7B'}
    gap = figures['tooleval-teval_v2-formats-1']
    assert gap.choice == 'b'
    assert [(series.name, series.values[0]) for series in gap.series] == [('json', 70), ('string', 50)]


def test_errors_of_a_column_add_up_within_a_data_set_and_in_squares_over_data_sets() -> None:
    one = scored('m', 'd', x=10.0, y=20.0, standard_errors={'x': 3.0, 'y': 3.0})
    two = scored('m', 'e', x=40.0, standard_errors={'x': 4.0})
    known = {('m', 'd'): one, ('m', 'e'): two}
    cell = cell_of('m', {('d', 'x'): 0.25, ('d', 'y'): 0.25, ('e', 'x'): 0.5}, known)
    assert cell.value == pytest.approx(27.5)
    assert cell.error == pytest.approx(math.hypot(0.5 * 3, 0.5 * 4))


def test_a_column_with_a_part_missing_has_no_score_and_says_so() -> None:
    cell = cell_of('m', {('d', 'x'): 0.5, ('e', 'x'): 0.5}, {('m', 'd'): scored('m', 'd', x=10.0)})
    assert cell.value is None and cell.lacks == ('e',)
    unmeasured = cell_of('m', {('d', 'x'): 1.0}, {('m', 'd'): scored('m', 'd', x=None)})
    assert unmeasured.value is None and unmeasured.lacks == ('d x',)


def test_fewer_errors_are_better() -> None:
    entries = [scored(name, 'd', tool_error_rate=rate) for name, rate in (('a', 9.0), ('b', 3.0))]
    board = board_of(boards(material(*entries), {}), 'others')
    assert [row.cells[0].best for row in board.rows] == [False, True]


@pytest.mark.parametrize(
    ('changes', 'said'),
    [
        ({'provenance': {'encoder': 'offline:x', 'language': 'EN'}}, 'other sentence encoder: offline:x'),
        ({'provenance': {'encoder': 'all-mpnet-base-v2', 'language': 'EN'}}, None),
        ({'provenance': {'rebuilt': True}}, 'data built here'),
        ({'provenance': {'judge': 'mine'}}, 'judged by mine'),
        ({'provenance': {'judge': 'GPT-4-0613'}}, None),
        ({'provenance': {'data_version': 'v2_subset'}}, 'sampled subset'),
        ({'provenance': {'scoring': 'strict'}}, 'strict'),
        ({'samples': {'all': 200, 'infra': 2}}, '2 of 200 samples'),
        ({'samples': {'all': 200, 'infra': 1}}, None),
        (
            {
                'provenance': {'benchmark': 'teval', 'subset': 'review_str', 'data_version': 'v1'},
                'samples': {'all': 7},
            },
            '7 of 487 records',
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
def test_marks(changes: dict[str, Any], said: str | None) -> None:
    marks = marks_of(scored('m', 'd', **changes))
    assert (said is None and not marks) or (said is not None and said in marks[0])


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
    return material(*(scored('m', f'tooleval-ultratool-{name}_en', **mine, **domains) for name, mine in names.items()))


def test_ultratool_golden() -> None:
    found = ultratool_material()
    figures = {figure.name: figure for figure in ultratool_figures(boards(found, published_columns()), found)}
    nine = figures['tooleval-ultratool_en-columns']
    assert len(nine.labels) == 9 and nine.series[0].values == pytest.approx((50,) * 9)
    assert nine.series[1].name == 'GPT-4' and nine.series[1].published
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
    compared = list(comparisons(found))
    tokens = {('m', 'tooleval-toolbench-selection_5'): 100.0, ('m', 'tooleval-toolbench-selection_5-easytool'): 25.0}
    row = dict(zip(easytool_table(compared, tokens).columns, easytool_table(compared, tokens).rows[1], strict=True))
    assert (row['metric'], row['delta'], row['records'], row['reduction']) == ('review_quality', '50.00', '40', '75.00')
    assert 25 < float(row['low']) < 50 < float(row['high']) < 75
    figures = {figure.name: figure for figure in easytool_figures(compared, tokens, found)}
    lines = figures['toolbench-selection'].series
    assert [(one.name, one.x, one.values) for one in lines] == [
        ('m, documentation', (5,), (50.0,)),
        ('m, instructions', (5,), (100.0,)),
    ]
    assert [one.values for one in figures['easytool-tokens'].series] == [(100.0,), (25.0,)]


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


def test_published_tables_are_as_printed() -> None:
    for name, tables in published.BOARDS.items():
        assert all(len(table.rows()) > 1 for table in tables), name
    main = published.ULTRATOOL_MAIN_EN.rows()
    for model, scores in main.items():
        nine = [score for column, score in scores.items() if column != 'overall' and score is not None]
        assert sum(nine) / 9 == pytest.approx(scores['overall'], abs=0.1), model
        assert published.ULTRATOOL_PLANNING_EN.rows()[model]['overall'] == scores['planning'], model
        assert published.ULTRATOOL_CREATION_EN.rows()[model]['overall'] == scores['creation'], model
    for table in (published.TEVAL_EN, published.TEVAL_ZH):
        rows = table.rows()
        assert rows['Qwen-72B']['overall'] == pytest.approx(
            sum(value for column, value in rows['Qwen-72B'].items() if column != 'overall' and value) / 6, abs=0.11
        )


def test_two_runs_of_one_model_are_told_apart(tmp_path: Path) -> None:
    for run in ('one', 'two'):
        add(tmp_path / run, 'm', 'tooleval-teval-review_str_v2', result_of([detail('r')]))
    assert read([tmp_path / 'one', tmp_path / 'two']).models == ('m (one)', 'm (two)')
    assert read([tmp_path / 'one', tmp_path / 'one']).models == ('m',)


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
    assert json.loads(f'[{script.removeprefix("tooleval.chunk(").removesuffix(");" + chr(10))}]') == [
        HOSTILE,
        [HOSTILE],
    ]


def test_charts_show_markup_as_text() -> None:
    figure = Figure('n', 's', 't', 'bars', ('<b>&',), (Series('<a href="javascript:x">', (1.0,)),))
    chart = to_plotly(figure)
    assert chart['data'][0]['name'] == '&lt;a href="javascript:x"&gt;'
    assert chart['layout']['xaxis']['ticktext'] == ['&lt;b&gt;&amp;']


def test_tables_as_files() -> None:
    table = Table('n', 't', ('model', 'x'), (('=cmd|a', '-1.5'), ('a_b & <i>', '50%')))
    assert to_csv(table) == "model,x\n'=cmd|a,-1.5\na_b & <i>,50%\n"
    assert to_markdown(table).splitlines()[2:] == ['| =cmd\\|a | -1.5 |', '| a\\_b &amp; &lt;i> | 50% |']
    assert r'a\_b \& <i> & 50\% \\' in to_latex(table)
    gaps = as_table(Figure('n', 's', 't', 'bars', ('a',), (Series('x', (1.0,), errors=((1.0, 2.0),)),)))
    assert gaps.rows == (('a', '1.00', '1.00', '2.00'),)


def test_board_files_carry_errors_and_notes() -> None:
    entry = scored('m', 'd', x=1.0, standard_errors={'x': 0.5}, provenance={'rebuilt': True})
    table = board_table(board_of(boards(material(entry), {}), 'others'))
    assert table.columns == ('model', 'source', 'd x', 'd x SE', 'd x notes')
    assert table.rows == (('m', 'measured', '1.00', '0.50', 'data built here, not the official files'),)


def test_samples_in_columns() -> None:
    index = index_of([detail('a', domain='X'), detail('b', None, 'args:missing')])
    assert (index['ids'], index['reasons'], index['reason']) == (['a', 'b'], ['ok', 'args:missing'], [0, 1])
    assert (index['domains'], index['domain']) == (['X', ''], [0, 1])
    assert index['values'] == [[1.0, 1.0], [1.0, None]]
    assert messages_of([{'role': 'HUMAN', 'prompt': 'x'}, 'y']) == (('HUMAN', 'x'), ('', 'y'))
    assert messages_of('z') == (('', 'z'),) and messages_of(None) == ()
