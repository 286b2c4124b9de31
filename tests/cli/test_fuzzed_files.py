"""Files of runs and sets with values of other types: every command ends in its result, or in one line.

``TOOLEVAL_FUZZ=200`` runs as many cases of each command; by default few.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from opencompass_tooleval.work_dir.dumped_config import read_dumped
from tests.cli.conftest import Command, Outcome
from tests.forked import run_opencompass
from tests.fuzzed import mutate_file
from tests.making.review_support import set_to_review
from tests.work_dir.test_power_cut import SWEEP

CASES = int(os.environ.get('TOOLEVAL_FUZZ', 6))


def check(done: Outcome, what: str) -> None:
    """The command ended in order; a failure is one line."""
    said = done.out + done.err
    assert 'Traceback' not in said and 'Error:' not in said.splitlines()[:1], f'{what}: {said}'
    assert done.code in (0, 1, 2), what
    assert len(done.err) < 4_000, what


@pytest.fixture(scope='module')
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of four data sets, with one sample that got no answer."""
    folder = tmp_path_factory.mktemp('fuzz')
    (folder / 'sweep.py').write_text(SWEEP.replace('[:2]', '[:4]'), encoding='utf-8')
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
