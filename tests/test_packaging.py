"""The wheel: its content, its metadata, and that it works after installation."""

import ast
import email
import os
import re
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / 'opencompass_tooleval'


def run(*command: str | Path, cwd: Path) -> str:
    """Runs a command away from the caller's PYTHONPATH and input. Returns its output; raises with it on failure."""
    environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope='module')
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: setuptools leaves files behind where it builds, and takes old ones in."""
    source, output = tmp_path_factory.mktemp('source'), tmp_path_factory.mktemp('wheel')
    shutil.copytree(PACKAGE, source / PACKAGE.name, ignore=shutil.ignore_patterns('__pycache__'))
    for name in ('setup.py', 'pyproject.toml', 'MANIFEST.in', 'LICENSE', 'NOTICE', 'README.md'):
        shutil.copy(ROOT / name, source)
    pip = (sys.executable, '-m', 'pip', '--disable-pip-version-check', '--quiet')
    run(*pip, 'wheel', '--no-deps', '--no-index', '--no-build-isolation', '-w', output, source, cwd=output)
    (built,) = output.glob('*.whl')
    return built


@pytest.fixture(scope='module')
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith('.dist-info/METADATA'))
        return email.message_from_bytes(archive.read(name))


def wanted_files() -> Iterator[str]:
    """Yields every file of the source tree that a user of the wheel needs."""
    for path in PACKAGE.rglob('*'):
        inside = path.relative_to(PACKAGE)
        if path.is_file() and '__pycache__' not in inside.parts:
            data = inside.parts[0] in ('configs', 'demo', 'report')
            if data or path.suffix in ('.py', '.json') or path.name == 'README.md':
                yield path.relative_to(ROOT).as_posix()


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    wanted = set(wanted_files())
    assert all(any(name.startswith(f'opencompass_tooleval/{part}/') for name in wanted) for part in ('configs', 'demo'))
    assert wanted - names == set()
    tops = {name.split('/')[0] for name in names}
    assert tops == {'opencompass_tooleval', next(top for top in tops if top.endswith('.dist-info'))}
    assert [name for name in names if name.endswith('.pyc')] == []


def test_metadata(wheel: Path, metadata: Message) -> None:
    import opencompass_tooleval

    assert metadata['Name'] == 'opencompass-tooleval'
    assert metadata['Version'] == opencompass_tooleval.__version__
    assert 'Apache-2.0' in (metadata['License'], metadata['License-Expression'])
    assert set(metadata['Requires-Python'].split(',')) == {'>=3.10', '<3.13'}
    assert set(metadata.get_all('Provides-Extra', [])) == {'offline', 'agent', 'report', 'mcp', 'hooks', 'dev'}
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith('entry_points.txt'))
        assert 'tooleval = opencompass_tooleval.cli.main:main' in archive.read(name).decode()


def test_the_wheel_says_whose_prompts_it_ships(wheel: Path) -> None:
    """Every module that quotes published prompts is in NOTICE, which names what there is and goes with the wheel."""
    notice = (ROOT / 'NOTICE').read_text('utf-8')
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith('/NOTICE'))
        assert archive.read(name).decode() == notice
    named = set(re.findall(r'[\w/]+\.py', notice))
    assert all((ROOT / file).is_file() or (PACKAGE / file).is_file() for file in named)
    for file in PACKAGE.rglob('*prompts.py'):
        head = ast.get_docstring(ast.parse(file.read_text('utf-8'))) or ''
        quotes = re.search(
            r'byte for byte|word for word|published (evaluation|runs) sent|Table 2|as they are sent', head
        )
        quotes = quotes or 'they define the benchmark' in ' '.join(head.split())
        inside = {str(file.relative_to(ROOT)), str(file.relative_to(PACKAGE))}
        assert bool(quotes) == bool(inside & named), file


@pytest.fixture(scope='module')
def wheel_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a virtual environment that has the wheel, and lends everything else from this one."""
    environment = tmp_path_factory.mktemp('wheel_venv') / 'venv'
    venv.create(environment, symlinks=True)
    python = environment / 'bin' / 'python'
    pip = (sys.executable, '-m', 'pip', '--disable-pip-version-check', '--quiet', '--python', python)
    run(*pip, 'install', '--no-deps', '--no-index', wheel, cwd=environment)
    # Lend it this environment's packages without downloading any. Only now: pip must not see this package among them.
    (site_packages,) = environment.glob('lib/python*/site-packages')
    (site_packages / 'lent.pth').write_text('\n'.join(site.getsitepackages()) + '\n', 'utf-8')
    return python


def test_installed_wheel_works_elsewhere(wheel_python: Path, tmp_path: Path) -> None:
    code = 'import opencompass_tooleval; print(opencompass_tooleval.__file__)'
    found = Path(run(wheel_python, '-c', code, cwd=tmp_path).strip())
    assert found.is_relative_to(wheel_python.parent.parent)
    assert 'Usage' in run(wheel_python.parent / 'tooleval', '--help', cwd=tmp_path)


@pytest.mark.long
def test_installed_wheel_runs_in_opencompass_workers(wheel_python: Path, tmp_path: Path) -> None:
    """From a foreign directory, with a config that knows the package by name only; workers are own processes."""
    (tmp_path / 'mine.py').write_text(
        'from mmengine.config import read_base\n'
        'with read_base():\n'
        '    from opencompass_tooleval.configs.eval_demo import datasets, models, summarizer\n'
        "datasets = [row for row in datasets if row['name'] in ('review_str_v2', 'retrieve_str_v2_zh')]\n"
        'models = models[:1]\n',
        'utf-8',
    )
    run(wheel_python, '-m', 'opencompass.cli.main', 'mine.py', '-w', 'out', cwd=tmp_path)
    (table,) = tmp_path.glob('out/*/summary/*.csv')
    rows = [line.split(',') for line in table.read_text('utf-8').splitlines()]
    assert ['tooleval-teval_v2', '-', 'review', 'gen', '100.00'] in rows
    (log,) = tmp_path.glob('out/*/logs/infer/oracle/*.out')
    assert 'review_str_v2' in log.read_text('utf-8')
    results = list(tmp_path.glob('out/*/results/oracle/*.json'))
    assert len(results) == 2
