"""Runs all comparisons with published outcomes that are at hand, and prints a table of them per benchmark.

The comparisons are tests with the mark ``official`` (``tests/official.py``); the outcomes are in ``../shared`` beside
the checkout. Exit status 1 if a comparison fails, and 2 if none is at hand. With ``--write`` the tables also replace
those of the same benchmarks in ``docs/explanation/parity.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'explanation' / 'parity.md'
BEGIN, END = '<!-- tables of make check-official: begin -->', '<!-- end -->'
HEAD = '| comparison | cases | equal | named differences |\n| --- | ---: | ---: | --- |'


@dataclass
class Comparison:
    """What was compared, over all of its tests.

    Attributes:
        cases: Number of cases.
        equal: Number of equal ones.
        named: The differences that a page names.
        absent: Number of tests whose outcomes are not at hand.
        failed: Number of tests that failed.
    """

    cases: int = 0
    equal: int = 0
    named: list[str] = field(default_factory=list)
    absent: int = 0
    failed: int = 0


class Counting:
    """A plugin of pytest that counts the cases of the marked tests.

    Attributes:
        found: Benchmark -> comparison -> its numbers, in the order of the tests.
    """

    def __init__(self, benchmark: str | None) -> None:
        self.found: dict[str, dict[str, Comparison]] = {}
        self._benchmark = benchmark

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leaves the marked tests of the benchmark."""
        marks = [(item, item.get_closest_marker('official')) for item in items]
        kept = [item for item, mark in marks if mark and self._benchmark in (None, mark.args[0])]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
        """Counts a test once it has run, or was skipped."""
        outcome = yield
        report = outcome.get_result()
        if report.when != 'call' and report.passed:
            return
        mark = item.get_closest_marker('official')
        assert mark is not None
        benchmark, what, *named = mark.args
        comparison = self.found.setdefault(benchmark, {}).setdefault(what, Comparison())
        comparison.named += [text for text in named if text not in comparison.named]
        recorded = dict(report.user_properties)
        if report.skipped:
            comparison.absent += 1
            return
        cases = recorded.get('cases', 1)
        comparison.cases += cases
        comparison.failed += report.failed
        comparison.equal += recorded.get('equal', cases) if report.passed else 0


def marked_files() -> list[str]:
    """Returns the test files with marked tests; to collect all tests takes minutes."""
    files = sorted((ROOT / 'tests').rglob('test_*.py'))
    return [str(file) for file in files if '@pytest.mark.official(' in file.read_text(encoding='utf-8')]


def tables(found: dict[str, dict[str, Comparison]]) -> dict[str, str]:
    """Formats a Markdown table per benchmark."""
    texts = {}
    for benchmark, comparisons in found.items():
        rows = [row(what, comparison) for what, comparison in comparisons.items() if comparison.cases]
        if rows:
            texts[benchmark] = '\n'.join([f'**{benchmark}**\n', HEAD, *rows])
    return texts


def row(what: str, comparison: Comparison) -> str:
    """Formats a line of a table."""
    return f'| {what} | {comparison.cases:,} | {comparison.equal:,} | {"; ".join(comparison.named) or "-"} |'


def with_tables(page: str, texts: dict[str, str]) -> str:
    """Replaces the tables of a page, in alphabetical order; those of other benchmarks stay."""
    before, _, behind = page.partition(BEGIN)
    old, _, after = behind.partition(END)
    parts = [f'**{part.strip()}' for part in old.split('\n\n**')[1:]]
    shown = {part.removeprefix('**').partition('**')[0]: part for part in parts} | texts
    joined = '\n\n'.join(shown[benchmark] for benchmark in sorted(shown))
    return f'{before}{BEGIN}\n\n{joined}\n\n{END}{after}'


def main(arguments: Iterable[str] | None = None) -> int:
    """Runs the comparisons; returns the exit status."""
    parser = argparse.ArgumentParser(description='Compares with all published outcomes that are at hand.')
    parser.add_argument('--benchmark', help='only those of this one, such as UltraTool')
    parser.add_argument('--long', action='store_true', help="also those that take minutes: all of T-Eval's plans")
    parser.add_argument('--write', action='store_true', help=f'also write the tables into {PAGE.relative_to(ROOT)}')
    options = parser.parse_args(None if arguments is None else list(arguments))
    counting = Counting(options.benchmark)
    command = [
        '-q',
        '-m',
        'official' if options.long else 'official and not long',
        '-n',
        '0',
        '--rootdir',
        str(ROOT),
        *marked_files(),
    ]
    status = pytest.main(command, plugins=[counting])
    texts = tables(counting.found)
    print('', *texts.values(), sep='\n\n')
    is_absent = not texts and status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if is_absent:
        print('no published outcome is at hand: they are looked for in ../shared')
    absent = sum(one.absent for comparisons in counting.found.values() for one in comparisons.values())
    if absent:
        print(f'{absent} comparisons have no outcomes at hand')
    if is_absent or status:
        return 2 if is_absent else 1
    if options.write:
        PAGE.write_text(with_tables(PAGE.read_text(encoding='utf-8'), texts), encoding='utf-8')
        print(f'wrote {PAGE}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
