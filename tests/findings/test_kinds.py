"""Each kind of findings is planted, and read on the screens that show it."""

from __future__ import annotations

import html
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.core.text.escapes import markdown_text
from opencompass_tooleval.extras.attribution.causes import NONE, PARSER, UNKNOWN
from opencompass_tooleval.findings.finding import Finding, fine, found, kinds, merged, shortened
from opencompass_tooleval.findings.kinds import Level
from opencompass_tooleval.findings.of_results import findings_of_run
from opencompass_tooleval.report.build import write_report
from tests.cli.conftest import Command, home, tooleval
from tests.summarizers.test_summarizer import TIME, Run, counted, result

__all__ = ['home', 'tooleval']

AGENT = {'benchmark': 'agents', 'loop': 'react'}
SAMPLES = {'all': 200, 'infra': 0}
TRIALS = {'n': 4, 'success': [], 'same_answers': 50, 'metrics': {'review_quality': {'avg@4': {
    'value': 50.0, 'standard_error': 1.0, 'records': 50}}}}  # fmt: skip
LOST = {'served': 80.0, 'written': 83.4, 'lost': 3.4, 'low': 2.1, 'high': 4.9}


NAMES = "the names of all calls begin with 'functions.'"


def about(**provenance: Any) -> dict[str, Any]:
    return {'provenance': provenance}


PLANTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    'published:encoder': (about(encoder='other', language='EN'), {}),
    'published:rebuilt': (about(rebuilt=True), {}),
    'published:part': ({'samples': {'all': 2, 'infra': 0, 'of': 9}}, {}),
    'published:sample': (about(data_version='v2_subset'), {}),
    'published:twin': (about(twin='values', left_out='no value: 3', sampled_without_twin=2), {}),
    'published:size': (about(benchmark='teval', subset='plan_str', data_version='v2'), {}),
    'published:scoring': (about(scoring='strict'), {}),
    'published:limit': (about(max_out_len=5, published_max_out_len=9), {}),
    'published:gold': (about(gold='repaired'), {}),
    'published:judge': (about(judge='mine', judge_hash='x'), {}),
    'published:reference': ({'breakdown': {'judged': {'win': {'win': 2, 'no_reference': 1}}}}, {}),
    'published:environment': (about(**AGENT), about(**AGENT)),
    'published:protocol': (about(data_version='v2', protocol='v1'), {}),
    'result:other_answers': ({'other_answers': True}, {}),
    'result:rescored': ({'rescored': {'metrics': {'review_quality': {'before': 1.0, 'right_count': 2}}}}, {}),
    'result:no_answer': ({'samples': {'all': 200, 'infra': 100}}, {}),
    'result:unanswered': ({'samples': {'all': 200, 'infra': 1}}, {}),
    'result:differs': (about(loop='react', bank='a'), about(loop='react', bank='b')),
    'result:served': ({'serving': {'causes': {NONE: 9, PARSER: 9}, 'points': {'review_quality': LOST}}}, {}),
    'result:only_thoughts': ({'endings': {'only_thoughts': 150}}, {}),
    'result:cut': ({'samples': {**SAMPLES, 'cut': 50}}, {}),
    'result:limits': ({'samples': {**SAMPLES, 'cut': 9}, **about(max_out_len=5)}, about(max_out_len=9)),
    'result:names': ({'serving': {'causes': {NONE: 9}, 'points': {}, 'names': {NAMES: 9}}}, {}),
    'result:raw_text': ({'serving': {'causes': {UNKNOWN: 9}, 'points': {}}}, {}),
    'result:ending': ({'endings': {'unknown': {'odd': 3}}}, {}),
    'result:no_response': ({'breakdown': counted(50), **about(**AGENT)}, about(**AGENT)),
    'result:same_trials': ({'trials': TRIALS}, {}),
    'result:calls_in_text': ({'call_evidence': {'in_text:hermes': 3}}, {}),
    'result:text_arguments': ({'call_evidence': {'typed': 12, 'as_text': 12}}, {}),
    'result:less_thought': ({'call_evidence': {'less_thought': 3}}, {}),
    'result:cut_prompts': ({'endings': {'cut_prompts': 4096}}, {}),
    'result:full_context': ({'endings': {'full': 3}}, {}),
    'result:tokens': ({'usage': {'added': 9}}, {}),
}
"""Kind -> what the results of two models have on one data set."""


def test_every_kind_of_results_is_planted() -> None:
    """Others are said by tests of what finds them."""
    of_results = {kind for kind in kinds() if kind.startswith(('published:', 'result:'))}
    assert PLANTED.keys() == of_results - {'result:not_judged'}


