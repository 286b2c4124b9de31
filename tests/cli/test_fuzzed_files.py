"""Files of runs and sets with values of other types: every command ends in its result, or in one line.

``TOOLEVAL_FUZZ=200`` runs as many cases of each command; by default few.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from opencompass_tooleval.environments.bank import RecordedCall, write_bank
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.journal import Journal
from opencompass_tooleval.work_dir.lock import exclusive, lock_path
from tests.cli.conftest import Command, Outcome, write_json
from tests.extras.making.review_support import set_to_review
from tests.forked import run_opencompass
from tests.fuzzed import mutate_file
from tests.work_dir.test_power_cut import SWEEP

CASES = int(os.environ.get('TOOLEVAL_FUZZ', 3))


def check(done: Outcome, what: str) -> None:
    """The command ended in order; a failure is one line."""
    said = done.out + done.err
    assert 'Traceback' not in said and 'Error:' not in said.splitlines()[:1], f'{what}: {said}'
    assert done.code in (0, 1, 2), what
    assert len(done.err) < 4_000, what


@pytest.fixture(scope='module')
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two data sets."""
    folder = tmp_path_factory.mktemp('fuzz')
    (folder / 'sweep.py').write_text(SWEEP, encoding='utf-8')
    assert run_opencompass('sweep.py', '-w', 'out', '--debug', cwd=folder).returncode == 0
    (run,) = (folder / 'out').glob('2*')
    return run


COMMANDS: dict[str, Callable[[Path, Path, str], tuple[object, ...]]] = {
    'status': lambda run, out, model: ('status', run),
    'retry': lambda run, out, model: ('retry', run, '--dry-run'),
    'compare': lambda run, out, model: ('compare', run, model, model),
    'gate': lambda run, out, model: ('gate', run, '--baseline', out / 'baseline.jsonl'),
    'report': lambda run, out, model: ('report', run, '--out', out / 'page'),
    'export': lambda run, out, model: ('export', run, '--out', out / 'export'),
    'export bundle': lambda run, out, model: ('export', run, '--bundle', out / 'a.bundle'),
    'export eee': lambda run, out, model: ('export', run, '--format', 'every_eval_ever', '--out', out / 'eee'),
    'export inspect': lambda run, out, model: ('export', run, '--format', 'inspect', '--out', out / 'inspect'),
}


@pytest.mark.parametrize('command', COMMANDS)
def test_a_run(tooleval: Command, swept: Path, tmp_path: Path, command: str) -> None:
    run, out = tmp_path / 'run', tmp_path / 'out'
    shutil.copytree(swept, run)
    out.mkdir()
    model = next((run / 'results').iterdir()).name
    if command == 'gate':
        saved = tooleval('gate', swept, '--save', out / 'baseline.jsonl')
        assert saved.code == 0, saved.err
    files = sorted([*run.glob('results/*/*.json'), *run.glob('predictions/*/*.json')])
    assert read_dumped(next(run.glob('configs/*.py')))
    for case in range(CASES):
        chance = random.Random(f'{command} {case}')
        file = chance.choice([*files, out / 'baseline.jsonl']) if command == 'gate' else chance.choice(files)
        original = file.read_bytes()
        mutate_file(file, original, chance)
        done = tooleval(*COMMANDS[command](run, out, model))
        check(done, f'{command} {case} {file.name}')
        file.write_bytes(original)
        for made in (out / 'export', out / 'eee', out / 'inspect', out / 'page'):
            shutil.rmtree(made, ignore_errors=True)
        (out / 'a.bundle').unlink(missing_ok=True)


@pytest.mark.parametrize('command', ['review', 'check', 'improve'])
def test_a_made_set(tooleval: Command, tmp_path: Path, command: str) -> None:
    folder = set_to_review(tmp_path / 'made').folder
    config = tmp_path / 'model.py'
    config.write_text(
        'from opencompass_tooleval.models import OracleModel\n'
        "models = [dict(type=OracleModel, abbr='m', path='oracle')]\n",
        encoding='utf-8',
    )
    more = ('--dry-run', '--model', config, '--out', tmp_path / 'better') if command == 'improve' else ()
    files = sorted([*folder.glob('set.json'), *folder.glob('*.jsonl')])
    for case in range(CASES):
        chance = random.Random(f'{command} {case}')
        file = chance.choice(files)
        original = file.read_bytes()
        mutate_file(file, original, chance)
        check(tooleval('make', command, folder, *more), f'{command} {case} {file.name}')
        file.write_bytes(original)


