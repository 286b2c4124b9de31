"""Caches embedding vectors on disk, for many processes on a shared file system.

A cache is a folder of shards. A shard is written under a temporary name and then renamed, so a reader finds a complete
shard or none, without a lock. If two processes encode the same text, both write it, which is harmless.

A shard has a header line in JSON, ``{"count": n, "dimension": d, "index": digest}``, n keys of 32 hex digits, n CRC-32
of the vectors, and n x d little-endian float32. A shard that does not match its header is ignored with a warning, and
its vectors are computed again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

logger = logging.getLogger(__name__)

Vector = NDArray[np.float32]

_KEY = 32
_DAY = 24 * 3600


def text_key(text: str) -> str:
    """Returns the key of a text, which is 32 hex digits."""
    return hashlib.blake2b(text.encode('utf-8'), digest_size=_KEY // 2).hexdigest()


def _digest(index: bytes) -> str:
    return hashlib.blake2b(index, digest_size=16).hexdigest()


class VectorCache:
    """The vectors of one encoder, by text.

    Args:
        folder: Folder of the shards, created by the first write. None disables the cache.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def load(self, texts: Iterable[str]) -> dict[str, Vector]:
        """Returns the vectors of ``texts`` that are intact in the cache."""
        text_of_key = {text_key(text).encode(): text for text in texts}
        vectors: dict[str, Vector] = {}
        if self.folder is None or not text_of_key:
            return vectors
        ask = np.array(sorted(text_of_key), dtype=f'S{_KEY}')
        for shard in sorted(self.folder.glob('*.shard')):
            try:
                vectors.update(self._read(shard, ask, text_of_key))
            except (OSError, ValueError, KeyError, TypeError) as error:
                logger.warning('ignoring the damaged embedding cache file %s (%s); it is recomputed', shard, error)
        return vectors

    @staticmethod
    def _read(shard: Path, ask: NDArray[np.bytes_], text_of_key: Mapping[bytes, str]) -> dict[str, Vector]:
        with shard.open('rb') as stream:
            header = json.loads(stream.readline(200))
            count, dimension = header['count'], header['dimension']
            offset = stream.tell() + count * (_KEY + 4)
            if shard.stat().st_size != offset + 4 * count * dimension:
                raise ValueError('it is cut short')
            index = stream.read(count * (_KEY + 4))
        if _digest(index) != header['index']:
            raise ValueError('it is overwritten')
        keys = np.frombuffer(index, dtype=f'S{_KEY}', count=count)
        sums = np.frombuffer(index, dtype='<u4', offset=count * _KEY)
        _, _, rows = np.intersect1d(ask, keys, return_indices=True)
        vectors = np.memmap(shard, dtype='<f4', mode='r', offset=offset, shape=(count, dimension))
        intact: dict[str, Vector] = {}
        damaged = 0
        for row in rows:
            vector = np.array(vectors[row], dtype=np.float32)
            if zlib.crc32(vector.tobytes()) == sums[row]:
                intact[text_of_key[bytes(keys[row])]] = vector
            else:
                damaged += 1
        if damaged:
            logger.warning('ignoring %d damaged vectors in %s; they are recomputed', damaged, shard)
        return intact

    @staticmethod
    def _sweep(folder: Path) -> None:
        """Removes incomplete files that killed processes left at least a day ago."""
        for file in folder.glob('*.tmp'):
            with suppress(FileNotFoundError):
                if time.time() - file.stat().st_mtime > _DAY:
                    file.unlink()

    def store(self, vectors: Mapping[str, Vector]) -> None:
        """Writes one shard. If the folder cannot be written, only logs a warning."""
        if self.folder is None or not vectors:
            return
        rows = {text_key(text).encode(): np.ascontiguousarray(vector, '<f4') for text, vector in vectors.items()}
        sums = np.array([zlib.crc32(row.tobytes()) for row in rows.values()], dtype='<u4')
        index = b''.join(rows) + sums.tobytes()
        header = {'count': len(rows), 'dimension': len(next(iter(rows.values()))), 'index': _digest(index)}
        temporary = ''
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._sweep(self.folder)
            handle, temporary = tempfile.mkstemp(suffix='.tmp', dir=self.folder)
            with os.fdopen(handle, 'wb') as stream:
                stream.write(json.dumps(header).encode() + b'\n' + index)
                stream.writelines(row.tobytes() for row in rows.values())
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, str(Path(temporary).with_suffix('.shard')))
        except OSError as error:
            if temporary:
                Path(temporary).unlink(missing_ok=True)
            logger.warning('cannot keep embeddings in %s (%s); going on without the cache', self.folder, error)
