"""The gates of a made set: a sound set passes, and each planted fault fails the gate meant for it and no other."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.tasks.goal import ORDINARY, Goal
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.similarity import ExactSimilarity
from opencompass_tooleval.extras.making.check import JOURNAL_FOLDER, Tried, model_gates
from opencompass_tooleval.extras.making.commands.check import check_made_set
from opencompass_tooleval.extras.making.commands.improve import improve_made_set
from opencompass_tooleval.extras.making.gates import DUPLICATES, THRESHOLDS, task_gates
from opencompass_tooleval.extras.making.made_set import MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask
from opencompass_tooleval.extras.mcp_servers.fixture import FixtureChangedError
from tests.conftest import ROOT, start_server
from tests.extras.making.notes_set import READ, add, executed_tasks, notes_set, task, tasks
from tests.extras.making.worlds import write_model_config
from tests.extras.mcp_servers.servers import NOTES
from tests.forked import start_python

CONFIG = """
from tests.extras.making.check_models import PartlyKnowing

models = [dict(type=PartlyKnowing, abbr={name!r}, path={name!r}, **{options!r})]
"""
SCRIPTED = ('reproduced gold', 'empty agent', 'agent that asks back', 'agent that calls everything')
OF_TASKS = ('valid calls', 'names in queries', 'facts in queries', 'duplicates', 'tools needed', 'makers agree')
OF_MODELS = ('agent without tools', 'solvable', 'not trivial', 'strong minus weak')


def config(folder: Path, name: str, **options: Any) -> Path:
    """A config of a model that knows a part."""
    file = folder / f'{name}.py'
    file.write_text(CONFIG.format(name=name, options=options), encoding='utf-8')
    return file


def checked(made: MadeSet, *models: Path | None, trials: int = 4) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status, and the gates by name."""
    out = made.folder.parent / 'gates.json'
    status = check_made_set(made.folder, *models, trials=trials, json_out=str(out))
    return status, {gate['name']: gate for gate in json.loads(out.read_text(encoding='utf-8'))['gates']}


def by_status(gates: dict[str, dict[str, Any]], status: str) -> set[str]:
    return {name for name, gate in gates.items() if gate['status'] == status}


def test_a_sound_set_passes_and_says_what_did_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = notes_set(tmp_path / 'notes')
    status, gates = checked(made)
    assert status == 0
    assert by_status(gates, 'passed') == {*SCRIPTED, *OF_TASKS}
    assert by_status(gates, 'NOT RUN') == set(OF_MODELS)
    assert {gates[name]['passed'] for name in OF_MODELS} == {None}
    assert gates['strong minus weak']['threshold'] == 'above 0 points'
    assert gates['solvable']['why'] == 'it needs a model: --model CONFIG'
    assert gates['not trivial']['why'] == 'it needs a model: --weak CONFIG'
    assert {
        name: gates[name]['shown'] for name in ('valid calls', 'reproduced gold', 'tools needed', 'makers agree')
    } == {
        'valid calls': '8 of 8 tasks (100%)',
        'reproduced gold': '8 of 8 tasks (100%)',
        'tools needed': '2 of 3 tools (66.7%)',
        'makers agree': '8 of 8 tasks (100%)',
    }
    assert gates['empty agent']['shown'] == '0 of 6 tasks solved (0%); 2 that need no tool are left out'
    assert gates['calls per task']['shown'] == 'mean 1.0, median 1, 95% up to 2'
    assert gates['pairs of tools']['shown'] == '0 of 3 pairs' and gates['reviewed']['shown'] == '0 of 8 tasks'
    restraint = 'does nothing 50%, asks back 100%, calls everything 0%'
    assert gates['restraint of scripted agents']['shown'] == restraint
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        'notes: the tools, by the making of the set and this check',
        'tool        needed  called  failed  why',
        'read_notes       4       8       0',
    ]
    assert 'passed   valid calls: 8 of 8 tasks (100%) [at least 100%]' in lines
    assert lines[-2:] == [
        'NOT RUN  strong minus weak: it needs a model: --model CONFIG',
        'gates: passed 10, NOT RUN 4',
    ]
    assert len(lines) == 5 + 1 + len(gates) + 1, 'a line for each tool and each gate'


