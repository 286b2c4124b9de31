"""Questions to one model, as many in flight as it takes: what is answered makes room for the next at once.

    with open_pipe(model, max_out_len, batch_size) as pipe:
        for key, conversation in questions:
            pipe.put(key, conversation)
        while arrived := pipe.take():
            ...  # keep the answers, and put in what they lead to

A model that can be asked one question beside another, as :class:`~opencompass_tooleval.host.api_model.ToolEvalOpenAI`
can, has a method ``answer`` and ``max_workers``; all others get batches. :class:`Pipes` are those of several models,
taken from as one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from types import TracebackType
from typing import Any, Generic, TypeVar

from opencompass.models import VLLM, VLLMwithChatTemplate

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.host.conversation import Conversation
from opencompass_tooleval.host.model_calls import AskingEndedError, answer_of, ask, check_tools, keep_conversations

Key = TypeVar('Key')

AT_ONCE = 1024
"""Prompts at least that a vLLM in this process gets at once: it fills its own batches, and idles between two calls."""

AnswerOne = Callable[[Any, Event], 'Answer | None']
"""Answers one prompt; gives up, with None, once the event is set."""


class Pipe(ABC, Generic[Key]):
    """What a model is asked, and what it answered. One thread puts and takes."""

    @abstractmethod
    def put(self, key: Key, prompt: Any) -> None:
        """Asks a question, after those that were put before it.

        Args:
            key: Comes back with the answer.
            prompt: A conversation.
        """

    @abstractmethod
    def take(self) -> list[tuple[Key, Answer]]:
        """Waits for an answer, and returns all that have come; none once every question is answered.

        Raises:
            AskingEndedError: The model cannot be asked any more. Every answer that came before was returned.
        """

    def __enter__(self) -> Pipe[Key]:
        return self

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Asks nothing more."""


class Arrivals(Generic[Key]):
    """Where the answers of one pipe come in, or of several that are taken from as one.

    Attributes:
        stop: Set once nothing more is to be asked.
        fault: Why, if it is a fault.
    """

    def __init__(self) -> None:
        self.stop = Event()
        self.fault: BaseException | None = None
        self._arrived: SimpleQueue[tuple[Key, Answer | None]] = SimpleQueue()
        self._expected = 0

    def expect(self) -> None:
        """Counts a question; only the thread that takes may."""
        self._expected += 1

    def add(self, key: Key, answer: Answer | None) -> None:
        """Takes in what came of a question, from any thread: an answer, or None where there is none any more."""
        self._arrived.put((key, answer))

    def fail(self, error: BaseException) -> None:
        """Has nothing more asked; the first fault is raised once all that was answered is taken."""
        self.fault = self.fault or error
        self.stop.set()

    def take(self, wait: bool = True) -> list[tuple[Key, Answer]]:
        """Returns all answers that have come; where there are none, waits for one if there is one to come.

        Args:
            wait: Whether it waits, and raises the fault in the end.
        """
        answered: list[tuple[Key, Answer]] = []
        while self._expected and not answered and (wait or not self._arrived.empty()):
            arrived = [self._arrived.get()]
            while not self._arrived.empty():
                arrived.append(self._arrived.get())
            self._expected -= len(arrived)
            answered = [(key, answer) for key, answer in arrived if answer is not None]
        if wait and self.fault and not answered:
            raise self.fault
        return answered


