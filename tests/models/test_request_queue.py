"""Request queues: as an answer arrives the next request leaves, and nothing that is written depends on when."""

from __future__ import annotations

import asyncio
import threading
import weakref
from pathlib import Path
from random import Random
from typing import Any

import pytest
from opencompass.models import VLLM

from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.models.conversation import Conversation, ToolEvalConversationTemplate
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.request_queue import (
    AT_ONCE,
    AnswerOne,
    ConcurrentQueue,
    open_queue,
)
from tests.inferencers.test_dialogue_inferencer import Run as DialogueRun
from tests.inferencers.test_inferencer import Run, StubModel, make_rows

WORKERS = 3
RNG = Random(0)


def ask_all(answer: AnswerOne, count: int, workers: int) -> list[int]:
    """Submits the numbers below ``count``, and returns those that are answered, in the order in which they come."""
    with ConcurrentQueue[int](answer, workers) as queue:
        for number in range(count):
            queue.submit(number, number)
        arrived: list[int] = []
        while some := queue.results():
            arrived += [number for number, _ in some]
    return arrived


class Gate:
    """Opens once, for coroutines on the event loop, from any thread."""

    def __init__(self) -> None:
        self._opened = threading.Event()

    def open(self) -> None:
        self._opened.set()

    async def passed(self) -> None:
        while not self._opened.is_set():
            await asyncio.sleep(0.005)

    def wait(self) -> None:
        assert self._opened.wait(300)


@pytest.mark.parametrize('workers', [1, WORKERS, 1000])
def test_so_many_are_in_flight_in_one_thread_and_no_more(workers: int) -> None:
    in_flight, most = 0, 0
    full = Gate()

    async def answer(number: int, stop: asyncio.Event) -> Answer:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        if in_flight == workers:
            full.open()
        await full.passed()  # as many as may be are, before the first is answered
        in_flight -= 1
        return Answer('')

    before = set(threading.enumerate())
    arrived = ask_all(answer, 1000, workers)
    assert most == workers and sorted(arrived) == list(range(1000))
    assert workers > 1 or arrived == list(range(1000)), 'in the order in which they were submitted'
    assert {thread.name for thread in set(threading.enumerate()) - before} <= {'tooleval-requests'}


def test_a_fault_of_ours_is_raised_after_what_was_answered() -> None:
    failed = Gate()

    async def answer(number: int, stop: asyncio.Event) -> Answer | None:
        if number == 1:
            await failed.passed()
            raise LookupError('of ours')
        failed.open()
        return None if stop.is_set() else Answer(str(number))

    with ConcurrentQueue[int](answer, 2) as queue:
        for number in range(3):
            queue.submit(number, number)
        arrived = []
        with pytest.raises(LookupError, match='of ours'):
            while some := queue.results():
                arrived += some
        assert (0, Answer('0')) in arrived
        queue.submit(3, 3)  # what a dialogue asks next, before its runner hears of the fault
        with pytest.raises(LookupError):
            queue.results()


def test_ctrl_c_waits_for_no_answer() -> None:
    asked, broken_off = Gate(), Gate()
    told: list[asyncio.Event] = []

    async def answer(number: int, stop: asyncio.Event) -> Answer | None:
        told.append(stop)
        asked.open()
        try:
            await asyncio.sleep(300)
        finally:
            broken_off.open()
        return None

    with pytest.raises(KeyboardInterrupt), ConcurrentQueue[int](answer, 1) as queue:
        queue.submit(0, 0)
        queue.submit(1, 1)
        asked.wait()
        raise KeyboardInterrupt
    broken_off.wait()
    assert len(told) == 1 and told[0].is_set()  # the second request never left


# What fits which model


class Concurrent(StubModel):
    """A model in this process that answers one question beside another."""

    max_workers = WORKERS

    def generate(self, inputs: list[Any], max_out_len: int) -> list[str]:
        raise AssertionError('it is never asked for a batch')

    async def answer(self, prompt: Conversation, max_out_len: int, stop: asyncio.Event | None = None) -> Answer:
        self.asked.append([prompt.record_id])
        return as_answer(self._reply(prompt))


