"""Questions to one model, as many in flight as it takes: what is answered makes room for the next at once.

    with open_pipe(model, max_out_len, batch_size) as pipe:
        for key, conversation in questions:
            pipe.put(key, conversation)
        while arrived := pipe.take():
            ...  # keep the answers, and put in what they lead to

A model that can be asked one question beside another, as :class:`~opencompass_tooleval.host.api_model.ToolEvalOpenAI`
can, has a method ``answer`` and ``max_workers``; all others get batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from threading import Event, Thread
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


class ConcurrentPipe(Pipe[Key]):
    """Asks ``workers`` questions at the same time, in the order in which they were put.

    Args:
        answer: Answers one prompt, in whatever thread.
        workers: Questions in flight at most.
    """

    def __init__(self, answer: AnswerOne, workers: int) -> None:
        self._answer = answer
        self._workers = workers
        self._threads: list[Thread] = []
        self._questions: SimpleQueue[tuple[Key, Any] | None] = SimpleQueue()
        self._arrived: SimpleQueue[tuple[Key, Answer | None]] = SimpleQueue()
        self._expected = 0
        self._stop = Event()
        self._fault: BaseException | None = None

    def put(self, key: Key, prompt: Any) -> None:
        """See :meth:`Pipe.put`."""
        self._expected += 1
        self._questions.put((key, prompt))
        if len(self._threads) < min(self._workers, self._expected):
            # A daemon: after Ctrl-C nobody waits for an answer that may take minutes.
            self._threads.append(Thread(target=self._work, daemon=True, name='pipe'))
            self._threads[-1].start()

    def take(self) -> list[tuple[Key, Answer]]:
        """See :meth:`Pipe.take`; a fault in ``answer`` is raised in the same way."""
        answered: list[tuple[Key, Answer]] = []
        while self._expected and not answered:
            arrived = [self._arrived.get()]
            while not self._arrived.empty():
                arrived.append(self._arrived.get())
            self._expected -= len(arrived)
            answered = [(key, answer) for key, answer in arrived if answer is not None]
        if self._fault and not answered:
            raise self._fault
        return answered

    def _work(self) -> None:
        while (question := self._questions.get()) is not None:
            key, prompt = question
            answer = None
            if not self._stop.is_set():
                try:
                    answer = self._answer(prompt, self._stop)
                except BaseException as error:  # raised where the answers are taken
                    self._fault = self._fault or error
                    self._stop.set()
            self._arrived.put((key, answer))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends the threads, and waits for them unless it is Ctrl-C that ends it all."""
        self._stop.set()
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


def open_pipe(model: Any, max_out_len: int, batch_size: int = 1, options: Mapping[str, Any] | None = None) -> Pipe[Any]:
    """The pipe that fits a model.

    Args:
        model: Any model of OpenCompass.
        max_out_len: Tokens per answer at most.
        batch_size: Prompts at once, of a model that is asked in batches; a vLLM gets :data:`AT_ONCE` or more.
        options: More arguments for the model's ``generate``.
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

    return ConcurrentPipe(answer, model.max_workers)
