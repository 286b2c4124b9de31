"""Check that both files of constraints resolve, and pin everything, on every supported Python found here.

For each of Python 3.10, 3.11 and 3.12 (on PATH or in pyenv, only where it really runs) a throwaway environment asks pip
for a dry run of this package with its extras. Nothing is installed and nothing of it is executed.

What this does not show: torch is a stub that carries the pinned version and the requirements torch has on every
platform. An index that offers no separate metadata makes pip download whole wheels for a dry run, and torch's CUDA
wheels are more than a gigabyte. `--with-torch` resolves the real one.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = (ROOT / 'constraints.txt', ROOT / 'constraints-transformers5.txt')
DOCS = ROOT / 'tools' / 'docs_requirements.txt'
VERSIONS = ('3.10', '3.11', '3.12')
EXTRAS = 'offline,agent,report,mcp,hooks,dev'
TORCH_REQUIRES = ('filelock', 'fsspec', 'jinja2', 'networkx', 'setuptools', 'sympy', 'typing-extensions')


def find_interpreter(version: str) -> str | None:
    """Returns the first Python `version` (such as '3.11') that runs and can make environments."""
    name = f'python{version}'
    folders = [Path(folder) for folder in os.get_exec_path()]
    pyenv = Path(os.environ.get('PYENV_ROOT', Path.home() / '.pyenv')) / 'versions'
    folders += sorted(pyenv.glob(f'{version}.*/bin'))
    probe = 'import ensurepip, sys, venv; print(*sys.version_info[:2], sep=".")'
    for path in (folder / name for folder in folders):
        # A pyenv shim of a version that is switched off exists but fails, so ask each one.
        if path.exists() and _run(path, '-c', probe).stdout.strip() == version:
            return str(path)
    return None


def pinned(constraints: Path) -> dict[str, str]:
    """Returns the normalized names in a file of constraints with one of their pinned versions."""
    lines = (line.split(';')[0].strip() for line in constraints.read_text('utf-8').splitlines())
    return {_normalize(name): version for name, _, version in (line.partition('==') for line in lines) if version}


def check(python: str, constraints: Path, with_torch: bool) -> str | None:
    """Resolves all extras with a file of constraints under one interpreter. Returns what went wrong, or None."""
    with tempfile.TemporaryDirectory() as folder:
        environment, report = Path(folder, 'venv'), Path(folder, 'report.json')
        inner = environment / 'bin' / 'python'
        made = _run(python, '-m', 'venv', environment)
        upgraded = _run(inner, '-m', 'pip', 'install', '--quiet', '--upgrade', 'pip') if not made.returncode else made
        if upgraded.returncode:
            return f'could not make an environment:\n{upgraded.stdout}'
        if not with_torch:
            _stub_torch(next(environment.glob('lib/python*/site-packages')), pinned(constraints)['torch'])
        arguments = ('--dry-run', '--report', report, '-c', constraints, f'{ROOT}[{EXTRAS}]', '-r', DOCS)
        resolved = _run(inner, '-m', 'pip', 'install', *arguments)
        if resolved.returncode:
            return f'[{EXTRAS}] does not resolve:\n' + '\n'.join(resolved.stdout.splitlines()[-20:])
        if loose := _unpinned(report, constraints):
            return f'not in {constraints.name}: {", ".join(loose)}'
    return None


def main() -> int:
    """Checks every interpreter. Returns 0 only if at least one was found and all found ones are in order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--with-torch', action='store_true', help='resolve the real torch; may download gigabytes')
    with_torch = parser.parse_args().with_torch
    outcomes = []
    for version in VERSIONS:
        python = find_interpreter(version)
        if python is None:
            print(f'Python {version}: missing, not checked', flush=True)
            continue
        for constraints in CONSTRAINTS:
            start = time.monotonic()
            fault = check(python, constraints, with_torch) or 'resolves'
            seconds = time.monotonic() - start
            print(f'Python {version}, {constraints.name}: {fault} ({seconds:.0f} s, {python})', flush=True)
            outcomes.append(fault == 'resolves')
    return 0 if outcomes and all(outcomes) else 1


def _unpinned(report: Path, constraints: Path) -> list[str]:
    names = {_normalize(item['metadata']['name']) for item in json.loads(report.read_text('utf-8'))['install']}
    # torch's own wheels depend on the platform, so what only they ask for is not pinned.
    names -= {'opencompass-tooleval', *pinned(constraints)}
    return sorted(name for name in names if not re.match('nvidia|cuda|triton', name))


def _stub_torch(site_packages: Path, version: str) -> None:
    folder = site_packages / f'torch-{version}.dist-info'
    folder.mkdir()
    lines = ['Metadata-Version: 2.1', 'Name: torch', f'Version: {version}']
    lines += [f'Requires-Dist: {name}' for name in TORCH_REQUIRES]
    (folder / 'METADATA').write_text('\n'.join(lines) + '\n', 'utf-8')


def _normalize(name: str) -> str:
    return re.sub('[-_.]+', '-', name).lower()


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


if __name__ == '__main__':
    sys.exit(main())
