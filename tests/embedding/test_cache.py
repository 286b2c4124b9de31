"""embedding/cache: returns exactly the stored values, for any state of the files."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import pytest

from opencompass_tooleval.embedding.encoder import Vector, VectorCache, text_key
from opencompass_tooleval.embedding.locate import CACHE_ENV, default_cache

TEXTS = ['one', 'two', '三\u2028', '']


def vector_of(text: str, dimension: int = 4) -> Vector:
    """A vector that belongs to ``text`` alone."""
    seed = int(text_key(text)[:8], 16)
    return np.random.default_rng(seed).normal(size=dimension).astype(np.float32)


def vectors_of(texts: list[str]) -> dict[str, Vector]:
    return {text: vector_of(text) for text in texts}


def only_shard(folder: Path) -> Path:
    (shard,) = folder.glob('*.shard')
    return shard


def assert_same(found: dict[str, Vector], texts: list[str]) -> None:
    assert sorted(found) == sorted(texts)
    for text in texts:
        assert found[text].dtype == np.float32
        assert found[text].tobytes() == vector_of(text).tobytes()


def test_round_trip(tmp_path: Path) -> None:
    folder = tmp_path / 'a' / 'b'
    cache = VectorCache(folder)
    cache.store(vectors_of(TEXTS[:2]))
    cache.store(vectors_of(TEXTS[1:]))
    assert [path.suffix for path in folder.iterdir()] == ['.shard'] * 2
    assert_same(VectorCache(folder).load(TEXTS), TEXTS)
    assert_same(VectorCache(folder).load(['two', 'unknown', 'two']), ['two'])
    assert VectorCache(folder).load([]) == {}


def test_nothing_or_without_a_folder_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    VectorCache(tmp_path / 'new').store({})
    cache = VectorCache(None)
    cache.store(vectors_of(TEXTS))
    assert cache.load(TEXTS) == {} and list(tmp_path.iterdir()) == []


def test_every_cut_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = VectorCache(tmp_path)
    cache.store(vectors_of(TEXTS))
    shard = only_shard(tmp_path)
    whole = shard.read_bytes()
    for length in range(0, len(whole), 7):
        shard.write_bytes(whole[:length])
        caplog.clear()
        assert cache.load(TEXTS) == {}, length
        assert [record.levelname for record in caplog.records] == ['WARNING'], length
        assert str(shard) in caplog.text


def test_a_flipped_bit_in_any_byte_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No flip gives a wrong vector, and a vector is left out with a warning only."""
    cache = VectorCache(tmp_path)
    cache.store(vectors_of(TEXTS[:2]))
    shard = only_shard(tmp_path)
    whole = shard.read_bytes()
    lost = 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        shard.write_bytes(damaged)
        caplog.clear()
        found = cache.load(TEXTS[:2])
        for text, vector in found.items():
            assert vector.tobytes() == vector_of(text).tobytes(), place
        assert (len(found) < 2) == (len(caplog.records) == 1), place
        lost += len(found) < 2
    assert lost >= len(whole) - whole.index(b'\n') >= 2 * 4 * 4


HUGE = b'{"count": 1e30, "dimension": 4, "index": ""}\n'
FOREIGN = {
    'empty': b'',
    'binary': b'\x80\x81\x82' * 200,
    'a list': b'[]\n',
    'no header': b'{}\n',
    'negative count': b'{"count": -1, "dimension": 4, "index": ""}\n',
    'null count': b'{"count": null, "dimension": 4, "index": ""}\n',
    'count beyond every file': HUGE,
    'infinite count': HUGE.replace(b'1e30', b'Infinity'),
    'nested': b'[' * 199,
}


@pytest.mark.parametrize('name', FOREIGN)
def test_foreign_file_is_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str) -> None:
    cache = VectorCache(tmp_path)
    cache.store(vectors_of(TEXTS))
    foreign = tmp_path / 'foreign.shard'
    foreign.write_bytes(FOREIGN[name])
    assert_same(cache.load(TEXTS), TEXTS)
    assert [record.levelname for record in caplog.records] == ['WARNING']
    assert str(foreign) in caplog.text and 'recomputed' in caplog.text


def test_unwritable_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / 'file').write_text('no folder')
    cache = VectorCache(tmp_path / 'file' / 'cache')
    assert cache.load(TEXTS) == {}
    cache.store(vectors_of(TEXTS))
    assert [record.levelname for record in caplog.records] == ['WARNING']
    assert str(tmp_path / 'file' / 'cache') in caplog.text
    assert 'going on without the cache' in caplog.text
    (tmp_path / 'a.shard').mkdir()
    assert VectorCache(tmp_path).load(TEXTS) == {} and str(tmp_path / 'a.shard') in caplog.text


def test_failed_rename_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: object, target: object) -> None:
        raise OSError('disk full')

    monkeypatch.setattr('os.replace', fail)
    VectorCache(tmp_path).store(vectors_of(TEXTS))
    assert list(tmp_path.iterdir()) == []


def write_many(folder: Path, writer: int) -> None:
    """What one of several processes does: writes shared and own texts, reads in between."""
    cache = VectorCache(folder)
    for turn in range(5):
        cache.store(vectors_of([f'shared {turn}', f'own {writer} {turn}']))
        found = cache.load([f'shared {turn}', f'own {writer} {turn}'])
        assert_same(found, [f'shared {turn}', f'own {writer} {turn}'])


def test_many_processes_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    context = multiprocessing.get_context('spawn')
    writers = [context.Process(target=write_many, args=(tmp_path, number)) for number in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(1500)
    assert [writer.exitcode for writer in writers] == [0] * 2
    texts = [f'shared {turn}' for turn in range(5)]
    texts += [f'own {number} {turn}' for number in range(2) for turn in range(5)]
    assert_same(VectorCache(tmp_path).load(texts), texts)
    assert [path.suffix for path in tmp_path.iterdir()] == ['.shard'] * 10
    assert caplog.records == []


@pytest.mark.parametrize(('value', 'expected'), [('/x/y', '/x/y'), ('', '/home/a/.cache/opencompass_tooleval')])
def test_default_cache(monkeypatch: pytest.MonkeyPatch, value: str, expected: str) -> None:
    monkeypatch.setenv('HOME', '/home/a')
    monkeypatch.setenv(CACHE_ENV, value)
    assert default_cache() == Path(expected)


def test_what_a_killed_process_left_is_not_read_and_swept_after_a_day(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = VectorCache(tmp_path)
    cache.store(vectors_of(TEXTS[:2]))
    old, new = tmp_path / 'old.tmp', tmp_path / 'new.tmp'
    for file in (old, new):
        file.write_bytes(only_shard(tmp_path).read_bytes()[:50])
    two_days_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (two_days_ago, two_days_ago))
    assert_same(cache.load(TEXTS), TEXTS[:2])
    cache.store(vectors_of(TEXTS))
    assert caplog.records == [] and not old.exists() and new.exists()
