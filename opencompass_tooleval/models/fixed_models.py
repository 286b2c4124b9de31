"""Models with known answers: recorded answers, or the gold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from opencompass.models.base import BaseModel
from opencompass.registry import MODELS
from opencompass.utils import get_logger

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import make_call, read_answer
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.noise import damage
from opencompass_tooleval.data_path import package_path
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.work_dir.recorded import RecordedAnswers, load_recorded


class _FixedModel(BaseModel):
    """A model whose answer depends on the record, not on the prompt."""

    is_api = True
    takes_tools = True

    def __init__(self, path: str, max_seq_len: int = 1 << 20, **kwargs: Any) -> None:
        super().__init__(path=path, max_seq_len=max_seq_len, tokenizer_only=True, **kwargs)

    def reply(self, prompt: Conversation) -> Answer:
        """Returns the answer to one conversation."""
        raise NotImplementedError

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        """Returns conversations unchanged."""
        return prompt_template

    def answers(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[Answer]:
        """Returns the answers to a batch."""
        return [self.reply(prompt) for prompt in inputs]

    def generate(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[str]:
        """Returns the texts of :meth:`answers`, for OpenCompass."""
        return [answer.text for answer in self.answers(inputs, max_out_len, **kwargs)]

    def get_token_len(self, prompt: str) -> int:
        """Returns the number of words, since there is no tokenizer."""
        return len(str(prompt).split())


@MODELS.register_module()
class ReplayModel(_FixedModel):
    """A model that returns recorded answers by record id, since records with different golds may share a prompt.

    Args:
        path: A file or folder for :func:`~opencompass_tooleval.work_dir.recorded.load_recorded`; ``{dataset}`` in it is
            replaced by the dataset's name, such as ``plan_json_v2`` or ``tool_usage_zh``.
        files: Name of a dataset -> file or folder, for datasets that ``path`` does not fit.
    """

    def __init__(self, path: str = '{dataset}', files: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(path, **kwargs)
        self._files = dict(files or {})
        self._recorded: dict[str, RecordedAnswers] = {}
        self._warned: set[str] = set()

    def reply(self, prompt: Conversation) -> Answer:
        """Returns the recorded answer.

        Raises:
            DataError: There is no recorded answer, or it answers another prompt.
        """
        if prompt.source not in self._recorded:
            file = self._files.get(prompt.source) or self.path.replace('{dataset}', prompt.source)
            self._recorded[prompt.source] = load_recorded(package_path(file) or Path(file))
        recorded = self._recorded[prompt.source]
        answer = recorded.answer(prompt.record_id, prompt.position)
        self._check_question(recorded, prompt)
        return answer

    def _check_question(self, recorded: RecordedAnswers, prompt: Conversation) -> None:
        """Raises DataError if the answer names another dataset or prompt. Dialogues of several rounds name none."""
        question = recorded.question(prompt.record_id, prompt.position)
        if question.source and question.source != prompt.source:
            what = f'this answers the data set {question.source}, not {prompt.source}'
            raise DataError(recorded.path, what, prompt.record_id)
        if prompt.asked is None or question.asked == prompt.asked or not (question.asked or question.prompt):
            return
        if question.prompt and all(item['content'] in question.prompt for item in prompt):
            return
        if not question.source and not recorded.path.stem.endswith(prompt.source):
            what = f'its prompt differs from that of {prompt.source}'
            fix = f'if it fits anyway, name the file {prompt.source}.json'
            raise DataError(recorded.path, f'{what}; {fix}', prompt.record_id)
        if prompt.source not in self._warned:
            self._warned.add(prompt.source)
            get_logger().warning(f'{recorded.path}: recorded for other prompts than {prompt.source} has now')


@MODELS.register_module()
class OracleModel(_FixedModel):
    """A model that answers with the gold, or with damaged gold, to show the range of a benchmark's scores.

    Args:
        path: A name. Nothing is loaded.
        noise: Fraction of damaged answers, 0-1.
        seed: Seed that decides which answers are damaged, and how.
    """

    def __init__(self, path: str = 'oracle', noise: float = 0.0, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(path, **kwargs)
        self._noise = noise
        self._seed = seed

    def reply(self, prompt: Conversation) -> Answer:
        """Returns the gold answer, with calls if tools are offered; damaged for some records."""
        rng = Random(f'{self._seed}/{prompt.source}/{prompt.record_id}')
        is_damaged = rng.random() < self._noise
        if prompt.tools is None:
            return Answer(damage(prompt.gold_answer, rng) if is_damaged else prompt.gold_answer)
        content, calls = read_answer(prompt.gold_answer)
        if not is_damaged:
            return Answer(content, calls=calls)
        if not calls:
            return Answer(damage(content, rng))
        damaged = (make_call(call.name, damage(json.dumps(call.arguments), rng), call.id) for call in calls)
        return Answer(content, calls=tuple(damaged))
