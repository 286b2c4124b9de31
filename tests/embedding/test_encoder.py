"""embedding/encoder, with the real encoder: numbers, caching, and how often a string is encoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from opencompass_tooleval.core.scoring.scorer import ExactSimilarity
from opencompass_tooleval.embedding.encoder import EncoderSimilarity, shared_encoder
from opencompass_tooleval.embedding.locate import EncoderFiles

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LEFT = ['Book a table for two', 'book a table', '', "{'city': 'Ghent', 'limit': 3}", 'lone \ud800 surrogate', '三张票']
RIGHT = ['Reserve a table', '{"city": "Ghent"}', 'Book a table for two', 'x' * 3000, '三张票', ' ', 'stock prices']


@pytest.fixture
def encoder(files: EncoderFiles, model: SentenceTransformer) -> EncoderSimilarity:
    """An encoder without cache on disk; the model is the session's, to save its loading."""
    similarity = EncoderSimilarity(files)
    similarity._model = model
    return similarity


class Counting:
    def __init__(self, model: SentenceTransformer) -> None:
        self._model = model
        self.texts: Counter[str] = Counter()
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def encode(self, texts: Sequence[str], **kwargs: Any) -> Any:
        self.calls += 1
        self.texts.update(texts)
        return self._model.encode(texts, **kwargs)


def clean(texts: list[str]) -> list[str]:
    return [text.encode('utf-8', 'backslashreplace').decode() for text in texts]


def forbid_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: EncoderSimilarity) -> None:
        raise AssertionError('the model is loaded')

    monkeypatch.setattr(EncoderSimilarity, '_load_model', fail)


def test_matrix_is_that_of_sentence_transformers(encoder: EncoderSimilarity, model: SentenceTransformer) -> None:
    from sentence_transformers import util

    expected = util.cos_sim(model.encode(clean(LEFT)), model.encode(clean(RIGHT))).numpy()
    matrix = encoder.matrix(LEFT, RIGHT)
    assert matrix.shape == (len(LEFT), len(RIGHT))
    assert matrix.dtype == np.float64
    np.testing.assert_allclose(matrix, np.clip(expected, 0, 1), rtol=0, atol=1e-6)
    assert matrix.max() == pytest.approx(1)
    assert matrix.min() < 0.3
    left = ['a longer step', 'b', 'a longer step', 'c', 'b', 'a longer step']
    matrix = encoder.matrix(left, RIGHT)
    assert matrix[0].tobytes() == matrix[2].tobytes() == matrix[5].tobytes()
    assert matrix[1].tobytes() == matrix[4].tobytes()
    across = encoder.matrix(RIGHT, left)
    assert across[:, 0].tobytes() == across[:, 2].tobytes() == across[:, 5].tobytes()


@pytest.mark.parametrize(('left', 'right'), [
    pytest.param(LEFT, RIGHT, id='odd texts'),
    pytest.param(['find', 'find', 'a'], ['a', 'find'], id='equal strings'),
    pytest.param([f'step {i} ' * (i % 7 + 1) for i in range(34)], ['step 3', 'other'], id='over one batch of 32'),
    pytest.param(['one'], ['one'], id='one pair'),
])  # fmt: skip
def test_batch_matrix_is_that_of_opencompass_bit_for_bit(
    encoder: EncoderSimilarity, model: SentenceTransformer, left: list[str], right: list[str]
) -> None:
    """As in OpenCompass's T-Eval evaluator, negative values raised to 0."""
    from sentence_transformers import util

    encoded = (model.encode(clean(texts), convert_to_tensor=True) for texts in (left, right))
    expected = np.maximum(util.cos_sim(*encoded).cpu().numpy(), 0)
    matrix = encoder.batch_matrix(left, right)
    assert matrix.dtype == np.float64
    assert matrix.astype(np.float32).tobytes() == expected.tobytes()


def test_warm_run_never_loads_the_model(
    files: EncoderFiles, model: SentenceTransformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cold = EncoderSimilarity(files, tmp_path)
    cold._model = model
    cold.prepare([*LEFT, *RIGHT])
    first = [cold.matrix(LEFT, RIGHT).tobytes(), cold.batch_matrix(LEFT, RIGHT).tobytes()]
    forbid_model(monkeypatch)
    warm = EncoderSimilarity(files, tmp_path)
    warm.prepare([*LEFT, *RIGHT])
    assert [warm.matrix(LEFT, RIGHT).tobytes(), warm.batch_matrix(LEFT, RIGHT).tobytes()] == first
    with pytest.raises(AssertionError, match='the model is loaded'):
        warm.matrix(['never seen'], RIGHT)


def test_each_string_and_batch_is_encoded_once(files: EncoderFiles, model: SentenceTransformer, tmp_path: Path) -> None:
    counting = Counting(model)
    encoder = EncoderSimilarity(files, tmp_path)
    encoder._model = counting
    encoder.prepare(text for text in ['a', 'b', 'a', 'c', 'b'])
    assert counting.calls == 1
    encoder.matrix(['a', 'b', 'd', 'd'], ['a', 'd', 'e'])
    encoder.matrix(['e', 'a'], ['d'])
    encoder.prepare(['a', 'e'])
    assert counting.texts == Counter(['a', 'b', 'c', 'd', 'e'])
    assert counting.calls == 2
    counting = Counting(model)
    encoder = EncoderSimilarity(files)
    encoder._model = counting
    encoder.prepare_batches([['a', 'b'], ['b'], ['a', 'b'], ['b', 'a']])
    assert counting.calls == 3
    encoder.batch_matrix(['a', 'b'], ['b'])
    encoder.batch_matrix(['b', 'a'], ['a', 'b'])
    assert counting.calls == 3


@pytest.mark.parametrize('tokens', [1, 12, 100_000])
def test_batches_change_no_vector_and_no_order(files: EncoderFiles, model: SentenceTransformer, tokens: int) -> None:
    texts = ['a', 'a longer sentence of some words', '', 'b c', '三个字', 'word ' * 100]
    counting = Counting(model)
    encoder = EncoderSimilarity(files, batch_tokens=tokens)
    encoder._model = counting
    encoder.prepare(texts)
    assert counting.calls == {1: 6, 12: 4, 100_000: 1}[tokens]
    expected = model.encode(texts, normalize_embeddings=True)
    for text, vector in zip(texts, expected, strict=True):
        np.testing.assert_allclose(encoder._vectors[text], vector, atol=1e-5)


def test_shape(encoder: EncoderSimilarity) -> None:
    for left, right in (([], ['a']), (['a'], []), ([], []), (['a', 'a'], ['a'])):
        for compare in (ExactSimilarity().matrix, ExactSimilarity().batch_matrix, encoder.matrix, encoder.batch_matrix):
            assert compare(left, right).shape == (len(left), len(right))


def test_exact_similarity_and_one_encoder_per_cache(files: EncoderFiles, tmp_path: Path) -> None:
    matrix = ExactSimilarity().matrix(['a', 'b', 'a'], ['a', 'c'])
    assert matrix.tolist() == [[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    assert ExactSimilarity().batch_matrix(['a'], ['a', 'b']).tolist() == [[1.0, 0.0]]
    assert shared_encoder(files, tmp_path) is shared_encoder(EncoderFiles(files.name, files.path), tmp_path)
    assert shared_encoder(files, tmp_path) is not shared_encoder(files, tmp_path / 'other')
