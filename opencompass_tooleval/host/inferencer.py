"""Resumable generation that knows which record each answer belongs to."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.registry import ICL_INFERENCERS
from opencompass.utils import get_logger
from tqdm import tqdm

from opencompass_tooleval.core.answer import CALLS, Answer, extras
from opencompass_tooleval.core.result import TRUNCATED
from opencompass_tooleval.core.tool_calls import calls_payload
from opencompass_tooleval.host.conversation import TOOLS, Conversation
from opencompass_tooleval.host.model_calls import keep_conversations, prompt_length, sampling_options
from opencompass_tooleval.host.pipe import open_pipe
from opencompass_tooleval.sweep.journal import Journal, Row, write_json
from opencompass_tooleval.sweep.recorded import RECORDED_SHAPE

MAX_INFRA_SHARE = 0.005


class InfraFailureError(RuntimeError):
    """Too many samples got no answer through no fault of the model."""


@dataclass(frozen=True)
class Questions:
    """What a data set asks.

    Attributes:
        prompts: One per row.
        golds: The gold column; None each if there is none.
        rows: The data set.
    """

    prompts: Sequence[Conversation]
    golds: Sequence[str | None]
    rows: Sequence[Mapping[str, Any]]


def _prefix_order(prompts: Sequence[Conversation], indices: Sequence[int]) -> list[int]:
    """Indices such that conversations with a common beginning are neighbours, for prefix caches."""
    return sorted(indices, key=lambda index: [(item['role'], item['prompt']) for item in prompts[index]])


def _answers(row: Row, prompt: Conversation) -> bool:
    """Whether a kept row has an answer, about this record and, if it says so, this very prompt."""
    whole = isinstance(row.get('prediction'), str)
    return whole and row.get('record_id') == prompt.record_id and row.get('asked') in (None, prompt.asked)


@ICL_INFERENCERS.register_module()
class ToolEvalGenInferencer(GenInferencer):
    """OpenCompass's :class:`GenInferencer` with prompts in prefix order and answers by record.

    Answers are written in the data's order. Each row carries ``record_id``, ``asked`` (what stands for the prompt) and
    ``infra``: None, or why there is no answer (``infra:timeout``, ``infra:truncated``, ...), and ``finish``: why the
    answer ends (``stop``, ``length``, ...; None where nobody says); a replayed answer also ``recorded_shape``, the
    published shape that it was recorded in. Rows with a reason, and those that answer another
    prompt, are asked again when the run is resumed.

    Args:
        model: As :class:`GenInferencer`.
        max_out_len: As :class:`GenInferencer`.
        max_infra_share: Share of samples that may stay without an answer before the task fails, 0-1.
        temperature: At which the model samples, 0 being greedy; None leaves it to the model's config.
        kwargs: As :class:`GenInferencer`.
    """

    _longest = 'the longest has'

    def __init__(
        self,
        model: Any,
        max_out_len: int,
        max_infra_share: float = MAX_INFRA_SHARE,
        temperature: float | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault('output_json_filepath', os.curdir)  # GenInferencer makes the folder, and leaves its own empty
        super().__init__(model=model, max_out_len=max_out_len, **kwargs)
        keep_conversations(model)
        self.max_infra_share = max_infra_share
        self._sampling = sampling_options(model, temperature)
        if getattr(model, 'generation_kwargs', {}).get('num_return_sequences', 1) != 1:
            raise ValueError(
                'num_return_sequences must be 1; for several runs, put n=3 or so into the config of the data set'
            )

    def inference(
        self,
        retriever: Any,
        ice_template: Any = None,
        prompt_template: Any = None,
        output_json_filepath: str | None = None,
        output_json_filename: str | None = None,
    ) -> list[str]:
        """Asks the model everything that the journal does not hold yet, and writes the predictions file.

        Raises:
            InfraFailureError: More than ``max_infra_share`` of the samples have no answer. The journal keeps the
            others.
        """
        if getattr(self, 'dump_only_message_path', None):  # OpenCompass before 0.5.4 has none
            return list(
                super().inference(retriever, ice_template, prompt_template, output_json_filepath, output_json_filename)
            )
        prompts: list[Conversation] = self.get_generation_prompt_list_from_retriever_indices(
            retriever.retrieve(),
            retriever,
            self.gen_field_replace_token,
            max_seq_len=None,  # nothing to drop: there are no in-context examples
            ice_template=ice_template,
            prompt_template=prompt_template,
        )
        output_column = retriever.dataset_reader.output_column
        golds = list(retriever.test_ds[output_column]) if output_column else [None] * len(prompts)
        folder = Path(output_json_filepath or self.output_json_filepath)
        file = folder / (output_json_filename or self.output_json_filename)
        folder.mkdir(parents=True, exist_ok=True)

        journal = Journal(folder / f'tmp_{file.stem}.jsonl')
        rows = self._answer(Questions(prompts, golds, retriever.test_ds), journal)
        self._check_infra(rows, prompts, file)
        if self.is_main_process:
            write_json(file, ((str(index), rows[index]) for index in range(len(prompts))))
            journal.remove()
        return [rows[index]['prediction'] for index in range(len(prompts))]

    def _answer(self, questions: Questions, journal: Journal) -> dict[int, Row]:
        """Returns the row of every question, by index; answers that the journal holds are not asked for again."""
        prompts, rows = questions.prompts, self._reusable(journal, questions.prompts)
        left = _prefix_order(prompts, [index for index in range(len(prompts)) if index not in rows])
        bar = tqdm(total=len(prompts), initial=len(rows), disable=not self.is_main_process, unit='sample')
        with bar, open_pipe(self.model, self.max_out_len, self.batch_size or 1, self._extra_kwargs()) as pipe:
            for index in left:
                pipe.put(index, prompts[index])
            while arrived := pipe.take():
                parsed = self.model.parse_template([prompts[index] for index, _ in arrived], mode='gen')
                new = {
                    index: self._row(as_sent, prompts[index], answer, questions.golds[index])
                    for as_sent, (index, answer) in zip(parsed, arrived, strict=True)
                }
                rows.update(new)
                if self.is_main_process:
                    journal.append(new)
                bar.update(len(new))
        return rows

    def _reusable(self, journal: Journal, prompts: Sequence[Conversation]) -> dict[int, Row]:
        """Answers of an earlier run that belong to these prompts."""
        kept = {
            index: row
            for index, row in journal.restore().items()
            if index < len(prompts) and _answers(row, prompts[index]) and not row.get('infra')
        }
        if kept:
            get_logger().info(f'{journal.path}: {len(kept)} of {len(prompts)} samples are answered already')
        return kept

    def _row(self, as_sent: Any, prompt: Conversation, answer: Answer, gold: str | None) -> Row:
        row = {
            'origin_prompt': as_sent,
            'prediction': str(answer),
            'gold': gold,
            'record_id': prompt.record_id,
            'source': prompt.source,
            'asked': prompt.asked,
            'infra': answer.reason,
            'finish': answer.finish,
            **extras(answer),
        }
        if prompt.tools is not None:
            row['origin_prompt'] = prompt.as_request()
            row[CALLS] = calls_payload(answer.calls)
            row[TOOLS] = prompt.tools.as_request()
        if answer.recorded_shape:
            row[RECORDED_SHAPE] = answer.recorded_shape
        if self.dump_res_length:
            row['res_length'] = self.model.get_token_len(str(answer))
        return row

    def _extra_kwargs(self) -> dict[str, Any]:
        accepted = inspect.signature(self.model.generate).parameters
        offered = {'stopping_criteria': self.stopping_criteria, 'min_out_len': self.min_out_len}
        return {**{name: value for name, value in offered.items() if name in accepted}, **self._sampling}

    def _check_infra(self, rows: dict[int, Row], prompts: Sequence[Conversation], file: Path) -> None:
        failed = Counter(row['infra'] for row in rows.values() if row['infra'])
        if not failed:
            return
        count = sum(failed.values())
        summary = f'{file.stem}: {count} of {len(rows)} samples have no answer ({dict(failed)})'
        if count <= self.max_infra_share * len(rows):
            get_logger().warning(f'{summary}; they count as wrong, under their name')
            return
        advice = ['The other answers are kept.']
        if failed[TRUNCATED]:
            advice.append(self._advice_on_length([prompts[i] for i, row in rows.items() if row['infra'] == TRUNCATED]))
        if count > failed[TRUNCATED]:
            advice.append(
                'Run again with -r to ask again what failed otherwise, or with tooleval retry, which takes what then '
                'still fails.'
            )
        raise InfraFailureError(
            f'{summary}, more than max_infra_share={self.max_infra_share:.2%} allows. {" ".join(advice)}'
        )

    def _advice_on_length(self, prompts: Sequence[Conversation]) -> str:
        longest, limit = max(prompt_length(self.model, prompt) for prompt in prompts), self.model.max_seq_len
        return (
            f'{len(prompts)} prompts are too long for the model: {self._longest} {longest} tokens, and its '
            f'max_seq_len={limit} is for prompt and answer (max_out_len={self.max_out_len}). Raise max_seq_len, and '
            'what the server takes, or count them as failed with tooleval retry.'
        )