class ConcurrentPipe(Pipe[Key]):
    """Asks ``workers`` questions at the same time, in the order in which they were put.

    Args:
        answer: Answers one prompt, in whatever thread.
        workers: Questions in flight at most.
        arrivals: Where its answers come in, if other pipes' do too.
    """

    def __init__(self, answer: AnswerOne, workers: int, arrivals: Arrivals[Key] | None = None) -> None:
        self._answer = answer
        self._workers = workers
        self._arrivals: Arrivals[Key] = arrivals or Arrivals()
        self._threads: list[Thread] = []
        self._questions: SimpleQueue[tuple[Key, Any] | None] = SimpleQueue()
        self._idle = Semaphore(0)

    def put(self, key: Key, prompt: Any) -> None:
        """See :meth:`Pipe.put`."""
        self._arrivals.expect()
        self._questions.put((key, prompt))
        if not self._idle.acquire(blocking=False) and len(self._threads) < self._workers:
            # A daemon: after Ctrl-C nobody waits for an answer that may take minutes.
            self._threads.append(Thread(target=self._work, daemon=True, name='pipe'))
            self._threads[-1].start()

    def take(self) -> list[tuple[Key, Answer]]:
        """See :meth:`Pipe.take`; a fault in ``answer`` is raised in the same way."""
        return self._arrivals.take()

    def _work(self) -> None:
        while (question := self._questions.get()) is not None:
            key, prompt = question
            answer = None
            if not self._arrivals.stop.is_set():
                try:
                    answer = self._answer(prompt, self._arrivals.stop)
                except BaseException as error:  # raised where the answers are taken
                    self._arrivals.fail(error)
            self._idle.release()  # first: what this answer leads to needs no thread more
            self._arrivals.add(key, answer)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends the threads, and waits for them unless it is Ctrl-C that ends it all."""
        self._arrivals.stop.set()
        for _ in self._threads:
            self._questions.put(None)
        if kind is None or issubclass(kind, Exception):
            for thread in self._threads:
                thread.join()


class BatchPipe(Pipe[Key]):
    """Asks in batches. What an answer leads to waits until all that was put before it is asked.

    Args:
        model: Any model of OpenCompass.
        max_out_len: Tokens per answer at most.
        size: Of a batch.
        options: More arguments for the model's ``generate``.
    """

    def __init__(self, model: Any, max_out_len: int, size: int, options: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._max_out_len = max_out_len
        self._size = size
        self._options = options
        self._round: list[tuple[Key, Conversation]] = []
        self._next_round: list[tuple[Key, Conversation]] = []
        self._ended: AskingEndedError | None = None

    def put(self, key: Key, prompt: Conversation) -> None:
        """See :meth:`Pipe.put`."""
        self._next_round.append((key, prompt))

    def take(self) -> list[tuple[Key, Answer]]:
        """Asks the next batch."""
        if self._ended:
            raise self._ended
        if not self._round:
            self._round, self._next_round = self._next_round, []
        batch, self._round = self._round[: self._size], self._round[self._size :]
        if not batch:
            return []
        answers: Sequence[Answer | None]
        try:
            answers = ask(self._model, [prompt for _, prompt in batch], self._max_out_len, self._options)
        except AskingEndedError as error:
            answers, self._ended = error.answers, error
        answered = [(key, answer) for (key, _), answer in zip(batch, answers, strict=True) if answer is not None]
        return answered or self.take()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is in flight between two batches."""


def open_pipe(
    model: Any,
    max_out_len: int,
    batch_size: int = 1,
    options: Mapping[str, Any] | None = None,
    arrivals: Arrivals[Any] | None = None,
) -> Pipe[Any]:
    """The pipe that fits a model.

    Args:
        model: Any model of OpenCompass.
        max_out_len: Tokens per answer at most.
        batch_size: Prompts at once, of a model that is asked in batches; a vLLM gets :data:`AT_ONCE` or more.
        options: More arguments for the model's ``generate``.
        arrivals: Where the answers come in of a model that is asked one question beside another, if other models' do
            too.
    """
    keep_conversations(model)
    if not callable(getattr(model, 'answer', None)):
        size = max(AT_ONCE, batch_size) if isinstance(model, (VLLM, VLLMwithChatTemplate)) else batch_size
        return BatchPipe(model, max_out_len, size, options)

    def answer(prompt: Conversation, stop: Event) -> Answer | None:
        check_tools(model, [prompt])
        given = model.parse_template(prompt, mode='gen')
        answered = model.answer(given, max_out_len, stop=stop, **(options or {}))
        return None if answered is None else answer_of(model, prompt, answered, max_out_len)

    return ConcurrentPipe(answer, model.max_workers, arrivals)


OpenPipe = Callable[[Arrivals[Any]], Pipe[Any]]
"""Opens a model's pipe, whose answers may come in there."""


class Pipes(Generic[Key]):
    """Questions to several models. One thread puts and takes.

    What is asked concurrently comes in as it comes. A model that is asked in batches is asked when nothing else has
    come: its batch is worked on in the thread that takes, while the others go on. Such models take turns.

    Args:
        openers: Name -> what opens its pipe, at its first question.
    """

    def __init__(self, openers: Mapping[str, OpenPipe]) -> None:
        self._openers = openers
        self._arrivals: Arrivals[Key] = Arrivals()
        self._open: dict[str, Pipe[Key]] = {}
        self._batches: list[Pipe[Key]] = []
        self._stack = ExitStack()

    def put(self, name: str, key: Key, prompt: Any) -> None:
        """Asks a model, as :meth:`Pipe.put`.

        Raises:
            LookupError: There is no such model.
        """
        if name not in self._open:
            if name not in self._openers:
                raise LookupError(name)
            pipe = self._stack.enter_context(self._openers[name](self._arrivals))
            self._open[name] = pipe
            if not isinstance(pipe, ConcurrentPipe):
                self._batches.append(pipe)
        self._open[name].put(key, prompt)

    def take(self) -> list[tuple[Key, Answer]]:
        """As :meth:`Pipe.take`; a model that cannot be asked any more ends it for all."""
        if arrived := self._arrivals.take(wait=False):
            return arrived
        for pipe in [] if self._arrivals.stop.is_set() else list(self._batches):
            try:
                arrived = pipe.take()
            except AskingEndedError as error:
                self._arrivals.fail(error)
                break
            if arrived:
                self._batches.remove(pipe)
                self._batches.append(pipe)
                return arrived
        return self._arrivals.take()

    def __enter__(self) -> Pipes[Key]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Asks nothing more."""
        self._stack.__exit__(kind, error, traceback)
