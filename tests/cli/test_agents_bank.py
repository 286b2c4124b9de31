"""`tooleval agents bank`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import DEMO, Command, write_json
from tests.instructions.shared_data import DATA

REVIEW_OF_DEMO = DEMO / 'EN' / 'review_str_v2.json'
REVIEW = DATA / 'teval' / 'EN' / 'review_str_v1.json'


@pytest.fixture
def bank(tooleval: Command, tmp_path: Path) -> Path:
    file = tmp_path / 'demo.bank'
    done = tooleval('agents', 'bank', 'build', '--from', DEMO / 'EN', '--out', file)
    assert done.code == 0, done.err
    assert 'reason_str_v2.json: 9 calls (T-Eval data)' in done.out and f'{file}: 42 calls' in done.out
    return file


def test_coverage_of_gold_calls(tooleval: Command, bank: Path) -> None:
    data = DEMO / 'EN' / 'plan_json_v2.json'
    result = json.loads(tooleval('agents', 'bank', 'stats', bank, '--data', data, '--json', '-').out)
    assert result['calls'] == 42 and result['tasks'] == 4 and sum(result['apis'].values()) == 42
    coverage = result['coverage']
    assert (coverage['tasks'], coverage['calls']) == (4, 13)
    assert sum(coverage['by_source'].values()) == 13
    assert coverage['by_source'] == {**dict.fromkeys(coverage['by_source'], 0), 'exact': 10, 'error': 3}
    shown = tooleval('agents', 'bank', 'stats', bank, '--data', data).out
    assert shown.startswith('demo.bank: calls 42, APIs 10, tasks 4, errors 4\n') and '13 gold calls of 4 tasks' in shown


RUNS = DEMO.parent / 'agents' / 'toolbench' / 'runs.json'


def test_several_sources(tooleval: Command) -> None:
    done = tooleval('agents', 'bank', 'build', '--from', DEMO / 'EN', '--out', 'x.bank', '--from', RUNS)
    assert done.code == 0 and 'x.bank: 61 calls' in done.out, done.err
    done = tooleval('agents', 'bank', 'build', '--from', DEMO / 'EN', RUNS, '--out', 'x.bank')
    assert done.code == 2 and 'runs.json' in done.err  # an option is given once for each value


def test_faults_are_one_line(tooleval: Command, bank: Path, tmp_path: Path) -> None:
    other = write_json(tmp_path / 'other.json', {})
    for arguments, said in (
        (('build', '--from', tmp_path / 'none', '--out', tmp_path / 'x'), 'the file or folder does not exist'),
        (('build', '--from', other, '--out', tmp_path / 'x'), 'no recorded calls'),
        (('build', '--from', DEMO / 'EN' / 'plan_json_v2.json', '--out', tmp_path / 'x'), 'contain no recorded calls'),
        (('stats', other), 'not a response bank'),
        (('stats', tmp_path / 'none'), 'tooleval agents bank build'),
        (('stats', bank, '--data', other), 'plan_json_v2'),
        (('stats', bank, '--data', DEMO / 'EN' / 'review_str_v2.json'), "only T-Eval's plans"),
    ):
        done = tooleval('agents', 'bank', *arguments)
        assert done.code == 1 and said in done.err and done.err.count('\n') == 1
    assert not (tmp_path / 'x').exists()
    done = tooleval('build', 'ultratool', '--from', tmp_path / 'none', '--out', tmp_path / 'out')
    assert done.code == 1 and 'annotated samples' in done.err, 'a group of one command is a group'


def test_a_bank_is_not_written_into_its_sources(tooleval: Command, tmp_path: Path) -> None:
    cache = tmp_path / 'cache' / 'Movies' / 'web'
    cache.mkdir(parents=True)
    answers = write_json(cache / 'search.json', {'{}': {'error': '', 'response': 'found'}})
    (tmp_path / 'link').symlink_to(tmp_path / 'cache')
    content = answers.read_bytes()
    for source, out in (
        (answers.parents[2], answers),
        (answers.parents[2], tmp_path / 'link' / 'new.bank'),
        (tmp_path / 'link', cache / 'new.bank'),
        (REVIEW_OF_DEMO, REVIEW_OF_DEMO),
    ):
        done = tooleval('agents', 'bank', 'build', '--from', source, '--out', out)
        assert done.code == 1 and done.err.count('\n') == 1
        assert f'cannot write {out}: it is inside the source' in done.err
    assert answers.read_bytes() == content and [*cache.iterdir()] == [answers]
    assert tooleval('agents', 'bank', 'build', '--from', tmp_path / 'cache', '--out', tmp_path / 'new.bank').code == 0


@pytest.mark.skipif(not REVIEW.is_file(), reason='no published data of T-Eval at hand')
def test_what_of_published_gold_calls_is_answered(tooleval: Command, tmp_path: Path) -> None:
    assert tooleval('agents', 'bank', 'build', '--from', REVIEW, '--out', tmp_path / 'bank').code == 0
    data = DATA / 'teval' / 'EN' / 'plan_json_v1.json'
    result = json.loads(tooleval('agents', 'bank', 'stats', tmp_path / 'bank', '--data', data, '--json', '-').out)
    coverage = result['coverage']
    assert result['errors'] == {'unable': 132, 'input': 86, 'internal': 37, 'irrelevant': 25}
    assert (coverage['tasks'], coverage['calls']) == (553, 2660)
    found = dict(exact=239, other_task=633, nearest=97, function=651, simulated=0, live=0, error=1040)
    assert coverage['by_source'] == found
    stateful = ('Email', 'FileOperation', 'PPT', 'ReserveMeeting')
    assert sum(sum(coverage['by_tool'][tool].values()) for tool in stateful) == 699
    assert sum(coverage['by_tool']['TimeTool'].values()) == 803 - 699
    assert not any(coverage['by_tool'][tool]['error'] for tool in (*stateful, 'TimeTool'))