def test_bundles_of_a_leaderboard(tooleval: Command, swept: Path, tmp_path: Path) -> None:
    """A bundle is checked by its digest first, so that its content is changed together with that."""
    assert tooleval('export', swept, '--bundle', tmp_path / 'whole.bundle').code == 0
    head, _, body = (tmp_path / 'whole.bundle').read_bytes().partition(b'\n')
    content = tmp_path / 'content.json'
    for case in range(CASES):
        mutate_file(content, body, random.Random(f'bundle {case}'))
        changed = content.read_bytes()
        digest = hashlib.sha256(changed).hexdigest().encode()
        bundle = tmp_path / 'sent' / 'a.bundle'
        bundle.parent.mkdir(exist_ok=True)
        bundle.write_bytes(head.rpartition(b' ')[0] + b' ' + digest + b'\n' + changed)
        check(tooleval('leaderboard', 'build', bundle.parent, '--out', tmp_path / 'site'), f'build {case}')
        check(tooleval('leaderboard', 'add', tmp_path / 'kept', bundle), f'add {case}')
        for made in ('site', 'kept'):
            shutil.rmtree(tmp_path / made, ignore_errors=True)


@pytest.mark.parametrize('words', [('agents', 'bank', 'stats'), ('agents', 'bank', 'serve')])
def test_banks(tooleval: Command, tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of other types, and bytes at any place."""
    whole = tmp_path / 'whole.bank'
    tools = [{'name': 'look', 'description': 'd', 'inputSchema': {'type': 'object', 'properties': {}}}]
    write_bank([RecordedCall('f', 't', 'look', {'a': 1}, 'r', '')], whole, tools)
    columns = ('file', 'task', 'name', 'arguments_key', 'arguments', 'response', 'error')
    file = tmp_path / 'a.bank'
    monkeypatch.setattr('opencompass_tooleval.extras.mcp_servers.serving.serve_stdio', lambda *arguments: None)
    for case in range(CASES):
        chance = random.Random(f'bank {case}')
        shutil.copyfile(whole, file)
        if chance.random() < 0.5:
            value = chance.choice([b'\xff', 'x', 1, 2.5, '[' * 1000, '{"a": 1e999}', '\x1b[2J', '[/x]', '\0'])
            with closing(sqlite3.connect(file)) as connection:
                connection.execute(f'UPDATE calls SET {chance.choice(columns)} = ?', (value,))
                connection.execute('UPDATE facts SET value = ? WHERE name = ?', (value, chance.choice(('tools', 'x'))))
                connection.commit()
        else:
            content = bytearray(file.read_bytes())
            for _ in range(chance.choice((1, 20))):
                content[chance.randrange(len(content))] = chance.randrange(256)
            file.write_bytes(content)
        check(tooleval(*words, file), f'{words} {case}')


KINDS = [
    *((place, kind) for place in ('results', 'predictions', 'configs') for kind in ('sparse', 'pipe')),
    *((place, kind) for place in ('trace', 'bank', 'tasks', 'data') for kind in ('sparse', 'zero', 'pipe', 'folder')),
]


@pytest.mark.parametrize(('place', 'kind'), KINDS)
def test_what_is_no_plain_file(tooleval: Command, swept: Path, tmp_path: Path, place: str, kind: str) -> None:
    """In bounded memory, and without waiting for somebody who writes."""
    run, made = tmp_path / 'run', set_to_review(tmp_path / 'made').folder
    shutil.copytree(swept, run)
    places = {
        'results': next(run.glob('results/*/*.json')),
        'predictions': next(run.glob('predictions/*/*.json')),
        'configs': next(run.glob('configs/*.py')),
        'trace': tmp_path / 'a.eval',
        'bank': tmp_path / 'a.bank',
        'set': made / 'set.json',
        'tasks': made / 'tasks.jsonl',
        'data': tmp_path / 'tools.json',
    }
    file = places[place]
    file.unlink(missing_ok=True)
    if kind == 'sparse':
        with file.open('wb') as stream:
            stream.truncate(3 << 30)
    elif kind == 'zero':
        file.symlink_to('/dev/zero')
    elif kind == 'pipe':
        os.mkfifo(file)
    elif kind == 'folder':
        file.mkdir()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = next((run / 'results').iterdir()).name
    commands: dict[str, list[tuple[object, ...]]] = {
        'trace': [('import', 'traces', file, '--out', tmp_path / 'out')],
        'bank': [('agents', 'bank', 'stats', file), ('agents', 'bank', 'serve', file)],
        'set': [('make', 'review', made), ('make', 'check', made)],
        'tasks': [('make', 'review', made), ('make', 'check', made)],
        'data': [('easytool', 'stats', '--source', 'function_schema', '--input', file, '--instructions', file)],
    }
    of_runs = ('status', 'retry', 'report', 'export')
    for words in commands.get(place) or [COMMANDS[name](run, tmp_path, model) for name in of_runs]:
        check(tooleval(*words), f'{words} {kind}')
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000, 'kilobytes'


def test_folders_that_nobody_can_write_to(tooleval: Command, swept: Path, tmp_path: Path) -> None:
    """Also of root: /proc takes no files."""
    made, nowhere = set_to_review(tmp_path / 'made').folder, Path('/proc/nowhere')
    assert tooleval('export', swept, '--bundle', tmp_path / 'bundles' / 'a.bundle').code in (0, 1)
    tools = write_json(tmp_path / 'tools.json', [{'type': 'function', 'function': {'name': 'a', 'parameters': {}}}])
    source = ('--source', 'function_schema', '--input', tools)
    commands: tuple[tuple[object, ...], ...] = (
        ('report', swept, '--out', nowhere / 'page'),
        ('export', swept, '--out', nowhere / 'out'),
        ('export', swept, '--bundle', nowhere / 'a.bundle'),
        ('gate', swept, '--save', nowhere / 'a.jsonl'),
        ('status', swept, '--json', nowhere / 'a.json'),
        ('make', 'review', made, '--out', nowhere / 'page.html'),
        ('make', 'check', made, '--json', nowhere / 'a.json'),
        ('leaderboard', 'build', swept, '--out', nowhere / 'site'),
        ('easytool', 'generate', *source, '--model', 'template', '--out', nowhere / 'a.json'),
        ('import', 'traces', tools, '--out', nowhere / 'out'),
    )
    for words in commands:
        done = tooleval(*words)
        check(done, f'{words}')
        assert done.code, words


@pytest.mark.parametrize('time', [-1e300, 0.0, 1e300, -0.0, 5e-324])
def test_clocks_that_jump(tooleval: Command, swept: Path, tmp_path: Path, time: float) -> None:
    """Times of a journal, and of files, may lie anywhere."""
    run = tmp_path / 'run'
    shutil.copytree(swept, run)
    for number, file in enumerate(sorted(run.glob('predictions/*/*.json'))):
        journal = Journal(file.with_name(f'tmp_{file.stem}.jsonl'))
        journal.append({0: {'prediction': 'a'}, 1: {'prediction': 'b'}})
        rows = journal.path.read_text(encoding='utf-8').splitlines()
        changed = [json.dumps({**json.loads(row), 'time': time if place else 1e9}) for place, row in enumerate(rows)]
        journal.path.write_text('\n'.join(changed) + '\n', encoding='utf-8')
        file.unlink()
        if number % 2:
            os.utime(journal.path, (0, 2**33))
    with ExitStack() as locks:
        for file in run.glob('predictions/*/tmp_*.jsonl'):
            locks.enter_context(exclusive(lock_path(file.with_name(f'{file.stem.removeprefix("tmp_")}.json')), 10))
        for words in (('status', run), ('retry', run, '--dry-run')):
            check(tooleval(*words), f'{words}')
