"""ToolEvalGenInferencer with a small model in this process: order, resuming, failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from opencompass.datasets.base import BaseDataset
from opencompass.models.base import BaseModel
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.inferencers.dialogue_inferencer import ToolEvalDialogueGenInferencer
from opencompass_tooleval.inferencers.inferencer import InfraFailureError, ToolEvalGenInferencer
from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.models.model_calls import AskingEndedError, token_length
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.names import Replica
from opencompass_tooleval.work_dir.replicas import Claims
from opencompass_tooleval.work_dir.run_context import in_context
from opencompass_tooleval.work_dir.store import keys_of
from tests.stored import store_rows, stored_rows


class RowsDataset(BaseDataset):
    """Rows made by hand."""

    @staticmethod
    def load(rows: list[dict[str, str]]) -> Dataset:
        return Dataset.from_list(rows)


class StubModel(BaseModel):
    """Answers through a function, and keeps what it was asked."""

    def __init__(
        self, reply: Callable[[Any], Answer | str] | None = None, is_api: bool = True, max_seq_len: int = 10**6
    ) -> None:
        super().__init__(path='stub', max_seq_len=max_seq_len, tokenizer_only=True)
        self.is_api = is_api
        self.asked: list[list[str]] = []
        self._reply = reply or (lambda prompt: f'answer to {prompt.record_id}')

    def records_asked(self) -> list[str]:
        return [record for batch in self.asked for record in batch]

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        return prompt_template

    def answers(self, inputs: list[Any], max_out_len: int) -> list[Answer]:
        self.asked.append([prompt.record_id for prompt in inputs])
        return [as_answer(self._reply(prompt)) for prompt in inputs]

    def generate(self, inputs: list[Any], max_out_len: int) -> list[str]:
        return [answer.text for answer in self.answers(inputs, max_out_len)]

    def get_token_len(self, prompt: Any) -> int:
        return len(str(prompt).split())


def make_row(record_id: str, *contents: str) -> dict[str, str]:
    """A row whose conversation holds ``contents``, the first as system message."""
    messages = [{'role': 'user' if i else 'system', 'content': content} for i, content in enumerate(contents)]
    gold = f'gold of {record_id}'
    row = {'record_id': record_id, 'record': gold, 'gold_answer': gold, 'source': 'stub_v2'}
    return {**row, 'messages': json.dumps(messages)}


def make_rows(count: int) -> list[dict[str, str]]:
    """Rows of which every third has the same system message."""
    return [make_row(f'r{i}', f'tools of {i % 3}', f'question {i}') for i in range(count)]


@dataclass
class Run:
    """One call of the inferencer on ``rows``, in ``folder``; with ``dialogues``, of that for dialogues."""

    folder: Path
    rows: Sequence[dict[str, str]]
    model: StubModel = field(default_factory=StubModel)
    batch_size: int = 4
    max_infra_share: float = 0.005
    dialogues: Any = None
    predictions_name: str = 'stub.json'
    inferencer: Any = None

    @property
    def store(self) -> Path:
        return self.folder / 'stub.answers'

    @property
    def predictions(self) -> Path:
        return self.folder / self.predictions_name

    def go(self) -> list[dict[str, Any]]:
        settings: dict[str, Any] = {
            'model': self.model,
            'max_out_len': 16,
            'max_infra_share': self.max_infra_share,
            'batch_size': self.batch_size,
            'output_json_filepath': str(self.folder),
        }
        inferencer = self.inferencer or ToolEvalGenInferencer(**settings)
        if self.dialogues:
            inferencer = ToolEvalDialogueGenInferencer(dialogues=self.dialogues, **settings)
        reader = {'input_columns': ['messages'], 'output_column': 'record'}
        returned = inferencer.inference(
            ZeroRetriever(RowsDataset(reader_cfg=reader, abbr='stub', rows=list(self.rows))),
            prompt_template=ToolEvalConversationTemplate('{messages}'),
            output_json_filepath=str(self.folder),
            output_json_filename=self.predictions.name,
        )
        written = json.loads(self.predictions.read_text(encoding='utf-8'))
        assert list(written) == [str(index) for index in range(len(self.rows))]
        assert returned == [row['prediction'] for row in written.values()]
        return list(written.values())


def store(run: Run, indices: Sequence[int], **changes: Any) -> None:
    """Stores answers of an earlier run."""
    rows = [{'infra': None, 'prediction': f'earlier answer to r{index}', 'record_id': f'r{index}'} for index in indices]
    store_rows(run.predictions, [{**row, **changes} for row in rows])


def test_replicas_whose_answers_are_all_stored_write_the_predictions(tmp_path: Path) -> None:
    """A kill between the last answer and the predictions: nothing is left to divide."""
    run = Run(tmp_path, make_rows(10))
    store(run, range(10))
    claims, columns = (
        Claims(run.predictions, Replica(0, 2, 'x')),
        {'input_columns': ['messages'], 'output_column': 'record'},
    )
    with exclusive(claims.lock), in_context(claims=claims):
        ToolEvalGenInferencer(model=run.model, max_out_len=16, output_json_filepath=str(tmp_path)).inference(
            ZeroRetriever(RowsDataset(reader_cfg=columns, abbr='stub', rows=list(run.rows))),
            prompt_template=ToolEvalConversationTemplate('{messages}'),
            output_json_filepath=str(tmp_path),
            output_json_filename=run.predictions.name,
        )
    assert len(json.loads(run.predictions.read_text())) == 10 and run.model.records_asked() == []


def test_predictions_are_in_the_order_of_the_data(tmp_path: Path) -> None:
    run = Run(tmp_path, make_rows(10))
    rows = run.go()
    asked = run.model.records_asked()
    assert asked != [f'r{i}' for i in range(10)]  # asked in another order
    assert sorted(asked) == sorted(f'r{i}' for i in range(10))
    assert [row['record_id'] for row in rows] == [f'r{i}' for i in range(10)]
    assert [row['prediction'] for row in rows] == [f'answer to r{i}' for i in range(10)]
    assert [row['gold'] for row in rows] == [f'gold of r{i}' for i in range(10)]
    assert [row['origin_prompt'][-1]['prompt'] for row in rows] == [f'question {i}' for i in range(10)]
    assert {row['infra'] for row in rows} == {None}
    run = Run(tmp_path / 'grouped', make_rows(12))
    run.go()
    # Neighbours share their beginning.
    assert [{int(record[1:]) % 3 for record in batch} for batch in run.model.asked] == [{0}, {1}, {2}]


def test_every_batch_size_gives_the_same_file(tmp_path: Path) -> None:
    files = []
    for size in (1, 4, 8, 100):
        run = Run(tmp_path / str(size), make_rows(11), batch_size=size)
        run.go()
        assert max(map(len, run.model.asked)) == min(size, 11)
        files.append(run.predictions.read_bytes())
    assert len(set(files)) == 1


def test_what_is_answered_is_not_asked_again_and_what_is_beyond_the_data_is_dropped(tmp_path: Path) -> None:
    run = Run(tmp_path, make_rows(8))
    store(run, [0, 3, 5, 8, 9])
    rows = run.go()
    assert sorted(run.model.records_asked()) == ['r1', 'r2', 'r4', 'r6', 'r7']
    assert [row['prediction'].startswith('earlier') for row in rows] == [i in (0, 3, 5) for i in range(8)]


@pytest.mark.parametrize('changes', [
    {'infra': 'infra:timeout', 'prediction': ''},
    {'record_id': 'of another data set'},
    {'prompt_digest': ToolEvalConversationTemplate(system_role='user').asked(make_row('r1', 'tools of 1')['messages'])},
])  # fmt: skip
def test_rows_that_are_no_answer_to_this_record_are_asked_again(tmp_path: Path, changes: dict[str, str]) -> None:
    run = Run(tmp_path, make_rows(5))
    store(run, [1, 2], **changes)
    rows = run.go()
    assert sorted(run.model.records_asked()) == ['r0', 'r1', 'r2', 'r3', 'r4']
    assert [row['record_id'] for row in rows] == [f'r{i}' for i in range(5)]
    assert {row['infra'] for row in rows} == {None}


def test_rows_that_answer_this_very_prompt_are_kept(tmp_path: Path) -> None:
    run = Run(tmp_path, make_rows(3))
    before = run.go()
    assert len({row['prompt_digest'] for row in before}) == 3
    changed = [make_row('r0', 'tools of 0', 'another question'), *make_rows(3)[1:]]
    again = Run(tmp_path, changed)
    after = again.go()
    assert again.model.records_asked() == ['r0']
    assert [a['prompt_digest'] == b['prompt_digest'] for a, b in zip(after, before, strict=True)] == [False, True, True]
    back = Run(tmp_path, make_rows(3))
    assert back.go() == before and back.model.asked == [], 'the first answer fits again'


def test_a_prompt_over_the_context_of_a_local_model_is_not_sent(tmp_path: Path) -> None:
    rows = [make_row('short', 'tools', 'question'), make_row('long', 'tools', 'word ' * 300), *make_rows(2)]
    run = Run(tmp_path, rows, StubModel(is_api=False, max_seq_len=200), max_infra_share=0.5)
    written = run.go()
    assert sorted(run.model.records_asked()) == ['r0', 'r1', 'short']
    assert [row['infra'] for row in written] == [None, 'infra:truncated', None, None]
    assert (written[1]['prediction'], written[1]['record_id']) == ('', 'long')
    run = Run(tmp_path / 'all', rows[1:2], StubModel(is_api=False, max_seq_len=200), max_infra_share=1.0)
    assert run.go()[0]['infra'] == 'infra:truncated' and run.model.asked == []
    run = Run(tmp_path / 'api', rows[1:2], StubModel(max_seq_len=200))
    assert run.go()[0]['infra'] is None and run.model.asked == [['long']], 'an API model sees it for itself'


def reply_but_for(*failing: str) -> Callable[[Any], Answer | str]:
    timeout = Answer('', 'infra:timeout')
    return lambda prompt: timeout if prompt.record_id in failing else f'answer to {prompt.record_id}'


def test_too_many_failures_end_the_task_and_keep_the_answers(tmp_path: Path) -> None:
    run = Run(tmp_path, make_rows(199), StubModel(reply_but_for('r7')), batch_size=32)
    with pytest.raises(InfraFailureError, match=r'1 of 199.*infra:timeout.*0\.50%.*-r'):
        run.go()
    assert not run.predictions.exists() and len(stored_rows(run.store)) == 200, 'it was sent twice'
    again = Run(tmp_path, make_rows(199), batch_size=32)
    rows = again.go()
    assert again.model.asked == [['r7']]
    assert [row['prediction'] for row in rows] == [f'answer to r{i}' for i in range(199)]
    rows = Run(tmp_path / 'few', make_rows(200), StubModel(reply_but_for('r7')), batch_size=32).go()
    failed = [(row['record_id'], row['prediction'], row['infra']) for row in rows if row['infra']]
    assert failed == [('r7', '', 'infra:timeout')]


def test_the_number_of_failures_is_counted_after_resuming(tmp_path: Path) -> None:
    """A failure of the earlier run that is fixed now does not count."""
    run = Run(tmp_path, make_rows(3))
    store(run, [0, 1, 2], infra='infra:timeout', prediction='')
    assert [row['infra'] for row in run.go()] == [None] * 3


def test_lone_surrogates_and_line_separators_survive(tmp_path: Path) -> None:
    nasty = 'cut emoji \ud83d, separators \u2028\u2029\x85\r, NUL \x00, "quotes" and \\ and 中文'
    model = StubModel(lambda prompt: nasty, is_api=False, max_seq_len=9999)
    rows = Run(tmp_path, [make_row('r0', 'tools', nasty)], model).go()
    assert [(row['prediction'], row['origin_prompt'][-1]['prompt']) for row in rows] == [(nasty, nasty)]
    kept = Run(tmp_path / 'kept', make_rows(3))
    store(kept, [0, 1, 2], prediction=nasty)
    assert [row['prediction'] for row in kept.go()] == [nasty] * 3 and kept.model.asked == []


def test_several_answers_per_prompt_are_refused() -> None:
    model = StubModel()
    model.generation_kwargs = {'num_return_sequences': 3}
    with pytest.raises(ValueError, match=r'num_return_sequences must be 1; .* n=3 .* config'):
        ToolEvalGenInferencer(model=model, max_out_len=16)


def test_the_error_on_long_prompts_names_limit_and_longest(tmp_path: Path) -> None:
    rows = [make_row('r0', 'tools', 'short'), make_row('r1', 'tools', 'word ' * 400), make_row('r2', 'word ' * 300)]
    with pytest.raises(InfraFailureError) as failed:
        Run(tmp_path, rows, StubModel(is_api=False, max_seq_len=100)).go()
    said = str(failed.value)
    longest = token_length(StubModel(), ToolEvalConversationTemplate().generate_item({**rows[1], 'idx': 1}))
    assert f'2 prompts are too long for the model: the longest has {longest} tokens' in said
    assert 'max_seq_len=100' in said and 'max_out_len=16' in said
    assert '-r' not in said and 'retry' not in said and 'Raise max_seq_len, and the limit of the server' in said

    def reply(prompt: Any) -> Answer:
        return Answer('', {'r0': 'infra:server', 'r1': 'infra:truncated'}.get(prompt.record_id))

    with pytest.raises(InfraFailureError) as failed:
        Run(tmp_path / 'api', rows, StubModel(reply, max_seq_len=500)).go()
    assert '1 prompts are too long for the model: the longest has 401 tokens' in str(failed.value)
    assert 'Run again with -r to repeat the other failed requests' in str(failed.value)


def test_what_was_answered_before_the_end_is_stored(tmp_path: Path) -> None:
    class Ending(StubModel):
        def answers(self, inputs: list[Any], max_out_len: int) -> list[Answer]:
            answers = super().answers(inputs, max_out_len)
            if len(self.asked) == 2:
                raise AskingEndedError('no credit', [None, answers[1], Answer('', 'infra:server'), None])
            return answers

    with pytest.raises(AskingEndedError, match='no credit'):
        Run(tmp_path, make_rows(8), Ending()).go()
    rows = stored_rows(Run(tmp_path, []).store)
    answered = [row for row in rows if not row['infra']]
    assert len(rows) == 6 and len(answered) == 5
    assert all(row['prediction'] == f'answer to {row["record_id"]}' for row in answered)
    model = StubModel()
    Run(tmp_path, make_rows(8), model).go()
    assert len(model.records_asked()) == 3


class _Characters:
    """A tokenizer with a token per character."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [0] * add_special_tokens + [ord(character) for character in text]


