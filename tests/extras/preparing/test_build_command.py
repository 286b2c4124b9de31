"""The commands ``tooleval build ultratool`` and ``tooleval prepare ultratool``."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import opencompass_tooleval
from opencompass_tooleval.benchmarks.ultratool.data import (
    TASKS,
    data_file,
    find_file,
    load_records,
    parse_payload,
    read_samples,
)
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolDataset
from opencompass_tooleval.catalogue.benchmark import find_benchmark
from opencompass_tooleval.cli.prepare import prepare
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import missing_files, resolve_data_path
from opencompass_tooleval.extras.preparing.build_ultratool import build_ultratool
from opencompass_tooleval.extras.preparing.ultratool_rows import creation_row, planning_row, usage_row
from tests.cli.conftest import read_lines
from tests.extras.preparing.test_ultratool_rows import REAL, needs_real_data, tool, write_samples

PACKAGE = Path(opencompass_tooleval.__file__).parent
UNPUBLISHED = ('tool_creation_awareness', 'tool_selection')


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(''.join(f'{json.dumps(row)}\n' for row in rows), encoding='utf-8')
    return path


@pytest.fixture
def annotated(tmp_path: Path) -> Path:
    return write_samples(tmp_path / 'test.json')


@pytest.fixture
def official(tmp_path: Path, annotated: Path) -> Path:
    """Three official files of the samples; the second row of tool_creation withholds what the seed does not draw."""
    samples = read_samples(annotated)
    folder = tmp_path / 'official'
    shown = [tool('ant_ash'), tool('bee_fir')]
    write_lines(folder / 'test_set' / 'planning.json', [planning_row(sample) for sample in samples])
    write_lines(folder / 'test_set' / 'tool_usage.json', [usage_row(sample, published=True) for sample in samples])
    creation = [creation_row(s, {'mail'} if s.row == 0 else {str(s.tools[0]['name'])}, shown) for s in samples]
    write_lines(folder / 'test_set' / 'tool_creation.json', creation)
    return folder


def test_all_tasks(tmp_path: Path, annotated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / 'out'
    assert build_ultratool(annotated, out) == 0
    files = {f'{name}.json' for name in (*TASKS, 'tool_usage_errata', 'build')}
    assert {path.name for path in out.iterdir()} == files
    for task in TASKS:
        rows = read_lines(out / f'{task}.json')
        assert len(rows) == 21 and all(row['rebuilt'] is True and row['domain'] for row in rows)
    assert [row['kind'] for row in read_lines(out / 'tool_usage_errata.json')] == ['cut', 'quoted']
    printed = capsys.readouterr().out.replace('\n', '')
    assert 'planning.json: 21 rows' in printed and '1 cut, 1 quoted' in printed


def test_sizes_lie_side_by_side(tmp_path: Path, annotated: Path) -> None:
    out = tmp_path / 'out'
    build_ultratool(annotated, out, tasks=['tool_selection,tool_usage_awareness'])
    build_ultratool(annotated, out, tasks=['tool_selection'], toolset_size=12, seed=5)
    files = {f'{name}.json' for name in ('tool_selection', 'tool_selection_12', 'tool_usage_awareness', 'build')}
    assert {path.name for path in out.iterdir()} == files
    log = json.loads((out / 'build.json').read_text(encoding='utf-8'))
    small, large = log['tool_selection.json'], log['tool_selection_12.json']
    assert [(one['toolset_size'], one['seed']) for one in (small, large)] == [(8, 0), (12, 5)]
    assert {len(row['toolset']) for row in read_lines(out / 'tool_selection_12.json')} == {12}


def test_beside_the_official_files(
    tmp_path: Path, annotated: Path, official: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = official / 'test_set'
    unpublished = ['tool_selection', 'tool_creation_awareness']
    for _ in range(2):  # built files may be built again
        build_ultratool(annotated, out, official=official, tasks=unpublished)
    reference = read_lines(out / 'tool_creation_awareness.json')[0]['reference']
    assert [item['tool'] for item in reference] == ['0', '0', '1']
    build_ultratool(annotated, tmp_path / 'out', official=official)
    printed = capsys.readouterr().out.replace('\n', ' ')
    assert 'equal to the official file: input 21, reference 21 of 21' in printed
    repaired = read_lines(tmp_path / 'out' / 'tool_usage_repaired.json')
    assert repaired[0]['reference'][0]['param'] == {'path': 'a', 'text': 'Hi, you'}
    assert all(row['gold'] == 'repaired' and row['domain'] and 'rebuilt' not in row for row in repaired)
    assert not (out / 'tool_usage_repaired.json').exists()
    before = (out / 'planning.json').read_bytes()
    with pytest.raises(DataError, match='official file'):
        build_ultratool(annotated, out)
    assert (out / 'planning.json').read_bytes() == before


def test_faults(tmp_path: Path, annotated: Path, official: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match='no task selection'):
        build_ultratool(annotated, tmp_path / 'out', tasks=['selection'])
    with pytest.raises(DataError, match='no official file'):
        build_ultratool(annotated, tmp_path / 'out', official=tmp_path)
    with annotated.open('a', encoding='utf-8') as file:
        file.write('\n{"cut": ')
    with pytest.raises(DataError, match='--skip-damaged'):
        build_ultratool(annotated, tmp_path / 'out')
    assert not (tmp_path / 'out').exists()
    assert build_ultratool(annotated, tmp_path / 'out', skip_damaged=True) == 0
    assert 'LEFT OUT' in capsys.readouterr().out
    with pytest.raises(DataError, match='row by row'):
        build_ultratool(annotated, tmp_path / 'out', official=official, skip_damaged=True)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setenv('COLUMNS', '300')
    return tmp_path / 'cache' / 'data' / 'ultratool'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A clone: planning in English, whole, its example, and files that are none of ours."""
    folder = tmp_path / 'clone' / 'data' / 'English-dataset'
    write_lines(folder / 'test_set' / 'planning.json', [{'input': 'q', 'reference': '1. S'}] * 1000)
    write_lines(folder / 'example' / 'planning.json', [{'input': 'q', 'reference': '1. S'}])
    write_lines(folder / 'gpt-4' / 'planning.json', [{'data': {}, 'init output': ''}])
    write_lines(folder / 'test_set' / 'other.json', [{}])
    write_lines(tmp_path / 'clone' / 'test_set' / 'planning.json', [{}])
    return tmp_path / 'clone'


