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
from opencompass_tooleval.benchmarks.ultratool.figures import MAIN as ULTRATOOL_TASKS
from opencompass_tooleval.benchmarks.ultratool.figures import figures as ultratool_figures
from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.catalogue.variants import find_variant
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens
from opencompass_tooleval.instructions.figures import selection_figure
from opencompass_tooleval.report.board import Board, board_table, boards, printed_table, without_other_data
from opencompass_tooleval.report.build import to_csv, to_latex, to_markdown
from opencompass_tooleval.report.charts import to_plotly
from opencompass_tooleval.report.figure import CUT, Figure, Series, Table, as_table, short_names
from opencompass_tooleval.report.provenance import results_table, runs_table
from opencompass_tooleval.report.published import FOLDER, published, published_on
from opencompass_tooleval.report.reasons import OTHERS, SHOWN, reason_figures
from opencompass_tooleval.report.samples import to_script
from opencompass_tooleval.report.variant_figures import comparisons, variant_figures, variant_table
from opencompass_tooleval.results.table import Material, Missing, ModelResult, cell_of, read
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.report.support import HOSTILE, add, arguments_of, detail, result_of, write

HERE = WorkDir(Path('nowhere'))


def scored(model: str, dataset: str, **result: Any) -> ModelResult:
    return ModelResult(model, dataset, HERE, model, result)


def material(*entries: ModelResult) -> Material:
    return Material((), entries, ())


TWO_FORMATS = ('instruct', 'plan', 'reason', 'retrieve', 'understand')


def teval_entries(model: str, shift: float) -> list[ModelResult]:
    """All of T-Eval v2: json scores 80, string scores 60, review 90, less ``shift``."""
    scores: dict[str, dict[str, float]] = {
        'instruct': {
            **dict.fromkeys(('json_format_metric', 'json_args_em_metric'), 80),
            **dict.fromkeys(('string_format_metric', 'string_args_em_metric'), 60),
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
        scored(model, f'tooleval-teval-{name}_v2', **{key: value - shift for key, value in values.items()})
        for name, values in scores.items()
    ]


def board_of(found: Material, name: str) -> Board:
    return next(board for board in boards(found, published_columns()) if board.name == name)


def figures_of(found: Material) -> dict[str, Figure]:
    tables = boards(found, published_columns())
    return {figure.name: figure for figure in ultratool_figures(tables, found)}


def test_teval_golden() -> None:
    found = material(*teval_entries('a', 0), *teval_entries('b', 10))
    board = board_of(found, 'tooleval-teval_v2')
    cells = {row.model: dict(zip(board.columns, row.cells, strict=True)) for row in board.rows}
    assert cells['a']['overall'].value == pytest.approx((5 * 70 + 90) / 6)
    assert cells['b']['overall'].value == pytest.approx((5 * 60 + 80) / 6)
    assert cells['a']['overall'].best and not cells['b']['overall'].best
    assert cells['GPT-4-Turbo (Nov 2023)']['review'].value == 94.5
    assert not cells['GPT-4-Turbo (Nov 2023)']['review'].best, 'published scores are no competitors'
    assert [cells['a'][ability].value for ability in (*TWO_FORMATS, 'review')] == pytest.approx([*[70] * 5, 90])
    assert [cells['b'][f'instruct_{kind}'].value for kind in ('json', 'str')] == [70, 50]


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
    rows = board_of(material(*entries), 'others').rows
    assert [row.cells[0].best for row in rows] == [True, False], 'fewer errors come first'


def of(benchmark: str, subset: str, count: int, version: str = '', **more: Any) -> dict[str, Any]:
    """A result of as many samples of a subset."""
    about = {'benchmark': benchmark, 'subset': subset, **({'data_version': version} if version else {})}
    return {'provenance': about, 'samples': {'all': count}, **more}


def about(**provenance: Any) -> dict[str, Any]:
    return {'provenance': provenance}


OFFICIAL_JUDGES = 'GPT-4-0613', 'gpt-4-turbo-2024-04-09', 'gpt-4-1106-preview', 'openai/gpt-4-32k'
OTHER_JUDGES = 'gpt-4o-mini', 'gpt-4.1-nano', 'not-gpt-4', 'gpt-4-mini'


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (about(encoder='offline:x', language='EN'), 'another sentence encoder: offline:x'),
        (about(encoder='all-mpnet-base-v2', language='EN'), None),
        (about(encoder='all-mpnet-base-v2', language='ZH'), 'another sentence encoder: all-mpnet-base-v2'),
        (about(encoder='thenlper/gte-large-zh', language='ZH'), None),
        (about(rebuilt=True), 'data built by this package'),
        *((about(judge=name, judge_hash='x'), None) for name in OFFICIAL_JUDGES),
        *((about(judge=name, judge_hash='x'), f'judged by {name}; the paper used GPT-4') for name in OTHER_JUDGES),
        (about(judge='x/gpt-4/planning_eval.json'), 'judgements from x/gpt-4/planning_eval.json'),
        (about(gold='official, repaired'), 'gold answers: repaired, not the published ones'),
        (about(gold='official'), None),
        (about(data_version='v2', protocol='v1'), 'protocol v1 on data v2'),
        (about(data_version='v2', protocol='v2'), None),
        (about(data_version='v2_subset'), 'sampled subset'),
        (about(scoring='strict'), 'strict'),
        ({'samples': {'all': 200, 'infra': 100}}, None),
        (of('teval', 'review_str', 7, 'v1'), 'records: 7 of 487, not a sample'),
        (of('teval', 'reason_str', 3213, 'v1'), None),
        (of('teval', 'retrieve_str', 3213, 'v1'), None),
        (of('teval', 'understand_str', 3540, 'v1'), None),
        (of('teval', 'understand_str', 3213, 'v1'), 'records: 3,213 of 3,540, not a sample'),
        (of('teval', 'reason_retrieve_understand_json', 3213, 'v1'), None),
        (of('teval', 'plan_str', 6, 'v2'), 'fewer than 100 records'),
        (of('teval', 'plan_str', 198, 'v2', runs=[{}, {}]), 'fewer than 100 records'),
        (of('teval', 'plan_str', 553, 'v2'), 'the published number of records is unknown'),
        (of('toolbench', 'selection_5', 6), 'records: 6 of 163, not a sample'),
        (of('toolbench', 'calls_g2', 124), None),
        (of('toolbench', 'success', 3), 'fewer than 100 records'),
        (of('ultratool', 'planning', 2000, runs=[{}, {}]), None),
    ],
)
def test_caveats(changes: dict[str, Any], message: str | None) -> None:
    caveats = scored('m', 'tooleval-d', **changes).caveats
    assert len(caveats) == (message is not None), caveats
    assert message is None or message in caveats[0]