def test_models_that_solve_a_part(tmp_path: Path) -> None:
    made = notes_set(tmp_path / 'notes')
    strong = config(tmp_path, 'strong')
    weak = config(tmp_path, 'weak', solves=['t0', 't1#0'])
    status, gates = checked(made, strong, weak, trials=2)
    assert (status, by_status(gates, 'NOT RUN'), by_status(gates, 'FAILED')) == (0, set(), set())
    assert gates['solvable']['value'] == 100 and gates['agent without tools']['value'] == 0
    # The request that needs no tool is solved by any answer.
    assert gates['not trivial']['faults'] == {'t0': 'solved by 2 of 2 runs', 't2': 'solved by 2 of 2 runs'}
    assert gates['strong minus weak']['shown'].startswith('+68.8 points [+') and gates['strong minus weak']['value'] > 0
    assert not (made.folder / JOURNAL_FOLDER).exists()
    few = notes_set(tmp_path / 'few', executed_tasks()[:2])
    status, gates = checked(few, config(tmp_path, 'other', solves=['t0']), strong, trials=2)
    assert (status, by_status(gates, 'FAILED')) == (1, {'solvable', 'not trivial', 'strong minus weak'})
    assert gates['solvable']['shown'] == '1 of 2 tasks (50%)' and gates['not trivial']['shown'] == '0 of 2 tasks (0%)'


def test_a_run_without_an_answer_leaves_its_gates_open_and_is_asked_again(tmp_path: Path) -> None:
    made = notes_set(tmp_path / 'notes', executed_tasks()[:2])
    failing = config(tmp_path, 'strong', unanswered=['t1#1'])
    status, gates = checked(made, failing, trials=2)
    assert status == 1 and by_status(gates, 'NOT RUN') == {'solvable', 'not trivial', 'strong minus weak'}
    assert gates['solvable']['why'] == 'no answer of 1 of 4 runs (infra:timeout): run the command again'
    assert list((made.folder / JOURNAL_FOLDER).iterdir())


def kept_answers(made: MadeSet) -> int:
    journals = (made.folder / JOURNAL_FOLDER).rglob('*.jsonl')
    return sum(journal.read_bytes().count(b'\n') for journal in journals)


@pytest.mark.long
def test_no_run_is_asked_twice_after_a_kill(tmp_path: Path) -> None:
    server = start_server('--canned', 'I do not know.')
    model = write_model_config(tmp_path / 'model.py', server, max_workers=2)
    whole, killed = (notes_set(tmp_path / name / 'notes', executed_tasks()[:4]) for name in ('whole', 'killed'))
    _, expected = checked(whole, model, model, trials=2)
    asked = server.stats()['requests']
    assert asked == 2 + 4 * 2  # the strong and the weak model are one
    server.reset(latency=0.2)
    words = ['make', 'check', str(killed.folder), '--model', str(model), '--weak', str(model), '--trials', '2']
    code = 'import sys; from opencompass_tooleval.cli.main import main; main()'
    process = start_python('-c', code, *words, cwd=ROOT)
    while kept_answers(killed) < 3:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    while server.stats()['in_flight']:
        time.sleep(0.05)
    kept = kept_answers(killed)
    server.reset()
    _, gates = checked(killed, model, model, trials=2)
    assert server.stats()['requests'] == asked - kept
    assert gates == expected and not (killed.folder / JOURNAL_FOLDER).exists()
    server.stop()


def of_number(number: int, change: Callable[[MadeTask], MadeTask]) -> Callable[[list[MadeTask]], list[MadeTask]]:
    return lambda made: [change(one) if place == number else one for place, one in enumerate(made)]


def asked(query: str) -> Callable[[MadeTask], MadeTask]:
    return lambda made: replace(made, task=replace(made.task, query=query))


def called(*calls: GoldCall) -> Callable[[MadeTask], MadeTask]:
    return lambda made: made.with_goal(replace(made.goal, calls=tuple((call,) for call in calls)))


CLOCK = ('read_notes', 'add_note', 'clock')


def more(query: str, goal: Goal, gold: Sequence[GoldCall], offered: Sequence[str] = ('read_notes',)) -> MadeTask:
    """A further task that changes nothing, with the solutions of another."""
    made = task(8, query, replace(goal, effects={}), gold, offered)
    return replace(made, solutions=executed_tasks()[1].solutions)