def test_copies_and_keeps(cache: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare(find_benchmark('ultratool'), source) == 0
    copied = sorted(path.relative_to(cache).as_posix() for path in cache.rglob('*') if path.is_file())
    assert copied == ['English-dataset/example/planning.json', 'English-dataset/test_set/planning.json']
    assert resolve_data_path('data/ultratool', 'x') == cache
    printed = capsys.readouterr().out
    assert printed.count('copied ') == 2
    assert f'still missing, neither in {source} nor prepared before: ' in printed
    for again in (source, source / 'data' / 'English-dataset' / 'test_set', cache):
        assert prepare(find_benchmark('ultratool'), again) == 0
        printed = capsys.readouterr().out
        assert 'kept ' in printed and 'copied ' not in printed


@pytest.mark.parametrize(
    ('place', 'rows', 'message'),
    [
        ('test_set/planning.json', [{'input': 'q', 'reference': '1. S'}] * 999, '999 rows, published are 1000'),
        ('test_set/planning.json', [{'input': 'q'}], "record '0'"),
        ('test_set/tool_usage.json', [], 'empty'),
        ('example/planning.json', [{'input': 'q'}], "'reference'"),
        ('test.json', [{'question': 'q'}], "record '0'"),
    ],
)
def test_damage_is_named_and_left_out(
    cache: Path, source: Path, capsys: pytest.CaptureFixture[str], place: str, rows: list[Any], message: str
) -> None:
    write_lines(source / 'data' / 'English-dataset' / place, rows)
    assert prepare(find_benchmark('ultratool'), source) == 1
    printed = capsys.readouterr().out
    assert 'DAMAGED' in printed and message in printed and place.rpartition('/')[2] in printed
    assert not (cache / 'English-dataset' / place).exists()


@pytest.fixture
def published(cache: Path) -> Path:
    """The demo in the published layout: without the tasks that are built, and without marks of built rows."""
    shutil.copytree(PACKAGE / 'demo' / 'ultratool', cache)
    for file in cache.glob('*/test_set/*.json'):
        rows = [{name: row[name] for name in row if name not in ('domain', 'rebuilt')} for row in read_lines(file)]
        write_lines(file, rows)
        if file.stem in UNPUBLISHED:
            file.unlink()
    return cache


def test_prepare_builds_what_the_authors_did_not_publish(
    tmp_path: Path, published: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the files cannot be written beside the published ones, they are written into our own cache."""
    monkeypatch.setenv('TOOLEVAL_CACHE', str(tmp_path / 'ours'))
    (published / 'English-dataset' / 'test_set' / 'tool_selection.json').mkdir()  # nobody can write this file
    with pytest.raises(DataError, match=r'are not built yet\. Fix it with: tooleval prepare ultratool$'):
        find_file('data/ultratool', 'tool_selection', 'zh')
    before = {file: file.read_bytes() for file in published.rglob('*.json') if file.is_file()}
    assert prepare(find_benchmark('ultratool'), None) == 0
    printed = capsys.readouterr().out
    other = tmp_path / 'ours' / 'data' / 'ultratool'
    for root, folder, language in ((published, 'Chinese-dataset', 'zh'), (other, 'English-dataset', 'en')):
        file = root / folder / 'test_set' / 'tool_selection.json'
        assert f'wrote {file}: 5 rows' in printed
        assert find_file('data/ultratool', 'tool_selection', language) == file
        data = ToolEvalUltraToolDataset.load('data/ultratool', 'tool_selection', language)
        assert len(data) == 5 and all(parse_payload(text, 'tool_selection').rebuilt for text in data['record'])
    assert all(file.read_bytes() == content for file, content in before.items())
    assert missing_files([{'path': 'data/ultratool', 'name': 'tool_selection', 'language': 'en'}]) == []
    assert prepare(find_benchmark('ultratool'), None) == 1  # everything is built: says where the files come from
    printed = capsys.readouterr().out
    assert 'wrote ' not in printed and 'git clone --depth 1 https://github.com/JoeYing1019/UltraTool' in printed


@pytest.mark.parametrize('name', ['tool_selection', 'tool_selection_32', 'tool_usage_repaired'])
@pytest.mark.parametrize('content', [None, '{"cut": '], ids=['missing', 'damaged'])
def test_the_command_of_the_message_builds_the_file(
    published: Path, tmp_path: Path, name: str, content: str | None
) -> None:
    file = data_file(published, name, 'en')
    if name.endswith('_32'):  # which takes more tools than the demo has
        *samples, last = read_lines(published / 'English-dataset' / 'test.json')
        words = [f'{a}_{b}' for a in ('ant', 'bee', 'cat', 'dog', 'elk') for b in ('ash', 'fir', 'oak', 'yew')]
        more = [tool(word, results=(word,)) for word in words]
        write_lines(published / 'English-dataset' / 'test.json', [*samples, {**last, 'tools': [*last['tools'], *more]}])
    if content:
        file.write_text(f'{{"rebuilt": true}}\n{content}')
    with pytest.raises(DataError) as caught:
        load_records(file, name, 'en')
    command = str(caught.value).partition('Fix it with: ')[2]
    tooleval = f'{shlex.quote(sys.executable)} -c "from opencompass_tooleval.cli.main import main; main()"'
    subprocess.run(command.replace('tooleval ', f'{tooleval} ', 1), shell=True, check=True, cwd=tmp_path)
    assert len(load_records(file, name, 'en')) == 5 and ' … ' not in command


@pytest.mark.long
@needs_real_data
def test_the_real_files(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare(find_benchmark('ultratool'), REAL.parents[1]) == 0
    printed = capsys.readouterr().out
    assert printed.count('copied ') == 22 and printed.count(': 1000 rows') == 14
    assert [printed.count(f'{name}.json: 1000 rows\n') for name in UNPUBLISHED] == [2, 2]
    for folder in ('Chinese-dataset', 'English-dataset'):
        for file in (REAL / folder).rglob('*.json'):
            assert (cache / file.relative_to(REAL)).read_bytes() == file.read_bytes()