class InProcessVLLM(VLLM):
    """OpenCompass's wrapper without the engine, which is not installed beside it."""

    max_seq_len = 10**6

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        return prompt_template

    def generate(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[str]:
        self.sizes.append(len(inputs))
        return ['fine'] * len(inputs)


def test_vllm_gets_a_thousand_prompts_at_once() -> None:
    model = InProcessVLLM()
    with open_queue(model, 16, batch_size=8) as queue:
        for number in range(AT_ONCE + 10):
            queue.submit(number, Conversation([{'role': 'HUMAN', 'prompt': 'x', 'content': 'x'}]))
        sizes = []
        while arrived := queue.results():
            sizes.append(len(arrived))
    assert sizes == model.sizes == [AT_ONCE, 10]


def test_questions_are_built_as_they_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand questions of 8 KB do not fit beside a model's server."""
    alive: weakref.WeakSet[Conversation] = weakref.WeakSet()
    most = 0
    build = ToolEvalConversationTemplate.generate_item

    def counted(self: Any, *arguments: Any) -> Conversation:
        nonlocal most
        conversation = build(self, *arguments)
        conversation.__class__ = ById
        alive.add(conversation)
        most = max(most, len(alive))
        return conversation

    monkeypatch.setattr(ToolEvalConversationTemplate, 'generate_item', counted)
    run = Run(tmp_path, make_rows(500), Concurrent())
    assert [row['prediction'] for row in run.go()] == [f'answer to r{number}' for number in range(500)]
    assert 2 * WORKERS <= most <= 4 * WORKERS + 1  # waiting, in flight, and answered but not on disk yet


class ById(Conversation):
    """A conversation that a set can hold."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class Shuffled(Concurrent):
    """Answers with its question, after a time that differs at each."""

    def __init__(self, workers: int) -> None:
        super().__init__()
        self.max_workers = workers

    async def answer(self, prompt: Conversation, max_out_len: int, stop: asyncio.Event | None = None) -> Answer:
        await asyncio.sleep(RNG.uniform(0, 0.05))
        return Answer(f'<{prompt[-1]["content"]}>')


@pytest.mark.parametrize('run_type', [Run, DialogueRun])
def test_the_file_does_not_depend_on_when_answers_come(run_type: Any, tmp_path: Path) -> None:
    rows = {'rows': make_rows(40)} if run_type is Run else {}
    for workers in (1, 16):
        run_type(folder=tmp_path / str(workers), model=Shuffled(workers), **rows).go()
    assert (tmp_path / '1' / 'stub.json').read_bytes() == (tmp_path / '16' / 'stub.json').read_bytes()


def test_a_dialogue_goes_on_while_another_waits() -> None:
    last_is_answered = Gate()

    class Waiting(Concurrent):
        max_workers = 2

        async def answer(self, prompt: Conversation, max_out_len: int, stop: asyncio.Event | None = None) -> Answer:
            text = prompt[-1]['content']
            if text == 'a0':
                await last_is_answered.passed()
            if text == 'b2':
                last_is_answered.open()
            return Answer(f'<{text}>')

    def talk(name: str, rounds: int) -> Dialogue[list[str]]:
        answers = []
        for number in range(rounds):
            answers.append((yield ModelRequest((Message('user', f'{name}{number}'),))).text)
        return answers

    runner = DialogueRunner(Waiting(), None, 16)
    outcomes = runner.run({'a': talk('a', 2), 'b': talk('b', 3), 'c': talk('c', 1)})
    expected = {'a': ['<a0>', '<a1>'], 'b': ['<b0>', '<b1>', '<b2>'], 'c': ['<c0>']}
    assert {name: outcome.value for name, outcome in outcomes.items()} == expected
    assert list(outcomes) == list('abc') and runner.calls == 6
