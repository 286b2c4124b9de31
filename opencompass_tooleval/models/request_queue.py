"""Queues of requests to models: when a request is answered, the next one is sent.

    with open_queue(model, max_out_len, batch_size) as queue:
        for key, conversation in questions:
            queue.submit(key, conversation)
        while arrived := queue.results():
            ...  # store the answers, and submit the next requests

A model with concurrent requests, such as :class:`~.openai_model.ToolEvalOpenAI`, has ``max_workers`` and a coroutine
``answer``; all other models get batches. :class:`RequestQueues` combines the queues of several models.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from itertools import takewhile
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

from opencompass.models import VLLM, VLLMwithChatTemplate

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.result import OVER_BUDGET
from opencompass_tooleval.models.api.event_loop import event_loop, start
from opencompass_tooleval.models.budget import Account, Reservation
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.model_calls import AskingEndedError, adapt_model, answer_of, ask, asked_of, check_tools

Key = TypeVar('Key')

AT_ONCE = 1024
"""Minimum batch for a vLLM in this process, which forms its own batches and is idle between two calls."""

AnswerOne = Callable[[Any, asyncio.Event], 'Awaitable[Answer | None]']
"""Answers one prompt; returns None after the event is set."""


class RequestQueue(ABC, Generic[Key]):
    """A queue of requests to one model. The same thread submits requests and takes results."""

    @abstractmethod
    def submit(self, key: Key, prompt: Any) -> None:
        """Adds a request after all earlier ones.

        Args:
            key: Returned together with the answer.
            prompt: A conversation.
        """

    @abstractmethod
    def results(self) -> list[tuple[Key, Answer]]:
        """Waits for an answer and returns all available ones; an empty list when all requests are answered.

        Raises:
            AskingEndedError: The model cannot be used any more. All earlier answers were returned.
        """

    @property
    def room(self) -> int:
        """The number of requests that should be submitted now; more need not be built yet."""
        return sys.maxsize

    def __enter__(self) -> RequestQueue[Key]:
        return self

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops sending requests."""


class Arrivals(Generic[Key]):
    """Collects the answers of one queue, or of several queues together.

    Args:
        keep: Called in a separate thread with all new answers before they can be taken. It stores them while the
            thread that takes them is busy, for example with tools. None to do nothing.

    Attributes:
        stop: Set to stop sending requests. It belongs to the event loop.
        fault: The exception that set ``stop``, if any.
        expected: Number of requests without an answer.
    """

    def __init__(self, keep: Callable[[list[tuple[Key, Answer]]], None] | None = None) -> None:
        self.stop = asyncio.Event()
        self.fault: BaseException | None = None
        self.expected = 0
        self._arrived: SimpleQueue[tuple[Key, Answer | None]] = SimpleQueue()
        self._unkept: SimpleQueue[tuple[Key, Answer | None] | None] = SimpleQueue()
        self._keep = keep
        self._keeper: threading.Thread | None = None
        if keep:
            self._keeper = threading.Thread(target=self._keep_all, daemon=True, name='tooleval-store')
            self._keeper.start()

    def expect(self) -> None:
        """Counts a request. Only the thread that takes results may call it."""
        self.expected += 1

    def add(self, key: Key, answer: Answer | None) -> None:
        """Adds the answer to a request, or None if there will be none. Any thread may call it."""
        (self._unkept if self._keep else self._arrived).put((key, answer))

    def close(self) -> None:
        """Waits until all received answers are stored."""
        if self._keeper:
            self._unkept.put(None)
            while self._keeper.is_alive():
                self._keeper.join(1)  # a timeout, so that an interrupt is noticed
            self._keeper = None

    def _keep_all(self) -> None:
        assert self._keep is not None
        is_open = True
        while is_open:
            taken = [self._unkept.get()]
            while not self._unkept.empty():
                taken.append(self._unkept.get())
            come = [one for one in taken if one is not None]
            is_open = len(come) == len(taken)  # None from close() may be among them
            try:
                self._keep([(key, answer) for key, answer in come if answer is not None])
            except Exception as error:  # for example, a full disk; raised by take()
                self.fail(error)
            for one in come:
                self._arrived.put(one)

    def fail(self, error: BaseException) -> None:
        """Sets ``stop``. The first exception is raised after all answers are taken. Any thread may call it."""
        self.fault = self.fault or error
        event_loop().call_soon_threadsafe(self.stop.set)

    def take(self, wait: bool = True) -> list[tuple[Key, Answer]]:
        """Returns all available answers; waits for one if there is none but a request is open.

        Args:
            wait: True to wait, and to raise the exception of :meth:`fail` at the end.
        """
        answered: list[tuple[Key, Answer]] = []
        while self.expected and not answered and (wait or not self._arrived.empty()):
            arrived = [self._arrived.get()]
            while not self._arrived.empty():
                arrived.append(self._arrived.get())
            self.expected -= len(arrived)
            answered = [(key, answer) for key, answer in arrived if answer is not None]
        if wait and self.fault and not answered:
            raise self.fault
        return answered


