"""Request queues: as an answer arrives the next request leaves, and nothing that is written depends on when."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opencompass.models import VLLM

from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.models.conversation import Conversation, ToolEvalConversationTemplate
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.model_calls import AskingEndedError
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.models.request_queue import (
    AT_ONCE,
    AnswerOne,
    Arrivals,
    BatchQueue,
    ConcurrentQueue,
    open_queue,
)
from opencompass_tooleval.work_dir.journal import Journal
from tests.conftest import ModelServer, start_server
from tests.inferencers.test_dialogue_inferencer import Run as DialogueRun
from tests.inferencers.test_inferencer import Run, StubModel, make_rows

WORKERS = 3
SCRIPT = Path(__file__).with_name('queue_script.py')


def ask_all(answer: AnswerOne, count: int, workers: int = WORKERS) -> list[int]:
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


def test_a_slow_answer_holds_up_no_other() -> None:
    others_are_back = Gate()

    async def answer(number: int, stop: asyncio.Event) -> Answer:
        if not number:
            await others_are_back.passed()
        return Answer(str(number))

    with ConcurrentQueue[int](answer, WORKERS) as queue:
        for number in range(20):
            queue.submit(number, number)
        arrived: list[int] = []
        while len(arrived) < 19:
            arrived += [number for number, _ in queue.results()]
        assert sorted(arrived) == list(range(1, 20))
        others_are_back.open()
        assert queue.results() == [(0, Answer('0'))]
        assert queue.results() == []
        queue.submit(20, 20)  # and it goes on
        assert queue.results() == [(20, Answer('20'))]


def test_so_many_are_in_flight_and_no_more() -> None:
    in_flight, most = 0, 0
    full = Gate()

    async def answer(number: int, stop: asyncio.Event) -> Answer:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        if in_flight == WORKERS:
            full.open()
        await full.passed()  # as many as may be are, before the first is answered
        in_flight -= 1
        return Answer('')

    assert sorted(ask_all(answer, 50)) == list(range(50))
    assert most == WORKERS


def test_requests_leave_in_the_order_in_which_they_were_submitted() -> None:
    asked: list[int] = []

    async def answer(number: int, stop: asyncio.Event) -> Answer:
        asked.append(number)
        return Answer('')

    assert ask_all(answer, 30, workers=1) == asked == list(range(30))


def test_a_request_that_comes_while_the_last_worker_ends_is_answered() -> None:
    async def answer(number: int, stop: asyncio.Event) -> Answer:
        if number < 3:  # it is added in the turn of the loop in which this worker finds nothing more to do
            queue.submit(number + 1, number + 1)
        return Answer('')

    with ConcurrentQueue[int](answer, workers=1) as queue:
        queue.submit(0, 0)
        arrived: list[int] = []
        while some := queue.results():
            arrived += [number for number, _ in some]
    assert arrived == [0, 1, 2, 3]


def test_a_thousand_requests_in_flight_take_one_thread() -> None:
    everyone_is_there, in_flight = Gate(), 0

    async def answer(number: int, stop: asyncio.Event) -> Answer:
        nonlocal in_flight
        in_flight += 1
        if in_flight == 1000:
            everyone_is_there.open()
        await everyone_is_there.passed()
        return Answer('')

    before = set(threading.enumerate())
    assert len(ask_all(answer, 1000, workers=1000)) == 1000
    assert {thread.name for thread in set(threading.enumerate()) - before} <= {'tooleval-requests'}


def test_there_is_room_for_twice_as_many_as_may_be_in_flight() -> None:
    go_on = Gate()

    async def answer(number: int, stop: asyncio.Event) -> Answer:
        await go_on.passed()
        return Answer('')

    with ConcurrentQueue[int](answer, WORKERS) as queue:
        rooms = []
        for number in range(2 * WORKERS + 1):
            rooms.append(queue.room)
            queue.submit(number, number)
        assert rooms == [6, 5, 4, 3, 2, 1, 0]
        go_on.open()
        while queue.results():
            pass
        assert queue.room == 2 * WORKERS


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


def test_other_models_stay_batched(tmp_path: Path) -> None:
    assert isinstance(open_queue(StubModel(), 16, 4), BatchQueue)
    run = Run(tmp_path, make_rows(10), batch_size=4)
    run.go()
    assert [len(batch) for batch in run.model.asked] == [4, 4, 2]


def test_batches_and_a_queue_make_the_same_file(tmp_path: Path) -> None:
    files = []
    for model in (StubModel(), Concurrent()):
        run = Run(tmp_path / type(model).__name__, make_rows(23), model)
        run.go()
        files.append(run.predictions.read_bytes())
    assert files[0] == files[1]


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

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


def test_an_answer_is_kept_before_its_dialogue_goes_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path / 'journal.jsonl')
    kept = []

    def reply(prompt: Any) -> str:
        key, _, number = prompt.record_id.partition('/')
        rows = list(journal.rows()) if journal.path.exists() else []
        kept.append(sum(row['key'] == key for row in rows) == int(number or 0))
        return 'fine'

    def dialogue(rounds: int) -> Dialogue[int]:
        for number in range(rounds):
            yield ModelRequest((Message('user', str(number)),))
        return rounds

    outcomes = DialogueRunner(Concurrent(reply), journal, 16).run({f'd{n}': dialogue(n) for n in range(8)})
    assert [outcome.value for outcome in outcomes.values()] == list(range(8))
    assert kept == [True] * sum(range(8))


# On a server


@pytest.fixture(scope='module')
def shuffling_server() -> Iterator[ModelServer]:
    """A server that takes a time that differs at each request."""
    server = start_server('--script', f'{SCRIPT}:shuffled')
    yield server
    server.stop()


@pytest.fixture(scope='module')
def waiting_server() -> Iterator[ModelServer]:
    """A server that answers some questions only after others."""
    server = start_server('--script', f'{SCRIPT}:in_order')
    yield server
    server.stop()


def client(server: ModelServer, **changes: Any) -> Any:
    """A model on ``server``."""
    speed = {'query_per_second': 1000, 'backoff': 0.001, 'retry': 0, 'max_workers': WORKERS, 'max_seq_len': 8192}
    return ToolEvalOpenAI(**{'path': 'tiny', 'key': 'right', 'openai_api_base': server.url, **speed, **changes})


def without_seconds(predictions: Path) -> bytes:
    """A predictions file but for how long its answers took."""
    return re.sub(rb'"seconds": [0-9.e-]+,', b'"seconds": 0,', predictions.read_bytes())


@pytest.mark.parametrize('run_type', [Run, DialogueRun])
def test_the_file_does_not_depend_on_when_answers_come(
    run_type: Any, shuffling_server: ModelServer, tmp_path: Path
) -> None:
    files = []
    for workers in (1, 16):
        shuffling_server.reset()
        rows = {'rows': make_rows(40)} if run_type is Run else {}
        run_type(folder=tmp_path / str(workers), model=client(shuffling_server, max_workers=workers), **rows).go()
        files.append(without_seconds(tmp_path / str(workers) / 'stub.json'))
        assert shuffling_server.stats()['most_in_flight'] <= workers
    assert len(set(files)) == 1


def talk(*texts: str) -> Dialogue[str]:
    """Asks each; ends in all answers, joined."""
    answers = []
    for text in texts:
        answers.append((yield ModelRequest((Message('user', text),))).text)
    return '|'.join(answers)


def test_a_dialogue_goes_on_while_another_waits(waiting_server: ModelServer) -> None:
    dialogues = {
        'first': talk('wait for second3, first1', 'first2'),
        'second': talk('second1', 'second2', 'second3'),
        'third': talk('third1'),
    }
    runner = DialogueRunner(client(waiting_server, max_workers=2), None, 16)
    outcomes = runner.run(dialogues)
    assert [outcome.value for outcome in outcomes.values()] == [
        '<first1>|<first2>',
        '<second1>|<second2>|<second3>',
        '<third1>',
    ]
    assert list(outcomes) == list(dialogues) and runner.calls == 6


def test_a_server_that_ends_it_loses_nothing_that_came(canned_server: ModelServer, tmp_path: Path) -> None:
    canned_server.reset('402@13-')
    run = Run(tmp_path, make_rows(30), client(canned_server, max_workers=4))
    with pytest.raises(AskingEndedError, match='status 402'):
        run.go()
    kept = {json.loads(line)['record_id'] for line in run.journal.read_text(encoding='ascii').splitlines()}
    assert len(kept) == 12
    assert canned_server.stats()['requests'] <= 12 + 4
    canned_server.reset()
    model = client(canned_server)
    again = Run(tmp_path, make_rows(30), model)
    assert [row['record_id'] for row in again.go()] == [f'r{i}' for i in range(30)]
    assert canned_server.stats()['requests'] == 18


def test_dialogues_resume_where_the_server_ended_them(canned_server: ModelServer, tmp_path: Path) -> None:
    canned_server.reset('402@8-')
    run = DialogueRun(tmp_path / 'ended', client(canned_server))
    with pytest.raises(AskingEndedError, match='status 402'):
        run.go()
    kept = run.journal.read_text(encoding='ascii').splitlines()
    assert len(kept) == 7
    canned_server.reset()
    DialogueRun(run.folder, client(canned_server)).go()
    assert canned_server.stats()['requests'] == 20 - 7
    DialogueRun(tmp_path / 'whole', client(canned_server)).go()
    assert without_seconds(run.folder / 'stub.json') == without_seconds(tmp_path / 'whole' / 'stub.json')


def test_a_queue_closes_while_answers_are_written_down() -> None:
    """The mark of the end may come together with answers that wait for the writing of earlier ones."""
    free, kept = threading.Event(), list[list[str]]()

    def keep(answers: list[tuple[str, Answer]]) -> None:
        kept.append([key for key, _ in answers])
        free.wait()

    arrivals = Arrivals[str](keep)
    arrivals.expect()
    arrivals.expect()
    arrivals.add('a', Answer('1'))
    while not kept:
        time.sleep(0.01)
    arrivals.add('b', Answer('2'))
    closing = threading.Thread(target=arrivals.close, daemon=True)
    closing.start()
    while arrivals._unkept.qsize() < 2:
        time.sleep(0.01)
    free.set()
    closing.join(300)
    assert not closing.is_alive() and kept == [['a'], ['b']]
    assert [key for key, _ in arrivals.take(wait=False)] == ['a', 'b']
