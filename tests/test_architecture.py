"""The rules of the house that imports can break (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / 'opencompass_tooleval'
ROOMS = ('teval', 'ultratool', 'easytool')
BENCHMARKS = ('teval', 'ultratool', 'easytool/restbench', 'easytool/funcqa', 'easytool/toolbench')
REWRITING = ('easytool/adapter.py', 'easytool/instruct.py', 'easytool/sources/teval.py')
GLUE = ('easytool/generation.py', 'easytool/summarizer.py')
"""Files of benchmarks that touch OpenCompass as ``adapter.py`` does, and register nothing.

``recorded.py`` of a room, which `tooleval score` calls, may use what lies below: files of answers, encoders, paths.
"""
HEAVY = {'opencompass', 'mmengine', 'torch', 'datasets', 'transformers', 'sentence_transformers', 'lagent'}
PURE_LIBRARIES = {'jsonschema', 'networkx', 'numpy'}


def modules(*patterns: str) -> list[Path]:
    return sorted(file for pattern in patterns for file in PACKAGE.glob(pattern))


def imports(file: Path) -> Iterator[str]:
    """Full names of everything that a module imports anywhere, but for type checking."""
    tree = ast.parse(file.read_text(encoding='utf-8'))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and 'TYPE_CHECKING' in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or 'configs' in file.parts, f'{file}: relative import'
            yield node.module or ''


def is_glue(file: Path) -> bool:
    """Whether a file may know OpenCompass because it is glue."""
    return file.name.endswith('adapter.py') or str(file.relative_to(PACKAGE)) in GLUE


BENCHMARK_LAYER = 5
LAYERS = {
    'core': 0,
    'embedding': 1,
    'api': 1,
    'sweep': 2,
    'slurm': 3,
    'report': 3,
    'host': 4,
    **dict.fromkeys(ROOMS, BENCHMARK_LAYER),
    'environments': 6,
    'agents': 7,
    'configs': 8,
    'cli': 9,
}
"""Who may import whom: only what is lower. Benchmarks among each other: see `REWRITING`."""


def tops(file: Path) -> set[str]:
    return {name.partition('.')[0] for name in imports(file)}


def rooms_of(file: Path) -> set[str]:
    prefix = 'opencompass_tooleval.'
    return {name.removeprefix(prefix).partition('.')[0] for name in imports(file) if name.startswith(prefix)}


@pytest.mark.parametrize('file', modules('core/*.py'), ids=lambda file: file.name)
def test_core_is_pure(file: Path) -> None:
    foreign = tops(file) - set(sys.stdlib_module_names) - {'opencompass_tooleval'}
    assert foreign <= PURE_LIBRARIES
    assert rooms_of(file) <= {'core'}


@pytest.mark.parametrize(
    'file',
    [file for room in ROOMS for file in modules(f'{room}/**/*.py') if not is_glue(file)],
    ids=lambda file: str(file.relative_to(PACKAGE)),
)
def test_benchmark_rooms_are_pure_but_for_the_adapter(file: Path) -> None:
    assert not tops(file) & HEAVY
    allowed = {'host', 'embedding', 'sweep'} if file.name == 'recorded.py' else set()
    assert not rooms_of(file) & ({'host', 'cli', 'configs', 'embedding', 'report', 'slurm', 'sweep'} - allowed)


def test_only_host_adapters_and_configs_import_opencompass() -> None:
    framework = {'opencompass', 'mmengine', 'torch', 'datasets', 'lagent'}
    users = {file for file in modules('**/*.py') if tops(file) & framework}
    allowed = {
        file
        for file in users
        if file.parent.name in {'host', 'slurm'} or is_glue(file) or 'configs' in file.relative_to(PACKAGE).parts
    }
    assert users == allowed


@pytest.mark.parametrize('room', ROOMS)
def test_no_benchmark_imports_another(room: str) -> None:
    """EasyTool's instruction rewriting aside: it has to know what it rewrites."""
    for file in modules(f'{room}/**/*.py'):
        if str(file.relative_to(PACKAGE)) not in REWRITING:
            assert not rooms_of(file) & (set(ROOMS) - {room}), file


def test_rooms_import_only_rooms_below_them() -> None:
    back = {
        (str(file.relative_to(PACKAGE)), room)
        for own, layer in LAYERS.items()
        for file in modules(f'{own}/**/*.py')
        for room in rooms_of(file) - {own}
        if LAYERS[room] >= layer and not (own in ROOMS and room in ROOMS)
    }
    assert back == set()


def test_every_room_has_its_layer() -> None:
    folders = {file.parent.relative_to(PACKAGE).parts[0] for file in modules('*/**/*.py')}
    assert folders == set(LAYERS)


def test_nothing_is_evaluated_or_unpickled() -> None:
    forbidden = {'eval', 'exec', 'compile', '__import__'}
    for file in modules('**/*.py'):
        assert not tops(file) & {'pickle', 'dill', 'marshal', 'shelve'}, file
        for node in ast.walk(ast.parse(file.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in forbidden, f'{file}:{node.lineno}'


@pytest.mark.parametrize('room', BENCHMARKS)
def test_tables_of_subsets_are_literals(room: str) -> None:
    tree = ast.parse((PACKAGE / room / 'subsets.py').read_text(encoding='utf-8'))
    for node in tree.body:
        value = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
        assert value is not None, ast.unparse(node)
        ast.literal_eval(value)


@pytest.mark.parametrize('file', modules('configs/**/*.py'), ids=lambda file: file.name)
def test_configs_are_short_and_call_nothing_foreign(file: Path) -> None:
    text = file.read_text(encoding='utf-8')
    assert len(text.splitlines()) <= 40
    tree = ast.parse(text)
    allowed = {'dict', 'len', 'read_base'}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            assert name in allowed or name == 'append', f'{file}:{node.lineno}: {name}'


OTHER_ROOMS = ['core', 'api', 'embedding', 'sweep', 'slurm', 'report', 'host', 'environments', 'cli', 'configs', 'demo']


@pytest.mark.parametrize('room', [*OTHER_ROOMS, *ROOMS, *BENCHMARKS[2:]])
def test_every_room_has_a_readme(room: str) -> None:
    assert (PACKAGE / room / 'README.md').is_file()


@pytest.mark.parametrize(
    'module',
    [
        'opencompass_tooleval',
        'opencompass_tooleval.cli.main',
        'opencompass_tooleval.teval.scoring',
        'opencompass_tooleval.embedding.encoder',
        'opencompass_tooleval.sweep.recorded',
        'opencompass_tooleval.sweep.comparing',
        'opencompass_tooleval.sweep.importing',
        'opencompass_tooleval.sweep.unanswered',
        'opencompass_tooleval.sweep.progress',
    ],
)
def test_importing_costs_no_framework(module: str) -> None:
    code = f'import sys, {module}; print(sorted({HEAVY!r} & set(sys.modules)))'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[]'