@pytest.mark.parametrize(('is_api', 'reply', 'finish_reason'), [
    (False, 'x' * 15, 'stop'),
    (False, 'x' * 16, 'length'),
    (True, 'x' * 16, None),
    (True, Answer('x', finish_reason='tool_calls'), 'tool_calls'),
    (True, Answer('', 'infra:server'), None),
])  # fmt: skip
def test_rows_say_how_an_answer_finished(tmp_path: Path, is_api: bool, reply: str, finish_reason: str | None) -> None:
    model = StubModel(lambda prompt: reply, is_api)
    model.tokenizer = _Characters()
    (row,) = Run(tmp_path, make_rows(1), model, max_infra_share=1).go()
    assert row['finish_reason'] == finish_reason


def test_every_trial_keeps_its_own_answer_when_a_run_is_resumed(tmp_path: Path) -> None:
    said: list[str] = []

    def reply(prompt: Any) -> str:
        if len(said) == 7:
            said.append('killed')
            raise KeyboardInterrupt
        said.append(f'answer {len(said)} to {prompt.record_id}')
        return said[-1]

    run = Run(tmp_path, make_rows(4) * 3, StubModel(reply), batch_size=1)
    with pytest.raises(KeyboardInterrupt):
        run.go()
    place = {key: index for index, key in enumerate(keys_of(row['record_id'] for row in run.rows))}
    kept = {place[row['record_id'], row.get('trial', 0)]: row['prediction'] for row in stored_rows(run.store)}
    assert len(kept) == 7
    rows = run.go()
    assert [row['record_id'] for row in rows] == ['r0', 'r1', 'r2', 'r3'] * 3
    assert {row['prediction'] for row in rows} == {*said} - {'killed'} and len(said) == 13  # each asked once
    assert {index: rows[index]['prediction'] for index in kept} == kept
    assert all(row['prediction'].endswith(f'to {row["record_id"]}') for row in rows)
