"""Applies each mutation of ``mutations.json`` to a copy of the checkout, and runs the tests that should fail.

    python tests/mutations/check.py [ID ...] [--jobs N]
    python tests/mutations/check.py --random 100 --seed 1 [--jobs N]

The unchanged copy has to pass all of these tests first. Exits with 1 if a mutation survives.

With ``--random`` it changes one comparison, boolean operator or condition at a time, drawn from the package, and runs
the tests of the module's folder and those that import the module, without the files that ``LONGEST`` of
``tests/conftest.py`` lists: look there before you call one of these mutations uncaught. It exits with 1 if more than a
tenth survive.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MUTATIONS: list[dict[str, Any]] = json.loads(Path(__file__).with_name('mutations.json').read_text(encoding='utf-8'))
LEFT_OUT = shutil.ignore_patterns('.git', '.venv', 'outputs', 'shared', 'site', 'build', '.*_cache', '__pycache__')
_SECONDS = 300
"""A test that a mutation keeps waiting for longer has failed."""
_FAILED = 1
"""Exit status of pytest if tests ran and some failed; another one says that they did not run."""


def copy_of(root: Path, folder: Path) -> Path:
    """Copies a checkout into a folder; its environment and data become links. Returns the copy."""
    copy = Path(shutil.copytree(root, folder / 'checkout', symlinks=True, ignore=LEFT_OUT))
    for name in ('.venv', 'shared'):
        if (root / name).exists():
            (copy / name).symlink_to((root / name).resolve())
    return copy


def run_tests(copy: Path, tests: Sequence[str]) -> int:
    """Runs tests in a copy, until one fails; returns pytest's exit status."""
    command = [sys.executable, '-m', 'pytest', '-q', '-x', '-p', 'no:cacheprovider', f'--timeout={_SECONDS}', *tests]
    environment = {**os.environ, 'PYTHONPATH': str(copy), 'PYTHONDONTWRITEBYTECODE': '1'}
    with tempfile.TemporaryFile() as output:  # not a pipe: a process that a test left behind would keep it open
        done = subprocess.run(command, cwd=copy, env=environment, stdout=output, stderr=subprocess.STDOUT)
        if done.returncode not in (0, _FAILED):
            output.seek(0)
            sys.stdout.buffer.write(output.read())
    return done.returncode


SWAPPED: dict[type[ast.AST], Any] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
"""Operator -> the one that takes its place."""


