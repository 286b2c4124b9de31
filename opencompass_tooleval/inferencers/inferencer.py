"""A resumable inferencer that stores each answer with its record's id."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.registry import ICL_INFERENCERS
from opencompass.utils import get_logger
from tqdm import tqdm

from opencompass_tooleval.core.calls.answer import CALLS, USAGE, Answer, bounded, extras
from opencompass_tooleval.core.calls.tool_calls import calls_payload
from opencompass_tooleval.core.scoring.result import OVER_BUDGET, TRUNCATED
from opencompass_tooleval.core.scoring.sampling_settings import (
    MAX_OUT_LEN,
    PUBLISHED,
    AnswerLimit,
    Differences,
    answer_limit,
    is_cut_below,
)
from opencompass_tooleval.core.scoring.usage import read_usage, with_failed
from opencompass_tooleval.models.budget import Account, account_of_model
from opencompass_tooleval.models.conversation import TOOLS, Conversation, ToolEvalConversationTemplate
from opencompass_tooleval.models.model_calls import adapt_model, asked_of, prompt_length
from opencompass_tooleval.models.request_queue import open_queue, requests_at_once
from opencompass_tooleval.models.sampling import sampling_options, sampling_view
from opencompass_tooleval.work_dir.causes import KEPT, most_said
from opencompass_tooleval.work_dir.names import answers_folder
from opencompass_tooleval.work_dir.recorded import RECORDED_SHAPE
from opencompass_tooleval.work_dir.replicas import Claims
from opencompass_tooleval.work_dir.run_context import run_context
from opencompass_tooleval.work_dir.store import (
    Answers,
    AnswerStore,
    Row,
    UnwrittenStore,
    has_failed,
    keys_of,
    write_json,
)

MAX_INFRA_SHARE, FEWEST_RECORDS = 0.005, 100
"""Default of ``max_infra_share``, and the number of records from which on one record may always lack an answer."""
_MOST_SENT_AGAIN, _SHARE_SENT_AGAIN = 50, 0.05
"""Maximum number of failed requests, and maximum share of a dataset, that are sent again at its end."""
_NOT_SENT_AGAIN = ('budget', 'filter', 'truncated')
"""Last parts of reasons with which another try would end alike."""


class InfraFailureError(RuntimeError):
    """Raised if too many samples have no answer because of infrastructure failures."""


@dataclass(frozen=True)
class Prompt:
    """One row of a dataset as a request.

    Attributes:
        prompt: The conversation.
        gold: Value of the gold column; None if there is none.
    """

    prompt: Conversation
    gold: str | None


class Prompts(Sequence[Prompt]):
    """The requests of a dataset, each built on access, since all together may not fit into memory.

    Args:
        retriever: OpenCompass's retriever, which has the dataset.
        template: Builds a conversation from a row.
        replaced: OpenCompass's ``gen_field_replace_token``.

    Attributes:
        rows: The dataset.
    """

    def __init__(self, retriever: Any, template: ToolEvalConversationTemplate, replaced: str) -> None:
        self.rows: Dataset = retriever.test_ds
        # Not self.rows[index], which is slow: it takes a third of the time of building a prompt.
        table = self.rows.with_format('arrow')[:]
        self._columns = dict(zip(table.column_names, table.columns, strict=True))
        self._gold_column = retriever.dataset_reader.output_column
        self._template = template
        self._replaced = replaced

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        row = {name: column[index].as_py() for name, column in self._columns.items()}
        prompt = self._template.generate_item(row, self._gold_column, self._replaced)
        return Prompt(prompt, row[self._gold_column] if self._gold_column else None)

    def sizes(self, indices: Sequence[int]) -> list[int]:
        """Returns the number of bytes of each conversation, as a measure of its tokens."""
        lengths = pc.binary_length(self._columns[self._template.column].take(pa.array(indices, pa.int64())))
        return list(lengths.to_pylist())

    def in_prefix_order(self) -> list[int]:
        """Returns all indices, ordered so that conversations with a common prefix are adjacent, for prefix caches."""
        return list(pc.sort_indices(self._columns[self._template.column]).to_pylist())


def _answers(row: Row, prompt: Conversation) -> bool:
    """Tests if a stored row answers this record and, if the row has a digest, this prompt."""
    return row.get('record_id') == prompt.record_id and row.get('prompt_digest') in (None, prompt.asked)


@ICL_INFERENCERS.register_module()
class ToolEvalGenInferencer(GenInferencer):
    """OpenCompass's :class:`GenInferencer`, which sends prompts in prefix order and stores answers by record.

    Answers are written in the data's order. Each row has ``record_id``, ``prompt_digest`` (identifies the prompt),
    ``infra`` (None, or why the answer is missing: ``infra:timeout``, ``infra:truncated``, ...), ``finish_reason`` (how
    the answer ended: ``stop``, ``length``, ...; None if unknown) and ``max_out_len`` (the token limit). A replayed
    answer also has ``recorded_shape``, the published format of the recording. A resumed run repeats the requests of
    rows with a reason, with another prompt, or with an answer that a lower limit cut.

    Args:
        model: The model under test.
        max_out_len: Maximum number of tokens of an answer. OpenCompass's task passes the value in the model's config if
            the inferencer's config has none.
        published_max_out_len: The benchmark's limit, which applies if ``max_out_len`` is lower or missing (see
            :func:`~opencompass_tooleval.core.scoring.sampling_settings.answer_limit`).
        decided_limit: The limit that this package's task has chosen. (OpenCompass's task overwrites the dataset's limit
            with the model's.)
        max_infra_share: Maximum fraction of samples without an answer before the task fails, 0-1; None for 0.005, or
            one sample of at least 100. Samples that were not sent because of a budget always fail the task.
        temperature: Sampling temperature; 0 is greedy. None to use the model's config.
        kwargs: Other arguments of :class:`GenInferencer`.

    Raises:
        ValueError: There is no token limit, or it is not a positive integer.
    """

    _longest = 'the longest has'

    def __init__(
        self,
        model: Any,
        max_out_len: int | None = None,
        published_max_out_len: int | None = None,
        decided_limit: AnswerLimit | None = None,
        max_infra_share: float | None = None,
        temperature: float | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault('output_json_filepath', os.curdir)  # a folder that GenInferencer creates
        limit = decided_limit or answer_limit({MAX_OUT_LEN: max_out_len}, {PUBLISHED: published_max_out_len})
        if limit is None:
            raise ValueError("there is no token limit: set max_out_len in the model's config")
        if limit.note:
            get_logger().warning(limit.note)
        super().__init__(model=sampling_view(model, temperature), max_out_len=limit.tokens, **kwargs)
        adapt_model(self.model)
        self.max_infra_share = max_infra_share
        self.report = run_context().report
        self._sampling = sampling_options(model, temperature)
        if getattr(model, 'generation_kwargs', {}).get('num_return_sequences', 1) != 1:
            raise ValueError(
                'num_return_sequences must be 1; for several runs, set n=3 or so in the config of the data set'
            )

    def inference(
        self,
        retriever: Any,
        ice_template: Any = None,
        prompt_template: Any = None,
        output_json_filepath: str | None = None,
        output_json_filename: str | None = None,
    ) -> list[str]:
        """Requests all answers that the store lacks, and writes the predictions file.

        Raises:
            InfraFailureError: More than ``max_infra_share`` of the samples have no answer. The others are stored.
        """
        if getattr(self, 'dump_only_message_path', None):  # missing in OpenCompass before 0.5.4
            return list(
                super().inference(retriever, ice_template, prompt_template, output_json_filepath, output_json_filename)
            )
        questions = Prompts(retriever, prompt_template, self.gen_field_replace_token)
        folder = Path(output_json_filepath or self.output_json_filepath)
        file = folder / (output_json_filename or self.output_json_filename)
        folder.mkdir(parents=True, exist_ok=True)

        claims = run_context().claims
        if claims:
            if claims.begin():
                answers = self._answers(questions, claims.store)
                self._answer(questions, answers, claims)
                claims.finish(lambda: self._write(file, questions, answers))
            return []
        store = AnswerStore(answers_folder(file)) if self.is_main_process else UnwrittenStore(answers_folder(file))
        answers = self._answers(questions, store)
        self._answer(questions, answers)
        if self.is_main_process:
            return self._write(file, questions, answers)
        self._check_infra(answers, questions, file)
        return [row['prediction'] for row in answers.in_order()]

    def _write(self, file: Path, questions: Prompts, answers: Answers) -> list[str]:
        """Writes the predictions, unless too many are missing."""
        answers.read()
        if lacking := len(questions) - len(answers):
            raise InfraFailureError(f'{answers.store.folder}: {lacking} samples have no row. Run again with -r')
        self._ask_again(questions, answers)
        self._check_infra(answers, questions, file)
        predictions: list[str] = []
        answers.store.sync()  # before a power cut finds predictions whose answers are not on the disk
        write_json(file, self._shown(questions, answers, predictions))
        return predictions

    def _ask_again(self, questions: Prompts, answers: Answers) -> None:
        """Sends failed requests once more, if they are few and may succeed."""
        failed = {index: row['infra'] for index, row in answers.again.items() if has_failed(row)}
        failed = {index: why for index, why in failed.items() if why.rpartition(':')[2] not in _NOT_SENT_AGAIN}
        if failed and len(failed) <= min(_MOST_SENT_AGAIN, _SHARE_SENT_AGAIN * len(questions)):
            get_logger().info(f'{answers.store.folder}: {len(failed)} failed requests are sent once more')
            self._answer(questions, answers, only=failed)

    def _answers(self, questions: Prompts, store: AnswerStore) -> Answers:
        """Reads the stored answers to these questions.

        Raises:
            ValueError: Some have other sampling settings, and the config does not say if they may be used.
        """
        differences, keys = Differences(run_context().stored), keys_of(questions.rows['record_id'])

        def accepts(index: int, row: Row) -> bool:
            return _answers(row, questions[index].prompt) and (
                has_failed(row) or differences.accepts(index, row)  # a failure has no answer
            )

        limit = self.max_out_len
        answers = Answers(store, keys, accepts, lambda row: has_failed(row) or is_cut_below(row, limit))
        answers.read()
        answers.found.clear()
        differences.check()
        if kept := len(answers) - len(answers.again):
            get_logger().info(f'{store.folder}: {kept} of {len(questions)} samples are answered already')
        return answers

    def _answer(
        self,
        questions: Prompts,
        answers: Answers,
        claims: Claims | None = None,
        only: Collection[int] | None = None,
    ) -> None:
        """Requests the answers that are missing, and adds them to ``answers``.

        Args:
            questions: All questions.
            answers: The stored answers.
            claims: Shares the questions with other replicas; None if this process sends all.
            only: Indices of the questions to ask; None for all that are missing.
        """
        kept = len(answers) - len(answers.again)
        left = self._divide(questions, answers, claims, only)
        bar = tqdm(total=len(questions), initial=kept, disable=not self.is_main_process, unit='sample')
        queued = open_queue(
            self.model, self.max_out_len, self.batch_size or 1, self._extra_kwargs(), account=account_of_model()
        )
        count = kept
        with bar, queued as queue:
            while True:
                for index in claims.take(queue.room) if claims else islice(left, queue.room):
                    question = questions[index]
                    queue.submit((index, question), question.prompt)
                if not (arrived := queue.results()):
                    break
                answers.update(
                    {
                        index: self._row(answers.again.get(index), question, bounded(answer))
                        for (index, question), answer in arrived
                    }
                )
                if claims:
                    claims.arrived(index for (index, _), _ in arrived)
                bar.update(len(arrived))
                count += len(arrived)
                self.report(count, kept, [answer.usage for _, answer in arrived])

    def _divide(
        self, questions: Prompts, answers: Answers, claims: Claims | None, only: Collection[int] | None
    ) -> Iterator[int]:
        """Returns the indices of questions to ask, and divides them among the replicas."""
        left = [index for index in questions.in_prefix_order() if index not in answers or index in answers.again]
        left = left if only is None else [index for index in left if index in only]
        if claims:
            at_once = requests_at_once(self.model, self.batch_size or 1)
            claims.divide(left, questions.sizes(left), at_once, answers.read)
        return iter(left)

    def _row(self, earlier: Row | None, question: Prompt, answer: Answer) -> Row:
        """Returns the row to store, with the usage of an earlier failed or cut answer."""
        prompt = asked_of(self.model, question.prompt)
        if earlier:
            answer = replace(answer, usage=with_failed(answer.usage, [read_usage(earlier.get(USAGE))]))
        row = {
            'prediction': answer.text,
            'record_id': prompt.record_id,
            'prompt_digest': prompt.asked,
            'infra': answer.reason,
            'finish_reason': answer.finish_reason,
            MAX_OUT_LEN: self.max_out_len,
            **run_context().stored.as_row(),
            **extras(answer),
        }
        if prompt.tools is not None:
            row[CALLS] = calls_payload(answer.calls)
        if answer.recorded_shape:
            row[RECORDED_SHAPE] = answer.recorded_shape
        if self.dump_res_length:
            row['res_length'] = self.model.get_token_len(answer.text)
        return row

    def _shown(self, questions: Prompts, answers: Answers, predictions: list[str]) -> Iterator[tuple[str, Row]]:
        """Yields the rows of a predictions file, with their questions; appends the texts to ``predictions``."""
        for index, row in enumerate(answers.in_order()):
            question = questions[index]
            prompt = asked_of(self.model, question.prompt)
            if prompt.tools is None:
                shown = {'origin_prompt': self.model.parse_template(prompt, mode='gen')}
            else:
                shown = {'origin_prompt': prompt.as_request(), TOOLS: prompt.tools.as_request()}
            predictions.append(row['prediction'])
            yield str(index), {**shown, 'gold': question.gold, 'source': prompt.source, **row}

    def _extra_kwargs(self) -> dict[str, Any]:
        accepted = inspect.signature(self.model.generate).parameters
        offered = {'stopping_criteria': self.stopping_criteria, 'min_out_len': self.min_out_len}
        return {**{name: value for name, value in offered.items() if name in accepted}, **self._sampling}

    def _accounts(self) -> dict[str, Account | None]:
        """Returns accounts by reason: with this reason, a request was not sent because of the account's budget."""
        return {OVER_BUDGET: account_of_model()}

    def _check_infra(self, answers: Answers, questions: Prompts, file: Path) -> None:
        reasons = {index: row['infra'] for index, row in answers.again.items() if has_failed(row)}
        failed, accounts = Counter(reasons.values()), self._accounts()
        for ledger in {account.ledger for account in accounts.values() if account}:
            unsent = sum(failed[reason] for reason, account in accounts.items() if account and account.ledger is ledger)
            ledger.note_not_asked(file.stem, unsent, len(questions))
        if not failed:
            return
        count = sum(failed.values())
        reasons_shown = ', '.join(f'{reason} {number}' for reason, number in failed.items())
        summary = f'{file.stem}: {count} of {len(questions)} samples have no answer ({reasons_shown})'
        if any(failed[reason] for reason in accounts):
            raise InfraFailureError(
                f'{summary}: a budget is used up. {KEPT} Raise budget in the config, and run again with -r'
            )
        words, times = most_said(answers[index] for index in reasons)
        server_words = f'; {times:,} of them: {words}' if words else ''
        share = self.max_infra_share
        if share is None:
            share = max(MAX_INFRA_SHARE, len(questions) >= FEWEST_RECORDS and 1 / len(questions))
        if count <= share * len(questions):
            get_logger().warning(f'{summary}; they count as wrong, with this reason{server_words}')
            return
        advice = [KEPT]
        if failed[TRUNCATED]:
            too_long = [questions[index].prompt for index, reason in reasons.items() if reason == TRUNCATED]
            advice.append(self._advice_on_length(too_long))
        if count > failed[TRUNCATED]:
            which = 'the other failed requests' if failed[TRUNCATED] else 'the failed requests'
            advice.append(
                f'Run again with -r to repeat {which}, or with tooleval retry, which counts requests that fail again '
                'as wrong.'
            )
        raise InfraFailureError(f'{summary}, max_infra_share allows {share:.2%}{server_words}. {" ".join(advice)}')

    def _advice_on_length(self, prompts: Sequence[Conversation]) -> str:
        longest, limit = max(prompt_length(self.model, prompt) for prompt in prompts), self.model.max_seq_len
        too_long = f'{len(prompts)} prompts are too long for the model: {self._longest} {longest} tokens, and '
        answer = f'(max_out_len={self.max_out_len})'
        if limit is None:
            fault, fix = f'the server has no room for prompt and answer {answer}', 'Lower max_out_len, or raise'
        else:
            fault, fix = f'its max_seq_len={limit} is for prompt and answer {answer}', 'Raise max_seq_len, and'
        return f'{too_long}{fault}. {fix} the limit of the server, or count them as wrong by max_infra_share.'
