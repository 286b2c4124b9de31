"""Applies each mutation of ``mutations.json`` to a copy of the checkout, and runs the tests that should fail.

    python tests/mutations/check.py [ID ...] [--jobs N]

The unchanged copy has to pass all of these tests first. Exits with 1 if a mutation survives.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
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


def check(copy: Path, mutation: dict[str, Any]) -> str:
    """Returns ``caught``, or why a mutation is not."""
    file = copy / mutation['file']
    before = file.read_text(encoding='utf-8')
    if before.count(mutation['old']) != 1:
        return 'old text not found exactly once'
    try:
        file.write_text(before.replace(mutation['old'], mutation['new']), encoding='utf-8')
        status = run_tests(copy, mutation['tests'])
    finally:
        file.write_text(before, encoding='utf-8')
    return {0: 'SURVIVED', _FAILED: 'caught'}.get(status, f'pytest ended with {status}')


def main() -> int:
    """Checks the chosen mutations; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('ids', nargs='*', help='mutations to check; by default all', metavar='ID')
    parser.add_argument('--jobs', type=int, default=1, help='number of copies that work at once')
    given = parser.parse_args()
    if unknown := set(given.ids) - {mutation['id'] for mutation in MUTATIONS}:
        parser.error(f'no such mutation: {", ".join(sorted(unknown))}')
    chosen = [mutation for mutation in MUTATIONS if mutation['id'] in given.ids or not given.ids]
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
    return int(outcomes.count('caught') < len(outcomes))


if __name__ == '__main__':
    raise SystemExit(main())
