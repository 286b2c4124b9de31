"""After a power cut nothing that was answered is lost, and what it damaged is named, kept and made again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.cli import retry
from opencompass_tooleval.work_dir.journal import Journal, write_json
from opencompass_tooleval.work_dir.shards import is_damaged
from opencompass_tooleval.work_dir.stored import reopen
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


def test_predictions_and_their_name_are_on_the_disk_before_the_journal_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename may reach the disk before the contents, the removal of the journal before both."""
    done: list[str] = []
    sync, replace, unlink = os.fsync, os.replace, Path.unlink

    def record_sync(handle: int) -> None:
        sync(handle)
        done.append(f'fsync {Path(os.readlink(f"/proc/self/fd/{handle}")).name[:7]}')

    def record_replace(source: Any, target: Any) -> None:
        replace(source, target)
        done.append('rename')

    def record_unlink(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        done.append(f'unlink {path.name}')

    monkeypatch.setattr(os, 'fsync', record_sync)
    monkeypatch.setattr(os, 'replace', record_replace)
    monkeypatch.setattr(Path, 'unlink', record_unlink)
    folder = tmp_path / 'folder'
    folder.mkdir()
    journal = Journal(folder / 'tmp_d.jsonl')
    journal.append({0: {'prediction': 'paid for'}})
    done.clear()
    write_json(folder / 'd.json', [('0', {'prediction': 'paid for'})])
    journal.remove()
    assert done == ['fsync .d.json', 'rename', 'fsync folder', 'unlink tmp_d.jsonl']
    for content in (b'long', b'x'):  # ledgers
        done.clear()
        with locked_content(folder / '.d.claims', 9) as change:
            change[0] = content
        assert done == ['fsync ..d.cla', 'rename', 'fsync folder'] and (folder / '.d.claims').read_bytes() == content


def test_what_is_asked_again_has_no_result(tmp_path: Path) -> None:
    file, result = tmp_path / 'd.json', tmp_path / 'result.json'
    write_json(file, [('0', {'record_id': 'r', 'prediction': 'paid for'})])
    result.write_text('{}')
    reopen(file, result)
    assert [row['prediction'] for row in Journal(tmp_path / 'tmp_d.jsonl').rows()] == ['paid for']
    assert [left.name for left in tmp_path.glob('*.json*')] == ['tmp_d.jsonl']


WHOLE = json.dumps({'0': {'prediction': 'a'}, '1': {'prediction': 'b'}}, indent=4).encode()


def test_a_file_that_was_cut_is_known_by_its_end(tmp_path: Path) -> None:
    row = WHOLE[: WHOLE.index(b'}') + 1]
    cut = (b'', b'\0' * 4096, WHOLE[:40], WHOLE[:40] + bytes(100), row, b'{"0": {"prediction": "a"}')
    for content in (*cut, WHOLE, WHOLE + b'\n', b'{}', b'{"0": {"prediction": "a"}}'):
        (tmp_path / 'd.json').write_bytes(content)
        assert is_damaged(tmp_path / 'd.json') is (content in cut), content


def test_what_was_cut_is_named_and_made_again(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty file beside its journal: the journal's answer counts. A cut one without: all is asked again."""
    Path('sweep.py').write_text(SWEEP, encoding='utf-8')
    assert run_opencompass('sweep.py', '-w', 'out', '--debug').returncode == 0
    (swept,) = Path('out').glob('2*')
    first, second = sorted(swept.glob('predictions/*/*.json'))[:2]
    before = {file: json.loads(file.read_bytes()) for file in (first, second)}
    results = [file.name for file in swept.glob('results/*/*.json')]
    kept = {**before[first]['0'], 'prediction': 'from the journal'}
    Journal(first.with_name(f'tmp_{first.stem}.jsonl')).append({0: kept})
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
    assert json.loads(first.read_bytes())['0']['prediction'] == 'from the journal'
    assert len(json.loads(first.read_bytes())) == len(before[first])
    assert {file.name for file in swept.glob('results/*/*.json')} == set(results)

    # What is damaged before a whole end is set aside by `tooleval retry`.
    second.with_name(f'{second.name}.damaged').unlink()
    second.write_bytes(second.read_bytes().replace(b'"prediction"', b'\0\0\0\0', 1))
    monkeypatch.setattr(retry, 'run_program', lambda command, _: start_python(*command[1:]).wait())  # a fork
    assert damaged[1] in said_by('retry', 'out')
    assert json.loads(second.read_bytes()) == before[second]
    assert second.with_name(f'{second.name}.damaged').is_file()
