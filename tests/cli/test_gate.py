"""tooleval gate on runs made by hand: exit status, agreement with compare, reasons not to compare, outputs."""

from __future__ import annotations

import json
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
from opencompass_tooleval.extras.plan.command import detectable
from tests.cli.conftest import Command
from tests.cli.test_compare import METRICS, result, rows, scores, write
from tests.core.test_paired_trials import result as result_of_trials

DATASET = 'tooleval-ultratool-planning_en'
PROVENANCE = {'version': '3', 'bank': 'b1', 'judge': 'gpt-4', 'records_sha256': 'r1', 'prompts_sha256': 'p1'}


def scored(
    right: int | range, of: int = 100, start: int = 0, metric: str = 'accuracy', lost: int = 0, **provenance: Any
) -> dict[str, Any]:
    """A result of which the first records are right, or those of a range; the last have no answer."""
    rights = range(right) if isinstance(right, int) else right
    samples = [
        SampleScore(
            f'r{i}', {metric: float(i in rights)}, 'ok' if i in rights else 'args:wrong', 'x', 'json', f'gold {i}'
        )
        for i in range(start, start + of)
    ]
    content = result(samples, **{**PROVENANCE, **provenance})
    for detail in content['details'][of - lost :]:
        assert not any(detail['values'].values())
        detail['reason'] = 'infra:timeout'
    return {**content, 'samples': {**content['samples'], 'infra': lost}}


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Path]:
    """Makes a run of one data set by one model."""

    def make(name: str, content: dict[str, Any], model: str = 'm', dataset: str = DATASET) -> Path:
        write(tmp_path / name, model, dataset, content)
        return tmp_path / name

    return make


Place = Callable[..., Path]


TOO_FEW, STRICT = 'accuracy: too few to decide: ', '--max-drop 5 --strict'
POSSIBLE = f'a drop of up to 2.95 points is not ruled out ({DATASET} accuracy on 100 records)\n'
DROPPED = '\ndropped: 1 of 1 scores dropped by more than 0 points\n'
NO_PROOF = (
    '\nnot comparable: 0 of 0 scores dropped by more than 5 points; the run lacks 98 of 100 records of the baseline'
)
DIFFERENT = '\ndifferent: 1 different of 1 scores, with a margin of 2 points\n'
MARGIN = '\nundecided: 1 undecided of 1 scores, with a margin of 20 points\n'
DECISIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str, int, str]] = {
    'equal': (scored(90), scored(90), '', 0, f'\nheld: 0 of 1 scores dropped by more than 0 points; {POSSIBLE}'),
    'worse': (scored(90), scored(70), '', 1, DROPPED),
    'a gain is no drop': (scored(70), scored(90), '', 0, '\nheld: '),
    'within': (
        scored(90),
        scored(70),
        '--max-drop 15',
        0,
        f'points is not ruled out ({DATASET} accuracy on 100 records)',
    ),
    'not ruled out': (scored(90), scored(70), '--max-drop 15 --strict', 1, '\ninconclusive: 0 of 1 scores dropped'),
    'ruled out': (scored(90), scored(70), '--max-drop 40 --strict', 0, '\nheld: '),
    # Records that do not differ show only that fewer than 1 - 0.05 ** (1 / n) of the tasks changed.
    'two': (scored(90), scored(2, of=2), STRICT, 2, f'samples: {TOO_FEW}2 records are in both'),
    'two of 100': (scored(90), scored(2, of=2), STRICT, 2, NO_PROOF),
    'of 58': (scored(58, of=58), scored(58, of=58), STRICT, 1, 'to rule out 5 takes 59 records or more'),
    'of 59': (scored(59, of=59), scored(59, of=59), STRICT, 0, '\nheld: '),
    'others may have dropped': (scored(90), scored(60, of=60), '--max-drop 30 --strict', 1, 'lacks 40 of 100 records'),
    # Where no result could fail, nothing is decided.
    'all of five': (scored(5, of=5), scored(5, of=5), '', 2, f'{TOO_FEW}5 records are in both'),
    'none of five': (scored(5, of=5), scored(0, of=5), '', 2, f'{TOO_FEW}5 records are in both'),
    'all of six': (scored(6, of=6), scored(6, of=6), '', 0, '\nheld: '),
    'none of six': (scored(6, of=6), scored(0, of=6), '', 1, '\ndropped: '),
    # Missing answers are no drop of the model.
    'few answers': (scored(5), scored(5, lost=95), '', 2, f'{TOO_FEW}5 records have an answer on both sides'),
    'lost': (scored(100), scored(80, lost=20), '', 2, 'unanswered: accuracy: 20 records lack an answer and decide the'),
    'the others dropped too': (scored(100), scored(60, lost=20), '', 1, '\ndropped: '),
    'one answer is no proof': (scored(100), scored(0, lost=99), '', 2, 'run tooleval retry'),
    'all that had an answer hold': (scored(50, lost=50), scored(80), '', 0, '\nheld: '),
    'a gain hides it': (scored(50, lost=50), scored(range(30, 100)), '', 2, 'lack an answer and decide the verdict'),
    'all lost': (scored(100), scored(0, lost=100), '', 2, 'unanswered: no sample of the run has an answer'),
    # Equivalence.
    'not as good': (scored(90), scored(70), '--equivalent 2', 1, DIFFERENT),
    'better': (scored(90), scored(100), '--equivalent 2', 1, ' different\n'),
    'a large margin': (scored(90), scored(70), '--equivalent 40', 0, '\nequivalent: '),
    'it is the margin': (scored(90), scored(70), '--equivalent 20', 1, MARGIN),
    'few are undecided': (scored(2, of=2), scored(2, of=2), '--equivalent 3', 1, '2 undecided (99)'),
    'lost and undecided': (scored(60, lost=40), scored(60, lost=40), '--equivalent 3', 2, '40 records lack an answer'),
    'lost and equivalent': (scored(60, lost=40), scored(60, lost=40), '--equivalent 6', 0, '\nequivalent: '),
}