@pytest.fixture(scope='module')
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with all of them, a data set each."""
    run = Run(tmp_path_factory.mktemp('run'), datasets=tuple(sorted(kind.replace(':', '-') for kind in PLANTED)))
    details = [{'id': f'r{i}', 'values': {'review_quality': 0.5}, 'reason': 'ok'} for i in range(6)]
    for dataset, both in ((kind.replace(':', '-'), both) for kind, both in PLANTED.items()):
        for model, changes in zip(run.models, both, strict=True):
            run.write(model, dataset, {**result(provenance={}), 'details': details, **changes})
    (run.folder / 'configs').mkdir()
    run.summarizer().summarize(time_str=TIME)
    return run


@pytest.fixture(scope='module')
def findings(run: Run) -> list[Finding]:
    files = ((model, dataset) for model in run.models for dataset in run.datasets)
    results = {at: json.loads((run.folder.joinpath('results', *at).with_suffix('.json')).read_text()) for at in files}
    return list(findings_of_run(results))


def expected(findings: list[Finding], kind: str) -> list[str]:
    lines = [str(one) for one in findings if one.kind == kind]
    assert any(kind.replace(':', '-') in line or kind in ('result:ending', 'result:raw_text') for line in lines), lines
    return lines


def test_the_last_screen_and_the_report_have_them_all(run: Run, findings: list[Finding], tmp_path: Path) -> None:
    lines = run.notes().splitlines()
    page = html.unescape(write_report([run.folder], tmp_path / 'report').read_text(encoding='utf-8'))
    for kind in PLANTED:
        for line in expected(findings, kind):
            assert f'{kinds()[kind].level.name} {line}' in lines
            _, is_published, why = line.rpartition('published scores: ')  # a mark of scores: the reason without its fix
            assert (why.partition('. Fix it with: ')[0] if is_published else line) in page, kind


def test_compare_and_gate_have_what_two_models_have_to_do_with(
    run: Run, findings: list[Finding], tooleval: Command, tmp_path: Path
) -> None:
    folder = tmp_path / 'run'
    shutil.copytree(run.folder, folder)
    shutil.copy(folder / 'results' / 'm1' / 'result-cut.json', folder / 'results' / 'm1' / 'alone.json')
    compared = tooleval('compare', folder, *run.models)
    tooleval('gate', folder, '--save', tmp_path / 'b')
    gate = ('gate', folder, '--baseline', tmp_path / 'b', '--model', 'm1', '--json', tmp_path / 'gate.json')
    gated = tooleval(*gate)
    assert compared.code == 0 and gated.code in (0, 1, 2)
    rows = json.loads((tmp_path / 'gate.json').read_text())['findings']
    for kind in (kind for kind in PLANTED if kind.startswith('result:')):
        lines = expected(findings, kind)
        assert all(f'{kinds()[kind].level.name} {line}' in compared.out.splitlines() for line in lines), kind
    assert 'NOTE alone: only m1 has a result' in compared.out.splitlines()
    assert {'result:no_answer', 'result:cut'} <= {row['kind'] for row in rows}
    assert not any(row['kind'].startswith('published:') for row in rows)


def test_levels_order_and_joining() -> None:
    findings = [found('result:cut', 'm2', 'x'), found('published:part', 'a', '1'), found('published:part', 'b', '2')]
    findings += [found('config:key', 'm1', 'none', 'export K=1'), found('result:cut', 'm1', 'x')]
    lines = [one.line for one in merged(findings)]
    assert lines == [
        'FAULT m1: none. Fix it with: export K=1',
        'WARNING m2, m1: x. Fix it with: raise `max_out_len`, and resume with `-r`',
        'NOTE a: not comparable with published scores: 1. Fix it with: run it without sample, limit and test_range',
        'NOTE b: not comparable with published scores: 2. Fix it with: run it without sample, limit and test_range',
    ]
    assert [one.line for one in shortened(merged(findings))][2:] == [
        'NOTE not comparable with published scores: 1 (a); 2 (b). Fix it with: '
        'run it without sample, limit and test_range'
    ]
    assert markdown_text('<b>|@x') == '&#60;b&#62;&#124;&#64;x'
    assert all(isinstance(kind.level, Level) and kind.sentence for kind in kinds().values())


def test_reasons_against_every_score_come_before_warnings_and_other_notes_after_them() -> None:
    """Also after the warnings of extras, whose kinds are the last of all; only a fault is one."""
    kinds_given = ('published:part', 'result:served', 'published:encoder', 'config:key')
    ordered = merged(found(kind, 'm', 'x') for kind in kinds_given)
    levels = [Level.FAULT, Level.NOTE, Level.WARNING, Level.NOTE]
    assert [one.kind for one in ordered] == ['config:key', 'published:encoder', 'result:served', 'published:part']
    assert [one.level for one in ordered] == levels and [one.row()['level'] for one in ordered][:2] == ['fault', 'note']
    assert [one.is_fault for one in ordered] == [True, False, False, False]
    assert fine('config:key', 'm', 'x').is_fine and not any(one.is_fine for one in ordered)


def test_warnings_of_one_kind_stay_apart_where_notes_are_joined() -> None:
    lines = [one.line for one in shortened(found(kind, 'm', text) for kind in ('result:cut', 'result:ending')
                                           for text in 'ab')]  # fmt: skip
    assert [line.partition(' ')[0] for line in lines] == ['WARNING', 'WARNING', 'NOTE']
    assert lines[2] == 'NOTE a (m); b (m)'


def test_a_provenance_is_typed() -> None:
    given = {'benchmark': 'teval', 'version': 3, 'max_out_len': True, 'encoder': 'x' * 5000, 'new_key': [1]}
    read = Provenance.of({'provenance': [{'language': 'EN'}, given]})
    assert (read.benchmark, read.version, read.max_out_len, read.language) == ('teval', '3', None, 'EN')
    assert len(read.encoder) == 1000 and read.stored['new_key'] == [1]
    for stored in (None, 'x', [None, 3], {'provenance': 'x'}, {'provenance': [1, {'benchmark': ['a']}]}):
        read = Provenance.of(stored)
        assert (read.benchmark, read.max_out_len, read.rebuilt) == ('', None, False)
