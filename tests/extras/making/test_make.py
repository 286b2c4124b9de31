"""``tooleval make`` with a scripted maker: whole sets, each planted fault with its count, a kill, and real servers."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.tasks.goal import KINDS, MISSING_PARAMETER, NO_TOOL
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.typed_result import find_result, is_same
from opencompass_tooleval.environments.bank import write_bank
from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.environments.recordings import find_sources, read_sources
from opencompass_tooleval.extras.making.commands.check import check_made_set
from opencompass_tooleval.extras.making.commands.tasks import make_tasks
from opencompass_tooleval.extras.making.gates import REPRODUCED, SCRIPTED
from opencompass_tooleval.extras.making.live_source import open_live_source, place_fixture
from opencompass_tooleval.extras.making.made_set import load_set
from opencompass_tooleval.extras.making.scripted_agents import scripted_scores
from opencompass_tooleval.extras.mcp_servers.state import check_reset
from tests.conftest import ROOT
from tests.extras.making.conftest import Start
from tests.extras.making.worlds import (
    NOTES_KEY,
    git_key,
    make_repository,
    run,
    teval_key,
    write_library,
    write_model_config,
)
from tests.extras.mcp_servers.servers import NOTES, installed
from tests.forked import start_python
from tests.instructions.shared_data import real

UNUSED = ('huge', 'hang', 'crash', 'fail', 'picture', 'outside_schema', 'no_structure', 'folder', 'starts')
"""Tools of the notes server that nobody makes tasks for."""


@pytest.fixture
def teval(tmp_path: Path) -> dict[str, Any]:
    """T-Eval's 15 documented tools, with what the published review data recorded and with functions."""
    bank = tmp_path / 'teval.bank'
    write_bank(read_sources(find_sources([real('teval') / 'EN' / 'review_str_v1.json'])), bank)
    source = {'source': 'teval', 'input_': str(real('teval') / 'api_descrip.json')}
    return {**source, 'bank': str(bank), 'stateful_tools': 'teval'}


def check_scripted(folder: Path) -> None:
    """Checks that the oracle has 100, and agents without a model have 0 in what needs tools."""
    out = folder.with_name('gates.json')
    check_made_set(folder, json_out=str(out))
    gates = {gate['name']: gate['value'] for gate in json.loads(out.read_text(encoding='utf-8'))['gates']}
    assert gates[REPRODUCED] == 100 and {gates[name] for name in SCRIPTED} == {0}


