"""The six tasks from annotated samples: small ones, and the real test.json against the authors' files."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import TASKS, PlanSample, read_samples
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.preparing.ultratool_rows import (
    PUBLISHED_WITHOUT,
    build_rows,
    published_withheld,
    usage_row,
)
from opencompass_tooleval.extras.preparing.ultratool_tools import ToolPool, same_function

REAL = Path(__file__).resolve().parents[4] / 'shared' / 'data' / 'ultratool'
FOLDERS = ('Chinese-dataset', 'English-dataset')
ADDED = ('domain', 'rebuilt')

needs_real_data = pytest.mark.skipif(
    not (REAL / FOLDERS[0] / 'test.json').is_file(), reason='the real UltraTool data is not at ../shared/data/ultratool'
)


def tool(name: str, *arguments: str, results: tuple[str, ...] = ('done',)) -> dict[str, Any]:
    return {
        'name': name,
        'description': f'This is {name[::-1]}',
        'arguments': {'type': 'object', 'properties': {argument: {'type': 'string'} for argument in arguments}},
        'results': {'type': 'object', 'properties': {result: {'type': 'string'} for result in results}},
    }


def write_samples(path: Path) -> Path:
    """One sample with everything in it, and twenty with a tool each, to draw from."""
    full = {
        'question': 'Write it.\n',
        'plan': [
            {'step': '1. Files', 'tool': None},
            {'step': '1.1 Think', 'tool': 'No tool required'},
            {'step': '1.2 Write', 'tool': "file_write(path='a', text='Hi, you')"},
            {'step': '1.3 Write again', 'tool': "file_write(path='b', owner='me')"},
            {'step': '2. Mail', 'tool': 'null'},
            {'step': '2.1 Mail', 'tool': 'mail(to="x")'},
        ],
        'tools': [tool('file_write', 'path', 'text'), tool('mail', 'to')],
        'domain': 'Document',
    }
    others = []
    for word in (f'{a}_{b}' for a in ('ant', 'bee', 'cat', 'dog', 'elk') for b in ('ash', 'fir', 'oak', 'yew')):
        plan, tools = [{'step': '1. S', 'tool': f'{word}()'}], [tool(word, results=(word,))]
        others.append({'question': 'q', 'plan': plan, 'tools': tools, 'domain': 'Other'})
    path.write_text('\n'.join(json.dumps(row) for row in (full, *others)), encoding='utf-8')
    return path


@pytest.fixture
def samples(tmp_path: Path) -> list[PlanSample]:
    return read_samples(write_samples(tmp_path / 'test.json'))


def first_row(task: str, samples: list[PlanSample], **options: Any) -> dict[str, Any]:
    return build_rows(task, samples, **options)[0]


def test_planning_usage_and_usage_awareness(samples: list[PlanSample]) -> None:
    assert first_row('planning', samples) == {
        'input': 'Write it.\n',
        'reference': '1. Files\n1.1 Think\n1.2 Write\n1.3 Write again\n2. Mail\n2.1 Mail',
        'domain': 'Document',
        'rebuilt': True,
    }
    row = first_row('tool_usage_awareness', samples)
    assert row['input'][:2] == [{'step': '1. Files'}, {'step': '1.1 Think', 'tool': ''}]
    assert [item['tool'] for item in row['reference']] == ['0', '1', '1', '1']
    row = first_row('tool_usage', samples)
    assert list(row) == ['question', 'input', 'toolset', 'reference', *ADDED]
    assert row['input'][2] == {'step': '1.2 Write', 'tool': 'file_write', 'param': ''}
    assert [item['name'] for item in row['toolset']] == ['file_write', 'mail']
    params = [item['param'] for item in row['reference']]
    assert params == [{'path': 'a', 'text': 'Hi, you'}, {'path': 'b'}, {'to': 'x'}]
    row = usage_row(samples[0], without={'mail'}, published=True)
    assert ([item['name'] for item in row['toolset']], row['input'][5]) == (['file_write'], {'step': '2.1 Mail'})
    assert [item['param'] for item in row['reference']] == [{'path': 'a', 'text': 'H'}, {'path': 'b'}]


def test_creation_asks_once_for_a_tool(samples: list[PlanSample]) -> None:
    withheld = {sample.row: {'file_write'} for sample in samples}
    row = first_row('tool_creation', samples, withheld=withheld)
    assert row['reference'] == [{'step': '1.2 Write', 'tool': samples[0].tool('file_write')}]
    assert [item['step'] for item in row['input'] if 'tool' in item] == ['1.2 Write']
    assert len(row['toolset']) == 2
    awareness = first_row('tool_creation_awareness', samples, withheld=withheld)
    assert [item['tool'] for item in awareness['reference']] == ['1', '1', '0']
    assert awareness['toolset'][:2] == row['toolset']
    names = {item['name'] for item in awareness['toolset']}
    assert 'mail' in names and 'file_write' not in names
    assert len(build_rows('tool_creation', samples, withheld=withheld)) == 1, 'a row of which nothing is withheld'


@pytest.mark.parametrize('task', TASKS)
def test_same_seed_same_rows(task: str, samples: list[PlanSample]) -> None:
    assert build_rows(task, samples, seed=3) == build_rows(task, samples, seed=3)
    if task in ('tool_selection', 'tool_creation_awareness', 'tool_creation'):
        assert build_rows(task, samples, seed=3) != build_rows(task, samples, seed=4)


def test_larger_toolsets_hold_the_smaller(samples: list[PlanSample]) -> None:
    small, large = (build_rows('tool_selection', samples, toolset_size=size) for size in (4, 12))
    for one, other in zip(small, large, strict=True):
        names = [{item['name'] for item in row['toolset']} for row in (one, other)]
        assert names[0] < names[1] and (len(names[0]), len(names[1])) == (4, 12)


def test_too_few_tools(samples: list[PlanSample]) -> None:
    with pytest.raises(ValueError, match=r'tool_selection, row 0: .*smaller --toolset-size'):
        build_rows('tool_selection', samples, toolset_size=50)
    with pytest.raises(ValueError, match='too small'):
        build_rows('tool_selection', samples, toolset_size=1)
    with pytest.raises(ValueError, match='no task'):
        build_rows('selection', samples)


@pytest.mark.parametrize(
    ('one', 'other', 'same'),
    [
        (tool('file_write', 'a'), tool('FileWrite', 'b'), True),
        (tool('search_flights', 'a'), tool('flight_inquiry_tool', 'b'), True),
        (tool('alarm_set', 'a'), tool('alarm_delete', 'b'), False),
        (tool('ant', 'a', 'b'), tool('bee', 'b', 'a'), True),
        (tool('ant', 'a'), tool('bee', 'a', results=('other',)), False),
        (tool('ant'), tool('bee'), False),
        ({'name': 'ant', 'description': 'Sets an alarm.'}, {'name': 'bee', 'description': 'sets an alarm'}, True),
    ],
)
def test_same_function(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert same_function(one, other) is same
    assert same_function(other, one) is same


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'question': None}, "'question' is missing"),
        ({'domain': 3}, "'domain' is missing"),
        ({'plan': []}, "'plan' is not a list"),
        ({'tools': 'x'}, "'tools' is not a list"),
        ({'plan': [{'step': '1. S', 'tool': "other(a='x')"}]}, "calls 'other'"),
        ({'plan': [{'step': '1. S', 'tool': "mail('x')"}]}, 'without a name'),
        ({'plan': [{'step': '1. S', 'tool': 'perhaps'}]}, 'nor a call'),
        ({'plan': [{'step': '1. S', 'tool': ['mail']}]}, 'neither null nor text'),
        ({'tools': [tool('mail'), tool('mail')]}, 'occurs twice'),
    ],
)
def test_damaged_rows_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    right = {'question': 'q', 'plan': [{'step': '1. S', 'tool': None}], 'tools': [tool('mail')], 'domain': 'Other'}
    file = tmp_path / 'dev.json'
    file.write_text(f'{json.dumps(right)}\n{json.dumps({**right, **change})}\n', encoding='utf-8')
    with pytest.raises(DataError, match=r"dev\.json: record '1'") as caught:
        read_samples(file)
    assert message in str(caught.value) and '--skip-damaged' in str(caught.value)
    skipped: list[DataError] = []
    assert len(read_samples(file, skipped=skipped)) == len(skipped) == 1


@pytest.mark.parametrize('content', [None, b'', b'\n', b'\xff\xfe', b'{"cut": '])
def test_damaged_files_are_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / 'test.json'
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(DataError, match=r'test\.json'):
        read_samples(file)


@cache
def real_samples(folder: str) -> list[PlanSample]:
    return read_samples(REAL / folder / 'test.json')


@cache
def official(folder: str, task: str) -> list[dict[str, Any]]:
    text = (REAL / folder / 'test_set' / f'{task}.json').read_text(encoding='utf-8')
    return [json.loads(line) for line in text.split('\n') if line]


def rebuilt(folder: str, task: str, **options: Any) -> list[dict[str, Any]]:
    rows = build_rows(task, real_samples(folder), **options)
    assert all(row['rebuilt'] is True for row in rows)
    assert [row['domain'] for row in rows] == [sample.domain for sample in real_samples(folder)]
    return [{key: value for key, value in row.items() if key not in ADDED} for row in rows]


@needs_real_data
@pytest.mark.long
@pytest.mark.parametrize('folder', FOLDERS)
class TestRealData:
    """The proof that test.json and the official files say the same, row by row."""

    @pytest.mark.parametrize('task', ['planning', 'tool_usage_awareness'])
    def test_equal_in_all_rows(self, folder: str, task: str) -> None:
        assert rebuilt(folder, task) == official(folder, task)
        assert len(official(folder, task)) == 1000

    def test_creation_inputs_and_references(self, folder: str) -> None:
        rows = official(folder, 'tool_creation')
        built = rebuilt(folder, 'tool_creation', withheld=published_withheld(rows))
        for key in ('input', 'reference'):
            assert [row[key] for row in built] == [row[key] for row in rows]
        assert {len(row['toolset']) for row in built} == {len(row['toolset']) for row in rows} == {2}

    def test_usage_inputs_and_toolsets(self, folder: str) -> None:
        """The 92 other rows are those that call book_flight or hotel_booking: the authors left those two tools out."""
        rows, keys = official(folder, 'tool_usage'), ('question', 'input', 'toolset')
        pairs = enumerate(zip(rebuilt(folder, 'tool_usage'), rows, strict=True))
        other = {number for number, (one, right) in pairs if any(one[key] != right[key] for key in keys)}
        assert len(rows) - len(other) == 908
        calling = {s.row for s in real_samples(folder) if {call.tool for call in s.calls.values()} & PUBLISHED_WITHOUT}
        assert other == calling
        steps = sum(call.tool in PUBLISHED_WITHOUT for s in real_samples(folder) for call in s.calls.values())
        assert steps == 100

    def test_usage_whole_with_the_published_damage(self, folder: str) -> None:
        """Without the two tools, and with values cut as published, every row is equal to the last character."""
        built = [usage_row(sample, without=PUBLISHED_WITHOUT, published=True) for sample in real_samples(folder)]
        assert built == official(folder, 'tool_usage')

    @pytest.mark.parametrize('size', [8, 32, 128])
    def test_selection(self, folder: str, size: int) -> None:
        rows = rebuilt(folder, 'tool_selection', toolset_size=size)
        for row, sample in zip(rows, real_samples(folder), strict=True):
            names = [item['name'] for item in row['toolset']]
            assert len(names) == len(set(names)) == size
            assert {item['tool'] for item in row['reference']} <= {item['name'] for item in sample.tools} <= set(names)

    def test_no_distractor_could_serve(self, folder: str) -> None:
        pool = ToolPool.of(real_samples(folder))
        places: Counter[int] = Counter()
        for row, sample in zip(rebuilt(folder, 'tool_selection'), real_samples(folder), strict=True):
            needed = {item['name'] for item in sample.tools}
            barred = frozenset().union(*(pool.rivals(name) for name in needed))
            names = [item['name'] for item in row['toolset']]
            assert not (set(names) - needed) & barred
            places.update(names.index(item['tool']) for item in row['reference'])
        assert set(places) == set(range(8)) and max(places.values()) < 1.5 * min(places.values())
