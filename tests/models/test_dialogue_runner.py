"""Dialogues of several rounds: batches, resuming, and failures that are no answers."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opencompass.models.base import BaseModel

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.work_dir.store import AnswerStore
from tests.stored import stored_in


class Echo(BaseModel):
    """Answers with what it was asked, and keeps the batches."""

    is_api = True

    def __init__(self, fails: Any = lambda text: None) -> None:
        super().__init__(path='echo', tokenizer_only=True, max_seq_len=1000)
        self.batches: list[list[str]] = []
        self.fails = fails

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        return prompt_template

    def get_token_len(self, prompt: str) -> int:
        return len(str(prompt).split())

    def answers(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[Answer]:
        asked = [conversation[-1]['prompt'] for conversation in inputs]
        self.batches.append(asked)
        return [Answer('', reason) if (reason := self.fails(text)) else Answer(f'<{text}>') for text in asked]


class Costly(Echo):
    """Says what each answer cost, a failed one too."""

    def answers(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[Answer]:
        failed, usage = Usage(requests=5), Usage(10, 2, first_prompt=10, requests=2)
        return [
            replace(answer, usage=failed if answer.reason else usage) for answer in super().answers(inputs, max_out_len)
        ]


def count_down(name: str, rounds: int) -> Dialogue[list[str]]:
    said = []
    for number in range(rounds):
        said.append((yield ModelRequest((Message('user', f'{name}{number}'),))).text)
    return said


def dialogues() -> dict[str, Dialogue[list[str]]]:
    return {'a': count_down('a', 3), 'b': count_down('b', 1), 'c': count_down('c', 2), 'd': count_down('d', 0)}


def test_an_answer_of_megabytes_is_cut_before_it_is_kept(tmp_path: Path) -> None:
    class Huge(Echo):
        def answers(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[Answer]:
            return [Answer('y' * 5_000_000) for _ in super().answers(inputs, max_out_len)]

    first = DialogueRunner(Huge(), stored_in(tmp_path), 10).run({'a': count_down('a', 1)})['a'].value
    assert first is not None and len(first[0]) == 1_000_000
    again = Echo()
    assert DialogueRunner(again, stored_in(tmp_path), 10).run({'a': count_down('a', 1)})['a'].value == first
    assert not again.batches


def test_a_failure_ends_its_dialogue_and_is_asked_again(tmp_path: Path) -> None:
    outcomes = DialogueRunner(
        Echo(lambda text: 'infra:timeout' if text == 'c1' else None), stored_in(tmp_path), 10
    ).run(dialogues())
    assert outcomes['c'].value is None and outcomes['c'].infra == 'infra:timeout' and len(outcomes['c'].answers) == 1
    assert outcomes['a'].value and outcomes['a'].infra is None
    model = Echo()
    assert DialogueRunner(model, stored_in(tmp_path), 10).run(dialogues())['c'].value == ['<c0>', '<c1>']
    DialogueRunner(model, stored_in(tmp_path), 10).run(
        {'a': count_down('z', 2)}
    )  # no answer to another question is reused
    assert model.batches == [['c1'], ['z0'], ['z1']]


def test_tokens_and_requests_of_a_round_that_failed_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the first round and later, and once more where the run goes on."""
    fails: Any = lambda text: 'infra:timeout' if text in ('b0', 'c1') else None  # noqa: E731
    runner = DialogueRunner(Costly(fails), stored_in(tmp_path), 10, description='asking')
    outcomes = runner.run(dialogues())
    assert (runner.calls, runner.tokens) == (6, 4 * 12) and 'tokens=48' in capsys.readouterr().err
    assert outcomes['a'].usage == Usage(30, 6, first_prompt=10, requests=6)
    assert outcomes['b'].usage == Usage(requests=5)
    assert outcomes['c'].usage == Usage(10, 2, first_prompt=10, requests=7)
    assert outcomes['d'].usage is None
    again = DialogueRunner(Costly(fails), stored_in(tmp_path), 10).run(dialogues())
    assert (again['b'].usage, again['c'].usage) == (Usage(requests=10), Usage(10, 2, first_prompt=10, requests=12))
    whole = DialogueRunner(Costly(), stored_in(tmp_path), 10).run(dialogues())
    assert whole['b'].usage == Usage(10, 2, first_prompt=10, requests=12)
    assert whole['c'].usage == Usage(20, 4, first_prompt=10, requests=14) and whole['c'].value == ['<c0>', '<c1>']
    assert whole['a'].usage == outcomes['a'].usage