@pytest.mark.parametrize('name', DECISIONS)
def test_what_is_decided(tooleval: Command, place: Place, name: str) -> None:
    old, new, options, code, says = DECISIONS[name]
    done = tooleval('gate', place('new', new), '--baseline', place('old', old), *options.split())
    assert (done.code, says in f'\n{done.out}') == (code, True), done.out + done.err


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


def valued(**values: float | None) -> dict[str, Any]:
    """A result of nine records with these values."""
    samples = [SampleScore(f'r{i}', values, 'ok', 'x', 'json', 'g') for i in range(9)]
    return {**result(samples, **PROVENANCE), **dict.fromkeys(name for name in values if values[name] is None)}


FOUR, TWO = (result_of_trials(**{f'r{i}': rights for i in range(30)}) for rights in ('1110', '11'))
NO_VALUE, LACKED = 'missing: success_rate: the baseline has no value of it', 'missing: {}: the run has no such score'
COMPARED = 'success_rate has no value in the baseline; compared: call_f1'
OF_METRICS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...], int, str]] = {
    'no value': (valued(success_rate=None), valued(success_rate=1.0), (), 2, NO_VALUE),
    'chosen': (valued(success_rate=None), valued(success_rate=1.0), ('success_*',), 2, NO_VALUE),
    'one of two': (valued(success_rate=None, call_f1=1.0), valued(success_rate=1.0, call_f1=1.0), (), 0, COMPARED),
    # No other score takes the place of one that the run lacks.
    'lacked': (valued(overall=1.0, a=1.0), valued(overall=None, a=1.0), (), 2, LACKED.format('overall')),
    'lacked and chosen': (valued(overall=1.0, a=1.0), valued(overall=None, a=1.0), ('overall',), 2, 'no such score'),
    'another is chosen': (valued(overall=1.0, a=1.0), valued(overall=None, a=1.0), ('a',), 0, 'held'),
    'pass^4 of two': (FOUR, TWO, ('accuracy pass^4', 'accuracy'), 2, LACKED.format('accuracy pass^4')),
    'pass^4 of four': (FOUR, FOUR, ('accuracy pass^4',), 0, 'held'),
    'pass^2 of two': (FOUR, TWO, ('accuracy pass^2',), 0, 'held'),
}