def test_caveats_of_agents() -> None:
    def caveats(**more: Any) -> tuple[str, ...]:
        return scored('m', 'd', **about(benchmark='agents', subset='toolbench_g1', **more)).caveats

    small, none = caveats(simulated_by='small'), caveats(simulated_by='')
    assert 'simulated by small' in small[1] and none == small[:1] + small[2:] and 'recordings' in none[0]
    assert any(one.startswith('judged by gpt-4; the papers used') for one in caveats(judge='gpt-4', judge_hash='ab'))


def test_answers_that_win_without_a_reference_are_a_caveat() -> None:
    """Against ToolBench's three published examples nearly every other query of a set is won."""
    wins = {'win': 98, 'tie': 1, 'loss': 1, NO_REFERENCE: 96, 'decided_by': {'select_better_answer': 16}}
    judged = {'judged': {'win': wins}}

    def won(breakdown: Any) -> list[str]:
        entry = scored('m', 'd', **about(benchmark='agents', subset='toolbench_g1'), breakdown=breakdown)
        return [text for text in entry.caveats if 'won' in text]

    assert won(judged) == won([judged, judged]) == ['96% of the tasks count as won since the reference has no answer']
    for odd in (
        {NO_REFERENCE: ['x']},
        {NO_REFERENCE: 3, 'win': 'x'},
        {NO_REFERENCE: 1, 'win': -1, 'tie': 1, 'loss': 0},
    ):
        assert won({'judged': {'win': odd}}) == won({'judged': 3}) == []


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
    figures = figures_of(ultratool_material())
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
    name = 'tooleval-toolbench-selection_5'
    for dataset, values in ((name, (0.0, 1.0)), (f'{name}-easytool', (1.0, 1.0))):
        result = result_of([detail(f'{i}', values[i % 2]) for i in range(40)])
        add(tmp_path, 'm', dataset, {**result, 'accuracy': result['review_quality']})
    found = read([tmp_path])
    compared = list(comparisons(find_variant('easytool'), found))
    lengths = {name: (100.0, 300.0), f'{name}-easytool': (25.0, 30.0)}
    tokens = {('m', dataset): PromptTokens(*sides, 'a tokenizer') for dataset, sides in lengths.items()}
    table = variant_table('easytool', compared, tokens)
    row = dict(zip(table.columns, table.rows[1], strict=True))
    assert (row['dataset'], row['metric'], row['delta']) == ('ToolBench selection 5', 'Review', '50.00')
    assert (row['first prompt reduction'], row['task prompts reduction']) == ('75.00', '90.00')
    assert row['records'] == '40' and all(any(cells) for cells in zip(*table.rows, strict=True)), 'no empty column'
    assert 25 < float(row['low']) < 50 < float(row['high']) < 75
    drawn = [*variant_figures('easytool', compared, tokens), selection_figure(found)]
    figures = {figure.name: figure for figure in drawn}
    lines = [(one.name, one.x, one.values) for one in figures['toolbench-selection'].series]
    assert lines == [('m, documentation', (5,), (50.0,)), ('m, instructions', (5,), (100.0,))]
    assert [one.values for one in figures['easytool-tokens-0'].series] == [(100.0,), (25.0,)]
    assert [one.values for one in figures['easytool-task-tokens-0'].series] == [(300.0,), (30.0,)]
    assert 'a tokenizer' in figures['easytool-tokens-0'].note
    half = {('other', name): PromptTokens(90.0, 90.0, 'a tokenizer'), **tokens}
    del half['m', name]
    figures = {figure.name: figure for figure in variant_figures('easytool', compared, half)}
    assert figures['easytool-tokens-0'].is_empty(), "one model's documentation is not set beside another's instructions"


