"""The wheel: its content, its metadata, and that it works after installation."""

import ast
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import opencompass_tooleval

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / 'opencompass_tooleval'


def run(*command: str | Path, cwd: Path) -> str:
    """Runs a command away from the caller's PYTHONPATH and input. Returns its output; raises with it on failure."""
    environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    streams: dict[str, Any] = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=environment, text=True, **streams)
    assert done.returncode == 0, done.stdout
    return str(done.stdout)


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


def test_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        texts = {name.rpartition('/')[2]: archive.read(name) for name in archive.namelist() if '.dist-info/' in name}
    metadata = email.message_from_bytes(texts['METADATA'])
    assert metadata['Name'] == 'opencompass-tooleval'
    assert metadata['Version'] == opencompass_tooleval.__version__
    assert 'Apache-2.0' in (metadata['License'], metadata['License-Expression'])
    assert set(metadata['Requires-Python'].split(',')) == {'>=3.10', '<3.13'}
    assert set(metadata.get_all('Provides-Extra', [])) == {'offline', 'agent', 'report', 'mcp', 'hooks', 'dev'}
    assert 'tooleval = opencompass_tooleval.cli.main:main' in texts['entry_points.txt'].decode()


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
        is_quoted = quotes or 'they define the benchmark' in ' '.join(head.split())
        inside = {str(file.relative_to(ROOT)), str(file.relative_to(PACKAGE))}
        assert bool(is_quoted) == bool(inside & named), file


def test_the_wheel_works_elsewhere(wheel: Path, tmp_path: Path) -> None:
    """``tests/test_installs.py`` (make test-long) installs it."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = 'import opencompass_tooleval.cli.main as ours; print(ours.__file__); ours.main()'
    said = run(sys.executable, '-c', f'import sys; sys.path.insert(0, "."); {code}', '--help', cwd=tmp_path)
    assert said.startswith(str(tmp_path)) and 'Usage' in said


RELEASE = os.environ.get('TOOLEVAL_RELEASE')


@pytest.mark.skipif(not RELEASE, reason='make release-check builds what is checked')
def test_the_release_is_small_and_has_no_data_of_others() -> None:
    (wheel,), (source,) = (list(Path(str(RELEASE)).glob(pattern)) for pattern in ('*.whl', '*.tar.gz'))
    assert wheel.stat().st_size < 1_600_000 and source.stat().st_size < 3_500_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    with tarfile.open(source) as archive_:
        names_of_source = [name.partition('/')[2] for name in archive_.getnames()]
    assert not [name for name in names if 'test' in name.split('/')[1]]
    assert not [name for name in names_of_source if name.startswith(('data/', 'shared/', 'outputs/', '.venv'))]
    tracked = subprocess.run(['git', 'ls-files'], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    made = ('PKG-INFO', 'setup.cfg', 'opencompass_tooleval.egg-info')
    files = [name for name in names_of_source if name and not name.startswith(made)]
    folders = {str(parent) for name in tracked for parent in Path(name).parents}
    assert set(files) - set(tracked) - folders == set()
