"""tooleval compare on a run made by hand: tables, intervals, samples that differ, and faults."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opencompass_tooleval.benchmarks.ultratool.data import find_subset
from opencompass_tooleval.benchmarks.ultratool.judge import Judged, Scores, dimensions
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.scoring import aggregate_scores, score_judgements
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.extras.compare.comparing import Comparer
from tests.cli.conftest import Command, read_lines
from tests.core.test_paired import result as result_of
from tests.core.test_paired_trials import result as result_of_trials

METRICS = {
    'instruct': ('json_format_metric', 'json_args_em_metric', 'string_format_metric', 'string_args_em_metric'),
    'plan_json': ('f1_score',),
    'plan_str': ('f1_score',),
    'reason_retrieve_understand_json': ('thought', 'name', 'args'),
    'reason_str': ('thought',),
    'retrieve_str': ('name',),
    'understand_str': ('args',),
    'review_str': ('review_quality',),
}
RECORDS = 24
RUN = '20260101_000000'


def scores(subset: str, skill: float) -> list[SampleScore]:
    """Random scores; of instruct, the first half of the records has the json metrics and the rest the others."""
    generator = np.random.default_rng([len(subset), int(100 * skill)])
    rows = []
    for number in range(RECORDS):
        drawn = (generator.random(len(METRICS[subset])) < skill).astype(float).tolist()
        values: dict[str, float | None] = dict(zip(METRICS[subset], drawn, strict=True))
        if subset == 'instruct':
            other = METRICS[subset][2:] if number < RECORDS // 2 else METRICS[subset][:2]
            values.update(dict.fromkeys(other))
        right = all(value in (1.0, None) for value in values.values())
        rows.append(SampleScore(f'r{number}', values, 'ok' if right else 'args:wrong', f'<{skill}>', 'json', 'gold'))
    return rows


def result(rows: Sequence[SampleScore], **provenance: Any) -> dict[str, Any]:
    """A result as :class:`~opencompass_tooleval.evaluators.evaluator.ToolEvalEvaluator` writes it."""
    total = aggregate(rows, list(rows[0].values))
    return {
        **total.metrics,
        'standard_errors': total.standard_errors,
        'reasons': total.reasons,
        'samples': {'all': total.samples, 'infra': total.infra},
        'provenance': {'encoder': 'e', 'judge_calls': len(provenance), **provenance},
        'details': [row.to_detail() for row in rows],
    }


def write(run: Path, model: str, dataset: str, content: Mapping[str, Any]) -> None:
    """Puts a result into a run."""
    file = run / 'results' / model / f'{dataset}.json'
    file.parent.mkdir(parents=True, exist_ok=True)
    (run / 'configs').mkdir(exist_ok=True)
    file.write_text(json.dumps(content), encoding='utf-8')


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with all of T-Eval's v2 by two models."""
    folder = tmp_path / 'out' / RUN
    for model, skill in (('weak', 0.4), ('strong', 0.8)):
        for subset in METRICS:
            write(folder, model, f'tooleval-teval-{subset}_v2', result(scores(subset, skill)))
    return folder


def said(tooleval: Command, *arguments: object) -> dict[str, Any]:
    done = tooleval('compare', *arguments, '--json', '-')
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def rows(found: Mapping[str, Any], part: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row['name'], row['metric']): row for row in found[part]}


def notes_of(found: Mapping[str, Any]) -> list[str]:
    return [f'{row["about"]}: {row["text"]}' for row in found['findings']]