def test_a_table_leaves_out_columns_for_data_sets_that_no_run_had() -> None:
    found = material(scored('m', 'tooleval-ultratool-planning_en', overall=50.0))
    table = board_of(found, 'tooleval-ultratool_en')
    shown = without_other_data(table, found)
    assert shown.columns == ('planning',) and len(shown.rows) == len(table.rows)
    assert shown.note.startswith('Not shown: Overall. No model was asked UltraTool tool creation awareness English, ')
    lost = [Missing('m', f'tooleval-ultratool-{task}_en', 'out of memory') for task in ULTRATOOL_TASKS]
    assert without_other_data(table, replace(found, missing=tuple(lost))) == table, 'what failed is missing'


def test_scores_as_published_are_named() -> None:
    printed = published('ultratool_main_en').rows
    for planning, expected in ((printed['GPT-4']['planning'], ['GPT-4']), (50.0, [])):
        found = material(scored('GPT-4', 'tooleval-ultratool-planning_en', overall=planning))
        assert list(board_of(found, 'tooleval-ultratool_en').as_published.values()) == expected


def test_charts_with_published_models_say_what_does_not_compare() -> None:
    plain = ultratool_material().scored
    figures = figures_of(material(*(replace(one, result={**one.result, **about(rebuilt=True)}) for one in plain)))
    message = 'Not comparable with published scores: data built by this package, not the official files.'
    for name in ('ultratool-en-planning', 'ultratool-en-json-rate'):
        assert message in figures[name].note, name
    assert message not in figures_of(material(*plain))['ultratool-en-json-rate'].note


