"""The last screen of a sweep: texts that are cut at 80 columns, and texts that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencompass_tooleval.benchmarks.teval.tables import tooleval_teval_summary_groups
from opencompass_tooleval.catalogue.tables import columns_of
from opencompass_tooleval.results.table import Missing
from opencompass_tooleval.summarizers.last_screen import (
    Headline,
    headlines,
    leaderboard,
    missing_lines,
)


def test_heads_wrap_between_words_and_the_table_fits() -> None:
    models = [f'a-model-with-a-rather-long-name-{number}' for number in range(3)]
    rows = [Headline('tooleval-restbench-tmdb-easytool', 'correct_path_rate', ['100.00'] * 3)]
    *heads, last, row, _ = leaderboard(models, rows)
    assert [line.split() for line in heads] == [[word] * 3 for word in ('a-model-', 'with-a-', 'rather-', 'long-name-')]
    assert last.split() == ['benchmark', 'metric', '0', '1', '2']
    assert all(len(line) <= 80 for line in (*heads, last, row)) and 'restbench-tmdb-easytool' in row


SIX = [f'vendor-model-{number}' for number in range(6)]
TABLES = [
    Headline(f'tooleval-{name}', 'accuracy', [f'{10.0 * number:.2f}' for number in range(6)])
    for name in ('teval_v2', 'ultratool_zh', 'restbench-tmdb', 'toolbench-selection_5', 'funcqa-zero_shot', 'x' * 60)
]


@pytest.mark.parametrize(('width', 'columns'), [(40, 2), (66, 4), (80, 5), (100, 5), (160, 6)])
def test_columns_that_do_not_fit_the_terminal_are_counted_and_heads_are_whole(width: int, columns: int) -> None:
    lines = leaderboard(SIX, TABLES, width)
    table = lines[:8]
    assert all(len(line) <= width for line in table) and len(table[-1].split()) == 1 + columns
    words = ['model', 'teval_v2', 'zh', 'tmdb', 'selection_5', 'zero_shot'][: 1 + columns]
    assert table[1].split()[:6] == words and table[0].split()[0] == 'ultratool_'
    left_out = ', '.join(f'{row.name.removeprefix("tooleval-")} accuracy' for row in TABLES[columns:][:3])
    number = 6 - columns
    counted = f'({number} more table{"s" * (number > 1)} in the files below: {left_out}'
    assert any(line.startswith(counted) for line in lines) == (number > 0)


def test_many_models_are_ordered_by_the_first_column_in_which_they_have_a_score() -> None:
    scores = {'a': '- 10.00', 'b': '50.00* 1.00', 'c': '- 90.00', 'd': '60.00 2.00', 'e': '- -', 'f': '60.00 9.00'}
    scores['g'] = '0.00 0.00'  # which is a score
    rows = [
        Headline(f'tooleval-restbench-{i}', 'correct_path_rate', [both.split()[i] for both in scores.values()])
        for i in range(2)
    ]
    ordered = [line.split()[0] for line in leaderboard(list(scores), rows) if line.split()[0] in scores]
    assert ordered == list('fdbgcae')


def test_many_models_have_no_column_of_dashes_but_the_other_scores_with_their_names() -> None:
    empty = Headline('tooleval-teval_v2', 'overall', ['-'] * 6)
    part = Headline('tooleval-teval_v2', 'review', ['7.00'] * 6, is_main=False)
    lines = leaderboard(SIX, [empty, part, TABLES[2]], 40)
    heads = [line.split() for line in lines[:2]]
    assert heads == [['teval_v2', 'restbench-'], ['model', 'review', 'tmdb']]
    assert 'Where a main score is missing, the next columns have the other scores.' in lines
    lines = leaderboard(SIX, [empty, part, *TABLES[2:4]], 30)
    assert '(1 more table and 1 other score in the files below: toolbench-selection_5 accuracy)' in lines


def test_names_of_many_models_that_are_cut_stay_apart() -> None:
    models = [f'a-model-with-a-very-long-name-{size}-instruct-quantized-w4a16' for size in ('small', 'large')] * 3
    lines = leaderboard([f'{name}{number // 2}' for number, name in enumerate(models)], TABLES[:1])
    names = [line.split('  ')[0] for line in lines[1:7]]
    assert len(set(names)) == 6 and all(len(name) <= 32 for name in names)


TEVAL = 'tooleval-teval_v2'


def table_of(*rows: list[str]) -> list[list[str]]:
    models = [f'm{number}' for number in range(1, len(rows[0]) - 3)]
    return [['dataset', 'version', 'metric', 'mode', *models], *rows]


def row(name: str, metric: str, *scores: str) -> list[str]:
    return [name, 'ab12', metric, 'gen', *scores]


@pytest.mark.parametrize(
    ('there', 'shown'),
    [
        ('plan_json', ['plan_json']),
        ('review plan_json', ['review', 'plan_json']),
        ('plan review plan_json plan_str reason_json', ['plan', 'review', 'reason_json']),
    ],
)
def test_a_half_of_an_ability_has_its_score_on_the_screen(there: str, shown: list[str]) -> None:
    table = table_of(*(row(TEVAL, name, '50.00') for name in there.split()))
    rows = headlines(table, {TEVAL}, columns=columns_of(tooleval_teval_summary_groups))
    assert [one.metric for one in rows] == ['overall', *shown]


def test_a_model_without_the_overall_score_has_its_scores_on_the_screen() -> None:
    """Another model has the overall score, and the same data sets for it have no row of their own."""
    shown = {'overall': ('60.00', '-'), 'review': ('70.00', '40.00'), 'plan_json': ('40.00', '30.00')}
    scores = {**shown, 'plan': ('50.00', '-'), 'plan_str': ('60.00', '-')}
    table = table_of(*(row(TEVAL, name, *both) for name, both in scores.items()))
    rows = headlines(table, {TEVAL}, columns=columns_of(tooleval_teval_summary_groups))
    assert {one.metric: tuple(one.scores) for one in rows} == shown


def lines(*missing: tuple[str, str, str], most: int | None = None) -> list[str]:
    rows = [Missing(model, dataset, error, f'{dataset}.out') for model, dataset, error in missing]
    return list(missing_lines(rows, Path('out/run'), most))


def test_a_data_set_is_named_once() -> None:
    head, *rest = lines(('m', 'd', 'd: DataError: no file. Fix it with: tooleval prepare teval'))
    then = '  then: opencompass CONFIG -w out -r run'
    assert rest == ['  why:  no file.', '  fix: tooleval prepare teval', then] and head.count(' d:') == 1


def test_what_says_that_tasks_are_solved_stands_for_a_data_set_wherever_it_is() -> None:
    """A model that calls every tool with no arguments keeps to the form of calls."""
    name = 'tooleval-teval-instruct_v2-fc'
    form = row(name, 'json_format_metric', '100.00', '50.00')
    found_rows = headlines(table_of(form, row(name, 'json_args_em_metric', '9.00', '40.00')))
    assert found_rows == [Headline(name, 'json_args_em_metric', ['9.00', '40.00'])]


def test_a_table_without_its_overall_score_has_a_dash_and_then_what_there_is() -> None:
    name = 'tooleval-ultratool_zh'
    scores = {'creation_awareness_global': '40.00', 'creation_awareness_local': '60.00', 'usage': '86.62'}
    table = table_of(*(row(name, metric, score, '-') for metric, score in scores.items()))
    first, *rest = headlines(table, {name})
    assert (first, first.is_empty) == (Headline(name, 'overall', ['-', '-']), True)
    assert [(one.metric, one.is_main) for one in rest] == [('creation_awareness_global', False), ('usage', False)]
    lines = leaderboard(['m1', 'm2'], [first, *rest])
    assert lines[-1] == 'Where a main score is missing, the rows below it have the other scores.'
    assert all(len(line) <= 80 for line in lines)
    whole = headlines([*table, row(name, 'overall', '-', '50.00')], {name})
    assert whole == [Headline(name, 'overall', ['-', '50.00'])]


def test_main_scores_come_before_what_there_is_else() -> None:
    parts = [Headline('tooleval-ultratool_zh', f'p{i}', ['1.00'], is_main=False) for i in range(9)]
    mains = [Headline(f'tooleval-restbench-{i}', 'correct_path_rate', ['2.00']) for i in range(11)]
    lines = leaderboard(['m'], [*parts, *mains])
    assert sum('2.00' in line for line in lines) == 11 and sum('1.00' in line for line in lines) == 1
    several = [Headline('tooleval-funcqa-cot', metric, ['2.00'] * 5) for metric in ('one_hop', 'multi_hop')]
    first, second, *_ = leaderboard(['m'] * 5, several)
    assert (first.split(), second.split()) == (['funcqa-cot'] * 2, ['model', 'one_hop', 'multi_hop'])
    wide = [Headline(f'tooleval-toolbench-selection_{i}', 'accuracy', ['2.00'] * 5) for i in (5, 10, 20, 50)]
    lines = leaderboard(['model-of-a-name'] * 5, [*several, *wide])
    assert '(1 more table in the files below: toolbench-selection_50 accuracy)' in lines


def test_one_cause_is_said_once_and_counted() -> None:
    """Whoever lacks an encoder lacks it for 30 data sets, of which others stand between."""
    fetch = 'hf download x  (or set TOOLEVAL_ENCODER)'
    fault = f"EncoderMissingError: encoder 'x' is not here; fetch it with: {fetch}"
    missing = [(model, f'd{number}', f'd{number}: {fault}') for model in ('a', 'b') for number in range(15)]
    missing.insert(5, ('a', 'other', 'other: RuntimeError: out of memory'))
    assert lines(*missing, most=3) == [
        *(f'MISSING a x d{number}: no result; see d{number}.out' for number in range(3)),
        '        and 27 more for the same reason, of b too',
        "  why:  EncoderMissingError: encoder 'x' is not here;",
        f'  fix: {fetch}',
        '  then: opencompass CONFIG -w out -r run',
        'MISSING a x other: no result; see other.out',
        '  why:  RuntimeError: out of memory',
        '  fix: opencompass CONFIG -w out -r run    (finished work is kept)',
    ]
    assert sum(line.startswith('MISSING') for line in lines(*missing)) == 31
