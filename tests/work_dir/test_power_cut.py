"""After a power cut nothing that was answered is lost, and what it damaged is named, kept and made again."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.cli import retry
from opencompass_tooleval.work_dir.lock import InUseError, exclusive
from opencompass_tooleval.work_dir.names import answers_folder, lock_path
from opencompass_tooleval.work_dir.shards import is_damaged
from opencompass_tooleval.work_dir.store import AnswerStore, write_json
from opencompass_tooleval.work_dir.stored import ask_more, join_parts
from opencompass_tooleval.work_dir.whole_file import locked_content
from tests.cli.conftest import Command, home
from tests.forked import run_opencompass, start_python

__all__ = ['home']

SWEEP = """from mmengine.config import read_base
with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer
    from opencompass_tooleval.configs.models.tooleval_oracle import models
datasets = datasets[:2]
models = models[:1]
"""


TEMPORARY = re.compile(r'\.[0-9a-f]{8}-[0-9a-f]{8}\.tmp$')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of predictions."""
    (tmp_path / 'folder').mkdir()
    return tmp_path / 'folder'


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written to the disk, renamed and removed from now on."""
    done: list[str] = []
    sync, replace, unlink = os.fsync, os.replace, Path.unlink

    def record_sync(handle: int) -> None:
        sync(handle)
        name = Path(os.readlink(f'/proc/self/fd/{handle}')).name
        done.append(f'fsync {TEMPORARY.sub("", name)}')

    def record_replace(source: Any, target: Any) -> None:
        replace(source, target)
        done.append('rename')

    def record_unlink(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        done.append(f'unlink {path.name}')

    monkeypatch.setattr(os, 'fsync', record_sync)
    monkeypatch.setattr(os, 'replace', record_replace)
    monkeypatch.setattr(Path, 'unlink', record_unlink)
    return done


def test_predictions_and_their_name_are_on_the_disk(folder: Path, done: list[str]) -> None:
    """A rename may reach the disk before the contents."""
    write_json(folder / 'd.json', [('0', {'prediction': 'paid for'})])
    assert done == ['fsync .d.json', 'rename', 'fsync folder']
    for content in (b'long', b'x'):  # ledgers
        done.clear()
        with locked_content(folder / '.d.claims', 9) as change:
            change[0] = content
        assert done == ['fsync ..d.claims', 'rename', 'fsync folder'] and (folder / '.d.claims').read_bytes() == content


def test_the_names_of_a_store_are_on_the_disk_with_its_rows(folder: Path, done: list[str]) -> None:
    store = AnswerStore(folder / 'd.answers')
    store.append([{'record_id': 'r', 'prediction': 'paid for'}])
    store.sync()
    assert {'fsync folder', 'fsync d.answers', f'fsync {store.name}'} <= set(done)


REMOVE: dict[str, Callable[[Path], None]] = {
    'asked again': ask_more,
    'joined': lambda part: join_parts(part.with_name('d.json'), [part]),
}


@pytest.mark.parametrize('why', list(REMOVE))
@pytest.mark.parametrize('is_new', [False, True], ids=['in a folder', 'in a new folder'])
def test_answers_and_their_names_are_on_the_disk_before_predictions_go(
    folder: Path, done: list[str], why: str, is_new: bool
) -> None:
    """The removal may reach the disk before all others."""
    file = folder / ('d_0.json' if why == 'joined' else 'd.json')
    write_json(file, [('0', {'record_id': 'r', 'prediction': 'paid for'})])
    if not is_new:
        (folder / 'd.answers').mkdir()
    done.clear()
    REMOVE[why](file)
    (removed,) = [number for number, what in enumerate(done) if what == f'unlink {file.name}']
    ((place, row),) = AnswerStore(folder / 'd.answers').read()
    assert row['prediction'] == 'paid for' and not file.exists()
    steps = [f'fsync .{place.file}', 'rename', 'fsync d.answers']
    assert [what for what in done[:removed] if what != 'fsync folder'] == steps
    assert not is_new or 'fsync folder' in done[:removed]


def test_what_is_asked_again_is_stored_once(folder: Path) -> None:
    file = folder / 'd.json'
    rows = [{'record_id': record, 'prediction': 'paid for'} for record in 'rs']
    AnswerStore(answers_folder(file)).append(rows[:1])
    write_json(file, zip('01', rows, strict=True))
    with exclusive(lock_path(file)), pytest.raises(InUseError):
        ask_more(file)
    assert file.exists()
    ask_more(file)
    stored = [row for _, row in AnswerStore(answers_folder(file)).read()]
    assert sorted((row['record_id'], row['prediction']) for row in stored) == [('r', 'paid for'), ('s', 'paid for')]
    assert [left.name for left in folder.iterdir()] == ['d.answers']


@pytest.mark.parametrize('content', [b'', bytes(99), b'{"0": {"record_id": "r", "predic', b'3', b'{"1": {}}'])
def test_what_is_damaged_is_kept_and_made_again(folder: Path, caplog: pytest.LogCaptureFixture, content: bytes) -> None:
    file = folder / 'd.json'
    AnswerStore(answers_folder(file)).append([{'record_id': 'r', 'prediction': 'paid for'}])
    before = {one: one.read_bytes() for one in answers_folder(file).iterdir()}
    file.write_bytes(content)
    ask_more(file)
    assert {one.name for one in folder.iterdir()} == {'d.answers', 'd.json.damaged'}
    assert (folder / 'd.json.damaged').read_bytes() == content
    assert {one: one.read_bytes() for one in answers_folder(file).iterdir()} == before
    ((level, said),) = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert level == logging.WARNING and said.startswith(f'{file}: the predictions cannot be read')
    assert said.endswith('It is kept as d.json.damaged and made again')


def test_predictions_beside_a_damaged_store_stay(folder: Path) -> None:
    """They are whole: only what is damaged is renamed."""
    file = folder / 'd.json'
    write_json(file, [('0', {'record_id': 'r', 'prediction': 'paid for'})])
    answers_folder(file).mkdir()
    os.mkfifo(answers_folder(file) / 'pipe.jsonl')
    with pytest.raises(ValueError, match='not a plain file'):
        ask_more(file)
    assert file.exists()


WHOLE = json.dumps({'0': {'prediction': 'a'}, '1': {'prediction': 'b'}}, indent=4).encode()


def test_a_file_that_was_cut_is_known_by_its_end(tmp_path: Path) -> None:
    row = WHOLE[: WHOLE.index(b'}') + 1]
    cut = (b'', b'\0' * 4096, WHOLE[:40], WHOLE[:40] + bytes(100), row, b'{"0": {"prediction": "a"}')
    for content in (*cut, WHOLE, WHOLE + b'\n', b'{}', b'{"0": {"prediction": "a"}}'):
        (tmp_path / 'd.json').write_bytes(content)
        assert is_damaged(tmp_path / 'd.json') is (content in cut), content


def test_what_was_cut_is_named_and_made_again(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty file beside a stored answer: this counts. A cut one without: all is asked again."""
    Path('sweep.py').write_text(SWEEP, encoding='utf-8')
    assert run_opencompass('sweep.py', '-w', 'out', '--debug').returncode == 0
    (swept,) = Path('out').glob('2*')
    first, second = sorted(swept.glob('predictions/*/*.json'))[:2]
    before = {file: json.loads(file.read_bytes()) for file in (first, second)}
    results = [file.name for file in swept.glob('results/*/*.json')]
    for file in (first, second):
        shutil.rmtree(answers_folder(file))
    kept = {**before[first]['0'], 'prediction': 'from the store'}
    AnswerStore(answers_folder(first)).append([kept])
    first.write_bytes(b'')
    second.write_bytes(second.read_bytes()[: second.stat().st_size // 2])
    for file in swept.glob('results/*/*.json'):
        file.write_bytes(bytes(1000))

    def said_by(*words: str, code: int | None = 0) -> str:
        done = tooleval(*words)
        assert code in (done.code, None) and 'Traceback' not in done.out + done.err
        return done.out + done.err

    damaged = [f'{file.name}: the predictions cannot be read' for file in (first, second)]
    status, dry_run = said_by('status', 'out', code=1), said_by('retry', 'out', '--dry-run')
    assert all(words in status and words in dry_run for words in damaged)
    assert all(f'{name}: the result cannot be read' in status for name in results)
    model = first.parent.name
    for words in (('compare', 'out', model, model), ('export', 'out', '--out', 'new')):
        assert '.json' in said_by(*words, code=None)
    said_by('report', 'out', '--out', 'page')  # its page names them

    again = run_opencompass('sweep.py', '-w', 'out', '-r', swept.name, '--debug')
    assert again.returncode == 0, again.stdout + again.stderr
    assert 'was cut, as by a power cut' in again.stdout + again.stderr
    assert {file.name for file in swept.glob('predictions/*/*.damaged')} == {f'{f.name}.damaged' for f in before}
    assert json.loads(second.read_bytes()) == before[second]
    assert json.loads(first.read_bytes())['0']['prediction'] == 'from the store'
    assert len(json.loads(first.read_bytes())) == len(before[first])
    assert {file.name for file in swept.glob('results/*/*.json')} == set(results)

    # What is damaged before a whole end is set aside by `tooleval retry`.
    second.with_name(f'{second.name}.damaged').unlink()
    second.write_bytes(second.read_bytes().replace(b'"prediction"', b'\0\0\0\0', 1))
    monkeypatch.setattr(retry, 'run_program', lambda command, _: start_python(*command[1:]).wait())  # a fork
    assert damaged[1] in said_by('retry', 'out')
    assert json.loads(second.read_bytes()) == before[second]
    assert second.with_name(f'{second.name}.damaged').is_file()
