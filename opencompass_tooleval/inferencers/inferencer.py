"""A resumable inferencer that stores each answer with its record's id."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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

from opencompass_tooleval.core.calls.answer import CALLS, USAGE, Answer, extras
from opencompass_tooleval.core.calls.tool_calls import calls_payload
from opencompass_tooleval.core.scoring.answer_limit import (
    MAX_OUT_LEN,
    PUBLISHED,
    AnswerLimit,
    answer_limit,
    is_cut_below,
)
from opencompass_tooleval.core.scoring.result import OVER_BUDGET, TRUNCATED
from opencompass_tooleval.core.scoring.usage import read_usage, with_failed
from opencompass_tooleval.core.scoring.usage_summary import OTHERS
from opencompass_tooleval.models.budget import Account, account_of_model
from opencompass_tooleval.models.conversation import TOOLS, Conversation, ToolEvalConversationTemplate
from opencompass_tooleval.models.model_calls import adapt_model, asked_of, prompt_length
from opencompass_tooleval.models.request_queue import open_queue, requests_at_once
from opencompass_tooleval.models.sampling import sampling_options, sampling_view
from opencompass_tooleval.work_dir.causes import KEPT, most_said
from opencompass_tooleval.work_dir.journal import JoinedRows, Journal, JournalRows, Row, write_json
from opencompass_tooleval.work_dir.names import journal_path
from opencompass_tooleval.work_dir.recorded import RECORDED_SHAPE
from opencompass_tooleval.work_dir.replicas import Claims
from opencompass_tooleval.work_dir.run_context import run_context
from opencompass_tooleval.work_dir.stored import keep_rows

MAX_INFRA_SHARE = 0.005


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


def _in_order(rows: Mapping[int, Row], predictions: list[str]) -> Iterator[tuple[str, Row]]:
    """Yields the rows of a predictions file, in the data's order; appends their predictions to ``predictions``."""
    in_order = rows.in_order() if isinstance(rows, JournalRows) else (rows[index] for index in sorted(rows))
    for index, row in enumerate(in_order):
        predictions.append(row['prediction'])
        yield str(index), row


def _joined(questions: Prompts, journals: Sequence[Journal]) -> tuple[Mapping[int, Row], dict[int, str]]:
    """Returns the row of each question, and the reasons of missing answers, from the journals of all replicas.

    Raises:
        InfraFailureError: A question has no row.
    """
    failed: dict[int, str] = {}

    def is_row(index: int, row: Row) -> bool:
        if index >= len(questions) or not _answers(row, questions[index].prompt):
            return False
        failed.pop(index, None)
        if row.get('infra'):
            failed[index] = row['infra']
        return True

    all_rows = [JournalRows(journal) for journal in journals]
    for rows in all_rows:
        rows.restore(is_row)
    joined = JoinedRows(all_rows)
    if lacking := len(questions) - len(joined):
        raise InfraFailureError(f'{journals[0].path}: {lacking} samples have no row. Run again with -r')
    return joined, failed


