"""The real packaged encoder, loaded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opencompass_tooleval.embedding.locate import EncoderFiles, locate_encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


@pytest.fixture(scope='session')
def files() -> EncoderFiles:
    return locate_encoder('offline')


@pytest.fixture(scope='session')
def model(files: EncoderFiles) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(files.path))