@pytest.mark.long
def test_fifty_tasks_on_the_tools_of_teval(
    start: Start, teval: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start(teval_key(Path(teval['bank'])))
    model = write_model_config(tmp_path / 'model.py', server, prices={'input': 1, 'output': 2})
    folder = tmp_path / 'office'
    status, report = run(folder, model, 50, **teval)
    assert (status, report['tasks'], report['failed']) == (0, 50, {})
    made = load_set(folder)
    assert [task.task.id for task in made.tasks] == sorted(
        {task.task.id for task in made.tasks}, key=lambda name: int(name.rpartition('_')[2])
    )
    kinds = Counter(task.goal.kind for task in made.tasks)
    assert kinds == report['kinds'] and set(kinds) <= set(KINDS) and kinds['ordinary'] >= 20
    for task in made.tasks:
        assert len(task.solutions) == 3 and not task.is_reviewed
        if task.goal.kind not in (NO_TOOL, MISSING_PARAMETER):
            assert task.goal.calls and (task.goal.facts or task.goal.calls)
        text = '\n'.join(call.observation for call in task.solutions[0].calls)
        assert all(fact.casefold() in text.casefold() for fact in task.goal.facts)
    # Every draft became a task or was dropped for a reason.
    drafts = [*(one.id for one in made.dropped), *(task.task.id for task in made.tasks)]
    assert sorted(drafts) == sorted(f'task_{number}' for number in range(1, len(drafts) + 1))
    used = {call.name for task in made.tasks for call in task.task.gold or ()}
    assert len(used) >= 15
    check_scripted(folder)
    scripted = scripted_scores(made.tasks, made.scripted)
    assert {scores['solved'] for scores in scripted.values()} == {0} and scripted['asks back']['restraint'] == 50
    assert '| asks back | 0.0 | 50.0 |' in (folder / 'README.md').read_text(encoding='utf-8')
    assert report['cost'] > 0 and f'wrote {folder}: 50 of 50 tasks' in capsys.readouterr().out
    assert not (folder / 'journal').exists()
    with pytest.raises(DataError, match='finished set'):
        run(folder, model, 50, **teval)


@pytest.mark.parametrize(
    ('maker', 'dropped'),
    [
        ('unreadable', {'query reply:no_json'}),
        ('leaks', {'query query:leak'}),
        ('gives_up', {'query query:not_solvable'}),
        pytest.param('refuses', {'solution reviewer:refused'}, marks=pytest.mark.long),
        pytest.param('calls_wrongly', {'agreement agreement:too_few'}, marks=pytest.mark.long),  # no call is answered
    ],
)
def test_a_planted_fault_is_caught(
    maker: str, dropped: set[str], start: Start, teval: dict[str, Any], tmp_path: Path
) -> None:
    server = start(teval_key(Path(teval['bank'])), maker)
    folder = tmp_path / 'office'
    model = write_model_config(tmp_path / 'model.py', server)
    status, report = run(folder, model, 4, kinds=['ordinary=1'], **teval)
    assert (status, report['tasks']) == (1, 0)
    # Five rounds of six drafts: 4 tasks * 1.4, rounded up.
    assert sum(report['dropped'].values()) == 30 and set(report['dropped']) <= dropped
    assert not (folder / 'tasks.jsonl').exists() and (folder / 'journal').is_dir()
    rows = [json.loads(line) for line in (folder / 'dropped.jsonl').read_text(encoding='utf-8').splitlines()]
    assert len({row['id'] for row in rows}) == 30 and all(row['detail'] for row in rows)


@pytest.mark.long
def test_answers_that_disagree_make_no_task(start: Start, teval: dict[str, Any], tmp_path: Path) -> None:
    server = start(teval_key(Path(teval['bank'])), 'disagrees')
    folder = tmp_path / 'office'
    _, report = run(folder, write_model_config(tmp_path / 'model.py', server), 12, kinds=['ordinary=1'], **teval)
    assert report['dropped']['agreement agreement:result'] >= 5
    for task in load_set(folder).tasks:  # at least two of three gave one result
        results = [find_result(solution.answer) for solution in task.solutions]
        assert task.goal.is_single_path and len(results) >= 2
        assert task.goal.form == 'none' or all(is_same(task.goal.form, task.goal.result, one) for one in results)


def test_a_fault_that_is_named_is_fixed(start: Start, teval: dict[str, Any], tmp_path: Path) -> None:
    server = start(teval_key(Path(teval['bank'])), 'reads_second_time')
    status, report = run(tmp_path / 'office', write_model_config(tmp_path / 'model.py', server), 4, **teval)
    assert (status, report['tasks']) == (0, 4)


def test_duplicates_are_dropped(start: Start, teval: dict[str, Any], tmp_path: Path) -> None:
    server = start(teval_key(Path(teval['bank'])), 'repeats')
    model = write_model_config(tmp_path / 'model.py', server)
    status, report = run(tmp_path / 'office', model, 4, kinds=['ordinary=1'], **teval)
    # Of each of five rounds the first is solved, and a task where the draft needs the tool of the query; a failed query
    # is written anew once, as the same.
    dropped = report['dropped']
    assert (status, dropped.pop('duplicate query:duplicate')) == (1, 25)
    others = {'agreement agreement:too_few', 'agreement agreement:other_tool', 'agreement agreement:nothing_to_check'}
    assert dropped.keys() <= others and 1 <= report['tasks'] + sum(dropped.values()) <= 5 and report['tasks'] <= 1


def test_other_words_for_the_same_gold_make_no_second_task(start: Start, tmp_path: Path) -> None:
    options, key, _ = write_library(tmp_path)
    functions = [one for one in json.loads(Path(options['input_']).read_text()) if one['function']['name'] == 'copies']
    Path(options['input_']).write_text(json.dumps(functions))
    model = write_model_config(tmp_path / 'model.py', start({'copies': key['copies'][:2]}))
    _, report = run(tmp_path / 'shelves', model, 6, kinds=['ordinary=1'], trials=2, **options)
    results = [task.goal.result for task in load_set(tmp_path / 'shelves').tasks]
    assert sorted(results) == ['11', '18'] and report['dropped']['duplicate agreement:same_gold'] >= 3


def test_a_second_maker_and_a_reviewer(start: Start, teval: dict[str, Any], tmp_path: Path) -> None:
    key = teval_key(Path(teval['bank']))
    one, other, reviewer = start(key), start(key), start(key)
    status, _ = run(
        tmp_path / 'office',
        write_model_config(tmp_path / 'one.py', one, abbr='one'),
        3,
        second=write_model_config(tmp_path / 'other.py', other, abbr='other'),
        reviewer=write_model_config(tmp_path / 'reviewer.py', reviewer, abbr='third'),
        kinds=['ordinary=1'],
        seed=1,
        **teval,
    )
    made = load_set(tmp_path / 'office')
    assert status == 0 and made.models == {'query': 'one', 'solution': 'one', 'second': 'other', 'reviewer': 'third'}
    assert all({solution.model for solution in task.solutions} == {'one', 'other'} for task in made.tasks)
    assert reviewer.stats()['requests'] > 0


@pytest.mark.long
def test_no_gold_is_of_one_model_alone(start: Start, teval: dict[str, Any], tmp_path: Path) -> None:
    key = teval_key(Path(teval['bank']))
    models = {name: start(key, maker) for name, maker in {'one': 'right', 'other': 'disagrees'}.items()}
    model, second = (write_model_config(tmp_path / f'{name}.py', models[name], abbr=name) for name in models)
    _, report = run(tmp_path / 'office', model, 3, second=second, kinds=['ordinary=1'], **teval)
    assert report['dropped']['agreement agreement:no_majority'] >= 10  # 3 of 6 are a tie
    tasks = load_set(tmp_path / 'office').tasks if report['tasks'] else ()
    assert all({solution.model for solution in task.solutions} == {'one', 'other'} for task in tasks)


def test_a_simulator_answers_and_is_counted(start: Start, teval: dict[str, Any], tmp_path: Path) -> None:
    server = start(teval_key(Path(teval['bank'])), 'simulates')
    prices: dict[str, Any] = {'prices': {'input': 1, 'output': 1}}
    model = write_model_config(tmp_path / 'model.py', server, **prices)
    simulator = write_model_config(tmp_path / 'simulator.py', server, abbr='world', **prices)
    source = {**teval, 'bank': None, 'stateful_tools': None, 'simulator': simulator}
    status, report = run(tmp_path / 'office', model, 4, kinds=['ordinary=1'], **source)
    assert (status, report['tasks']) == (0, 4)
    spent = server.stats()
    tokens = spent['tokens']['prompt'] + spent['tokens']['completion']
    assert (report['calls'], report['tokens']) == (spent['requests'], tokens)
    assert report['cost'] == pytest.approx(tokens / 1e6)
    made = load_set(tmp_path / 'office')
    assert made.models['simulator'] == 'world' and made.environment['bank'] == 'responses.bank'
    calls = [call for task in made.tasks for solution in task.solutions for call in solution.calls]
    assert calls and {call.source for call in calls} == {'simulated'}
    assert (
        f'{len(calls)} of {len(calls)} observations of the solutions (100.0%)'
        in (made.folder / 'README.md').read_text()
    )
    check_scripted(made.folder)  # the bank answers the gold, without the simulator
    gates = {gate['name']: gate['status'] for gate in json.loads((tmp_path / 'gates.json').read_text())['gates']}
    # Four tasks may need few of the tools, and the maker makes recorded calls that break the documentation's schema.
    assert {name for name, status in gates.items() if status == 'FAILED'} <= {'tools needed', 'valid calls'}


@pytest.mark.parametrize(
    ('asked', 'stage'),
    [
        ('You write', 'query'),
        pytest.param('You plan', 'solution', marks=pytest.mark.long),
        pytest.param('You review', 'solution', marks=pytest.mark.long),
    ],
)
def test_requests_that_are_too_long_drop_their_drafts(
    asked: str, stage: str, start: Start, teval: dict[str, Any], tmp_path: Path
) -> None:
    server = start(teval_key(Path(teval['bank'])))
    model = write_model_config(tmp_path / 'model.py', server)
    server.reset(f'length@~{asked}')
    status, report = run(tmp_path / 'office', model, 2, kinds=['ordinary=1'], trials=2, **teval)
    assert (status, report['failed']) == (1, {})
    assert f'{stage} prompt:too_long' in report['dropped'], report


@pytest.mark.long
def test_nothing_is_asked_twice_after_a_kill(start: Start, teval: dict[str, Any], tmp_path: Path) -> None:
    server = start(teval_key(Path(teval['bank'])))
    model = write_model_config(tmp_path / 'model.py', server)
    whole, killed = tmp_path / 'whole' / 'office', tmp_path / 'killed' / 'office'
    run(whole, model, 6, **teval)
    asked = server.stats()['requests']
    server.reset(latency=0.05)
    process = start_python('-m', 'tests.extras.making.run_make', killed, model, json.dumps(teval), cwd=ROOT)
    while server.stats()['requests'] < asked // 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    while server.stats()['in_flight']:
        time.sleep(0.05)
    before, in_flight = server.stats()['requests'], 64
    server.reset()
    status, _ = run(killed, model, 6, **teval)
    assert status == 0 and server.stats()['requests'] <= asked - before + in_flight
    assert (killed / 'tasks.jsonl').read_text() == (whole / 'tasks.jsonl').read_text()


def test_a_server_with_a_state(start: Start, tmp_path: Path) -> None:
    fixture = tmp_path / 'notes'
    fixture.mkdir()
    (fixture / 'notes.txt').write_text('Buy 12 pears\n')
    model = write_model_config(tmp_path / 'model.py', start(NOTES_KEY))
    options: dict[str, Any] = {'source': 'mcp', 'input_': NOTES, 'fixture': fixture, 'allow': ['add_note']}
    shares = ['ordinary=1', 'recovery=1', 'missing_parameter=1']
    status, report = run(
        tmp_path / 'diary', model, 3, leave_out=[*UNUSED], probe=['read_notes'], kinds=shares, trials=2, **options
    )
    assert (status, report['kinds']) == (0, {'ordinary': 1, 'recovery': 1, 'missing_parameter': 1})
    made = load_set(tmp_path / 'diary')
    assert made.environment['bank'] == 'frozen.bank'  # the clock
    assert (made.folder / 'fixture' / 'notes.txt').read_text() == 'Buy 12 pears\n'
    changed = [task for task in made.tasks if task.goal.effects]
    assert changed and all({'file notes.txt', 'read_notes()'} == set(task.goal.effects or ()) for task in changed)
    both = [task.goal for task in changed if len(task.goal.calls) > 1]
    assert all((goal.form, goal.result, goal.facts) == ('list', 'Buy 12 pears', ()) for goal in both)
    assert {task.goal.fails_first for task in made.tasks if task.goal.kind == 'recovery'} <= {'read_notes', 'add_note'}
    check_scripted(made.folder)
    server = f'env COUNTER={tmp_path / "count"} {NOTES}'
    with pytest.raises(ServerError, match='does not reset'):
        run(tmp_path / 'other', model, 4, **{**options, 'input_': server}, probe=['starts'])


@pytest.mark.parametrize('tool', ['crash', pytest.param('huge', marks=pytest.mark.long)])
def test_attempts_on_which_the_server_fails_do_not_count(tool: str, start: Start, tmp_path: Path) -> None:
    key = {'read_notes': NOTES_KEY['read_notes'], tool: [['and let us see what happens', {}]]}
    model = write_model_config(tmp_path / 'model.py', start(key))
    left_out = [name for name in UNUSED if name != tool]
    options: dict[str, Any] = {'source': 'mcp', 'input_': NOTES, 'leave_out': [*left_out, 'clock'], 'trials': 2}
    options['explore'] = 0  # exploring finds out that the tool is broken, and ends the run
    status, report = run(tmp_path / 'diary', model, 2, kinds=['ordinary=1'], **options)
    assert report['dropped']['solution infra:environment'] >= 1, report
    used = (
        {call.name for task in load_set(tmp_path / 'diary').tasks for call in task.task.gold or ()}
        if report['tasks']
        else set()
    )
    assert tool not in used and (status, report['failed']) == (int(report['tasks'] < 2), {})


def test_reads_that_fail_are_no_resources(tmp_path: Path) -> None:
    settings = {'server': NOTES, 'allow': ['add_note'], 'leave_out': ['hang', 'huge']}
    source = open_live_source(tmp_path, settings, [], [])
    with source.closing:
        assert {text.partition('(')[0] for text in source.resources} == {'read_notes', 'clock', 'folder', 'starts'}
        assert source.settings['bank'] == 'frozen.bank'


def test_a_volatile_probe_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('opencompass_tooleval.extras.making.live_source.check_reset', partial(check_reset, pause=0))
    with pytest.raises(ServerError, match=r"answers differently when it is called twice: clock\(\): '\d+' and"):
        open_live_source(tmp_path, {'server': NOTES}, [{'tool': 'read_notes'}, {'tool': 'clock'}], [])


def test_what_cannot_be_made_is_said_before_anything_is_asked(tmp_path: Path, teval: dict[str, Any]) -> None:
    model = tmp_path / 'model.py'
    model.write_text("models = [dict(type='x', path='y')]\n")
    unanswered = {**teval, 'bank': None, 'stateful_tools': None}
    for folder, options, message in (
        ('office', unanswered, 'nothing answers the calls'),
        ('9', teval, 'no name of a set'),
        ('office', {**teval, 'kinds': ['no_tool']}, 'no KIND=SHARE'),
        ('office', {**teval, 'kinds': ['usual=1']}, 'no such kind'),
        ('office', {**teval, 'probe': ['x']}, '--probe is for --source mcp'),
        ('office', {**teval, 'trials': 1}, 'one attempt agrees with no other'),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            run(tmp_path / folder, model, 4, **options)


def test_a_fixture_is_copied_until_models_have_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixture, folder = tmp_path / 'notes', tmp_path / 'office'
    fixture.mkdir()
    folder.mkdir()
    (fixture / 'notes.txt').write_text('old')
    assert place_fixture(fixture, folder) == 'fixture'
    (fixture / 'notes.txt').write_text('new')
    assert place_fixture(fixture, folder) == 'fixture'
    assert (folder / 'fixture' / 'notes.txt').read_text() == 'new'
    assert place_fixture(fixture, folder, has_begun=True) == 'fixture'
    (fixture / 'more.txt').write_text('')
    with pytest.raises(ValueError, match='begun with another fixture'):
        place_fixture(fixture, folder, has_begun=True)
    for name in ('other', 'office', 'office'):  # a file now, in place of a folder that holds it
        assert place_fixture(fixture / 'notes.txt', tmp_path / name) == 'fixture/notes.txt'
        assert [file.name for file in (tmp_path / name / 'fixture').iterdir()] == ['notes.txt']
    (tmp_path / 'link.txt').symlink_to(fixture / 'notes.txt')
    for has_begun in (False, True):
        assert place_fixture(tmp_path / 'link.txt', tmp_path / 'linked', has_begun) == 'fixture/link.txt'
    with pytest.raises(ValueError, match='holds the folder of the set'):
        place_fixture(tmp_path, folder)
    monkeypatch.setattr('opencompass_tooleval.extras.mcp_servers.fixture.MAX_FILES', 1)
    with pytest.raises(ValueError, match='notes has more than 1 files'):
        place_fixture(fixture, tmp_path / 'third')


def test_a_dry_run_asks_nothing(
    start: Start, teval: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start({})
    model = write_model_config(tmp_path / 'model.py', server)
    out = tmp_path / 'office'
    with pytest.raises(ValueError, match='allow no task of the kinds that are wanted: siblings'):
        make_tasks(model=model, tasks=10, out=out, dry_run=True, kinds=['siblings=0'], **teval)
    assert make_tasks(model=model, tasks=10, out=out, dry_run=True, **teval) == 0
    assert not out.exists()
    assert server.stats()['requests'] == 0 and 'about 32 requests for 14 queries and 252' in capsys.readouterr().out


@pytest.mark.long
def test_fifty_tasks_on_a_published_server(start: Start, tmp_path: Path) -> None:
    program = installed('git', tmp_path)
    repository = make_repository(tmp_path / 'work' / 'repository')
    model = write_model_config(tmp_path / 'model.py', start(git_key(repository)))
    status, report = run(
        tmp_path / 'versions',
        model,
        50,
        source='mcp',
        input_=str(program),
        fixture=repository,
        allow=['git_*'],
        ignore=['.git/*'],
        probe=[f'{name} {{"repo_path": "/fixture"}}' for name in ('git_status', 'git_log')]
        + ['git_branch {"repo_path": "/fixture", "branch_type": "local"}'],
        env=[f'GIT_{who}_DATE=2026-01-02T03:04:05+0000' for who in ('AUTHOR', 'COMMITTER')],
        trials=2,
    )
    assert (status, report['tasks']) == (0, 50), report
    made = load_set(tmp_path / 'versions')
    assert sum(bool(task.goal.effects) for task in made.tasks) >= 10
    assert sum(bool(task.goal.result) for task in made.tasks) >= 10
    check_scripted(made.folder)
