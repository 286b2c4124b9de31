"""Cosine similarity of sentence embeddings; each distinct string is encoded once."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import tempfile
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from opencompass_tooleval.core.text.jsonable import clean_text
from opencompass_tooleval.embedding.locate import EncoderFiles

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


if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_SHOW_PROGRESS_FROM = 500
_TOKENS_ON_CPU, _TOKENS_ON_GPU = 1024, 65536


@lru_cache(maxsize=2)
def shared_encoder(files: EncoderFiles, cache: Path | None) -> EncoderSimilarity:
    """Returns this process's encoder, which is loaded once for all subsets."""
    return EncoderSimilarity(files, cache)


def _batch_rows(batch: Sequence[str]) -> list[str]:
    """Returns the names under which the vectors of a batch are cached, one per string.

    The last bits of such vectors depend on machine and device, so the names contain them: other machines must not read
    these vectors from a shared cache.
    """
    name = json.dumps(['batch', platform.node(), os.environ.get('CUDA_VISIBLE_DEVICES'), *batch])
    return [f'{name}\0{row}' for row in range(len(batch))]


class EncoderSimilarity:
    """Cosine of sentence embeddings, clipped to 0-1 (T-Eval, App. C.2).

    The model is loaded when the cache lacks a string, on a GPU if there is one.

    Args:
        files: The encoder, from :func:`~opencompass_tooleval.embedding.locate.locate_encoder`.
        cache: Parent folder of the encoder's vectors; None to store none on disk.
        batch_tokens: Number of tokens per forward pass of strings of similar length. The default is 65,536 on a GPU and
            1,024 on a CPU (1,347 strings of real plans on 2 threads: 7.9 s; at 2,048 8.5 s, at 512 8.1 s).
    """

    def __init__(self, files: EncoderFiles, cache: Path | None = None, batch_tokens: int | None = None) -> None:
        self.name = files.name
        self._files = files
        self._batch_tokens = batch_tokens
        self._cache = VectorCache(cache / 'embeddings' / files.fingerprint if cache else None)
        self._vectors: dict[str, Vector] = {}
        self._model: SentenceTransformer | None = None

    def prepare(self, texts: Iterable[str]) -> None:
        """Encodes all ``texts`` that neither this process nor the cache has, in one call."""
        new = {clean: None for text in texts if (clean := clean_text(text)) not in self._vectors}
        self._vectors.update(self._cache.load(new))
        missing = [text for text in new if text not in self._vectors]
        if missing:
            encoded = dict(zip(missing, self._encode(missing), strict=True))
            self._cache.store(encoded)
            self._vectors.update(encoded)

    def matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Returns cosines clipped to 0-1, shape ``(len(left), len(right))``.

        Equal strings get rows that are equal to the last bit. A matrix product alone may round them differently, which
        would break ties between equal steps of a plan at random.
        """
        if not left or not right:
            return np.zeros((len(left), len(right)))
        self.prepare([*left, *right])
        rows, row_of = self._distinct(left)
        columns, column_of = self._distinct(right)
        cosines = np.clip(rows @ columns.T, 0.0, 1.0)
        return np.asarray(cosines[np.ix_(row_of, column_of)])

    def prepare_batches(self, batches: Iterable[Sequence[str]]) -> None:
        """Encodes each batch that the cache lacks, in a separate call."""
        keys = {row: batch for batch in batches for row in _batch_rows(batch) if row not in self._vectors}
        self._vectors.update(self._cache.load(keys))
        encoded: dict[str, Vector] = {}
        for row, batch in tqdm(
            keys.items(), desc='plans with ties', unit='step', disable=len(keys) < _SHOW_PROGRESS_FROM
        ):
            if row not in self._vectors and row not in encoded:
                vectors = self._load_model().encode([clean_text(text) for text in batch], show_progress_bar=False)
                encoded.update(zip(_batch_rows(batch), vectors, strict=True))
        self._cache.store(encoded)
        self._vectors.update(encoded)

    def batch_matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Returns cosines clipped at 0, with the same arithmetic as OpenCompass's T-Eval evaluator on this machine."""
        if not left or not right:
            return np.zeros((len(left), len(right)))
        from sentence_transformers import util

        self.prepare_batches([left, right])
        a, b = (np.array([self._vectors[row] for row in _batch_rows(batch)]) for batch in (left, right))
        return np.asarray(np.maximum(util.cos_sim(a, b).numpy(), 0), dtype=np.float64)

    def _distinct(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], list[int]]:
        position = {text: row for row, text in enumerate(dict.fromkeys(map(clean_text, texts)))}
        vectors = np.array([self._vectors[text] for text in position], dtype=np.float64)
        return vectors, [position[clean_text(text)] for text in texts]

    def _load_model(self) -> SentenceTransformer:
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            self._model = SentenceTransformer(str(self._files.path))
        return self._model

    def _encode(self, texts: list[str]) -> list[Vector]:
        model = self._load_model()
        budget = self._batch_tokens or (_TOKENS_ON_CPU if model.device.type == 'cpu' else _TOKENS_ON_GPU)
        tokens = model.tokenizer(texts, truncation=True, max_length=model.max_seq_length)['input_ids']
        order = sorted(range(len(texts)), key=lambda row: -len(tokens[row]))  # longest first: memory fails early
        bar = tqdm(total=len(texts), desc='encoding', unit='string', disable=len(texts) < _SHOW_PROGRESS_FROM)
        vectors: dict[int, Vector] = {}
        while len(vectors) < len(order):
            rows = order[len(vectors) :]
            rows = rows[: max(1, budget // len(tokens[rows[0]]))]
            batch = [texts[row] for row in rows]
            encoded = model.encode(batch, batch_size=len(batch), normalize_embeddings=True, show_progress_bar=False)
            vectors.update(zip(rows, np.asarray(encoded, dtype=np.float32), strict=True))
            bar.update(len(rows))
        bar.close()
        return [vectors[row] for row in range(len(texts))]