def test_dialogues_that_wait_for_a_tool_continue_together() -> None:
    """One after the other, the first would wait for the others for ever; that is what a barrier says."""
    together = threading.Barrier(3, timeout=300)

    def waits(name: str) -> Dialogue[str]:
        together.wait()
        answer = yield ModelRequest((Message('user', name),))
        together.wait()
        return answer.text

    dialogues = {name: waits(name) for name in 'abc'}
    outcomes = DialogueRunner(Echo(), None, 10, threads=3).run(dialogues)
    assert [outcome.value for outcome in outcomes.values()] == ['<a>', '<b>', '<c>']


def test_a_fault_in_a_thread_is_raised() -> None:
    def fails() -> Dialogue[str]:
        yield ModelRequest((Message('user', 'a'),))
        raise RuntimeError('broken')

    with pytest.raises(RuntimeError, match='broken'):
        DialogueRunner(Echo(), None, 10, threads=2).run({'a': fails(), 'b': fails()})


def test_an_interrupt_waits_for_no_tool() -> None:
    """As Ctrl-C while every dialogue waits for a server; the test ends only if the runner does not wait for them."""
    answered, waiting = threading.Event(), threading.Semaphore(0)

    def waits() -> Dialogue[str]:
        waiting.release()
        answered.wait()
        yield ModelRequest((Message('user', 'a'),))
        return ''

    def interrupt() -> None:
        for _ in range(2):
            waiting.acquire()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        DialogueRunner(Echo(), None, 10, threads=2).run({'a': waits(), 'b': waits()})
    answered.set()


class Concurrent(Echo):
    """Answers several requests at the same time, some late."""

    max_workers = 4

    async def answer(self, prompt: Any, max_out_len: int, stop: Any = None, **options: Any) -> Answer:
        asked = prompt[-1]['prompt']
        await asyncio.sleep(0.2 if asked == 'late' else 0)
        return Answer(f'<{asked}>')


@pytest.mark.parametrize('threads', [1, 4])
def test_answers_are_stored_while_tools_run(tmp_path: Path, threads: int) -> None:
    """A kill in a long call of a tool loses no answer that came in the meantime: each is paid for."""
    store = stored_in(tmp_path)
    file = store.path
    seen: list[bool] = []

    def calls_a_tool() -> Dialogue[str]:
        answer = yield ModelRequest((Message('user', 'soon'),))
        until = time.monotonic() + 300
        while '<late>' not in file.read_text() and time.monotonic() < until:
            time.sleep(0.02)
        seen.append('<late>' in file.read_text())
        return answer.text

    dialogues = {'a': calls_a_tool(), 'b': one_question('late')}
    outcomes = DialogueRunner(Concurrent(), store, 10, threads=threads).run(dialogues)
    assert seen == [True]
    assert [outcome.value for outcome in outcomes.values()] == ['<soon>', '<late>']
    assert len(file.read_text().splitlines()) == 2  # each once


def one_question(text: str) -> Dialogue[str]:
    return (yield ModelRequest((Message('user', text),))).text


def test_a_store_that_cannot_be_written_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(store: AnswerStore, rows: Any) -> None:
        raise OSError(28, 'No space left on device', str(store.path))

    monkeypatch.setattr(AnswerStore, 'append', fails)
    dialogues = {'a': one_question('a'), 'b': one_question('late')}
    with pytest.raises(OSError, match=r'No space left on device: .*\.jsonl'):
        DialogueRunner(Concurrent(), stored_in(tmp_path), 10).run(dialogues)