FAULTS: dict[str, tuple[Callable[[list[MadeTask]], list[MadeTask]], str, dict[str, str]]] = {
    'invalid call': (
        of_number(0, called(add('Buy milk', mark=5))),
        'valid calls',
        {'t0': 'add_note: call:schema'},
    ),
    'unknown tool in an alternative': (
        of_number(
            0, lambda made: made.with_goal(replace(made.goal, calls=((add('Buy milk'), GoldCall('write_note', {})),)))
        ),
        'valid calls',
        {'t0': 'write_note: name:unknown_tool'},
    ),
    'fact that no call returns': (
        lambda made: [
            *made,
            more('Who looks after the hut of the club?', Goal(facts=('Zoe',), answer='Zoe does.'), [READ]),
        ],
        'reproduced gold',
        {'t8': 'no call returns Zoe'},
    ),
    'volatile read': (
        lambda made: [
            *made,
            more('How late is it now?', Goal(facts=('1',), answer='At 1.'), [GoldCall('clock', {})], CLOCK),
        ],
        'reproduced gold',
        {'t8': 'flips: clock answers differently'},
    ),
    'flipping read': (
        lambda made: [
            *made,
            more(
                'See what time it is, and who could let me into the shed.',
                Goal(facts=('Marta',), answer='Marta could.'),
                [GoldCall('clock', {}), READ],
                CLOCK,
            ),
        ],
        'reproduced gold',
        {'t8': 'flips: clock answers differently'},
    ),
    'name of a parameter': (
        of_number(0, asked('Please add_note that we have to buy milk.')),
        'names in queries',
        {'t0': 'add_note'},
    ),
    'fact in the query': (
        of_number(1, asked('Is it Marta who can open the shed for me?')),
        'facts in queries',
        {'t1': 'Marta'},
    ),
    'duplicate': (
        lambda made: [*made, more(f'{made[1].task.query} ', made[1].goal, [READ], ('read_notes', 'add_note'))],
        'duplicates',
        {'t8': 't1 (1.00)'},
    ),
    'solved by saying that it is done': (
        of_number(1, lambda made: made.with_goal(replace(made.goal, facts=('done',), answer='It is done.'))),
        'empty agent',
        {'t1': 'solved'},
    ),
}


@pytest.mark.parametrize('name', FAULTS)
def test_a_planted_fault_fails_its_gate_and_no_other(name: str, tmp_path: Path) -> None:
    plant, gate, faults = FAULTS[name]
    made = notes_set(tmp_path / 'notes', plant([*executed_tasks()[:3]]))
    status, gates = checked(made)
    assert (status, by_status(gates, 'FAILED')) == (1, {gate})
    assert gates[gate]['faults'] == faults


def test_the_owner_reads_of_broken_tools_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clock = more('How late is it now?', Goal(facts=('1',), answer='At 1.'), [GoldCall('clock', {})], CLOCK)
    counts = {'failures': {'invalid_output': 2, 'disconnected': 3}, 'messages': {'disconnected': 'the disk is full'}}
    settings = {'left_out_tools': {'crash': 'environment:broken_tool'}, 'calls': {'crash': {'called': 7, **counts}}}
    replace(notes_set(tmp_path / 'notes', [*executed_tasks()[:3], clock]), settings=settings).write()
    assert check_made_set(tmp_path / 'notes') == 1
    table = capsys.readouterr().out.splitlines()[2:6]
    assert table == [
        'crash            0       7       5  fails again and again; crash 3x (the disk is full), '
        'result outside of its outputSchema 2x',
        'clock            1       2       0  answers the same call differently',
        'read_notes       1       2       0',
        'add_note         1       2       0',
    ]


def test_a_task_that_is_solved_by_calling_blindly(tmp_path: Path) -> None:
    blind = more('Who keeps what we need for the hut?', Goal(facts=('Marta',), answer='Marta.'), [READ])
    made = notes_set(tmp_path / 'notes', [*executed_tasks()[:3], blind])
    status, gates = checked(made)
    assert (status, by_status(gates, 'FAILED')) == (1, {'agent that calls everything'})
    assert gates['agent that calls everything']['faults'] == {'t8': 'solved'}


