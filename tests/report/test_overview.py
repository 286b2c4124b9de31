"""The first page: leader, lead, and findings; by hand and compared with ``tooleval compare``."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.extras.compare.comparing import Side, compare
from opencompass_tooleval.report.board import boards
from opencompass_tooleval.report.names import family_of, is_variant, title_of
from opencompass_tooleval.report.overview import Overview, headline, overview, verdict_of
from opencompass_tooleval.report.samples import SampleFiles, tasks_of
from opencompass_tooleval.report.standing import Digest, Standing
from opencompass_tooleval.results.table import read
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.report.support import add, detail, result_of

PLAN, SPOTIFY = 'tooleval-teval-review_str_v1', 'tooleval-restbench-spotify'


def answers(right: int, of: int, metric: str = 'review_quality', reason: str = 'review:wrong') -> dict[str, object]:
    values = [float(i < right) for i in range(of)]
    details = [
        detail(f'r{i}', reason='ok' if value else reason, values={metric: value}) for i, value in enumerate(values)
    ]
    return result_of(details)


def first_page(run: Path, folder: Path) -> Overview:
    found = read([run])
    samples = SampleFiles(folder)
    spent = samples.write_all(found)
    return overview(boards(found, published_columns()), samples.digest, spent)


def test_the_ranking_is_the_mean_of_benchmarks_and_its_interval_is_that_of_compare(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    for model, review, path in (('a', 90, 40), ('b', 60, 20)):
        add(run, model, PLAN, answers(review, 100))
        add(run, model, SPOTIFY, answers(path, 50, 'correct_path_rate', 'calls:missing'))
    page = first_page(run, tmp_path / 'samples')
    assert [(place.model, place.score) for place in page.places] == [('a', 85.0), ('b', 50.0)]
    assert page.headline.startswith('a leads b by 35.0 points on average (95%: ')
    assert [row.title for row in page.rows] == ['T-Eval v1, review', 'RestBench Spotify']
    assert [row.page for row in page.rows] == ['teval.html', 'restbench.html']
    assert [row.verdict for row in page.rows] == ['a leads', 'a leads']
    assert [[cell.value for cell in row.cells] for row in page.rows] == [[90.0, 60.0], [80.0, 40.0]]


def test_one_benchmark_is_ranked_by_its_own_score_with_the_interval_of_compare(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    for model, review in (('a', 58), ('b', 52)):
        add(run, model, PLAN, answers(review, 60))
    page = first_page(run, tmp_path / 'samples')
    sides = Side.find(WorkDir.find(run), 'a'), Side.find(WorkDir.find(run), 'b')
    row, *_ = compare(sides, sink=lambda *_: None).comparison.datasets
    assert page.measure == 'T-Eval v1, review' and page.note == ''
    assert page.places[1].behind == f'{row.delta:+.2f} [{row.low:+.2f}, {row.high:+.2f}]'


def test_what_cannot_be_told_apart_is_said(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    add(run, 'a', PLAN, answers(5, 10))
    details = [detail(f'r{i}', values={'review_quality': float(i % 2 or i == 0)}) for i in range(10)]
    add(run, 'b', PLAN, result_of(details))
    page = first_page(run, tmp_path / 'samples')
    assert page.headline.startswith('b is ahead of a by 10.0 points on average (95%: -')
    assert page.headline.endswith('), may be chance') and 'leads' not in page.headline
    assert page.places[1].verdict == 'not significant' and page.rows[0].verdict == 'ahead, may be chance'


def test_no_model_leads_on_five_records(tmp_path: Path) -> None:
    for records, headline_ in (
        (5, 'a, b: too few records to rank'),
        (6, 'a leads b by 100.0 points on average (95%: '),
    ):
        run = tmp_path / f'run{records}'
        add(run, 'a', PLAN, answers(records, records))
        add(run, 'b', PLAN, answers(0, records))
        page = first_page(run, tmp_path / f'samples{records}')
        assert page.headline.startswith(headline_)
        assert page.rows[0].verdict == page.places[1].verdict == 'too few to rank' or records == 6


def test_equal_models_are_equal_and_one_model_stands_alone(tmp_path: Path) -> None:
    for model in 'ab':
        add(tmp_path / 'two', model, PLAN, answers(5, 10))
    page = first_page(tmp_path / 'two', tmp_path / 'samples')
    assert page.headline == 'a, b are equal' and page.rows[0].verdict == 'equal'
    add(tmp_path / 'one', 'a', PLAN, answers(5, 10))
    page = first_page(tmp_path / 'one', tmp_path / 'samples_of_one')
    assert page.headline == 'a: 50.00' and page.rows[0].verdict == '' and len(page.places) == 1


def test_a_score_that_is_no_mean_of_its_samples_has_no_interval(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    add(run, 'a', PLAN, {**answers(5, 10), 'review_quality': 90.0})
    add(run, 'b', PLAN, answers(5, 10))
    page = first_page(run, tmp_path / 'samples')
    assert page.headline == 'a is ahead of b by 40.0 points, no interval'
    assert page.places[1].verdict == 'no interval'


def test_models_with_nothing_in_common_are_not_ranked(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    add(run, 'a', PLAN, answers(5, 10))
    add(run, 'b', SPOTIFY, answers(5, 10, 'correct_path_rate'))
    page = first_page(run, tmp_path / 'samples')
    assert page.headline == 'The models have no score in common'
    assert page.places == () and len(page.rows) == 2


def test_two_models_that_were_asked_different_records_have_no_interval(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    a = [detail(f'r{i}', *((0.0, 'review:wrong') if i < 5 else ())) for i in range(100)]
    b = [detail(f'r{i}', *((0.0, 'review:wrong') if i < 2 else ())) for i in range(10)]
    add(run, 'a', PLAN, result_of(a))  # ahead over its 100 records, behind over the 10 that both were asked
    add(run, 'b', PLAN, result_of(b))
    page = first_page(run, tmp_path / 'samples')
    assert page.headline == 'a is ahead of b by 15.0 points, no interval'
    assert page.rows[0].verdict == 'ahead, no interval'
    assert (page.places[1].behind, page.places[1].verdict) == ('-15.00', 'no interval')
    assert page.places[0].behind == ''


def test_a_model_without_a_result_does_not_keep_the_others_from_being_ranked(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    for model, right in (('a', 9), ('b', 2)):
        add(run, model, PLAN, answers(right, 10))
        add(run, model, SPOTIFY, answers(right, 10, 'correct_path_rate'))
    add(run, 'c', 'tooleval-restbench-tmdb', answers(3, 10, 'correct_path_rate'))
    page = first_page(run, tmp_path / 'samples')
    assert page.headline.startswith('a leads b by 70.0 points') and page.models == ('a', 'b', 'c')
    assert [place.model for place in page.places] == ['a', 'b']
    assert page.note.endswith('Not ranked, since results are missing: c.')


def test_sums_that_differ_in_the_last_digit_are_equal() -> None:
    standing = Standing(('a', 'b', 'c'), {'a': 0.1 + 0.2, 'b': 0.3, 'c': 0.2}, {'b': None, 'c': None})
    assert headline(standing) == 'a, b are equal' and verdict_of(standing) == 'a, b are equal'


def test_a_table_of_variants_alone_says_so(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    for name in ('tmdb', 'spotify'):
        add(run, 'a', f'tooleval-restbench-{name}-easytool', answers(5, 10, 'correct_path_rate'))
    page = first_page(run, tmp_path / 'samples')
    assert page.measure == 'Mean of RestBench' and 'all of which are variants' in page.note


def test_data_sets_of_others_alone_rank_nobody(tmp_path: Path) -> None:
    for model, perplexity in (('a', 1.0), ('b', 900.0)):
        add(tmp_path / 'two', model, 'other', {**answers(5, 10, 'perplexity'), 'perplexity': perplexity})
    page = first_page(tmp_path / 'two', tmp_path / 'samples')
    assert page.places == () and page.rows[0].verdict == ''
    assert not page.highlights['Abilities with the largest gaps'], 'nobody knows whether more is better'
    add(tmp_path / 'one', 'a', 'other', answers(5, 10, 'perplexity'))
    assert first_page(tmp_path / 'one', tmp_path / 'samples_of_one').headline == ''


def test_a_gap_leads_to_the_data_set_that_it_comes_from(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    for model, right in (('a', 10), ('b', 0)):
        add(run, model, 'tooleval-teval-plan_json_v1', answers(10, 10, 'f1_score'))
        add(run, model, 'tooleval-teval-plan_str_v1', answers(right, 10, 'f1_score', 'plan:wrong_steps'))
    gap, *_ = first_page(run, tmp_path / 'samples').highlights['Abilities with the largest gaps']
    assert gap.text == 'T-Eval v1, Plan: b behind a' and 'plan_str_v1' in gap.link


def test_what_would_be_shown_as_0_does_not_stand_out(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    for model, value in (('a', 0.9999), ('b', 0.9997)):
        add(run, model, PLAN, result_of([detail(f'r{i}', value, 'review:wrong') for i in range(10)]))
    assert not any(first_page(run, tmp_path / 'samples').highlights.values())


def test_a_format_alone_is_shown_without_being_asked_for(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    add(run, 'a', 'tooleval-teval-plan_json_v1', answers(5, 10, 'f1_score'))
    tables = boards(read([run]), published_columns())
    board = next(board for board in tables if board.name == 'tooleval-teval_v1')
    assert 'plan_json' in board.columns and board.halves == ()
    add(run, 'a', 'tooleval-teval-plan_str_v1', answers(5, 10, 'f1_score'))
    tables = boards(read([run]), published_columns())
    assert next(board for board in tables if board.name == 'tooleval-teval_v1').halves == ('plan_json', 'plan_str')


def test_every_data_set_of_a_model_has_a_row_and_those_that_all_have_decide(tmp_path: Path) -> None:
    """Without ``plan_str`` there is no score for plan; ``plan_json`` shows the difference."""
    run = tmp_path / 'run'
    for model, right in (('a', 75), ('b', 30)):
        add(run, model, 'tooleval-teval-plan_json_v1', answers(right, 100, 'f1_score'))
        add(run, model, PLAN, answers(50, 100))
    page = first_page(run, tmp_path / 'samples')
    assert {row.title: [cell.value for cell in row.cells] for row in page.rows} == {
        'T-Eval v1, review': [50.0, 50.0],
        'T-Eval v1, plan, json': [75.0, 30.0],
    }
    assert page.headline.startswith('a leads b by 22.5 points on average (95%: ')
    for model in ('b', 'c'):
        add(run, model, 'tooleval-teval-plan_str_v1', answers(90, 100, 'f1_score'))
    add(run, 'c', 'tooleval-teval-plan_json_v1', answers(60, 100, 'f1_score'))
    add(run, 'c', PLAN, answers(50, 100))
    page = first_page(run, tmp_path / 'more_samples')
    assert {
        row.title: {m: cell.value for m, cell in zip(page.models, row.cells, strict=True)} for row in page.rows
    } == {
        'T-Eval v1, review': {'a': 50.0, 'b': 50.0, 'c': 50.0},
        'T-Eval v1, plan': {'a': None, 'b': 60.0, 'c': 75.0},
        'T-Eval v1, plan, json': {'a': 75.0, 'b': 30.0, 'c': 60.0},
    }
    assert [(place.model, place.score) for place in page.places] == [('a', 62.5), ('c', 55.0), ('b', 40.0)]


@pytest.mark.parametrize('value', [math.nan, math.inf, True, 'x'])
def test_what_is_no_number_ranks_nobody(tmp_path: Path, value: object) -> None:
    add(tmp_path / 'run', 'a', PLAN, {**answers(5, 10), 'review_quality': value})
    assert read([tmp_path / 'run']).scored[0].number('review_quality') is None


def test_a_data_set_of_others_does_not_rank(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    for model, right, perplexity in (('a', 9, 1.0), ('b', 2, 900.0)):
        add(run, model, PLAN, answers(right, 10))
        add(run, model, 'other', {**answers(5, 10), 'perplexity': perplexity})
    page = first_page(run, tmp_path / 'samples')
    assert page.measure == 'T-Eval v1, review' and [place.model for place in page.places] == ['a', 'b']


def test_what_stands_out_is_computed(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    add(run, 'a', PLAN, answers(9, 10))
    add(run, 'b', PLAN, answers(2, 10))
    gaps, costs, records = first_page(run, tmp_path / 'samples').highlights.values()
    assert [(one.text, one.number) for one in gaps] == [('T-Eval v1, Review: b behind a', '70.0 points')]
    assert [(one.text, one.number) for one in costs] == [
        ('b, T-Eval: wrong review, most in review text v1', 'cost 8 of 10 samples'),
        ('a, T-Eval: wrong review, most in review text v1', 'cost 1 of 10 samples'),
    ]
    assert [(one.text, one.number) for one in records] == [('T-Eval review text v1, r2: b behind a', '100 points')]
    assert 'model=b&other=a' in records[0].link and records[0].link.endswith('sample=2')
    assert costs[0].link.endswith('reason=review%3Awrong')


def test_a_partly_correct_answer_costs_the_rest_of_its_point() -> None:
    digest = Digest()
    index = {'metrics': ['f1'], 'main': ['f1'], 'values': [[0.25, 0.0, 1.0]], 'ids': ['a', 'b', 'c']}
    digest.add('m', 'd', {}, {**index, 'reasons': ['ok', 'args:wrong'], 'reason': [1, 1, 0]})
    assert digest.lost == {('m', 'd'): {'args:wrong': 1.75}}


@pytest.mark.parametrize(
    ('name', 'title', 'family', 'variant'),
    [
        ('tooleval-teval_v2_zh', 'T-Eval v2 Chinese', 'teval', False),
        ('tooleval-teval-plan_json_v1-easytool', 'T-Eval plan JSON v1, EasyTool instructions', 'teval', True),
        ('tooleval-funcqa-easytool', 'FuncQA EasyTool', 'funcqa', False),
        ('tooleval-ultratool-tool_usage_en', 'UltraTool tool usage English', 'ultratool', False),
        ('tooleval-tevalish', 'tooleval-tevalish', 'others', False),
        ('gsm8k', 'gsm8k', 'others', False),
        ('tooleval-teval-agent-react', 'Agents T-Eval ReAct', 'agents', False),
        ('tooleval-teval-agent-fc', 'Agents T-Eval function calling', 'agents', True),
        ('tooleval-toolbench_g1-agent-fc', 'Agents ToolBench G1 function calling', 'agents', False),
        ('tooleval-toolbench_g1-agent-easytool', 'Agents ToolBench G1 EasyTool', 'agents', False),
        (
            'tooleval-toolbench_g2-agent-dfsdt-easytool',
            'Agents ToolBench G2 DFSDT, EasyTool instructions',
            'agents',
            True,
        ),
    ],
)
def test_names(name: str, title: str, family: str, variant: bool) -> None:
    assert (title_of(name), family_of(name), is_variant(name)) == (title, family, variant)


def test_first_words_of_a_task_leave_out_what_all_begin_with() -> None:
    asked = [(('HUMAN', f'Answer with a letter only. {task}'),) for task in ('Find a museum', 'Fly to Rome')]
    assert tasks_of(asked) == ['Find a museum', 'Fly to Rome']
    same_end = [(('HUMAN', task), ('HUMAN', 'Go on.')) for task in ('One', 'Two')]
    assert tasks_of(same_end) == ['One', 'Two'] and tasks_of([(('HUMAN', 'x' * 500),)]) == ['x' * 90 + '…']
    step = '3. Follow these steps, each of which is long enough to fill the list of samples. '
    head = '任务没有空格，每个任务都一样，它不该出现在列表里。\n问题：'
    chinese = [(('HUMAN', f'{head}{task}'),) for task in ('租车', '租房')]
    assert tasks_of(chinese) == ['租车', '租房']
    plans = [(('HUMAN', f"{step}\n[{{'step': '1. {task}'}}]"),) for task in ('Create file', 'Book a van')]
    assert tasks_of(plans) == ["[{'step': '1. Create file'}]", "[{'step': '1. Book a van'}]"], 'not in mid text'
    assert tasks_of([]) == [] and tasks_of([(), ()]) == ['', '']