class ConcurrentQueue(RequestQueue[Key]):
    """Keeps up to ``workers`` requests in flight, and sends them in the order of submission.

    All requests run on the process's event loop.

    Args:
        answer: Answers one prompt.
        workers: Maximum number of requests in flight.
        arrivals: Collects the answers, also those of other queues; None for this queue only.
    """

    def __init__(self, answer: AnswerOne, workers: int, arrivals: Arrivals[Key] | None = None) -> None:
        self._answer = answer
        self._workers = workers
        self._arrivals: Arrivals[Key] = arrivals or Arrivals()
        self._waiting: deque[tuple[Key, Any]] = deque()
        self._running: set[asyncio.Task[None]] = set()  # changed only by the event loop

    def submit(self, key: Key, prompt: Any) -> None:
        """Adds a request after all earlier ones."""
        self._arrivals.expect()
        self._waiting.append((key, prompt))
        if len(self._running) < self._workers:  # otherwise the next free worker takes it
            event_loop().call_soon_threadsafe(self._start_worker)

    def results(self) -> list[tuple[Key, Answer]]:
        """Returns all available answers; after the last one, raises an exception of ``answer``."""
        return self._arrivals.take()

    @property
    def room(self) -> int:
        """The number of requests until as many wait as are in flight, so that no worker is idle."""
        return max(0, 2 * self._workers - self._arrivals.expected)

    def _start_worker(self) -> None:
        if self._waiting and len(self._running) < self._workers:
            self._running.add(asyncio.get_running_loop().create_task(self._work()))

    async def _work(self) -> None:
        worker = cast('asyncio.Task[None]', asyncio.current_task())
        try:
            # Checks again at the end: submit() starts no worker for a request that is added while this one is stopping.
            while self._waiting:
                self._running.add(worker)
                await self._answer_all()
                self._running.discard(worker)
        finally:
            self._running.discard(worker)

    async def _answer_all(self) -> None:
        while self._waiting:
            key, prompt = self._waiting.popleft()
            answer = None
            try:
                if not self._arrivals.stop.is_set():
                    answer = await self._answer(prompt, self._arrivals.stop)
            except Exception as error:  # raised by results()
                self._arrivals.fail(error)
            finally:
                self._arrivals.add(key, answer)

    async def _end(self) -> None:
        self._arrivals.stop.set()
        self._waiting.clear()
        for worker in self._running:
            worker.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Cancels requests in flight, and waits until they have ended unless Ctrl-C ends the process."""
        ending = start(self._end())
        if kind is None or issubclass(kind, Exception):
            ending.result()


class BatchQueue(RequestQueue[Key]):
    """Sends batches. A request waits until all earlier ones are answered.

    Args:
        model: Any OpenCompass model.
        max_out_len: Maximum number of tokens per answer.
        size: Maximum size of a batch.
        options: Additional arguments of the model's ``generate``.
        account: Pays for the requests, and may make batches smaller. None without a budget.
    """

    def __init__(
        self,
        model: Any,
        max_out_len: int,
        size: int,
        options: Mapping[str, Any] | None = None,
        account: Account | None = None,
    ) -> None:
        self._model = model
        self._max_out_len = max_out_len
        self._size = size
        self._options = options
        self._account = account
        self._round: list[tuple[Key, Conversation]] = []
        self._next_round: list[tuple[Key, Conversation]] = []
        self._ended: AskingEndedError | None = None

    def submit(self, key: Key, prompt: Conversation) -> None:
        """Adds a request after all earlier ones."""
        self._next_round.append((key, prompt))

    def results(self) -> list[tuple[Key, Answer]]:
        """Sends the next batch and returns its answers."""
        if self._ended:
            raise self._ended
        if not self._round:
            self._round, self._next_round = self._next_round, []
        batch, self._round = self._round[: self._size], self._round[self._size :]
        if not batch:
            return []
        if self._account is None:
            return self._asked(batch)
        with ExitStack() as stack:
            first, *later = (
                stack.enter_context(self._account.request(prompt, self._max_out_len)) for _, prompt in batch
            )
            may_send = first.hold_here()
            held = [first, *takewhile(Reservation.try_to_hold, later if may_send else ())]
            self._round = batch[len(held) :] + self._round
            if not may_send:
                return [(batch[0][0], Answer('', OVER_BUDGET))]
            answered = self._asked(batch[: len(held)])
            usages = {id(key): answer.usage for key, answer in answered}
            for (key, _), reservation in zip(batch, held, strict=False):
                reservation.answer(usages.get(id(key)))
            return answered

    def _asked(self, batch: list[tuple[Key, Conversation]]) -> list[tuple[Key, Answer]]:
        answers: Sequence[Answer | None]
        try:
            answers = ask(self._model, [prompt for _, prompt in batch], self._max_out_len, self._options)
        except AskingEndedError as error:
            answers, self._ended = error.answers, error
        answered = [(key, answer) for (key, _), answer in zip(batch, answers, strict=True) if answer is not None]
        return answered or self.results()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Does nothing, since no requests are in flight between two batches."""