def _answers(row: Row, prompt: Conversation) -> bool:
    """Tests if a stored row has an answer to this record and, if the row has a digest, to this prompt.

    Raises:
        ValueError: The answer has other sampling settings, and the config does not say if it may be used.
    """
    whole = isinstance(row.get('prediction'), str)
    is_same = whole and row.get('record_id') == prompt.record_id and row.get('prompt_digest') in (None, prompt.asked)
    return is_same and (bool(row.get('infra')) or run_context().stored.accepts(row))  # a failure has no answer


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
            :func:`~opencompass_tooleval.core.scoring.answer_limit.answer_limit`).
        decided_limit: The limit that this package's task has chosen. (OpenCompass's task overwrites the dataset's limit
            with the model's.)
        max_infra_share: Maximum fraction of samples without an answer before the task fails, 0-1. Samples that were not
            sent because of a budget always fail the task.
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
        max_infra_share: float = MAX_INFRA_SHARE,
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
        self._failed: dict[int, Row] = {}
        self._unselected: Mapping[int, Row] = {}
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
        """Requests all answers that the journal lacks, and writes the predictions file.

        Raises:
            InfraFailureError: More than ``max_infra_share`` of the samples have no answer. The journal keeps the other
                answers.
        """
        if getattr(self, 'dump_only_message_path', None):  # missing in OpenCompass before 0.5.4
            return list(
                super().inference(retriever, ice_template, prompt_template, output_json_filepath, output_json_filename)
            )
        questions = Prompts(retriever, prompt_template, self.gen_field_replace_token)
        folder = Path(output_json_filepath or self.output_json_filepath)
        file = folder / (output_json_filename or self.output_json_filename)
        folder.mkdir(parents=True, exist_ok=True)

        journal, claims = Journal(journal_path(file)), run_context().claims
        if claims:
            if claims.begin():
                self._answer(questions, journal, claims)
                claims.finish(lambda journals: self._write(file, questions, *_joined(questions, journals), journals))
            return []
        rows, failed = self._answer(questions, journal)
        if self.is_main_process:
            return self._write(file, questions, rows, failed, [journal])
        self._check_infra(failed, rows, questions, file)
        return [rows[index]['prediction'] for index in range(len(questions))]

    def _write(
        self,
        file: Path,
        questions: Prompts,
        rows: Mapping[int, Row],
        failed: Mapping[int, str],
        journals: Sequence[Journal],
    ) -> list[str]:
        """Writes the predictions, unless too many are missing, and removes the first journal."""
        self._check_infra(failed, rows, questions, file)
        predictions: list[str] = []
        write_json(file, _in_order(rows, predictions))
        keep_rows(journals[0], self._further_rows(journals, rows))
        journals[0].remove()
        return predictions

    def _further_rows(self, journals: Sequence[Journal], rows: Mapping[int, Row]) -> Iterator[Row]:
        """Yields rows that a run resumed with other settings may need, but the predictions file lacks."""
        yield from self._unselected.values()

    def _answer(
        self, questions: Prompts, journal: Journal, claims: Claims | None = None
    ) -> tuple[Mapping[int, Row], dict[int, str]]:
        """Requests the answers that the journal lacks.

        Args:
            questions: All questions.
            journal: The answers of earlier runs. Without ``claims``, new answers are added to it.
            claims: Shares the questions with other replicas; None if this process sends all.

        Returns:
            The rows of all answered questions by index, and the reasons of missing answers by index.
        """
        rows: JournalRows | dict[int, Row] = self._kept(journal, questions)
        if not self.is_main_process:
            rows = dict(rows)  # only the first of the processes that share a model writes the journal
        kept, failed = len(rows), dict[int, str]()
        left = iter([index for index in questions.in_prefix_order() if index not in rows])
        if claims:
            self._divide(claims, questions, list(left))
            rows = JournalRows(claims.journal)
        bar = tqdm(total=len(questions), initial=kept, disable=not self.is_main_process, unit='sample')
        queued = open_queue(
            self.model, self.max_out_len, self.batch_size or 1, self._extra_kwargs(), account=account_of_model()
        )
        with bar, queued as queue:
            while True:
                for index in claims.take(queue.room) if claims else islice(left, queue.room):
                    question = questions[index]
                    queue.submit((index, question), question.prompt)
                if not (arrived := queue.results()):
                    break
                rows.update({index: self._row(index, question, answer) for (index, question), answer in arrived})
                failed.update({index: answer.reason for (index, _), answer in arrived if answer.reason})
                if claims:
                    claims.arrived(index for (index, _), _ in arrived)
                bar.update(len(arrived))
                count = len(rows) + (kept if claims else 0)
                self.report(count, kept, [answer.usage for _, answer in arrived])
        return rows, failed

    def _divide(self, claims: Claims, questions: Prompts, left: Sequence[int]) -> None:
        at_once = requests_at_once(self.model, self.batch_size or 1)
        claims.divide(left, questions.sizes(left), at_once)

    def _kept(self, journal: Journal, questions: Prompts) -> JournalRows:
        """Returns stored answers that belong to these questions.

        Also stores the usage of answers that will be repeated, and answers to records that the config does not select.
        """
        self._failed, has_more = {}, list[bool]()

        def is_answered(index: int, row: Row) -> bool:
            self._failed.pop(index, None)
            if index >= len(questions):
                has_more.append(isinstance(row.get('prediction'), str))  # not a round of a dialogue
                return False
            if not _answers(row, questions[index].prompt):
                return False
            is_cut = is_cut_below(row, self.max_out_len)
            if is_cut or row.get('infra'):
                self._failed[index] = {name: row[name] for name in ('infra', USAGE, OTHERS) if name in row}
            return not is_cut and not row.get('infra')

        rows = JournalRows(journal)
        rows.restore(is_answered)
        if any(has_more):
            count, self._unselected = len(questions), (unselected := JournalRows(journal))
            unselected.restore(lambda index, row: index >= count and isinstance(row.get('prediction'), str))
        if rows:
            get_logger().info(f'{journal.path}: {len(rows)} of {len(questions)} samples are answered already')
        return rows

    def _row(self, index: int, question: Prompt, answer: Answer) -> Row:
        earlier, prompt = self._failed.get(index), asked_of(self.model, question.prompt)
        if earlier:
            answer = replace(answer, usage=with_failed(answer.usage, [read_usage(earlier.get(USAGE))]))
        row = {
            'origin_prompt': self.model.parse_template(prompt, mode='gen'),
            'prediction': answer.text,
            'gold': question.gold,
            'record_id': prompt.record_id,
            'source': prompt.source,
            'prompt_digest': prompt.asked,
            'infra': answer.reason,
            'finish_reason': answer.finish_reason,
            MAX_OUT_LEN: self.max_out_len,
            **run_context().stored.as_row(),
            **extras(answer),
        }
        if prompt.tools is not None:
            row['origin_prompt'] = prompt.as_request()
            row[CALLS] = calls_payload(answer.calls)
            row[TOOLS] = prompt.tools.as_request()
        if answer.recorded_shape:
            row[RECORDED_SHAPE] = answer.recorded_shape
        if self.dump_res_length:
            row['res_length'] = self.model.get_token_len(answer.text)
        return row

    def _extra_kwargs(self) -> dict[str, Any]:
        accepted = inspect.signature(self.model.generate).parameters
        offered = {'stopping_criteria': self.stopping_criteria, 'min_out_len': self.min_out_len}
        return {**{name: value for name, value in offered.items() if name in accepted}, **self._sampling}

    def _accounts(self) -> dict[str, Account | None]:
        """Returns accounts by reason: with this reason, a request was not sent because of the account's budget."""
        return {OVER_BUDGET: account_of_model()}

    def _check_infra(self, reasons: Mapping[int, str], rows: Mapping[int, Row], questions: Prompts, file: Path) -> None:
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
        words, times = most_said(rows[index] for index in reasons)
        server_words = f'; {times:,} of them: {words}' if words else ''
        if count <= self.max_infra_share * len(questions):
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
        raise InfraFailureError(
            f'{summary}, max_infra_share allows {self.max_infra_share:.2%}{server_words}. {" ".join(advice)}'
        )

    def _advice_on_length(self, prompts: Sequence[Conversation]) -> str:
        longest, limit = max(prompt_length(self.model, prompt) for prompt in prompts), self.model.max_seq_len
        too_long = f'{len(prompts)} prompts are too long for the model: {self._longest} {longest} tokens, and '
        answer = f'(max_out_len={self.max_out_len})'
        if limit is None:
            fault, fix = f'the server has no room for prompt and answer {answer}', 'Lower max_out_len, or raise'
        else:
            fault, fix = f'its max_seq_len={limit} is for prompt and answer {answer}', 'Raise max_seq_len, and'
        return f'{too_long}{fault}. {fix} the limit of the server, or count them as wrong by max_infra_share.'
