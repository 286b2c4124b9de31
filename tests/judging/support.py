"""A judge in the process of the test, and what OpenCompass's evaluation task does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from datasets import Dataset, concatenate_datasets

from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.models.fixed_models import _FixedModel
from tests.conftest import ModelServer

Script = Callable[..., dict[str, Any]]


class Scripted(_FixedModel):
    """A judge: ``says`` maps the id of a question, and how often it was asked before, to a reply."""

    says: ClassVar[Callable[[str, int], Answer | str]]
    asked: ClassVar[list[str]]
    batches: ClassVar[list[int]]

    def answers(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[Answer]:
        self.batches.append(len(inputs))
        return super().answers(inputs, max_out_len, **kwargs)

    def reply(self, prompt: Any) -> Answer:
        before = self.asked.count(prompt.record_id)
        self.asked.append(prompt.record_id)
        return as_answer(type(self).says(prompt.record_id, before))


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Sets what :class:`Scripted` says, and returns its config."""

    def script(says: Callable[[str, int], Answer | str], **changes: Any) -> dict[str, Any]:
        monkeypatch.setattr(Scripted, 'says', staticmethod(says), raising=False)
        monkeypatch.setattr(Scripted, 'asked', [], raising=False)
        monkeypatch.setattr(Scripted, 'batches', [], raising=False)
        return {'type': Scripted, 'path': 'scripted', **changes}

    return script


@pytest.fixture(autouse=True)
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Judgements of evaluators are kept here, and no judge is in the environment."""
    for name in ('OC_JUDGE_MODEL', 'OC_JUDGE_API_KEY', 'OC_JUDGE_API_BASE'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('TOOLEVAL_CACHE', str(tmp_path))
    return tmp_path


def server_cfg(server: ModelServer, **changes: Any) -> dict[str, Any]:
    """The config of a judge behind a server."""
    cfg = {'type': 'ToolEvalOpenAI', 'path': 'tiny', 'key': 'right', 'openai_api_base': server.url, 'temperature': 0}
    speed = {'query_per_second': 1000, 'backoff': 0.001, 'retry': 1, 'max_workers': 4, 'max_seq_len': 65_536}
    return {**cfg, **speed, **changes}


def evaluate(
    evaluator: Any, dataset: Dataset, answers: Sequence[str], infra: Sequence[str | None] | None = None
) -> dict[str, Any]:
    """Calls an evaluator as OpenCompass's evaluation task does; of several trials the answers follow one another."""
    runs = len(answers) // len(dataset)
    rows = concatenate_datasets([dataset] * runs)
    columns = {
        'predictions': list(answers),
        'references': list(rows['record']),
        'record_id': list(rows['record_id']),
        'infra': list(infra) if infra else [None] * len(rows),
    }
    result: dict[str, Any] = evaluator.evaluate(1, runs, rows, **columns)
    return result