def changed_nodes(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields expressions of a module, each with one comparison, boolean operator or condition of it changed."""
    formatted = (one for joined in ast.walk(tree) if isinstance(joined, ast.JoinedStr) for one in ast.walk(joined))
    left_out = {id(one) for one in formatted}  # their places are wrong before Python 3.12
    for node in ast.walk(tree):
        if id(node) in left_out or 'TYPE_CHECKING' in ast.unparse(getattr(node, 'test', ast.Pass())):
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield node, ast.Compare(node.left, [SWAPPED[type(node.ops[0])]()], node.comparators)
        elif isinstance(node, ast.BoolOp):
            yield node, ast.BoolOp(SWAPPED[type(node.op)](), node.values)
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)) and not isinstance(node.test, ast.Compare):
            yield node.test, ast.UnaryOp(ast.Not(), node.test)


def longest_tests() -> set[str]:
    """Returns the test files whose tests take longest."""
    text = (ROOT / 'tests' / 'conftest.py').read_text(encoding='utf-8')
    return {f'tests/{name}' for name in text.partition('LONGEST = """')[2].partition('"""')[0].split()}


def tests_of(file: Path) -> list[str]:
    """Returns the tests of a module's folder and the other test modules that import it, without the longest."""
    folder = ROOT / 'tests' / file.relative_to(ROOT / 'opencompass_tooleval').parent
    while not folder.is_dir():
        folder = folder.parent
    module = '.'.join(file.relative_to(ROOT).with_suffix('').parts)
    imports = re.compile(rf'^ *(?:from|import) {re.escape(module)}\b', re.MULTILINE)
    importing = [one for one in (ROOT / 'tests').rglob('test_*.py') if imports.search(one.read_text(encoding='utf-8'))]
    is_root = folder == ROOT / 'tests'  # of a module whose folder has no tests: those of the whole package
    inside = [] if is_root and importing else sorted(folder.glob('test_*.py'))
    found = (*inside, *(one for one in sorted(importing) if one not in inside))
    longest = longest_tests()
    return [name for one in found if (name := str(one.relative_to(ROOT))) not in longest]


def random_mutations(count: int, seed: int) -> list[dict[str, Any]]:
    """Draws mutations of the package, each with the tests that may catch it."""
    files = [file for file in sorted((ROOT / 'opencompass_tooleval').rglob('*.py')) if 'configs' not in file.parts]
    drawn = random.Random(seed)
    found: list[dict[str, Any]] = []
    while len(found) < count:
        file = drawn.choices(files, [len(file.read_bytes()) for file in files])[0]
        text = file.read_text(encoding='utf-8')
        nodes = list(changed_nodes(ast.parse(text)))
        if not nodes or not (tests := tests_of(file)):
            continue
        old, new = drawn.choice(nodes)
        lines = text.encode().splitlines(keepends=True)
        start = sum(map(len, lines[: old.lineno - 1])) + old.col_offset
        end = sum(map(len, lines[: (old.end_lineno or 0) - 1])) + (old.end_col_offset or 0)
        changed = text.encode()[:start] + f'({ast.unparse(new)})'.encode() + text.encode()[end:]
        name = str(file.relative_to(ROOT))
        seen = f'{ast.unparse(old)} -> {ast.unparse(new)}'
        about = {'id': f'{name}:{old.lineno}', 'file': name, 'seen': seen}
        found.append({**about, 'text': changed.decode(), 'tests': tests})
    return found


def check(copy: Path, mutation: dict[str, Any]) -> str:
    """Returns ``caught``, or why a mutation is not."""
    file = copy / mutation['file']
    before = file.read_text(encoding='utf-8')
    if 'text' not in mutation and before.count(mutation['old']) != 1:
        return 'old text not found exactly once'
    try:
        changed = mutation['text'] if 'text' in mutation else before.replace(mutation['old'], mutation['new'])
        file.write_text(changed, encoding='utf-8')
        status = run_tests(copy, mutation['tests'])
    finally:
        file.write_text(before, encoding='utf-8')
    return {0: 'SURVIVED', _FAILED: 'caught'}.get(status, f'pytest ended with {status}')


def main() -> int:
    """Checks the chosen mutations; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('ids', nargs='*', help='mutations to check; by default all', metavar='ID')
    parser.add_argument('--jobs', type=int, default=1, help='number of copies that work at once')
    parser.add_argument('--random', type=int, default=0, help='number of mutations to draw, in place of the list')
    parser.add_argument('--seed', type=int, default=0, help='seed of the draw')
    given = parser.parse_args()
    if unknown := set(given.ids) - {mutation['id'] for mutation in MUTATIONS}:
        parser.error(f'no such mutation: {", ".join(sorted(unknown))}')
    chosen = [mutation for mutation in MUTATIONS if mutation['id'] in given.ids or not given.ids]
    chosen = random_mutations(given.random, given.seed) if given.random else chosen
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(given.jobs):
            copies.put(copy_of(ROOT, Path(folder, str(number))))

        def in_a_copy(work: Any, *arguments: Any) -> Any:
            copy = copies.get()
            try:
                return work(copy, *arguments)
            finally:
                copies.put(copy)

        tests = sorted({test for mutation in chosen for test in mutation['tests']})
        parts = [part for number in range(given.jobs) if (part := tests[number :: given.jobs])]
        if any(pool.map(lambda part: in_a_copy(run_tests, part), parts)):
            print('the tests fail without a mutation: see pytest')
            return 1
        outcomes = []
        for mutation, outcome in zip(chosen, pool.map(lambda one: in_a_copy(check, one), chosen), strict=True):
            outcomes.append(outcome)
            print(f'{outcome:9} {mutation["id"]}: {mutation["seen"]}', flush=True)
    print(f'{outcomes.count("caught")} of {len(outcomes)} mutations are caught')
    return int(outcomes.count('caught') < len(outcomes) * (0.9 if given.random else 1))


if __name__ == '__main__':
    raise SystemExit(main())