@pytest.mark.parametrize('name', OF_METRICS)
@pytest.mark.parametrize('saved', [False, True], ids=['run', 'file'])
def test_which_metrics_decide(tooleval: Command, place: Place, tmp_path: Path, name: str, saved: bool) -> None:
    old, new, metrics, code, says = OF_METRICS[name]
    baseline = place('old', old)
    if saved:
        assert tooleval('gate', baseline, '--save', tmp_path / 'old.jsonl').code == 0
        baseline = tmp_path / 'old.jsonl'
    chosen = [word for metric in metrics for word in ('--metric', metric)]
    done = tooleval('gate', place('new', new), '--baseline', baseline, *chosen)
    assert (done.code, says in f'\n{done.out}') == (code, True), done.out + done.err


def test_a_rise_of_an_error_rate_is_a_drop(tooleval: Command, place: Place) -> None:
    few, many = (place(name, scored(right, metric='tool_error_rate')) for name, right in (('few', 5), ('many', 30)))
    assert tooleval('gate', many, '--baseline', few).code == 1
    assert tooleval('gate', few, '--baseline', many).code == 0
    assert 'tool_error_rate (lower is better)' in tooleval('gate', few, '--baseline', many).out
    assert 'lower is better: tool_error_rate\n' in tooleval('compare', few, 'm', 'm', '--work-dir-b', many).out


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
    assert done.out.splitlines()[0].startswith('not comparable: ')
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


@pytest.mark.parametrize('right', [0, 6])
def test_six_records_decide_nothing_in_a_gate_of_two_scores(tooleval: Command, place: Place, right: int) -> None:
    for name, count in (('old', 6), ('new', right)):
        for dataset in (DATASET, 'other'):
            run = place(name, scored(count, of=6), dataset=dataset)
    done = tooleval('gate', run, '--baseline', run.with_name('old'))
    assert done.code == 2 and 'even the loss of all of them may be chance, in a gate of 2 scores' in done.out


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


def test_the_line_of_a_score(tooleval: Command, place: Place) -> None:
    old = place('old', scored(90))
    for right, options, words in (
        (70, (), r'accuracy +90\.00 +70\.00 +-20\.00 .* 100 dropped'),
        (90, ('--equivalent', 3), r'accuracy .* -2\.95 \+2\.95 100 equivalent'),
        (90, ('--equivalent', 1), r'accuracy .* 100 undecided \(299\)'),
        (89, ('--equivalent', 5), r'accuracy .* 100 undecided \(~\d+\)'),
    ):
        lines = tooleval('gate', place('new', scored(right)), '--baseline', old, *options).out.splitlines()
        (line,) = [line for line in lines if line.startswith(' accuracy')]
        assert re.fullmatch(f' {words}', line) and max(map(len, lines[1:])) <= 80, line
    done = tooleval('gate', old, '--baseline', old, '--strict')
    assert done.code == 2 and done.err.startswith('tooleval: --strict needs --max-drop above 0: a drop of 5 points')


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
    gate = ('gate', part, '--baseline', place('whole', scored(50)), '--equivalent', 5)
    done = tooleval(*gate)
    assert done.code == 1 and done.out.splitlines()[0].startswith('undecided: 1 undecided of 1 scores')
    assert (
        done.out.splitlines()[0].endswith('the run lacks 10 of 100 records of the baseline')
        and 'would decide' not in done.out
    )
    told = json.loads(tooleval(*gate, '--json', '-').out)
    assert (told['records'], told['lacking']) == (100, 10)


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
    done = tooleval('gate', place('worse', {'error': 'no'}, dataset='broken'), '--save', file)
    assert done.out.endswith('baseline.jsonl: 1 results; left out, since they are errors: m: broken\n')


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
    'no details': (('details',), None),
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
