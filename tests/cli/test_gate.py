"""tooleval gate on runs made by hand: exit status, agreement with compare, reasons not to compare, outputs."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.extras.gate.baseline import find_results
from opencompass_tooleval.extras.plan.detectable import detectable
from tests.cli.conftest import Command
from tests.cli.test_compare import METRICS, result, rows, scores, write
from tests.core.test_paired_trials import result as result_of_trials

DATASET = 'tooleval-ultratool-planning_en'
PROVENANCE = {'version': '3', 'bank': 'b1', 'judge': 'gpt-4', 'records_sha256': 'r1', 'prompts_sha256': 'p1'}


def scored(right: int, of: int = 100, start: int = 0, metric: str = 'accuracy', **provenance: Any) -> dict[str, Any]:
    """A result of which the first records are right."""
    samples = [
        SampleScore(f'r{i}', {metric: float(i < right)}, 'ok' if i < right else 'args:wrong', 'x', 'json', f'gold {i}')
        for i in range(start, start + of)
    ]
    return result(samples, **{**PROVENANCE, **provenance})


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Path]:
    """Makes a run of one data set by one model."""

    def make(name: str, content: dict[str, Any], model: str = 'm', dataset: str = DATASET) -> Path:
        write(tmp_path / name, model, dataset, content)
        return tmp_path / name

    return make


Place = Callable[..., Path]


def test_equal_runs_hold_and_a_drop_is_found(tooleval: Command, place: Place) -> None:
    old, same, worse = (place(name, scored(right)) for name, right in (('old', 90), ('same', 90), ('worse', 70)))
    done = tooleval('gate', same, '--baseline', old)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == (
        'held: 0 of 1 scores dropped by more than 0 points; a drop of up to 2.95 points is possible '
        f'({DATASET} accuracy on 100 records)'
    )
    done = tooleval('gate', worse, '--baseline', old)
    assert done.code == 1
    assert done.out.splitlines()[-1] == 'dropped: 1 of 1 scores dropped by more than 0 points'
    (line,) = [line for line in done.out.splitlines() if line.startswith(' accuracy')]
    assert line.split()[:4] == ['accuracy', '90.00', '70.00', '-20.00'] and line.endswith('100 dropped')
    assert tooleval('gate', old, '--baseline', worse).code == 0, 'a gain is no drop'
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_drop_that_is_allowed(tooleval: Command, place: Place) -> None:
    old, worse = place('old', scored(90)), place('worse', scored(70))
    assert tooleval('gate', worse, '--baseline', old, '--max-drop', 10).code == 1
    done = tooleval('gate', worse, '--baseline', old, '--max-drop', 15)
    assert done.code == 0
    assert 'points is possible (tooleval-ultratool-planning_en accuracy on 100 records)' in done.out.splitlines()[-1]
    done = tooleval('gate', worse, '--baseline', old, '--max-drop', 15, '--strict')
    assert done.code == 1 and done.out.splitlines()[-1].startswith('inconclusive: 0 of 1 scores dropped')
    assert tooleval('gate', worse, '--baseline', old, '--max-drop', 40, '--strict').code == 0
    done = tooleval('gate', old, '--baseline', old, '--strict')
    assert done.code == 2 and done.err.startswith('tooleval: --strict needs --max-drop above 0: a drop of 5 points')


def test_what_is_not_ruled_out_fails_a_strict_gate(tooleval: Command, place: Place) -> None:
    """Records that do not differ show only that fewer than 1 - 0.05 ** (1 / n) of the tasks changed."""
    old = place('old', scored(90))
    two = tooleval('gate', place('two', scored(2, of=2)), '--baseline', old, '--max-drop', 5, '--strict')
    assert two.code == 2 and 'samples: accuracy: too few to decide: 2 records are in both' in two.out
    assert two.out.splitlines()[-1].startswith(
        'not comparable: 0 of 0 scores dropped by more than 5 points; '
        'the run lacks 98 of 100 records of the baseline; 1 data sets'
    )
    for records, code in ((10, 1), (58, 1), (59, 0)):
        one = place(f'equal{records}', scored(records, of=records))
        done = tooleval('gate', one, '--baseline', one, '--max-drop', 5, '--strict')
        assert done.code == code, (records, done.out)
        last = done.out.splitlines()[-1]
        assert last.startswith('inconclusive: ' if code else 'held: ')
        assert ('to rule out 5 takes 59 records or more' in last) == bool(code), last
    half = place('half', scored(60, of=60))
    done = tooleval('gate', half, '--baseline', old, '--max-drop', 30, '--strict')
    assert done.code == 1 and 'lacks 40 of 100 records of the baseline' in done.out, 'those may have dropped'
    assert tooleval('gate', half, '--baseline', old, '--max-drop', 30).code == 0
    told = json.loads(tooleval('gate', half, '--baseline', old, '--json', '-').out)
    assert (told['records'], told['lacking']) == (100, 40)


@pytest.mark.parametrize('worse', [False, True])
def test_where_no_result_could_fail_nothing_is_decided(tooleval: Command, place: Place, worse: bool) -> None:
    five, six = (place(f'all{count}', scored(count, of=count)) for count in (5, 6))
    none = [place(f'none{count}', scored(0, of=count)) for count in (5, 6)]
    done = tooleval('gate', none[0] if worse else five, '--baseline', five)
    assert done.code == 2 and 'accuracy: too few to decide: 5 records are in both' in done.out
    assert tooleval('gate', none[1] if worse else six, '--baseline', six).code == int(worse)
    place('all6', scored(6, of=6), dataset='other')
    place('none6', scored(0, of=6), dataset='other')
    done = tooleval('gate', none[1] if worse else six, '--baseline', six)
    assert done.code == 2 and 'chance explains even a loss of all of them, in a gate of 2 scores' in done.out


def test_few_answers_decide_nothing_however_many_records_there_are(tooleval: Command, place: Place) -> None:
    content = scored(5)
    for detail in content['details'][5:]:
        detail['reason'] = 'infra:timeout'
    lost = place('lost', {**content, 'samples': {'infra': 95}})
    done = tooleval('gate', lost, '--baseline', place('old', scored(5)))
    assert done.code == 2 and 'too few to decide: 5 records have an answer on both sides' in done.out
    assert 'run tooleval retry' in done.out


def of_trials(outcomes: Sequence[str]) -> dict[str, Any]:
    return {**result_of_trials(**{f'r{i}': rights for i, rights in enumerate(outcomes)}), 'provenance': PROVENANCE}


@pytest.mark.parametrize('metric', ['accuracy', 'accuracy pass^2'])
def test_more_trials_of_an_unchanged_system_are_no_drop(tooleval: Command, place: Place, metric: str) -> None:
    """Right in 97% of trials: few trials show no failure of 30 records, and sixteen show some."""
    few, many = ['11'] * 30, [15 * '1' + '0' if i % 2 else 16 * '1' for i in range(30)]
    old, new = place('old', of_trials(few)), place('new', of_trials(many))
    arguments = ('--baseline', old, '--metric', metric)
    assert tooleval('gate', new, *arguments).code == 0
    compared = json.loads(tooleval('compare', old, 'm', 'm', '--work-dir-b', new, '--json', '-').out)
    row = rows(compared, 'datasets')[DATASET, metric]
    assert row['low'] < 0 < row['high'] and row['delta'] < -2
    worse = [15 * '1' + '0' if i % 3 else 4 * '1' + 12 * '0' for i in range(30)]
    assert tooleval('gate', place('worse', of_trials(worse)), *arguments).code == 1


def test_a_plan_measures_the_variance_of_a_graded_metric(place: Place) -> None:
    generator = random.Random(0)
    samples = [
        SampleScore(f'r{i}', {'quality': min(1.0, max(0.0, generator.gauss(0.6, 0.2)))}, 'ok', 'x', 'json', 'g')
        for _ in range(4)
        for i in range(60)
    ]
    content = result(samples)
    content['runs'] = [{'quality': result(samples[60 * trial : 60 * trial + 60])['quality']} for trial in range(4)]
    (row,) = detectable([find_results(place('old', content))], {DATASET: (None, 4)}, 1, 5.0)
    assert row.is_measured and row.drop == pytest.approx(5.2, abs=0.5)
    assert row.records_needed is not None and 40 < row.records_needed < 90


def test_a_baseline_without_a_value_of_its_main_metric_is_named(
    tooleval: Command, place: Place, tmp_path: Path
) -> None:
    def of(**values: float | None) -> dict[str, Any]:
        samples = [SampleScore(f'r{i}', values, 'ok', 'x', 'json', 'g') for i in range(9)]
        return {**result(samples, **PROVENANCE), **dict.fromkeys(name for name in values if values[name] is None)}

    old, new = place('old', of(success_rate=None)), place('new', of(success_rate=1.0))
    file = tmp_path / 'old.jsonl'
    assert tooleval('gate', old, '--save', file).code == 0
    for baseline in (old, file):
        for more in ((), ('--metric', 'success_*')):
            done = tooleval('gate', new, '--baseline', baseline, *more)
            assert done.code == 2 and 'missing: success_rate: the baseline has no value of it' in done.out, done.err
    partly = place('partly', of(success_rate=None, call_f1=1.0))
    done = tooleval('gate', place('run', of(success_rate=1.0, call_f1=1.0)), '--baseline', partly)
    assert done.code == 0 and 'success_rate has no value in the baseline; compared: call_f1' in done.out


def test_a_rise_of_an_error_rate_is_a_drop(tooleval: Command, place: Place) -> None:
    few, many = (place(name, scored(right, metric='tool_error_rate')) for name, right in (('few', 5), ('many', 30)))
    assert tooleval('gate', many, '--baseline', few).code == 1
    assert tooleval('gate', few, '--baseline', many).code == 0
    assert 'tool_error_rate (lower is better)' in tooleval('gate', few, '--baseline', many).out


def test_gate_and_compare_show_the_same(tooleval: Command, tmp_path: Path) -> None:
    """The difference and the interval of every score, of every column, and of pass^k."""
    old, new = tmp_path / 'old', tmp_path / 'new'
    for run, skill in ((old, 0.8), (new, 0.6)):
        for subset in METRICS:
            write(run, 'm', f'tooleval-teval-{subset}_v2', result(scores(subset, skill)))
        rights = {f'r{i}': '11' if i % 7 else '10' for i in range(30)}
        if run == new:
            rights |= {f'r{i}': '01' for i in range(9)}
        write(run, 'm', 'of-trials', result_of_trials(**rights))
    for run, other in ((new, old), (new, tmp_path / 'base.jsonl')):
        if other != old:
            assert tooleval('gate', old, '--save', other).code == 0
        told = json.loads(tooleval('gate', run, '--baseline', other, '--metric', '*', '--json', '-').out)
        found = json.loads(tooleval('compare', old, 'm', 'm', '--work-dir-b', new, '--json', '-').out)
        shown = {(row['row']['name'], row['row']['metric']): row['row'] for row in told['verdicts']}
        assert shown == {**rows(found, 'tables'), **rows(found, 'datasets')}
        assert ('tooleval-teval_v2', 'overall') in shown and ('of-trials', 'accuracy pass^2') in shown
        main = json.loads(tooleval('gate', run, '--baseline', other, '--json', '-').out)
        metrics = {(row['row']['name'], row['row']['metric']) for row in main['verdicts']}
        assert metrics < set(shown) and ('tooleval-teval-plan_str_v2', 'f1_score') in metrics
        assert not any('pass^' in metric for _, metric in metrics)
    one = tooleval('gate', new, '--baseline', old, '--metric', 'overall')
    assert one.code == 1 and [line[-8:] for line in one.out.splitlines() if line.startswith(' ')] == [' dropped']


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    'data': (scored(90, records_sha256='r2'), "data: records_sha256 is 'r1' of the baseline and 'r2' of the run"),
    'VERSION': (scored(90, version='4'), "VERSION: version is '3' of the baseline and '4' of the run"),
    'bank': (scored(90, bank='b2'), "bank: bank is 'b1' of the baseline and 'b2' of the run"),
    'no bank': (scored(90, bank=None), "bank: bank is 'b1' of the baseline and none of the run"),
    'judge': (scored(90, judge='other'), "judge: judge is 'gpt-4' of the baseline and 'other' of the run"),
    'judge prompt': (scored(90, judge_prompt='q'), "judge: judge_prompt is none of the baseline and 'q' of the run"),
    'prompts': (scored(90, prompts_sha256='p2'), "prompts: prompts_sha256 is 'p1' of the baseline and 'p2' of the run"),
    'settings': (scored(90, encoder='f'), "settings: encoder is 'e' of the baseline and 'f' of the run"),
    'samples': (scored(90, start=100), 'samples: 0 records are in both, of 100 and 100'),
    'no samples': ({'accuracy': 90.0, 'provenance': {'encoder': 'e', **PROVENANCE}}, 'accuracy: the second has no'),
    'an error': ({'error': 'no'}, 'failed: the result of the run is an error'),
}  # fmt: skip


@pytest.mark.parametrize('name', OTHERS)
@pytest.mark.parametrize('saved', [False, True], ids=['run', 'file'])
def test_what_does_not_compare_is_refused_with_its_reason(
    tooleval: Command, place: Place, tmp_path: Path, name: str, saved: bool
) -> None:
    content, why = OTHERS[name]
    old, new = place('old', scored(90)), place('new', content)
    baseline = tmp_path / 'baseline.jsonl' if saved else old
    if saved:
        assert tooleval('gate', old, '--save', baseline).code == 0
    done = tooleval('gate', new, '--baseline', baseline)
    assert done.code == 2 and f'NOT COMPARABLE {DATASET}, m: ' in done.out and why in done.out
    assert done.out.splitlines()[-1].startswith('not comparable: ')
    assert tooleval('gate', new, '--baseline', baseline, '--partial').code == 2, 'nothing compares'


def test_a_difference_may_be_allowed(tooleval: Command, place: Place) -> None:
    old, new = place('old', scored(90)), place('new', scored(70, prompts_sha256='p2', version='4'))
    assert tooleval('gate', new, '--baseline', old, '--may-differ', 'prompts_sha256').code == 2
    done = tooleval('gate', new, '--baseline', old, '--may-differ', 'prompts_sha256', '--may-differ', 'version')
    assert (
        done.code == 1
        and 'WARNING ultratool-planning_en: not comparable, since version differs: 3 (m (baseline)); 4 (m (run))'
        in done.out
    )
    packages = place('packages', scored(90, opencompass='9', opencompass_tooleval='9'))
    done = tooleval('gate', packages, '--baseline', old)
    assert done.code == 0 and f"NOTE {DATASET}: opencompass is None of one and '9' of the other" in done.out


def test_a_part_of_the_data_compares_by_the_records_of_both(tooleval: Command, place: Place) -> None:
    """The digests of all records differ then; the gold answers of those of both tell other data."""
    old, part = place('old', scored(90)), place('part', scored(30, of=50, records_sha256='r2', prompts_sha256='p2'))
    done = tooleval('gate', part, '--baseline', old)
    assert done.code == 1 and f'NOTE {DATASET}: 50 of 100 records are in both' in done.out
    assert ' 100.00 60.00 ' in done.out
    other = scored(50, of=50, records_sha256='r2')
    other['details'][7]['gold'] = 'another'
    done = tooleval('gate', place('other', other), '--baseline', old)
    assert done.code == 2 and "data: 1 of 50 records have another gold answer, such as 'r7'" in done.out


def test_a_data_set_that_is_missing_is_not_passed_over(tooleval: Command, place: Place) -> None:
    old = place('old', scored(90))
    place('old', scored(80), dataset='other')
    new = place('new', scored(90))
    place('new', scored(80), dataset='new-one')
    done = tooleval('gate', new, '--baseline', old)
    assert done.code == 2 and 'NOT COMPARABLE other, m: missing: the run has no result' in done.out
    assert 'NOTE new-one: only the run has a result of m' in done.out
    assert tooleval('gate', new, '--baseline', old, '--partial').code == 0
    assert tooleval('gate', new, '--baseline', old, '--datasets', 'tooleval-*').code == 0
    worse = place('worse', scored(60))
    assert tooleval('gate', worse, '--baseline', old).code == 1, 'a drop is a drop, whatever else is missing'


def test_a_main_score_that_the_run_lacks_is_not_replaced_by_another(tooleval: Command, place: Place) -> None:
    def of(overall: float | None) -> dict[str, Any]:
        values = {'overall': overall, 'parse_rate': 1.0}
        return result([SampleScore(f'r{i}', values, 'ok', 'x', 'json', 'g') for i in range(9)], **PROVENANCE)

    old, new = place('old', of(1.0)), place('new', of(None))
    done = tooleval('gate', new, '--baseline', old)
    assert done.code == 2 and 'missing: overall: the run has no such score' in done.out, done.out
    assert tooleval('gate', new, '--baseline', old, '--metric', 'overall').code == 2
    assert tooleval('gate', new, '--baseline', old, '--metric', 'parse_rate').code == 0
    assert tooleval('gate', old, '--baseline', new).code == 0, 'a score that the baseline lacks is not promised'


def test_missing_answers_are_no_drop_of_the_model(tooleval: Command, place: Place) -> None:
    def run(name: str, right: int, unanswered: int) -> Path:
        content = scored(right)
        for detail in content['details'][-unanswered:] if unanswered else ():
            assert detail['values'] == {'accuracy': 0.0}
            detail['reason'] = 'infra:timeout'
        return place(name, {**content, 'samples': {'infra': unanswered}})

    old = run('old', 100, 0)
    done = tooleval('gate', run('down', 80, 20), '--baseline', old)
    assert done.code == 2 and done.out.splitlines()[-1].startswith('not comparable: 0 of 0 scores dropped')
    assert (
        f'NOT COMPARABLE {DATASET}, m: unanswered: accuracy: 20 records lack an answer and decide the verdict'
        in done.out
    )
    assert tooleval('gate', run('worse', 60, 20), '--baseline', old).code == 1, 'the others dropped too'
    assert tooleval('gate', run('down', 80, 0), '--baseline', old).code == 1, 'wrong answers are answers'
    assert tooleval('gate', run('lost', 0, 99), '--baseline', old).code == 2, 'one answer is no proof'
    before = run('before', 80, 20)
    assert tooleval('gate', run('now', 60, 20), '--baseline', before).code == 1
    hidden = tooleval('gate', place('hidden', scored(80)), '--baseline', run('half', 50, 50))
    assert hidden.code == 0, 'all that had an answer hold'
    lower = scored(60)
    for detail, is_right in zip(lower['details'], [0] * 30 + [1] * 70, strict=True):
        detail['values'] = {'accuracy': float(is_right)}
    half = run('half', 50, 50)
    assert tooleval('gate', place('lower', {**lower, 'accuracy': 70.0}), '--baseline', half).code == 2, (
        'a gain hides it'
    )
    silent = tooleval('gate', run('silent', 0, 100), '--baseline', old)
    assert silent.code == 2 and 'unanswered: no sample of the run has an answer' in silent.out


def test_an_estimate_that_the_run_lacks_is_named(tooleval: Command, place: Place) -> None:
    four = result_of_trials(**{f'r{i}': '1110' for i in range(30)})
    two = result_of_trials(**{f'r{i}': '11' for i in range(30)})
    old, new = place('old', four), place('new', two)
    done = tooleval('gate', new, '--baseline', old, '--metric', 'accuracy pass^4', '--metric', 'accuracy')
    assert done.code == 2 and 'missing: accuracy pass^4: the run has no such score' in done.out
    assert tooleval('gate', old, '--baseline', old, '--metric', 'accuracy pass^4').code == 0
    assert tooleval('gate', new, '--baseline', old, '--metric', 'accuracy pass^2').code == 0


def test_a_saved_baseline_names_failed_results(tooleval: Command, place: Place, tmp_path: Path) -> None:
    place('run', scored(90))
    done = tooleval('gate', place('run', {'error': 'no'}, dataset='broken'), '--save', tmp_path / 'base.jsonl')
    assert done.out.endswith('base.jsonl: 1 results; left out, since they are errors: m: broken\n')


def test_which_models_are_paired(tooleval: Command, place: Place) -> None:
    old, new = place('old', scored(90)), place('new', scored(70), 'm2')
    assert tooleval('gate', new, '--baseline', old).code == 1, 'the only ones of both'
    place('new', scored(90), 'm3')
    done = tooleval('gate', new, '--baseline', old)
    assert done.code == 2 and '--model NAME --baseline-model NAME' in done.err
    assert tooleval('gate', new, '--baseline', old, '--model', 'm3').code == 0
    place('old', scored(80), 'm3')
    done = tooleval('gate', new, '--baseline', old)
    assert done.code == 2 and f'NOT COMPARABLE {DATASET}, m: missing' in done.out and f'{DATASET}, m3\n' in done.out
    assert tooleval('gate', new, '--baseline', old, '--model', 'm3', '--baseline-model', 'm').code == 0
    assert tooleval('gate', new, '--baseline', old, '--model', 'm2', '--baseline-model', 'm').code == 1
    assert 'there is no result of a model' in tooleval('gate', new, '--baseline', old, '--model', 'm4').err


def test_errors_are_never_a_drop(tooleval: Command, place: Place, tmp_path: Path) -> None:
    old = place('old', scored(90))
    for arguments in (
        ('gate', old),
        ('gate', tmp_path / 'nowhere', '--baseline', old),
        ('gate', old, '--baseline', tmp_path / 'nowhere'),
        ('gate', old, '--baseline', old, '--metric', 'no such'),
        ('gate', old, '--baseline', old, '--datasets', 'no such'),
        ('gate', old, '--baseline', old, '--junit', tmp_path / 'no' / 'folder.xml'),
        ('gate', old, '--baseline', old, '--max-drop', '-1'),
    ):
        done = tooleval(*arguments)
        assert done.code == 2 and done.err and 'Traceback' not in done.err, arguments


def test_files_for_people_and_for_ci(tooleval: Command, place: Place, tmp_path: Path) -> None:
    hostile = 'm|<b>@all\x1b[31m'
    old, new = place('old', scored(90), hostile), place('new', scored(70), hostile)
    for run, content in ((old, scored(80)), (new, scored(80, bank='b2'))):
        write(run, hostile, 'other', content)
    markdown, junit = tmp_path / 'gate.md', tmp_path / 'gate.xml'
    assert tooleval('gate', new, '--baseline', old, '--markdown', markdown, '--junit', junit).code == 1
    text = markdown.read_text()
    assert '**tooleval gate: dropped: 1 of 1 scores dropped by more than 0 points; 1 data sets' in text
    assert '| -20.00 |' in text and '| bank |' in text
    assert '<b>' not in text and '@all' not in text and '\x1b' not in text
    cells = {line.replace('\\|', '').count('|') for line in text.splitlines() if line.startswith('| tooleval')}
    assert cells == {10}
    root = ElementTree.fromstring(junit.read_bytes())
    assert (root.get('tests'), root.get('failures'), root.get('skipped')) == ('2', '1', '1')
    (failure,) = root.iter('failure')
    assert '90.00 -> 70.00: -20.00 points, 95% interval' in str(failure.get('message'))
    assert 'r70: accuracy 1.00 -> 0.00; ok -> args:wrong' in str(failure.text)
    (skipped,) = root.iter('skipped')
    assert str(skipped.get('message')).startswith('bank: bank is')


def test_equivalent_different_and_undecided(tooleval: Command, place: Place, tmp_path: Path) -> None:
    old, same, near, worse, better = (
        place(name, scored(right)) for name, right in (('old', 90), ('same', 90), ('near', 89), ('w', 70), ('b', 100))
    )
    markdown, junit = tmp_path / 'gate.md', tmp_path / 'gate.xml'

    def gate(run: Path, *more: Any) -> tuple[int, str, str]:
        done = tooleval('gate', run, '--baseline', old, '--markdown', markdown, '--junit', junit, *more)
        (line,) = [line for line in done.out.splitlines() if line.startswith(' accuracy')]
        assert max(map(len, done.out.splitlines()[:-1])) <= 80
        return done.code, line, done.out.splitlines()[-1]

    code, line, summary = gate(same, '--equivalent', 3)
    assert (code, summary) == (0, 'equivalent: 1 equivalent of 1 scores, with a margin of 3 points')
    assert line.endswith('-2.95 +2.95 100 equivalent')
    assert ElementTree.fromstring(junit.read_bytes()).get('failures') == '0'

    code, line, summary = gate(same, '--equivalent', 1)
    assert code == 1 and line.endswith('100 undecided (299)')
    assert summary.endswith(f'299 records without a difference would decide ({DATASET} accuracy)')

    code, line, summary = gate(near, '--equivalent', 5)
    assert code == 1 and re.search(r' 100 undecided \(~\d+\)$', line)
    assert re.search(r'^undecided: .*; about \d+ records would decide, if as large a share of them differs', summary)
    assert f'| undecided ({re.findall("~[0-9]+", line)[0].replace("~", "&#126;")}) |' in markdown.read_text()
    (failure,) = ElementTree.fromstring(junit.read_bytes()).iter('failure')
    assert 'undecided (~' in str(failure.get('message')) and 'r89: accuracy 1.00 -> 0.00' in str(failure.text)
    content = json.loads(tooleval('gate', near, '--baseline', old, '--equivalent', 5, '--json', '-').out)
    (verdict,) = content['verdicts']
    assert (content['equivalent'], verdict['outcome'], verdict['is_estimate']) == (5.0, 'undecided', True)
    assert verdict['deciding'] > 100 and verdict['worst'] == max(-verdict['row']['low'], verdict['row']['high'])

    for run in (worse, better):
        code, line, summary = gate(run, '--equivalent', 2)
        assert code == 1 and line.endswith('100 different')
        assert summary == 'different: 1 different of 1 scores, with a margin of 2 points'
        assert tooleval('gate', run, '--baseline', old, '--equivalent', 40).code == 0
    code, line, summary = gate(worse, '--equivalent', 20)
    assert code == 1 and line.endswith('100 undecided') and 'would decide' not in summary, 'it is the margin'


def test_what_equivalence_needs(tooleval: Command, place: Place) -> None:
    old, new = place('old', scored(90)), place('new', scored(90))
    for options, why in (
        (('--equivalent', 0), 'takes points above 0'),
        (('--equivalent', 100), 'takes points above 0'),
        (('--equivalent', 'nan'), 'takes points above 0'),
        (('--equivalent', 3, '--max-drop', 2), 'leave out --max-drop'),
        (('--equivalent', 3, '--strict'), 'leave out --strict'),
    ):
        done = tooleval('gate', new, '--baseline', old, *options)
        assert done.code == 2 and why in done.err
    done = tooleval('gate', new, '--save', new.parent / 'file', '--equivalent', 3)
    assert done.code == 2 and 'needs --baseline' in done.err
    part = place('part', scored(50, of=90, records_sha256='r2', prompts_sha256='p2'))
    (old / 'predictions').mkdir(exist_ok=True)
    done = tooleval('gate', part, '--baseline', place('whole', scored(50)), '--equivalent', 5)
    assert done.code == 1 and done.out.splitlines()[-1].startswith('undecided: 1 undecided of 1 scores')
    assert done.out.endswith('the run lacks 10 of 100 records of the baseline\n') and 'would decide' not in done.out
    few = [place(name, scored(2, of=2)) for name in ('few', 'as few')]
    done = tooleval('gate', few[0], '--baseline', few[1], '--equivalent', 3)
    assert done.code == 1 and '2 undecided (99)' in done.out, 'few records are undecided, not refused'
    failed = scored(60)
    for detail in failed['details'][60:]:
        detail['reason'] = 'infra:timeout'
    both = [place(name, {**failed, 'samples': {'infra': 40}}) for name in ('x', 'y')]
    done = tooleval('gate', both[0], '--baseline', both[1], '--equivalent', 3)
    assert done.code == 2 and '40 records lack an answer and decide the verdict' in done.out
    assert tooleval('gate', both[0], '--baseline', both[1], '--equivalent', 6).code == 0


def test_a_baseline_has_no_text_of_the_data_and_stands_for_its_run(
    tooleval: Command, place: Place, tmp_path: Path
) -> None:
    old, worse = place('old', scored(90)), place('worse', scored(70))
    file = tmp_path / 'baseline.jsonl'
    assert tooleval('gate', old, '--save', file).out == f'{file}: 1 results\n'
    text = file.read_text()
    assert 'gold 7' not in text and '"parsed"' not in text and text.isascii()
    again = tmp_path / 'again.jsonl'
    assert tooleval('gate', old, '--save', again).code == 0 and again.read_bytes() == file.read_bytes()
    by_run, by_file = (tooleval('gate', worse, '--baseline', one).out for one in (old, file))
    shutil.rmtree(old)
    assert by_run == by_file and tooleval('gate', worse, '--baseline', file).out == by_file


def _deep(value: Any) -> Any:
    for _ in range(500):
        value = [value]
    return value


HOSTILE: dict[str, tuple[tuple[str, ...], Any]] = {
    'no model': (('model',), None),
    'a path for a model': (('model',), '../../etc'),
    'an escape sequence for a data set': (('dataset',), 'a\x1b[2J'),
    'no scores': (('metrics',), []),
    'a score beyond floats': (('metrics', 'accuracy'), float('inf')),
    'a score that is none': (('metrics', 'accuracy'), 'NaN'),
    'no details': (('details',), None),
    'details that are none': (('details',), [1, 'a', None]),
    'a value of text': (('details', '0', 'values', 'accuracy'), 'x'),
    'a value beyond floats': (('details', '0', 'values', 'accuracy'), float('nan')),
    'a huge value': (('details', '0', 'values', 'accuracy'), 10**400),
    'values of another kind': (('details', '0', 'values'), [1]),
    'steps of another kind': (('details', '0', 'steps'), ['a']),
    'an id of another kind': (('details', '0', 'id'), {}),
    'counts of another kind': (('samples', 'infra'), '\x1b[2J'),
    'trials of another kind': (('trials',), {'n': 10**9, 'metrics': {'accuracy': _deep(1)}, 'success': 7}),
    'runs of another kind': (('runs',), [None, 'a', {'accuracy': 'x'}]),
    'errors of another kind': (('standard_errors',), {'accuracy': 'x'}),
    'a deep provenance': (('provenance',), {'\x1b[2J': _deep('a'), 'version': _deep(1)}),
    'a provenance of another kind': (('provenance',), 'x'),
}


@pytest.mark.parametrize('name', HOSTILE)
def test_a_hostile_baseline_ends_in_a_line_or_a_decision(
    tooleval: Command, place: Place, tmp_path: Path, name: str
) -> None:
    old, file = place('old', scored(90)), tmp_path / 'baseline.jsonl'
    assert tooleval('gate', old, '--save', file).code == 0
    head, line = file.read_text().splitlines()
    row = json.loads(line)
    (*path, last), value = HOSTILE[name]
    part = row
    for key in path:
        part = part[int(key) if key.isdigit() else key]
    part[last] = value
    file.write_text(f'{head}\n{json.dumps(row)}\n')
    done = tooleval('gate', old, '--baseline', file, '--junit', tmp_path / 'gate.xml')
    assert done.code in (0, 2) and 'Traceback' not in done.err and '\x1b' not in done.out + done.err
    assert done.code == 2 or 'held' in done.out
    with suppress(DataError):
        assert len(detectable([find_results(file)], {DATASET: (None, 1)}, 1, 5.0)) <= 1


@pytest.mark.parametrize(
    'content',
    ['', '{}', '{"tooleval_baseline": 3}', '{"tooleval_baseline": 1}\n[]', '[' * 100_000, '{"a": 1, "a": 2}', 'x'],
)
def test_a_file_that_is_no_baseline_is_named(tooleval: Command, place: Place, tmp_path: Path, content: str) -> None:
    file = tmp_path / 'baseline.jsonl'
    file.write_text(content)
    done = tooleval('gate', place('old', scored(90)), '--baseline', file)
    assert done.code == 2 and done.err.startswith(f'tooleval: {file}: ')
