"""NDCG, compared with scikit-learn; searched texts; equal results for instructions with the same words."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from opencompass_tooleval.embedding.encoder import EncoderSimilarity
from opencompass_tooleval.embedding.locate import locate_encoder
from opencompass_tooleval.extras.preparing.retrieval import (
    FIELDS,
    METRICS,
    UNITS,
    Corpus,
    documented_corpus,
    instructed_corpus,
    ndcg,
    retrieve,
)
from opencompass_tooleval.tool_docs.template import template_instruction
from tests.benchmarks.toolbench.support import Words, demo, published


def test_ndcg_is_that_of_scikit_learn() -> None:
    """With many ties, which it shares out, for every cut up to beyond the end."""
    for seed in range(25):
        rng = random.Random(seed)
        size = rng.randint(2, 40)
        scores = [rng.choice([rng.random(), round(rng.random(), 1), 0.0]) for _ in range(size)]
        relevant = [rng.random() < 0.3 for _ in range(size)]
        relevant[rng.randrange(size)] = True
        for k in (1, 2, 5, size, size + 3):
            wanted = ndcg_score(np.array([relevant], dtype=float), np.array([scores]), k=k)
            assert ndcg(scores, relevant, k) == pytest.approx(wanted, abs=1e-12), (seed, k)


@pytest.mark.parametrize('unit', UNITS)
@pytest.mark.parametrize('fields', FIELDS)
def test_both_corpora_hold_the_same_in_the_same_order(unit: str, fields: str) -> None:
    tools = demo('G1').tools
    instructions = {name: template_instruction(doc) for name, doc in tools.items()}
    documented = documented_corpus(tools, unit, fields)
    instructed = instructed_corpus(tools, instructions, unit, fields)
    assert documented.keys == instructed.keys
    assert len(set(documented.keys)) == len(documented.texts) == len(instructed.texts) == (7 if unit == 'tool' else 14)
    for key, before, after in zip(documented.keys, documented.texts, instructed.texts, strict=True):
        assert all(name in before and name in after for name in key)
    assert ('Rate limit' in ' '.join(documented.texts)) and 'Rate limit' not in ' '.join(instructed.texts)
    assert ('Degrees north' in ' '.join(documented.texts)) == (fields == 'full')
    assert ('Degrees north' in ' '.join(instructed.texts)) == (fields == 'full')


@pytest.mark.parametrize('unit', UNITS)
def test_an_oracle_finds_everything(unit: str) -> None:
    """A corpus whose relevant texts are the request itself: 100, whatever else it holds."""
    for record in demo('G2').records:
        corpus = documented_corpus(demo('G2').tools, unit)
        wanted = {*record.relevant, *((tool,) for tool in record.tools)}
        said = tuple(
            record.query if key in wanted else text for key, text in zip(corpus.keys, corpus.texts, strict=True)
        )
        (score,) = retrieve([record], Corpus('documentation', corpus.keys, said), Words())
        assert score.values == dict.fromkeys(METRICS, 1.0)
        assert score.reason == 'ok'
        assert {tuple(key) for key in score.gold} == wanted & set(corpus.keys)
        assert score.to_detail()['searched'] == 'documentation'


def test_what_is_missed_is_said() -> None:
    record = demo('G2').records[0]
    corpus = documented_corpus(demo('G2').tools, 'tool')
    wanted = {(tool,) for tool in record.tools}
    keys = tuple([key for key in corpus.keys if key not in wanted] * 3 + [*wanted])
    texts = tuple('' if key in wanted else record.query for key in keys)
    (score,) = retrieve([record], Corpus('documentation', keys, texts), Words())
    assert (score.reason, set(score.values.values())) == ('retrieval:missed', {0.0})
    assert score.parsed == [list(key) for key in keys[:5]]  # all texts are the same, and names are what gold is
    assert score.gold == [list(key) for key in keys if key in wanted]
    assert score.to_detail()['similarities'] == sorted(score.similarities, reverse=True)
    assert len(score.similarities) == 5


def test_the_packaged_encoder_finds_tools_of_real_requests() -> None:
    data = published('G3')
    instructions = {name: template_instruction(doc) for name, doc in data.tools.items()}
    encoder = EncoderSimilarity(locate_encoder('offline'))
    for corpus in (documented_corpus(data.tools, 'tool'), instructed_corpus(data.tools, instructions, 'tool')):
        scores = retrieve(data.records, corpus, encoder)
        assert [score.id for score in scores] == [record.id for record in data.records]
        mean = 100 * sum(float(score.values['ndcg@1'] or 0) for score in scores) / len(scores)
        assert mean == pytest.approx(93.4, abs=2)  # among seven tools; docs/explanation/toolbench.md