def test_scores_are_those_of_the_results_and_abilities_their_means(tooleval: Command, run: Path) -> None:
    found = said(tooleval, run, 'weak', 'strong')
    assert (found['a']['model'], found['b']['model'], found['level']) == ('weak', 'strong', 0.95)
    assert len(found['datasets']) == sum(map(len, METRICS.values())) and notes_of(found) == []
    for (dataset, metric), row in rows(found, 'datasets').items():
        files = [run / 'results' / model / f'{dataset}.json' for model in ('weak', 'strong')]
        first, second = (json.loads(file.read_text()) for file in files)
        assert (row['a'], row['b']) == (first[metric], second[metric])
        errors = first['standard_errors'][metric], second['standard_errors'][metric]
        assert (row['error_a'], row['error_b']) == errors and row['low'] <= row['delta'] <= row['high']
        assert row['delta'] == pytest.approx(row['b'] - row['a'])
        assert row['records'] == (RECORDS // 2 if 'instruct' in dataset else RECORDS)

    table = {metric: row for (name, metric), row in rows(found, 'tables').items() if name == 'tooleval-teval_v2'}
    abilities = ('instruct', 'plan', 'reason', 'retrieve', 'understand')
    assert set(table) == {
        *(f'{ability}{part}' for ability in abilities for part in ('', '_json', '_str')), 'review', 'overall'
    }  # fmt: skip
    for ability in abilities:
        both = [table[f'{ability}_json'], table[f'{ability}_str']]
        for key in ('a', 'b', 'delta'):
            assert table[ability][key] == pytest.approx(np.mean([row[key] for row in both]))
        assert table[ability]['records'] == (RECORDS if ability == 'instruct' else 2 * RECORDS)
    overall = table['overall']
    assert overall['delta'] == pytest.approx(np.mean([table[name]['delta'] for name in (*abilities, 'review')]))
    assert overall['records'] == 8 * RECORDS
    assert 0 < overall['low'] < overall['delta'] < overall['high']

    names = {'name', 'metric'}  # a column of one score is that score
    score = rows(found, 'datasets')['tooleval-teval-review_str_v2', 'review_quality']
    same = ({key: value for key, value in one.items() if key not in names} for one in (table['review'], score))
    assert next(same) == next(same)


def test_samples_that_differ_with_reasons(tooleval: Command, run: Path, tmp_path: Path) -> None:
    dataset = 'tooleval-teval-plan_json_v2'
    lines = tmp_path / 'differ.jsonl'
    found = said(tooleval, run, 'weak', 'strong', '--datasets', '*plan_json*', '--details', lines)
    weak, strong = (scores('plan_json', skill) for skill in (0.4, 0.8))
    wanted = [(a, b) for a, b in zip(weak, strong, strict=True) if a.values != b.values]
    assert 0 < len(wanted) < RECORDS
    assert found['records'] == {dataset: RECORDS}
    assert [row['id'] for row in found['differing'][dataset]] == [a.id for a, _ in wanted]
    assert read_lines(lines) == [
        {
            'dataset': dataset,
            'id': a.id,
            'run': 0,
            'a': {'values': dict(a.values), 'reason': a.reason, 'parsed': '<0.4>'},
            'b': {'values': dict(b.values), 'reason': b.reason, 'parsed': '<0.8>'},
            'gold': 'gold',
        }
        for a, b in wanted
    ]


def test_the_largest_difference_comes_first() -> None:
    comparer = Comparer()
    comparer.add('d', result_of([0.5, 0.5, 0.5]), result_of([0.6, 1.0, 0.5]))
    assert [row['id'] for row in comparer.comparison.differing['d']] == ['1', '0']


def test_what_is_printed(tooleval: Command, run: Path) -> None:
    done = tooleval('compare', run.parent, 'weak', 'strong', '--show', 1)
    assert done.code == 0, done.err
    (line,) = [line for line in done.out.splitlines() if 'overall' in line]
    assert re.fullmatch(
        r' overall +\d+\.\d\d +\d\.\d\d +\d+\.\d\d +\d\.\d\d +\+\d+\.\d\d\* +\+\d+\.\d\d \+\d+\.\d\d +\d+', line
    )
    lines = done.out.splitlines()
    end = next(i for i, line in enumerate(lines) if line.startswith('±: standard error'))
    assert max(map(len, lines[: end + 1])) <= 80
    assert lines[:2] == ['A: weak', 'B: strong'] and 'B - A: difference in points' in done.out
    assert [line for line in lines if line == 'tooleval-teval_v2'] and '…' not in done.out, 'names are whole'
    pairs = zip(scores('review_str', 0.4), scores('review_str', 0.8), strict=True)
    count = sum(a.values != b.values for a, b in pairs)
    assert f'tooleval-teval-review_str_v2: {count} samples differ, of {RECORDS} records' in done.out
    shown = [line for line in done.out.splitlines() if line.startswith('  r')]
    assert len(shown) == len(METRICS)
    assert any('review_quality 0.00 -> 1.00; args:wrong -> ok' in line for line in shown)


def test_models_in_two_runs(tooleval: Command, run: Path, tmp_path: Path) -> None:
    other = tmp_path / 'elsewhere' / RUN
    dataset = 'tooleval-teval-review_str_v2'
    write(other, 'strong', dataset, result(scores('review_str', 0.8), encoder='another'))
    found = said(tooleval, run, 'weak', 'strong', '--work-dir-b', other)
    assert [row['name'] for row in found['datasets']] == [dataset]
    assert [row['metric'] for row in found['tables']] == ['review']
    notes = notes_of(found)
    short = dataset.removeprefix('tooleval-')
    assert f'{short}: not comparable, since encoder differs: e (weak); another (strong)' in notes
    assert 'tooleval-teval-plan_str_v2: only weak has a result' in notes
    assert not any('judge_calls' in note for note in notes)
    same = said(tooleval, run, 'strong', 'strong', '--work-dir-b', other)
    bound = pytest.approx(100 * (1 - 0.05 ** (1 / RECORDS)))
    assert [(row['delta'], -row['low'], row['high']) for row in same['datasets']] == [(0, bound, bound)]
    assert same['differing'] == {dataset: []}


def test_what_cannot_be_paired_is_said(tooleval: Command, run: Path) -> None:
    dataset = 'tooleval-teval-plan_json_v2'
    half = scores('plan_json', 0.8)[4:]
    half[0] = SampleScore('r4', {'f1_score': 0.0}, 'infra:timeout')
    write(run, 'strong', dataset, result(half))
    foreign = {'accuracy': 40.0, 'details': {'0': {'pred': 'a'}, 'type': 'GEN'}}
    write(run, 'weak', 'gsm8k', foreign)
    write(run, 'strong', 'gsm8k', {**foreign, 'accuracy': 50.0})
    write(run, 'weak', 'broken', {'error': 'no'})
    write(run, 'strong', 'broken', foreign)
    found = said(tooleval, run, 'weak', 'strong')
    table = rows(found, 'datasets')
    assert table[dataset, 'f1_score']['records'] == RECORDS - 4
    gsm8k = table['gsm8k', 'accuracy']
    assert (gsm8k['delta'], gsm8k['low'], gsm8k['error_a'], gsm8k['records']) == (10.0, None, None, None)
    assert ('broken', 'accuracy') not in table
    assert notes_of(found) == [
        f'strong / {dataset}: 1 of {RECORDS - 4} samples have no answer, through no fault of the model; '
        'they count as wrong',
        'broken: the result of weak is an error',
        'gsm8k: no interval of accuracy: the first has no samples of this package',
        f'{dataset}: {RECORDS - 4} of {RECORDS} records are in both; scores and differences are over these',
    ]
    kinds = ['result:no_answer', 'compare:missing', 'compare:interval', 'compare:records']
    assert [row['kind'] for row in found['findings']] == kinds
    assert tooleval('compare', run, 'weak', 'strong').code == 0


def test_rows_subtract_where_one_side_lacks_records(tooleval: Command, run: Path) -> None:
    dataset = 'tooleval-teval-plan_json_v2'
    shared = result(scores('plan_json', 0.4)[6:])
    write(run, 'strong', dataset, result(scores('plan_json', 0.8)[6:]))
    found = said(tooleval, run, 'weak', 'strong')
    row = rows(found, 'datasets')[dataset, 'f1_score']
    assert (row['a'], row['error_a']) == pytest.approx((shared['f1_score'], shared['standard_errors']['f1_score']))
    assert row['a'] != json.loads((run / 'results' / 'weak' / f'{dataset}.json').read_text())['f1_score']
    for one in (*found['datasets'], *found['tables']):
        assert one['delta'] == pytest.approx(one['b'] - one['a']), one
    table = rows(found, 'tables')
    halves = [table['tooleval-teval_v2', f'plan_{kind}'] for kind in ('json', 'str')]
    assert table['tooleval-teval_v2', 'plan']['error_a'] == pytest.approx(
        np.hypot(*(half['error_a'] for half in halves)) / 2
    )


def test_records_that_only_a_part_has_are_said(tooleval: Command, run: Path) -> None:
    dataset = 'tooleval-teval-plan_json_v2'
    part = result(scores('plan_json', 0.8)[:8])
    part['samples']['of'] = RECORDS
    none = [SampleScore(one.id, {'f1_score': None}, 'ok') for one in scores('plan_json', 0.8)[:4]]
    for content, said_of_it in (
        (
            part,
            f'8 of {RECORDS} records are in both; scores and differences are over these (strong: 8 of {RECORDS}, '
            'not a sample)',
        ),
        (result([*none, *scores('plan_json', 0.8)[4:]]), 'f1_score: over the records to which they apply in both'),
    ):
        write(run, 'strong', dataset, content)
        notes = notes_of(said(tooleval, run, 'weak', 'strong', '--datasets', dataset))
        assert f'{dataset}: {said_of_it}' in notes


def created(gaps: int, skill: int) -> dict[str, Any]:
    """A result of tool creation: of every record with a number below ``gaps``, the second tool of three is missing."""
    subset = find_subset('tool_creation')
    generator = np.random.default_rng(skill)
    judgements = [
        Judged(f'r{number}', f'1.{step}', 'missing')
        if number < gaps and step == 2
        else Judged(
            f'r{number}', f'1.{step}', 'judged',
            Scores({name: float(generator.integers(skill, 11)) for name in dimensions(subset)}),
        )
        for number in range(RECORDS)
        for step in range(1, 4)
    ]  # fmt: skip
    scored = score_judgements(subset, judgements, Protocol())
    total = aggregate_scores(scored, list(scored[0].values))
    details = json.loads(json.dumps([score.to_detail() for score in scored]))
    return {**total.metrics, 'standard_errors': total.standard_errors, 'details': details}


def test_tools_that_are_missing_and_do_not_count(tooleval: Command, run: Path) -> None:
    dataset = 'tooleval-ultratool-tool_creation_en'
    results = [created(12, 1), created(3, 6)]
    for model, content in zip(('weak', 'strong'), results, strict=True):
        write(run, model, dataset, content)
    found = said(tooleval, run, 'weak', 'strong', '--datasets', dataset)
    names = {metric for _, metric in rows(found, 'datasets')}
    assert 'overall' in names and not any('no interval' in note for note in notes_of(found))
    for (_, metric), row in rows(found, 'datasets').items():
        assert row['delta'] == pytest.approx(results[1][metric] - results[0][metric])
        assert row['low'] < row['delta'] < row['high'] and row['records'] == RECORDS

    for detail in results[0]['details']:  # not what the score was computed of
        for step in detail['steps']:
            if step['reason'] == 'tool:missing':
                step['values'] = dict.fromkeys(step['values'], 0.0)
    write(run, 'weak', dataset, results[0])
    found = said(tooleval, run, 'weak', 'strong', '--datasets', dataset)
    assert rows(found, 'datasets')[dataset, 'overall']['low'] is None
    ending = 'the score of the first is not the mean of its samples'
    assert any(note.startswith(f'{dataset}: no interval of ') and ending in note for note in notes_of(found))


def test_a_table_says_what_it_lacks_an_interval_for(tooleval: Command, run: Path) -> None:
    dataset = 'tooleval-teval-plan_json_v2'
    write(run, 'weak', dataset, {**result(scores('plan_json', 0.4)), 'f1_score': 12.0})
    found = said(tooleval, run, 'weak', 'strong')
    assert rows(found, 'tables')['tooleval-teval_v2', 'overall']['low'] is None
    assert f'tooleval-teval_v2 overall: no interval, since there is none for {dataset} f1_score' in notes_of(found)


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (('weak', 'typo'), "no result of a model 'typo'; the models here: strong, third, weak"),
        (('weak', 'third'), 'the models share no data set: .*third has other'),
        (('weak', 'strong', '--datasets', 'x*'), r"no data set of weak matches 'x\*'"),
        (('weak', 'strong', '--json', 'no/such/file'), 'cannot write no/such/file'),
        (('weak', 'strong', '--work-dir-b', 'nowhere'), 'nowhere: no such folder'),
        (('weak', 'strong', '--work-dir-b', 'cut'), 'plan_str_v2.json: .*delete it and run again with -r'),
    ],
)
def test_faults_are_one_line(tooleval: Command, run: Path, arguments: tuple[str, ...], words: str) -> None:
    write(run, 'third', 'other', result(scores('plan_json', 0.5)))
    write(Path('cut'), 'strong', 'tooleval-teval-plan_str_v2', {})
    Path('cut', 'results', 'strong', 'tooleval-teval-plan_str_v2.json').write_text('{"f1_score": 1')
    done = tooleval('compare', run, *arguments)
    assert done.code == 1
    assert re.search(words, done.err) and len(done.err.strip().splitlines()) == 1, done.err  # behind a progress bar