def test_several_runs_are_combined() -> None:
    domains = [{'domains': {'Music': {'overall': score}}} for score in (80.0, 60.0)]
    entry = scored('m', 'd', x=10.0, runs=[{}, {}], standard_errors={'x': 4.0, 'y': 2.0}, breakdown=domains)
    assert entry.part('breakdown') == {'domains': {'Music': {'overall': 70.0}}}
    assert cell_of('m', {('d', 'x'): 1.0}, {('m', 'd'): entry}).error == pytest.approx(4.0)
    old = scored('m', 'd', x=10.0, runs=[{}, {}], standard_errors=[{'x': 4.0}, {'x': 4.0}])
    assert cell_of('m', {('d', 'x'): 1.0}, {('m', 'd'): old}).error is None  # errors of runs are not that of their mean


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
            six = [*(sum(pair) / 2 for pair in halves), scores['review']]
            assert sum(six) / 6 == pytest.approx(scores['overall'], abs=0.01), f'the mean of abilities: {model}'
    assert [table.source for table in published_on('tooleval-teval_v2_zh')] == [tables['teval_zh'].source]
    shown = {board for table in tables.values() for board in table.boards}
    assert shown <= {board for board, _ in published_columns()}, 'a board that is none of ours shows its table nowhere'
    for model, scores in tables['ultratool_main_en'].rows.items():
        nine = [score for column, score in scores.items() if column != 'overall' and score is not None]
        assert sum(nine) / 9 == pytest.approx(scores['overall'], abs=0.1), model
        assert tables['ultratool_planning_en'].rows[model]['overall'] == scores['planning'], model
        assert tables['ultratool_tool_creation_en'].rows[model]['overall'] == scores['creation'], model
    for table in (tables['teval_en'], tables['teval_zh']):
        for model, scores in table.rows.items():
            six = [score for column, score in scores.items() if column != 'overall' and score is not None]
            assert len(six) == 6 and scores['overall'] == pytest.approx(sum(six) / 6, abs=0.11), model


def test_runs_of_one_name_and_other_settings_are_told_apart(tmp_path: Path) -> None:
    runs = [tmp_path / folder / 'ours' for folder in 'ab']
    for number, run in enumerate(runs):
        add(run, 'm', 'd', result_of([detail('r')], provenance={'benchmark': 'teval', 'version': str(number)}))
        write(run, 'predictions', 'm', 'e', {})
    found = read(runs)
    names = ['m (a/ours)', 'm (b/ours)']
    assert [entry.model for entry in found.scored] == [missing.model for missing in found.missing] == names
    assert [row[0] for row in runs_table(found).rows] == ['a/ours', 'b/ours']
    assert [row[2] for row in results_table(found, {}).rows] == ['a/ours', 'b/ours']
    assert found.older == () and read([runs[0], runs[0]]).models == ('m',)


def why_missing(run: Path) -> dict[tuple[str, str], str]:
    return {(missing.model, missing.dataset): missing.why for missing in read([run]).missing}


def test_models_and_data_sets_that_only_logs_know_are_missing(tmp_path: Path) -> None:
    add(tmp_path, 'm', 'd', result_of([detail('r')]))
    log = tmp_path / 'logs' / 'infer' / 'dead' / 'd_0.out'
    log.parent.mkdir(parents=True)
    start = '1/1 - OpenCompass - INFO - Task [dead/d_0,dead/e]\n'
    log.write_text(f'{start}Traceback (most recent call last):\nOSError: gone\n')
    dead = {('dead', 'd'): 'OSError: gone', ('dead', 'e'): 'OSError: gone'}
    assert why_missing(tmp_path) == {**dead, ('m', 'e'): 'no answers'}
    (tmp_path / 'results' / 'm' / 'd.json').write_text('{', encoding='utf-8')
    assert 'cannot be read' in why_missing(tmp_path)['m', 'd']
    with pytest.raises(DataError, match='no run'):
        read([tmp_path / 'predictions'])


def test_another_language_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    add(tmp_path, 'a', 'x', result_of([detail('r')]))
    add(tmp_path, 'b', 'x_zh', result_of([detail('r')]))
    write(tmp_path, 'predictions', 'b', 'y_0', {})
    none = dict.fromkeys((('a', 'x_zh'), ('a', 'y'), ('b', 'x')), 'no answers')
    assert why_missing(tmp_path) == {**none, ('b', 'y'): 'answered, not scored'}


