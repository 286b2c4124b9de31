"""Shared by T-Eval's tests: the real data if it exists, records made by hand, and the reference."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.data import Record, Sample, load_samples, parse_payload
from opencompass_tooleval.embedding.encoder import EncoderSimilarity
from opencompass_tooleval.embedding.locate import locate_encoder

ROOT = Path(__file__).resolve().parents[3]
REAL_DATA = ROOT.parent / 'shared' / 'data' / 'teval' / 'EN'


def real_samples(subset: str) -> list[Sample]:
    """The real records of a subset; skips the test where they are not beside the repository."""
    file = REAL_DATA / f'{subset}_v1.json'
    if not file.is_file():
        pytest.skip(f'real T-Eval data ({file.name}) is not beside the repository')
    return load_samples(file, subset, 'v1')


def repeats_a_step(sample: Sample) -> bool:
    """Whether a gold plan holds a step twice, so that its best matching is not unique."""
    assert isinstance(sample.record.gold, tuple)
    gold = [(step.name, step.args) for step in sample.record.gold]
    return len(set(gold)) < len(gold)


def raw_of(sample: Sample) -> dict[str, Any]:
    """The raw record behind a sample, as the reference takes it."""
    raw: dict[str, Any] = json.loads(sample.payload)[1]
    return {**raw, 'origin_prompt': []}


def make_record(subset: str, raw: dict[str, Any], record_id: str = 'r') -> Record:
    return parse_payload(json.dumps([record_id, raw]), subset)


@cache
def offline_similarity() -> EncoderSimilarity:
    return EncoderSimilarity(locate_encoder('offline'))


class RememberingEncoder:
    """A sentence encoder that is asked once about each list of texts, where the reference asks in each comparison.

    Lists stay whole: a vector differs in its last digits with the texts that are encoded beside it, which decides
    between matchings that tie.
    """

    def __init__(self, path: str) -> None:
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(path)
        self._vectors: dict[tuple[str, ...], Any] = {}

    def encode(self, texts: Any, **options: Any) -> Any:
        """As :meth:`SentenceTransformer.encode`, which also takes what is no list of texts."""
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return self._model.encode(texts, **options)
        if tuple(texts) not in self._vectors:
            self._vectors[tuple(texts)] = self._model.encode(texts, **options)
        return self._vectors[tuple(texts)]


@cache
def remembering_encoder() -> RememberingEncoder:
    return RememberingEncoder(str(locate_encoder('offline').path))


@cache
def reference(kind: str) -> Any:
    """OpenCompass's own evaluator with the same encoder."""
    from opencompass.datasets.teval import evaluators

    if kind == 'review':
        return evaluators.ReviewEvaluator('')
    if kind == 'instruct':
        return evaluators.InstructEvaluator('')
    with pytest.MonkeyPatch.context() as patch:
        for module in (evaluators.planning_evaluator, evaluators.reason_retrieve_understand_evaluator):
            patch.setattr(module, 'SentenceTransformer', lambda path: remembering_encoder())
        if kind == 'plan':
            return evaluators.PlanningEvaluator('')
        prompt_type = 'json' if kind == 'call' else 'str'
        return evaluators.ReasonRetrieveUnderstandEvaluator('', default_prompt_type=prompt_type, eval_type=kind)


def reference_sample(kind: str, raw: dict[str, Any], answer: str) -> Any:
    sample = reference(kind)._process_response({**raw, 'prediction': answer})
    return sample[0] if isinstance(sample, tuple) else sample


def reference_values(kind: str, raw: dict[str, Any], answer: str) -> dict[str, float]:
    evaluator, sample = reference(kind), reference_sample(kind, raw, answer)
    if kind in ('plan', 'review', 'instruct'):
        return dict(evaluator._evaluate(sample))
    return dict(evaluator._post_process([evaluator._evaluate(sample)]))
