"""tools/check_official.py: what it counts and prints, and that the parity page has every comparison."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT, load_tool

SCRIPT = ROOT / 'tools' / 'check_official.py'

TESTS = """
import pytest

@pytest.mark.official('Chess', 'openings')
@pytest.mark.parametrize('number', range(3))
def test_openings(number):
    pass

@pytest.mark.official('Chess', 'ends', 'stalemates count')
def test_ends(record_property):
    record_property('cases', 1200)
    record_property('equal', 1199)

@pytest.mark.official('Go', 'joseki')
def test_joseki(record_property):
    record_property('cases', 7)
    assert {failing} == 0

@pytest.mark.official('Go', 'ladders')
def test_ladders():
    pytest.skip('not at hand')

def test_another():
    raise AssertionError
"""


@pytest.fixture(scope='module')
def tool() -> ModuleType:
    return load_tool('check_official')


def run(folder: Path, *options: str, failing: int = 0) -> subprocess.CompletedProcess[str]:
    file = folder / 'test_games.py'
    file.write_text(TESTS.replace('{failing}', str(failing)), encoding='utf-8')
    code = f'import sys, check_official as c\nc.marked_files = lambda: [{str(file)!r}]\nsys.exit(c.main({options!r}))'
    command = [sys.executable, '-c', code]
    return subprocess.run(
        command, cwd=SCRIPT.parent, capture_output=True, text=True, timeout=300, check=False, env={'PATH': ''}
    )


def test_cases_are_counted_per_comparison_and_one_that_fails_fails_the_command(tmp_path: Path) -> None:
    done = run(tmp_path, failing=1)
    assert done.returncode == 1 and '| joseki | 7 | 0 | - |' in done.stdout
    assert '**Chess**\n\n| comparison | cases | equal | named differences |\n' in done.stdout
    assert '\n| openings | 3 | 3 | - |\n| ends | 1,200 | 1,199 | stalemates count |\n' in done.stdout
    assert 'ladders' not in done.stdout.partition('**Chess**')[2] and '1 comparisons have no outcomes' in done.stdout
    done = run(tmp_path, '--benchmark', 'Go')
    assert done.returncode == 0 and '| joseki | 7 | 7 | - |\n' in done.stdout and '**Chess**' not in done.stdout


def test_tables_of_other_benchmarks_stay(tool: ModuleType) -> None:
    page = f'a\n{tool.BEGIN}\n\n{tool.END}\nb\n'
    first = tool.with_tables(page, {'Go': '**Go**\n\nx'})
    both = tool.with_tables(first, {'Chess': '**Chess**\n\ny'})
    assert both == f'a\n{tool.BEGIN}\n\n**Chess**\n\ny\n\n**Go**\n\nx\n\n{tool.END}\nb\n'
    assert tool.with_tables(both, {'Go': '**Go**\n\nx'}) == both


def marks(files: list[str]) -> Iterator[tuple[str, ...]]:
    for file in files:
        for node in ast.walk(ast.parse(Path(file).read_text(encoding='utf-8'))):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != 'pytest.mark.official':
                continue
            if not any(isinstance(argument, ast.Starred) for argument in node.args):
                yield tuple(ast.literal_eval(argument) for argument in node.args)


def test_the_parity_page_has_every_comparison_and_names_every_difference(tool: ModuleType) -> None:
    text = tool.PAGE.read_text(encoding='utf-8').partition(tool.BEGIN)[2].partition(tool.END)[0]
    of_page = {part.partition('**')[0]: part for part in text.split('\n\n**')[1:]}
    rows = {
        (benchmark, cells[0]): cells[1:]
        for benchmark, part in of_page.items()
        for line in part.splitlines()[4:]
        if line and (cells := [cell.strip() for cell in line.strip('|').split('|')])
    }
    compared = list(marks(tool.marked_files()))
    of_plans = ('T-Eval', 'plans, sample by sample, beside the evaluator of OpenCompass')  # of two tests
    assert {*(mark[:2] for mark in compared), of_plans} == set(rows)
    for benchmark, what, *named in compared:
        cases, equal, difference = rows[benchmark, what]
        assert all(text in difference for text in named)
        assert cases == equal or named, (benchmark, what)
