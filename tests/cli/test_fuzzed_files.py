"""Files of runs and sets with values of other types: every command ends in its result, or in one line.

``TOOLEVAL_FUZZ=200`` runs as many cases of each command; by default few.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import resource
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.shards import is_damaged
from tests.cli.conftest import Command, Outcome, demo_file, write_json
from tests.extras.mcp_servers.servers import NOTES
from tests.extras.tasks.shop import write_shop
from tests.forked import run_opencompass
from tests.fuzzed import mutate_file
from tests.work_dir.test_power_cut import SWEEP

CASES = int(os.environ.get('TOOLEVAL_FUZZ', 3))


def check(done: Outcome, what: str, *damaged: Path) -> None:
    """The command ended in order; if it failed, it says so in one line, which names the (damaged) files."""
    output = done.out + done.err
    assert 'Traceback' not in output and 'Error:' not in output.splitlines()[:1], f'{what}: {output}'
    assert done.code in (0, 1, 2), what
    lines = done.err.strip().splitlines()  # a progress bar leaves an empty one
    assert len(lines) <= 1 and len(done.err) < 2_000, f'{what}: {done.err}'
    if lines:
        assert all(str(file) in lines[0] for file in damaged), f'{what}: {done.err}'


def pages(out: Path) -> str:
    return ''.join(page.read_text(encoding='utf-8') for page in out.glob('page/*.html'))


def is_broken(file: Path) -> bool:
    """Tests if a file holds no JSON (lines) any more."""
    text = file.read_text(encoding='utf-8', errors='replace')
    try:
        for part in text.split('\n') if file.suffix == '.jsonl' else [text]:
            json.loads(part or ('{}' if file.suffix == '.jsonl' else ''))
    except ValueError:
        return True
    return False


@pytest.fixture(scope='module')
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    'export eee': lambda run, out, model: ('export', run, '--format', 'every-eval-ever', '--out', out / 'eee'),
}
READ_PREDICTIONS = ('retry', 'report', 'export', 'export eee')


@pytest.mark.parametrize('command', COMMANDS)
def test_a_run(tooleval: Command, swept: Path, tmp_path: Path, command: str) -> None:
    """A file that is no JSON any more is named by every command that reads it, be it on its page."""
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
        check(done, f'{command} {case} {file.name}', file)
        is_read = file.parts[-3] != 'predictions' or command in READ_PREDICTIONS
        if is_broken(file) and (is_read or (command == 'status' and is_damaged(file))):  # it looks at the end only
            assert file.name in done.out + done.err + pages(out), f'{command} {case} {file.name}: {done.out}'
        file.write_bytes(original)
        for made in (out / 'export', out / 'eee', out / 'page'):
            shutil.rmtree(made, ignore_errors=True)


KINDS = [
    *(('results', 'sparse'), ('predictions', 'pipe'), ('configs', 'pipe')),
    pytest.param('configs', 'sparse', marks=pytest.mark.long),
    *(('bank', 'sparse'), ('bank', 'folder'), ('tasks', 'zero'), ('data', 'pipe')),
]


@pytest.mark.parametrize(('place', 'kind'), KINDS)
def test_what_is_no_plain_file(tooleval: Command, swept: Path, tmp_path: Path, place: str, kind: str) -> None:
    """In bounded memory, and without waiting for somebody who writes."""
    run, notes = tmp_path / 'run', write_shop(tmp_path / 'mine').parent
    shutil.copytree(swept, run)
    places = {
        'results': next(run.glob('results/*/*.json')),
        'predictions': next(run.glob('predictions/*/*.json')),
        'configs': next(run.glob('configs/*.py')),
        'bank': tmp_path / 'a.bank',
        'tasks': notes / 'tasks.yaml',
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
        'bank': [('agents', 'bank', 'stats', file), ('agents', 'bank', 'serve', file)],
        'tasks': [('tasks', 'check', file)],
        'data': [('easytool', 'stats', '--source', 'function_schema', '--input', file, '--instructions', file)],
    }
    of_runs = ('status', 'retry', 'report', 'export')
    for words in commands.get(place) or [COMMANDS[name](run, tmp_path, model) for name in of_runs]:
        check(tooleval(*words), f'{words} {kind}', file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000, 'kilobytes'


def test_folders_that_nobody_can_write_to(tooleval: Command, swept: Path, tmp_path: Path) -> None:
    """Also of root: /proc takes no files. The line names the place."""
    nowhere = Path('/proc/nowhere')
    model = next((swept / 'results').iterdir()).name
    assert tooleval('export', swept, '--out', tmp_path / 'exported').code == 0
    tools = write_json(tmp_path / 'tools.json', [{'type': 'function', 'function': {'name': 'a', 'parameters': {}}}])
    source, data = ('--source', 'function_schema', '--input', tools), ('--data', demo_file('instruct_v2'))
    commands: tuple[tuple[object, ...], ...] = (
        ('report', swept, '--out', nowhere / 'page'),
        ('export', swept, '--out', nowhere / 'out'),
        ('export', swept, '--format', 'every-eval-ever', '--out', nowhere / 'out'),
        ('import', tmp_path / 'exported', nowhere),
        ('gate', swept, '--save', nowhere / 'a.jsonl'),
        ('gate', swept, '--baseline', swept, '--junit', nowhere / 'a.xml'),
        ('status', swept, '--json', nowhere / 'a.json'),
        ('compare', swept, model, model, '--details', nowhere / 'a.jsonl'),
        ('score', 'teval', 'instruct', '--predictions', data[1], *data, '--json', nowhere / 'a.json'),
        ('easytool', 'generate', *source, '--model', 'template', '--out', nowhere / 'a.json'),
        ('agents', 'bank', 'build', '--from', swept, '--out', nowhere / 'a.bank'),
        ('agents', 'bank', 'record', '--input', NOTES, '--out', nowhere / 'a.bank'),
    )
    for words in commands:
        done = tooleval(*words)
        check(done, f'{words}', nowhere)
        assert done.code == (2 if words[0] == 'gate' else 1) and done.err.strip(), words


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Takes the permission to write into a folder, and from root the power to do so nevertheless (CAP_DAC_OVERRIDE)."""
    for path in (folder, *folder.rglob('*')):
        path.chmod(0o555 if path.is_dir() else 0o444)
    libc, of_this_thread = ctypes.CDLL(None, use_errno=True), struct.pack('Ii', 0x20080522, 0)
    before = ctypes.create_string_buffer(24)
    assert libc.capget(of_this_thread, before) == 0
    effective, *others = struct.unpack('6I', before.raw)
    assert libc.capset(of_this_thread, struct.pack('6I', effective & ~2, *others)) == 0
    try:
        yield
    finally:
        assert libc.capset(of_this_thread, before) == 0


def test_a_run_that_is_read_only(tooleval: Command, swept: Path, tmp_path: Path) -> None:
    """Such as one that a colleague shares: everything but ``retry`` works."""
    run, out = Path(shutil.copytree(swept, tmp_path / 'run')), tmp_path
    model = next((run / 'results').iterdir()).name
    assert tooleval('gate', run, '--save', out / 'baseline.jsonl').code == 0
    file = next(run.glob('predictions/*/*.json'))
    rows = json.loads(file.read_bytes())
    write_json(file, {**rows, '0': {**rows['0'], 'infra': 'infra:timeout'}})
    with read_only(run):
        for name, words in COMMANDS.items():
            done = tooleval(*words(run, out, model))
            check(done, name, run)
            assert done.code == (2 if name == 'gate' else 0) and not done.err.strip(), f'{name}: {done.err}'
        done = tooleval('retry', run, '--trust')
    assert done.code == 1
    check(replace(done, err=done.err.splitlines()[-1]), 'retry', run)
    path = write_shop(tmp_path / 'mine')
    with read_only(path.parent):
        assert tooleval('tasks', 'check', path, '--trust').code == 0