def test_trials_are_paired_by_record(tooleval: Command, tmp_path: Path) -> None:
    run = tmp_path / RUN
    generator = np.random.default_rng(0)
    for model, skill, trials in (('weak', 0.4, 4), ('strong', 0.7, 2), ('once', 0.7, 1)):
        outcomes = {f'r{i}': ''.join(str(int(one)) for one in generator.random(trials) < skill) for i in range(40)}
        write(run, model, 'd', result_of_trials(**outcomes))
    found = said(tooleval, run, 'weak', 'strong')
    told = rows(found, 'datasets')
    passed = ('accuracy pass@2', 'accuracy pass^2', 'success pass@1', 'success pass@2', 'success pass^2')
    assert [metric for _, metric in told] == ['accuracy', 'share', *passed]
    results = {model: json.loads((run / 'results' / model / 'd.json').read_text()) for model in ('weak', 'strong')}
    for (_, metric), row in told.items():
        assert row['low'] < row['delta'] < row['high'] and row['records'] == 40
        assert row['delta'] == pytest.approx(row['b'] - row['a'])
        name, _, kind = metric.partition(' ')
        if kind:
            sides = [results[model]['trials']['metrics'][name][kind] for model in ('weak', 'strong')]
            assert (row['a'], row['b']) == tuple(side['value'] for side in sides)
            assert (row['error_a'], row['error_b']) == tuple(side['standard_error'] for side in sides)
    assert 'd: 4 trials of each record in one and 2 in the other' in notes_of(found)
    shown = tooleval('compare', run, 'weak', 'strong')
    assert max(map(len, shown.out.splitlines())) < 120 and ' accuracy pass^2 ' in shown.out
    assert [metric for _, metric in rows(said(tooleval, run, 'weak', 'once'), 'datasets')] == ['accuracy', 'share']