def _is_concurrent(model: Any) -> bool:
    return asyncio.iscoroutinefunction(getattr(model, 'answer', None))


def requests_at_once(model: Any, batch_size: int) -> int:
    """Returns the number of requests that a model processes at once: in flight, or in a batch.

    Args:
        model: Any OpenCompass model.
        batch_size: As for :func:`open_queue`.
    """
    if _is_concurrent(model):
        return int(model.max_workers)
    return max(AT_ONCE, batch_size) if isinstance(model, (VLLM, VLLMwithChatTemplate)) else batch_size


def open_queue(
    model: Any,
    max_out_len: int,
    batch_size: int = 1,
    options: Mapping[str, Any] | None = None,
    arrivals: Arrivals[Any] | None = None,
    account: Account | None = None,
) -> RequestQueue[Any]:
    """Opens a queue for a model.

    Args:
        model: Any OpenCompass model.
        max_out_len: Maximum number of tokens per answer.
        batch_size: Size of a batch, for a model that takes batches; a vLLM gets at least :data:`AT_ONCE` prompts.
        options: Additional arguments of the model's ``generate``.
        arrivals: Collects the answers of models with concurrent requests, also those of other models.
        account: Pays for the requests. A request over its budget is not sent, and its answer has the reason
            ``infra:budget``. None without a budget.
    """
    adapt_model(model)
    at_once = requests_at_once(model, batch_size)
    if not _is_concurrent(model):
        return BatchQueue(model, max_out_len, at_once, options, account)

    async def answer(prompt: Conversation, stop: asyncio.Event) -> Answer | None:
        prompt = asked_of(model, prompt)
        check_tools(model, [prompt])
        given = model.parse_template(prompt, mode='gen')
        with account.request(prompt, max_out_len) if account else nullcontext() as reservation:
            reserved = {'reservation': reservation} if reservation else {}
            answered = await model.answer(given, max_out_len, stop=stop, **reserved, **(options or {}))
            answered = answered and answer_of(model, prompt, answered, max_out_len)
            if reservation and answered:
                reservation.answer(answered.usage)
        return answered

    return ConcurrentQueue(answer, at_once, arrivals)


OpenQueue = Callable[[Arrivals[Any]], RequestQueue[Any]]
"""Opens a model's queue, which may add its answers to the given arrivals."""


class RequestQueues(Generic[Key]):
    """Queues of requests to several models. The same thread submits requests and takes results.

    Answers to concurrent requests come first. A batch is sent only when no other answer is available. It runs in the
    thread that takes results, while concurrent requests continue. Models that take batches take turns.

    Args:
        openers: Name of a model -> function that opens its queue at the first request.
        keep: As for :class:`Arrivals`; called only for concurrent requests.
    """

    def __init__(
        self,
        openers: Mapping[str, OpenQueue],
        keep: Callable[[list[tuple[Key, Answer]]], None] | None = None,
    ) -> None:
        self._openers = openers
        self._arrivals: Arrivals[Key] = Arrivals(keep)
        self._open: dict[str, RequestQueue[Key]] = {}
        self._batches: list[RequestQueue[Key]] = []
        self._stack = ExitStack()

    def submit(self, name: str, key: Key, prompt: Any) -> None:
        """Adds a request to a model's queue.

        Raises:
            LookupError: ``name`` has no queue.
        """
        if name not in self._open:
            if name not in self._openers:
                raise LookupError(name)
            queue = self._stack.enter_context(self._openers[name](self._arrivals))
            self._open[name] = queue
            if not isinstance(queue, ConcurrentQueue):
                self._batches.append(queue)
        self._open[name].submit(key, prompt)

    def results(self) -> list[tuple[Key, Answer]]:
        """Returns available answers. If one model cannot be used any more, the requests to all models end."""
        if arrived := self._arrivals.take(wait=False):
            return arrived
        for queue in [] if self._arrivals.fault else list(self._batches):
            try:
                arrived = queue.results()
            except AskingEndedError as error:
                self._arrivals.fail(error)
                break
            if arrived:
                self._batches.remove(queue)
                self._batches.append(queue)
                return arrived
        return self._arrivals.take()

    def __enter__(self) -> RequestQueues[Key]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops sending requests."""
        try:
            self._stack.__exit__(kind, error, traceback)
        finally:
            self._arrivals.close()