def test_a_task_that_a_model_solves_from_memory(tmp_path: Path) -> None:
    made = notes_set(tmp_path / 'notes', executed_tasks()[:3])
    status, gates = checked(made, config(tmp_path, 'strong', knows='Ask Marta'), trials=1)
    assert (status, by_status(gates, 'FAILED')) == (1, {'agent without tools'})
    assert gates['agent without tools']['faults'] == {'t1': 'solved'}
    assert gates['agent without tools']['shown'] == '1 of 2 tasks solved (50%); 1 that need no tool are left out'


def test_effects_that_the_gold_does_not_leave(tmp_path: Path) -> None:
    first, second, *_ = executed_tasks()
    wrong = first.with_goal(replace(first.goal, effects={'file notes.txt': 'other'}))
    made = notes_set(tmp_path / 'notes', [wrong, second])
    status, gates = checked(made)
    assert (status, by_status(gates, 'FAILED')) == (1, {'reproduced gold'})
    fault = f'{dict(first.goal.effects or {})} instead of {dict(wrong.goal.effects or {})}'
    assert gates['reproduced gold']['faults'] == {'t0': fault}


def test_makers_that_do_not_agree_and_a_set_of_one_maker() -> None:
    made = tasks()
    gates = {gate.name: gate for gate in task_gates(made, ExactSimilarity(), ['maker', 'second'])}
    assert gates['makers agree'].status == 'FAILED'
    assert set((gates['makers agree'].faults or {}).values()) == {'no solution is kept'}
    alone = {gate.name: gate for gate in task_gates(made, ExactSimilarity(), ['maker', 'maker'])}
    assert alone['makers agree'].status == 'NOT RUN' and 'one model' in alone['makers agree'].why


def test_without_an_encoder_equal_queries_are_duplicates() -> None:
    made = [*tasks(), task(8, tasks()[0].task.query.upper(), Goal(ORDINARY), [add('x')])]
    gates = {gate.name: gate for gate in task_gates(made, ExactSimilarity(), ['maker'])}
    assert gates[DUPLICATES].faults == {'t8': 't0 (1.00)'}
    assert gates[DUPLICATES].shown == '1 tasks, by the encoder exact'


def test_an_interval_that_holds_0_fails() -> None:
    rng = random.Random(0)
    same = {f't{place}': [rng.random() < 0.5 for _ in range(4)] for place in range(30)}
    other = {name: rng.sample(runs, 4) for name, runs in same.items()}
    gates = {gate.name: gate for gate in model_gates(Tried(same), Tried(other))}
    assert gates['strong minus weak'].status == 'FAILED'
    assert gates['strong minus weak'].value == pytest.approx(100 * (0.05 ** (1 / 30) - 1)), 'equal runs are no proof'
    few = model_gates(Tried({'t0': [True]}), Tried({'t0': [False]}))
    assert few[-1].status == 'NOT RUN' and 'needs 2 tasks' in few[-1].why


def test_every_threshold_has_a_reason() -> None:
    assert set(THRESHOLDS) == {*SCRIPTED, *OF_TASKS, *OF_MODELS}
    assert all(row.why and 0 <= row.limit <= 100 for row in THRESHOLDS.values())


@pytest.mark.parametrize('command', ['check', 'improve'])
def test_a_server_that_changes_the_fixture_is_an_error(command: str, tmp_path: Path) -> None:
    fixture = tmp_path / 'notes' / 'fixture' / 'notes.txt'
    made = notes_set(tmp_path / 'notes', server=f'{NOTES} {fixture}')  # its path is built in
    with pytest.raises(FixtureChangedError, match=r'THE FIXTURE .* WAS CHANGED DURING THE RUN: notes\.txt'):
        if command == 'check':
            check_made_set(made.folder)
        else:
            improve_made_set(made.folder, tmp_path / 'better', config(tmp_path, 'strong', knows='everything'))
    assert 'Buy milk' in fixture.read_text()


def test_a_set_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='not found'):
        check_made_set(tmp_path / 'none')
    with pytest.raises(DataError, match='missing'):
        check_made_set(tmp_path)