def test_scripts_hold_only_data() -> None:
    script = to_script('tooleval.chunk', HOSTILE, [HOSTILE])
    assert script.isascii() and not set('<>&') & set(script)
    assert arguments_of(script) == [HOSTILE, [HOSTILE]]
    odd = to_script('f', "it's \\", {'x': [float('nan'), float('-inf'), 1.5]})
    assert arguments_of(odd) == ["it's \\", {'x': ['nan', '-inf', 1.5]}]


def test_charts_show_markup_as_text() -> None:
    figure = Figure('n', 's', 't', 'bars', ('<b>&',), (Series('<a href="javascript:x">', (1.0,)),))
    chart = to_plotly(figure)
    assert chart['data'][0]['name'] == '&lt;a href="javascript:x"&gt;'
    assert chart['layout']['xaxis']['ticktext'] == ['&lt;b&gt;&amp;']


def test_bars_of_published_models_differ_without_their_colour() -> None:
    series = [Series(f'm{number}', (1.0,), published=number > 1) for number in range(7)]
    bars = [trace['marker'] for trace in to_plotly(Figure('n', 's', 't', 'bars', ('a',), tuple(series)))['data']]
    assert len({(bar['color'], bar['pattern']['shape']) for bar in bars}) == 7
    assert all(bar['pattern']['shape'] for bar in bars[2:])


def test_names_keep_their_ends_and_stay_different() -> None:
    long = 'tooleval-teval-reason_retrieve_understand_json_v2'
    first, whole, last = short_names([long, 'a', long])
    assert whole == 'a' and first == last and len(first) == CUT
    assert first.startswith('tooleval-teval-reaso') and first.endswith('understand_json_v2')
    same = [f'{"a" * 30}{i}{"b" * 30}' for i in range(3)]
    short = short_names(same)
    assert len(set(short)) == 3 and max(map(len, short)) <= CUT


def test_tables_as_files() -> None:
    table = Table('n', 't', ('model', 'x'), (('=cmd|a', '-1.5'), ('a_b & <i>', '50%')))
    assert to_csv(table) == "model,x\n'=cmd|a,-1.5\na_b & <i>,50%\n"
    assert to_markdown(table).splitlines()[2:] == ['| =cmd&#124;a | -1.5 |', '| a&#95;b &#38; &#60;i&#62; | 50% |']
    assert r'a\_b \& <i> & 50\% \\' in to_latex(table)
    hostile = Table('n', 't', ('[x', 'y'), (('a\r=cmd|b', '*'), ('\r=cmd', ''), ('*', '')))
    rows = list(csv.reader(io.StringIO(to_csv(hostile), newline='')))
    assert rows == [['[x', 'y'], ['a\n=cmd|b', '*'], ["'\n=cmd", ''], ['*', '']] and '\r' not in to_csv(hostile)
    latex = [line for line in to_latex(hostile).splitlines() if line.endswith('\\\\')]
    assert latex == [r'{}[x & y \\', r'a =cmd|b & * \\', r'=cmd &  \\', r'{}* &  \\']
    gaps = as_table(Figure('n', 's', 't', 'bars', ('a',), (Series('x', (1.0,), errors=((1.0, 2.0),)),)))
    assert gaps.rows == (('a', '1.00', '1.00', '2.00'),)


def test_board_files_carry_errors_and_notes() -> None:
    entry = scored('m', 'd', x=1.0, standard_errors={'x': 0.5}, provenance={'rebuilt': True})
    table = board_table(board_of(material(entry), 'others'))
    assert table.columns == ('model', 'source', 'd x', 'd x SE', 'd x notes')
    assert table.rows == (('m', 'measured', '1.00', '0.50', 'data built by this package, not the official files'),)
    better, equal = (scored(name, 'd', x=2.0, standard_errors={'x': 0.25}) for name in 'no')
    printed = printed_table(board_of(material(entry, better), 'others'))
    assert printed.columns == ('model', 'd x')
    assert printed.rows == (('n', '2.00 ± 0.25 ★'), ('m', '1.00 ± 0.50 †')), 'the best comes first'
    assert r'n & 2.00 $\pm$ 0.25 $\star$ \\' in to_latex(printed)
    tied = board_of(material(entry, better, equal), 'others')
    assert not any(cell.best for row in tied.rows for cell in row.cells), 'of a tie none is the best'
