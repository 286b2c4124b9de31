"""The first page: leader, lead, and findings; by hand and compared with ``tooleval compare``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.extras.compare.comparing import Side, compare
from opencompass_tooleval.report.board import boards
from opencompass_tooleval.report.names import family_of, is_variant, title_of
from opencompass_tooleval.report.overview import Overview, headline, overview, verdict_of
from opencompass_tooleval.report.samples import SampleFiles, tasks_of
from opencompass_tooleval.report.standing import Digest, Standing
from opencompass_tooleval.results.table import Missing, read
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.report.support import add, detail, result_of

PLAN, SPOTIFY = 'tooleval-teval-review_str_v1', 'tooleval-restbench-spotify'
JSON, TEXT = 'tooleval-teval-plan_json_v1', 'tooleval-teval-plan_str_v1'
Results = Mapping[str, Mapping[str, Mapping[str, Any]]]


def answers(right: int, of: int, metric: str = 'review_quality', reason: str = 'review:wrong') -> dict[str, object]:
    rows = [(float(i < right), 'ok' if i < right else reason) for i in range(of)]
    return result_of([detail(f'r{i}', reason=why, values={metric: value}) for i, (value, why) in enumerate(rows)])


def paths(right: int, of: int) -> dict[str, object]:
    return answers(right, of, 'correct_path_rate', 'calls:missing')


def first_page(folder: Path, results: Results) -> Overview:
    """The first page of a run: model -> data set -> result."""
    for model, of_model in results.items():
        for dataset, result in of_model.items():
            add(folder, model, dataset, result)
    found = read([folder])
    samples = SampleFiles(folder / 'samples')
    spent = samples.write_all(found)
    return overview(boards(found, published_columns()), samples.digest, spent, found.missing)


def test_the_ranking_is_the_mean_of_benchmarks_and_its_interval_is_that_of_compare(tmp_path: Path) -> None:
    scores = (('a', 90, 40), ('b', 60, 20))
    page = first_page(
        tmp_path, {name: {PLAN: answers(review, 100), SPOTIFY: paths(path, 50)} for name, review, path in scores}
    )
    assert [(place.model, place.score) for place in page.places] == [('a', 85.0), ('b', 50.0)]
    assert page.headline.startswith('a leads b by 35.0 points on average (95%: ')
    assert [row.title for row in page.rows] == ['T-Eval v1, review', 'RestBench Spotify']
    assert [row.page for row in page.rows] == ['teval.html', 'restbench.html']
    assert [row.verdict for row in page.rows] == ['a leads', 'a leads']
    assert [[cell.value for cell in row.cells] for row in page.rows] == [[90.0, 60.0], [80.0, 40.0]]


def test_one_benchmark_is_ranked_by_its_own_score_with_the_interval_of_compare(tmp_path: Path) -> None:
    page = first_page(tmp_path, {'a': {PLAN: answers(58, 60)}, 'b': {PLAN: answers(52, 60)}})
    sides = Side.find(WorkDir.find(tmp_path), 'a'), Side.find(WorkDir.find(tmp_path), 'b')
    row, *_ = compare(sides, sink=lambda *_: None).comparison.datasets
    assert page.measure == 'T-Eval v1, review' and page.note == ''
    assert page.places[1].behind == f'{row.delta:+.2f} [{row.low:+.2f}, {row.high:+.2f}]'


UNLIKE = {**answers(5, 10), 'review_quality': 90.0}
"""A score that is no mean of its samples."""
CROSSED = result_of([detail(f'r{i}', values={'review_quality': float(i % 2 or i == 0)}) for i in range(10)])
MOST, FEW = (result_of([detail(f'r{i}', float(i >= wrong)) for i in range(of)]) for wrong, of in ((5, 100), (2, 10)))
"""The first is ahead, over its 100 records, and behind, over the 10 that both were asked."""
CHANCE = 'ahead, may be chance', 'not significant'
NO_INTERVAL = 'ahead, no interval', 'no interval'
"""A score that is no mean of its samples."""


@pytest.mark.parametrize(
    ('a', 'b', 'headline', 'verdicts'),
    [
        (answers(5, 5), answers(0, 5), 'a, b: too few records to rank', ('too few to rank', 'too few to rank')),
        (answers(6, 6), answers(0, 6), 'a leads b by 100.0 points on average (95%: ', ('a leads', 'significant')),
        (answers(5, 10), answers(5, 10), 'a and b have the same score', ('equal', 'not significant')),
        (answers(0, 10), answers(0, 10), 'a and b have no points', ('all have 0.00', 'not significant')),
        (answers(5, 10), CROSSED, 'b is ahead of a by 10.0 points on average (95%: -', CHANCE),
        (UNLIKE, answers(5, 10), 'a is ahead of b by 40.0 points, no interval', NO_INTERVAL),
        (MOST, FEW, 'a is ahead of b by 15.0 points, no interval', NO_INTERVAL),
    ],
)
def test_what_is_said_of_two_models(
    tmp_path: Path, a: dict[str, Any], b: dict[str, Any], headline: str, verdicts: tuple[str, str]
) -> None:
    page = first_page(tmp_path, {'a': {PLAN: a}, 'b': {PLAN: b}})
    assert page.headline.startswith(headline) and page.headline.endswith(', may be chance') == (verdicts == CHANCE)
    assert (page.rows[0].verdict, page.places[1].verdict) == verdicts


def test_one_model_and_models_with_nothing_in_common_are_not_ranked(tmp_path: Path) -> None:
    page = first_page(tmp_path, {'a': {PLAN: answers(5, 10)}})
    assert page.headline == 'a: 50.00' and page.rows[0].verdict == '' and len(page.places) == 1
    page = first_page(tmp_path, {'b': {SPOTIFY: paths(5, 10)}})
    assert page.headline == 'The models have no score in common' and page.places == () and len(page.rows) == 2


def test_a_model_without_a_result_does_not_keep_the_others_from_being_ranked(tmp_path: Path) -> None:
    results = {model: {PLAN: answers(n, 10), SPOTIFY: paths(n, 10)} for model, n in (('a', 9), ('b', 2))}
    page = first_page(tmp_path, {**results, 'c': {'tooleval-restbench-tmdb': paths(3, 10)}})
    assert page.headline.startswith('a leads b by 70.0 points') and page.models == ('a', 'b', 'c')
    assert [place.model for place in page.places] == ['a', 'b']
    assert page.note.endswith('Not ranked, since results are missing: c (RestBench Spotify and 1 more: no answers).')


def test_models_without_any_result_are_named_and_the_others_are_ordered_by_the_rows_that_they_have(
    tmp_path: Path,
) -> None:
    tmdb = 'tooleval-restbench-tmdb'
    results = {
        name: {PLAN: answers(n, 10), SPOTIFY: paths(n, 10), tmdb: paths(1, 10)} for name, n in (('x', 9), ('y', 0))
    }
    unranked = {'a': {SPOTIFY: paths(1, 10)}, 'b': {SPOTIFY: paths(8, 10)}, 'c': {tmdb: paths(9, 10)}}
    log = tmp_path / 'logs' / 'infer' / 'gone' / f'{PLAN}.out'
    log.parent.mkdir(parents=True)
    log.write_text(f'{PLAN}: OutOfMemoryError: CUDA out of memory\n', encoding='utf-8')
    page = first_page(tmp_path, {**results, **unranked})
    assert page.models == ('x', 'y', 'b', 'a', 'c')
    assert 'gone (RestBench Spotify and 2 more: ' in page.note
    board = boards(read([tmp_path]), published_columns())[2]
    assert [row.model for row in board.rows if not row.source][:5] == ['x', 'b', 'a', 'y', 'c']


def test_sums_that_differ_in_the_last_digit_are_equal() -> None:
    standing = Standing(('a', 'b', 'c'), {'a': 0.1 + 0.2, 'b': 0.3, 'c': 0.2}, {'b': None, 'c': None})
    assert headline(standing) == verdict_of(standing) == 'a and b have the same score'


def test_a_headline_from_one_row_of_several_names_the_row_and_a_lead(tmp_path: Path) -> None:
    """A third model lacks the row in which one leads, so that this row ranks nobody."""
    lead = {'a': {PLAN: answers(5, 10), SPOTIFY: paths(9, 10)}, 'b': {PLAN: answers(5, 10), SPOTIFY: paths(1, 10)}}
    page = first_page(tmp_path, {**lead, 'c': {PLAN: answers(4, 10)}})
    assert page.headline == 'a and b have the same score on T-Eval v1, review; a leads on RestBench Spotify'


def test_a_missing_result_has_its_cause_in_a_few_words() -> None:
    error = 'InfraFailureError: d: 3 of 100 samples have no answer (infra:server 3), max_infra_share allows 0.50%'
    assert Missing('m', 'd', error).what == '3 of 100 samples have no answer'
    assert Missing('m', 'd', 'OutOfMemoryError: CUDA out of memory. Tried to').what == 'CUDA out of memory'
    assert Missing('m', 'd').what == 'no answers'


def test_a_data_set_of_others_does_not_rank(tmp_path: Path) -> None:
    models = (('a', 9, 1.0), ('b', 2, 900.0))
    other = {model: {'other': {**answers(5, 10, 'perplexity'), 'perplexity': value}} for model, _, value in models}
    page = first_page(tmp_path, other)
    assert page.places == () and page.rows[0].verdict == ''
    assert not page.highlights['Abilities with the largest gaps'], 'nobody knows whether more is better'
    page = first_page(tmp_path, {model: {PLAN: answers(right, 10)} for model, right, _ in models})
    assert page.measure == 'T-Eval v1, review' and [place.model for place in page.places] == ['a', 'b']
    assert first_page(tmp_path / 'one', {'a': other['a']}).headline == ''


def test_a_gap_leads_to_the_data_set_that_it_comes_from(tmp_path: Path) -> None:
    page = first_page(
        tmp_path,
        {
            model: {JSON: answers(10, 10, 'f1_score'), TEXT: answers(right, 10, 'f1_score', 'plan:wrong_steps')}
            for model, right in (('a', 10), ('b', 0))
        },
    )
    gap, *_ = page.highlights['Abilities with the largest gaps']
    assert gap.text == 'T-Eval v1, Plan: b behind a' and 'plan_str_v1' in gap.link


def test_a_gap_that_may_be_chance_says_so_and_stands_behind_those_that_may_not(tmp_path: Path) -> None:
    twin = 'tooleval-teval-review_str_v1-twin-order'
    results = {
        model: {PLAN: answers(right, 100), twin: answers(3 * (model == 'a'), 3), SPOTIFY: paths(few, 12)}
        for model, right, few in (('a', 90, 6), ('b', 40, 5))
    }
    gaps = first_page(tmp_path, results).highlights['Abilities with the largest gaps']
    assert [gap.number for gap in gaps] == [
        '50.0 points', '100.0 points, too few to rank', '8.3 points, not significant'
    ]  # fmt: skip
    assert 'twin' in gaps[1].link


def test_every_data_set_of_a_model_has_a_row_and_those_that_all_have_decide(tmp_path: Path) -> None:
    """Without ``plan_str`` there is no score for plan; ``plan_json`` shows the difference."""

    def rows(page: Overview) -> dict[str, dict[str, float | None]]:
        return {row.title: {m: cell.value for m, cell in zip(page.models, row.cells, strict=True)} for row in page.rows}

    plans = {name: {JSON: answers(n, 100, 'f1_score'), PLAN: answers(50, 100)} for name, n in (('a', 75), ('b', 30))}
    page = first_page(tmp_path, plans)
    review, plan, half = 'T-Eval v1, review', 'T-Eval v1, plan', 'T-Eval v1, plan, json'
    assert rows(page) == {review: {'a': 50.0, 'b': 50.0}, half: {'a': 75.0, 'b': 30.0}}
    assert page.headline.startswith('a leads b by 22.5 points on average (95%: ')
    text = {TEXT: answers(90, 100, 'f1_score')}
    page = first_page(tmp_path, {'b': text, 'c': {JSON: answers(60, 100, 'f1_score'), PLAN: answers(50, 100), **text}})
    assert rows(page) == {
        review: {'a': 50.0, 'b': 50.0, 'c': 50.0},
        plan: {'a': None, 'b': 60.0, 'c': 75.0},
        half: {'a': 75.0, 'b': 30.0, 'c': 60.0},
    }
    assert [(place.model, place.score) for place in page.places] == [('a', 62.5), ('c', 55.0), ('b', 40.0)]


@pytest.mark.parametrize('value', [math.nan, math.inf, True, 'x'])
def test_what_is_no_number_ranks_nobody(tmp_path: Path, value: object) -> None:
    add(tmp_path / 'run', 'a', PLAN, {**answers(5, 10), 'review_quality': value})
    assert read([tmp_path / 'run']).scored[0].number('review_quality') is None


def test_what_stands_out_is_computed(tmp_path: Path) -> None:
    page = first_page(tmp_path, {'a': {PLAN: answers(9, 10)}, 'b': {PLAN: answers(2, 10)}})
    gaps, costs, records = page.highlights.values()
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
        ('teval_v2_zh', 'T-Eval v2 Chinese', 'teval', False),
        ('teval-plan_json_v1-easytool', 'T-Eval plan JSON v1, EasyTool instructions', 'teval', True),
        ('funcqa-easytool', 'FuncQA EasyTool', 'funcqa', False),
        ('ultratool-tool_usage_en', 'UltraTool tool usage English', 'ultratool', False),
        ('tevalish', 'tooleval-tevalish', 'others', False),
        ('teval-agent-react', 'Agents T-Eval ReAct', 'agents', False),
        ('teval-agent-fc', 'Agents T-Eval function calling', 'agents', True),
        ('toolbench_g1-agent-fc', 'Agents ToolBench G1 function calling', 'agents', False),
        ('toolbench_g2-agent-dfsdt-easytool', 'Agents ToolBench G2 DFSDT, EasyTool instructions', 'agents', True),
    ],
)
def test_names(name: str, title: str, family: str, variant: bool) -> None:
    name = f'tooleval-{name}'
    assert (title_of(name), family_of(name), is_variant(name)) == (title, family, variant)


def test_first_words_of_a_task_leave_out_what_all_begin_with() -> None:
    step = '3. Follow these steps, each of which is long enough to fill the list of samples. '
    head = '任务没有空格，每个任务都一样，它不该出现在列表里。\n问题：'
    for before, tasks, after in (
        ('Answer with a letter only. ', ['Find a museum', 'Fly to Rome'], ''),
        (head, ['租车', '租房'], ''),
        (f'{step}\n', ["[{'step': '1. Create file'}]", "[{'step': '1. Book a van'}]"], ''),  # not in mid text
        ('', ['One', 'Two'], 'Go on.'),
    ):
        asked = [(('HUMAN', f'{before}{task}'), *((('HUMAN', after),) if after else ())) for task in tasks]
        assert tasks_of(asked) == tasks
    assert tasks_of([(('HUMAN', 'x' * 500),)]) == ['x' * 90 + '…']
    assert tasks_of([]) == [] and tasks_of([(), ()]) == ['', '']
