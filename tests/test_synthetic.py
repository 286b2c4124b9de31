"""``tools/make_synthetic.py``: its files load, and gold answers score as gold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.data import TABLE, Sample, file_stem, load_samples
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.benchmarks.teval.reading import Protocol
from opencompass_tooleval.benchmarks.teval.scoring import score_answers
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.core.scoring.scorer import ExactSimilarity

ROOT = Path(__file__).resolve().parent.parent
FEW = ('--scale', '0.02', '--models', '2')


def make(folder: Path, *arguments: str) -> Path:
    subprocess.run([sys.executable, ROOT / 'tools' / 'make_synthetic.py', folder, *arguments], check=True)
    return folder


def load(folder: Path, subset: str, language: str) -> list[Sample]:
    return load_samples(folder / 'data' / 'teval' / language / f'{file_stem(subset, "v1", language)}.json', subset)


@pytest.fixture(scope='module')
def few(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A fiftieth of the records, in both languages, with the answers of two models."""
    return {name: make(tmp_path_factory.mktemp(name), '--language', name, *FEW) for name in ('EN', 'ZH')}


@pytest.mark.parametrize('language', ['EN', 'ZH'])
def test_gold_scores_as_gold(few: dict[str, Path], language: str) -> None:
    for subset in TABLE:
        records = [sample.record for sample in load(few[language], subset.name, language)]
        for scoring in ('official', 'strict'):
            answers = [Answer(gold_answer(record)) for record in records]
            scores = score_answers(records, answers, Protocol('v1', scoring), ExactSimilarity())
            for record, score in zip(records, scores, strict=True):
                gold: Any = record.gold
                names = [step.name for step in gold[:-1]] if subset.kind == 'plan' else []
                if record.format == 'str' and len(set(names)) < len(names):
                    assert score.values['parse_rate'] == 1  # in plain text, only arguments tell equal names apart
                else:
                    assert {value for value in score.values.values() if value is not None} == {1.0}, score
                    assert score.reason == OK
