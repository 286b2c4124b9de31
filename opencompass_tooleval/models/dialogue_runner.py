"""Runs many multi-round dialogues at once. A resumed run does not repeat answered requests."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from tqdm import tqdm

from opencompass_tooleval.core.calls.answer import CUT, SENT, USAGE, Answer, bounded, extras, with_extras
from opencompass_tooleval.core.calls.call_evidence import LESS_THOUGHT, call_evidence
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import normalise
from opencompass_tooleval.core.calls.observed import Observed
from opencompass_tooleval.core.calls.sent import AS_SENT, THOUGHTS, WITHHELD
from opencompass_tooleval.core.calls.sent import NONE as NO_THOUGHTS
from opencompass_tooleval.core.calls.tool_calls import written_payload
from opencompass_tooleval.core.scoring.result import INFRA, TRUNCATED
from opencompass_tooleval.core.scoring.sampling_settings import MAX_OUT_LEN, is_cut_below
from opencompass_tooleval.core.scoring.usage import Usage, read_usage, total_usage, with_failed
from opencompass_tooleval.core.scoring.usage_summary import OTHERS, other_usage
from opencompass_tooleval.core.text.jsonable import answer_digest
from opencompass_tooleval.models.budget import account_of_model
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.model_config import AuxiliaryModel
from opencompass_tooleval.models.request_queue import Arrivals, RequestQueue, RequestQueues, open_queue
from opencompass_tooleval.work_dir.run_context import Report, report_nothing, run_context
from opencompass_tooleval.work_dir.store import FAILED, MODEL, REASON, AnswerStore, Row

T = TypeVar('T')

_TEXTS = ('asked', 'answer')
"""Members of a stored row."""


@dataclass
class Outcome(Generic[T]):
    """Result of a dialogue.

    Attributes:
        value: The dialogue's return value; None with ``infra``.
        infra: The infrastructure failure that left a round without an answer, so that the value is missing. For an
            auxiliary model it contains the model's name: ``infra:simulator:timeout``.
        answers: Answers of the model under test, in the order of rounds.
        finish_reason: Finish reason of the last answer; ``length`` if any was truncated.
        failed: Usage of failed requests.
        others: Usage of the auxiliary models' answers in this dialogue, including failures, for ``other_rows``. If
            several dialogues wait for one answer, it counts for the first.
        observed: Records of the answers of the model under test, and of the failure that ended the dialogue.
        server_words: The error behind ``infra``, as the server described it.
        offers_tools: True if a request to the model under test offered tools.
        evidence: Counts of its answers, from :func:`~opencompass_tooleval.core.calls.call_evidence.call_evidence`.
    """

    value: T | None = None
    infra: str | None = None
    answers: list[Answer] = field(default_factory=list)
    finish_reason: str | None = None
    failed: list[Usage | None] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)
    observed: list[Observed] = field(default_factory=list)
    server_words: str = ''
    offers_tools: bool = False
    evidence: Counter[str] = field(default_factory=Counter)

    @property
    def usage(self) -> Usage | None:
        """Total usage of the model under test."""
        return with_failed(total_usage([answer.usage for answer in self.answers]), self.failed)


@dataclass
class _Running(Generic[T]):
    key: str
    position: int
    dialogue: Dialogue[T]
    request: ModelRequest | None = None
    outcome: Outcome[T] = field(default_factory=Outcome)
    asked: Counter[str] = field(default_factory=Counter)

    def start(self) -> None:
        self._advance(lambda: next(self.dialogue))

    def receive(self, answer: Answer) -> None:
        assert self.request is not None
        self.asked[self._counter(self.request)] += 1
        if not self.request.model:
            answer = self._note(answer)
        self._advance(lambda: self.dialogue.send(answer))

    def fail(self, answer: Answer) -> None:
        assert self.request is not None
        self.dialogue.close()
        self.outcome.server_words = answer.server_words
        if not self.request.model:
            self.outcome.failed.append(answer.usage)
            self._note_observed(answer)
        whom = f'{INFRA}{self.request.model}:' if self.request.model else INFRA
        self.request, self.outcome.infra = None, whom + str(answer.reason).removeprefix(INFRA)

    @property
    def round(self) -> int:
        """Number of earlier requests to the model under test; for an auxiliary model, of the same request."""
        assert self.request is not None
        return self.asked[self._counter(self.request)]

    def _counter(self, request: ModelRequest) -> str:
        # Auxiliary models: per request, since a resumed dialogue sends a simulator fewer requests (it stores answers).
        return request.digest if request.model else ''

    def _note_observed(self, answer: Answer) -> Answer:
        if not answer.observed or self.request is None:
            return answer
        tools, noted = self.request.tools.as_request() if self.request.tools else [], self.outcome.observed
        record, calls = answer.observed[0], written_payload(answer.calls)
        noted.append(replace(record, number=len(noted) + 1, text=answer.text, calls=calls, tools=tools))
        return replace(answer, observed=(noted[-1],))

    def _note(self, answer: Answer) -> Answer:
        answer = self._note_observed(answer)
        if _has_failed(answer):
            self.outcome.failed.append(answer.usage)
            return answer
        if self.outcome.finish_reason != CUT:
            self.outcome.finish_reason = answer.finish_reason
        self.outcome.answers.append(answer)
        if self.request and self.request.tools:
            self.outcome.evidence += call_evidence(answer.text, answer.calls, self.request.tools)
            if any(WITHHELD in (message.sent or ()) for message in self.request.messages):
                self.outcome.evidence[LESS_THOUGHT] += 1
        return answer

    def _advance(self, step: Callable[[], ModelRequest]) -> None:
        try:
            self.request = step()
        except StopIteration as end:
            self.request, self.outcome.value = None, end.value
        else:
            self.outcome.offers_tools |= bool(self.request.tools and not self.request.model)


def conversation_of(request: ModelRequest, record_id: str, source: str, position: int) -> Conversation:
    """Returns the conversation of one request to a model."""
    entry = {'record_id': record_id, 'source': source, 'idx': position, 'gold_answer': request.gold}
    return Conversation.of(normalise(request.messages, {}), entry, request.tools)


class DialogueRunner:
    """Runs dialogues on one model, and on the auxiliary models that they name.

    A dialogue continues as soon as its request is answered, independently of the others. With a model that takes
    batches, all dialogues advance together, round by round. Each answer is on disk before its dialogue continues, so
    after a kill only requests in flight are repeated. An answer is reused only for an equal request.

    If a request to one of ``others`` is already in flight, it is not repeated: all dialogues get the same answer. If a
    prompt is too long, the dialogue gets this failure if its :class:`ModelRequest` allows it, and the request is not
    repeated after a kill.

    Args:
        model: Any OpenCompass model; None if dialogues use only ``others``.
        store: Stores each answer; its ``rounds`` are the answers of earlier runs. None to store no answers.
        max_out_len: Maximum number of tokens per answer.
        batch_size: Dialogues per batch, for a model that takes batches.
        source: Name of the dataset in each :class:`Conversation`, for recorded answers.
        options: Additional arguments of the model's ``generate``.
        description: Text of the progress bar, which counts dialogues and shows used tokens; None to show no bar.
        others: Name in ``model`` of a :class:`ModelRequest` -> auxiliary model.
        report: Called with the numbers of ended dialogues and the usage of new answers.
        threads: Number of dialogues that continue at the same time. Set it above 1 if dialogues wait for something
            other than models, such as the tools of a live server.

    Attributes:
        calls: Number of answers of the model under test in this run, including failures.
        tokens: Sum of the known tokens of these answers.
        other_calls: Name of an auxiliary model -> number of its answers, including failures.
        other_usages: Name -> usage of these answers.
    """

    def __init__(
        self,
        model: Any,
        store: AnswerStore | None,
        max_out_len: int,
        batch_size: int = 64,
        source: str = '',
        options: Mapping[str, Any] | None = None,
        description: str | None = None,
        others: Mapping[str, AuxiliaryModel] | None = None,
        report: Report = report_nothing,
        threads: int = 1,
    ) -> None:
        self.model = model
        self.store = store
        self.max_out_len = max_out_len
        self.batch_size = batch_size
        self.source = source
        self.options = options
        self.description = description
        self.others = dict(others or {})
        self.report = report
        self.threads = threads
        self.calls = 0
        self.tokens = 0
        self._thoughts = getattr(model, THOUGHTS, '')
        self.other_usages: dict[str, list[Usage | None]] = {}
        self._storing = threading.Lock()
        self._kept: set[tuple[str, int, str]] = set()
        self._waiting: dict[str, list[_Running[Any]]] = {}

    def run(
        self,
        dialogues: Mapping[str, Dialogue[T]],
        further: Callable[[], Mapping[str, Dialogue[T]]] = dict,
        on_end: Callable[[str, Outcome[T]], None] | None = None,
    ) -> dict[str, Outcome[T]]:
        """Runs dialogues and returns the outcome of each, with the same keys and in the same order.

        Args:
            dialogues: Dialogues to start with.
            further: Returns more dialogues to start, or an empty mapping. Called before each wait for answers.
            on_end: Called with key and outcome of each dialogue that ends, never from two threads at once.
        """
        everyone: list[_Running[T]] = []
        ended = earlier = 0
        bar = tqdm(total=len(dialogues), desc=self.description, disable=self.description is None)
        with bar, RequestQueues[_Running[Any]](self._openers(), self._keep_arrived) as queues:
            while True:
                while dialogues or (dialogues := further()):
                    begun = self._begin(dialogues, len(everyone), queues, on_end)
                    dialogues = {}
                    everyone += begun
                    earlier += (over := sum(dialogue.request is None for dialogue in begun))
                    ended += over
                    bar.total = len(everyone)
                    bar.update(over)
                if not (arrived_now := queues.results()):
                    break
                taken = [(dialogue, bounded(answer)) for dialogue, answer in arrived_now]
                for dialogue, answer in taken:
                    self._count(dialogue, answer)
                spent = [answer.usage for dialogue, answer in taken if dialogue.request and not dialogue.request.model]
                for arrived in self._in_turn(taken):
                    self._keep(arrived)
                    self._each(lambda pair: self._advance(*pair), arrived)
                    for dialogue, _ in arrived:
                        self._put(queues, dialogue)
                    self._say_ended([dialogue for dialogue, _ in arrived], on_end)
                    ended += sum(dialogue.request is None for dialogue, _ in arrived)
                counts = {'calls': self.calls, 'tokens': self.tokens} if self.model else {}
                bar.set_postfix({**counts, **self.other_calls}, refresh=False)
                bar.update(ended - bar.n)
                self.report(ended, earlier, spent)
        return {dialogue.key: dialogue.outcome for dialogue in everyone}

    def _begin(
        self,
        dialogues: Mapping[str, Dialogue[T]],
        position: int,
        queues: RequestQueues[_Running[Any]],
        on_end: Callable[[str, Outcome[T]], None] | None,
    ) -> list[_Running[T]]:
        """Starts dialogues, replays their stored answers, and sends their next requests."""
        begun = [_Running(key, place, dialogue) for place, (key, dialogue) in enumerate(dialogues.items(), position)]
        self._each(_Running.start, begun)
        self._each(self._restore, begun)
        for dialogue in begun:
            self._put(queues, dialogue)
        self._say_ended(begun, on_end)
        return begun

    def _say_ended(self, dialogues: Sequence[_Running[T]], on_end: Callable[[str, Outcome[T]], None] | None) -> None:
        for dialogue in dialogues if on_end else ():
            if dialogue.request is None and on_end:
                with self._storing:
                    on_end(dialogue.key, dialogue.outcome)

    def _each(self, work: Callable[[Any], None], items: Sequence[Any]) -> None:
        """Calls ``work`` with each item, in threads if there are several; raises the first exception at the end.

        The threads are daemons, since a process joins an executor's threads when it is interrupted.
        """
        if self.threads == 1 or len(items) < 2:
            for item in items:
                work(item)
            return
        left, faults = iter(items), list[BaseException]()

        def work_on() -> None:
            try:
                for item in left:
                    work(item)
            except BaseException as error:  # raised again by the waiting thread
                faults.append(error)

        workers = [threading.Thread(target=work_on, daemon=True) for _ in items[: self.threads]]
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                worker.join(1)  # a timeout, so that an interrupt is noticed
        if faults:
            raise faults[0]

    @property
    def other_calls(self) -> dict[str, int]:
        """Name of an auxiliary model -> number of requests to it."""
        return {name: len(usages) for name, usages in self.other_usages.items()}

    def _openers(self) -> dict[str, Callable[[Arrivals[Any]], RequestQueue[Any]]]:
        def open_under_test(arrivals: Arrivals[Any]) -> RequestQueue[Any]:
            return open_queue(self.model, self.max_out_len, self.batch_size, self.options, arrivals, account_of_model())

        return {'': open_under_test, **{name: other.open_queue for name, other in self.others.items()}}

    def _put(self, queues: RequestQueues[_Running[Any]], dialogue: _Running[Any]) -> None:
        request = dialogue.request
        if request is None:
            return
        if request.model:
            self._check(request.model, dialogue.key)
            asking = self._waiting.setdefault(request.digest, [])
            asking.append(dialogue)
            if len(asking) > 1:
                return
        queues.submit(request.model, dialogue, self._conversation(dialogue))

    def _check(self, name: str, key: str) -> None:
        if name not in self.others:
            there_are = ', '.join(self.others) or 'none'
            raise ValueError(
                f"dialogue {key} calls the model {name!r}, which the data set's config does not define "
                f'(it defines: {there_are})'
            )

    def _in_turn(self, taken: Sequence[tuple[_Running[Any], Answer]]) -> Iterator[list[tuple[_Running[Any], Answer]]]:
        """Yields dialogues with their answers, in groups that continue together.

        Answers of auxiliary models come first, one at a time: when a dialogue continues, it may send a request that
        a later answer in ``taken`` answers, and then joins the dialogues that wait for this answer.
        """
        under_test = [
            (dialogue, answer) for dialogue, answer in taken if dialogue.request and not dialogue.request.model
        ]
        others = [(dialogue, answer) for dialogue, answer in taken if dialogue.request and dialogue.request.model]
        for dialogue, answer in others:
            assert dialogue.request is not None
            again = replace(answer, usage=None)  # its cost is counted once
            waiting = self._waiting.pop(dialogue.request.digest)
            yield [(one, answer if one is dialogue else again) for one in waiting]
        yield under_test

    def _count(self, dialogue: _Running[Any], answer: Answer) -> None:
        assert dialogue.request is not None
        usage = answer.usage or Usage()
        if dialogue.request.model:
            self.other_usages.setdefault(dialogue.request.model, []).append(answer.usage)
            dialogue.outcome.others += self._other(dialogue.request.model, answer)
            return
        self.calls += 1
        self.tokens += (usage.prompt or 0) + (usage.completion or 0)

    def _restore(self, dialogue: _Running[Any]) -> None:
        """Continues a dialogue with the stored answers to its requests, and adds the usage of those not used again."""
        if self.store is None:
            return
        stored: dict[tuple[int, str], tuple[int, Answer]] = {}
        rows, used = self.store.rounds_of(dialogue.key), set[int]()
        for number, row in enumerate(rows):
            if all(isinstance(row.get(name), str) for name in _TEXTS) and self._accepts(row):
                answer = _stored_answer(row, '' if row.get(MODEL) else self._thoughts)
                if answer is not None:
                    stored.setdefault((row['round'], row['asked']), (number, answer))
        while dialogue.request:
            number, found = stored.get((dialogue.round, self._asked(dialogue.request)), (-1, None))
            if found is None or _is_failure(found, dialogue.request):
                break
            used.add(number)
            dialogue.receive(found)
        for number, row in enumerate(rows):
            # An answer of an auxiliary model always counts, since it may not be requested again: a simulator's answers
            # are also stored elsewhere.
            if isinstance(row.get(OTHERS), list):
                dialogue.outcome.others += row[OTHERS]
            elif number not in used and not row.get(MODEL):
                dialogue.outcome.failed.append(read_usage(row.get(USAGE)))

    def _accepts(self, row: Row) -> bool:
        return bool(row.get(MODEL)) or (not is_cut_below(row, self.max_out_len) and run_context().stored.accepts(row))

    def _other(self, name: str, answer: Answer) -> list[dict[str, Any]]:
        """Returns the usage of an auxiliary model's answer; empty if unknown."""
        other = self.others[name]
        return [other_usage(name, other.name, other.prices, [answer.usage])] if answer.usage else []

    def _asked(self, request: ModelRequest) -> str:
        """Returns the text that identifies a request in the store; for an auxiliary model with the model's name.

        If a run is resumed with another simulator, the answers of the first one are not reused.
        """
        other = self.others.get(request.model)
        return f'{request.digest} {answer_digest(other.name)}' if other else request.digest

    def _conversation(self, dialogue: _Running[Any]) -> Conversation:
        request = dialogue.request
        assert request is not None
        record_id = f'{dialogue.key}/{dialogue.round}' if dialogue.round else dialogue.key
        source = '-'.join(filter(None, (request.model, self.source)))
        return conversation_of(request, request.name or record_id, source, dialogue.position)

    def _advance(self, dialogue: _Running[Any], answer: Answer) -> None:
        assert dialogue.request is not None
        if _is_failure(answer, dialogue.request):
            dialogue.fail(answer)
        else:
            dialogue.receive(answer)

    def _keep_arrived(self, answered: Sequence[tuple[_Running[Any], Answer]]) -> None:
        """Stores answers as they arrive, while tools called by other answers still run."""
        with self._storing:
            self._write([(dialogue, bounded(answer)) for dialogue, answer in answered])
            self._kept.update(self._request_key(dialogue) for dialogue, _ in answered)

    def _request_key(self, dialogue: _Running[Any]) -> tuple[str, int, str]:
        assert dialogue.request is not None
        return dialogue.key, dialogue.round, self._asked(dialogue.request)

    def _keep(self, answered: Sequence[tuple[_Running[Any], Answer]]) -> None:
        """Stores each answer once, before its dialogue continues; of a failure only the usage."""
        with self._storing:
            keys = [self._request_key(dialogue) for dialogue, _ in answered]
            self._write([pair for pair, key in zip(answered, keys, strict=True) if key not in self._kept])
            self._kept.difference_update(keys)

    def _write(self, answered: Sequence[tuple[_Running[Any], Answer]]) -> None:
        rows: list[Row] = []
        for dialogue, answer in answered:
            request = dialogue.request
            assert request is not None
            # A failure that a dialogue may handle is requested again after a kill; a too long prompt is not.
            failed = _is_failure(answer, request) or (_has_failed(answer) and answer.reason != TRUNCATED)
            if failed and answer.usage is None:
                continue
            row: Row = {'key': dialogue.key, 'round': dialogue.round, 'asked': self._asked(request)}
            row |= {FAILED: answer.reason} if failed else {'answer': answer.text, 'finish_reason': answer.finish_reason}
            if not request.model:
                row |= {MAX_OUT_LEN: self.max_out_len, **run_context().stored.as_row()}
            row |= {REASON: TRUNCATED} if answer.reason == TRUNCATED and not failed else {}
            row |= extras(answer)
            if answer.sent or (answer.calls and self._thoughts == AS_SENT):
                row[SENT] = answer.sent or {}  # rows of thoughts='none' lack this member
            if request.model:
                row |= {MODEL: request.model, OTHERS: self._other(request.model, answer)}
            rows.append(row)
        if self.store and rows:
            self.store.append(rows)


def _stored_answer(row: Mapping[str, Any], thoughts: str) -> Answer | None:
    """Returns the answer in a stored row; None if it must be requested again.

    This is so if its calls are unreadable, or lack the server's additions, as in rows of ``thoughts='none'``.

    Args:
        row: The row.
        thoughts: The model's setting; '' if it has none.
    """
    finish_reason = row.get('finish_reason')
    reason = TRUNCATED if row.get(REASON) == TRUNCATED else None
    try:
        answer = with_extras(
            Answer(row['answer'], reason, finish_reason if isinstance(finish_reason, str) else None), row
        )
    except ValueError:
        return None
    if thoughts == AS_SENT and answer.calls and SENT not in row:
        return None
    return replace(answer, sent=None) if thoughts == NO_THOUGHTS else answer


def _is_failure(answer: Answer, request: ModelRequest) -> bool:
    """Tests if an answer is a failure that ends the dialogue."""
    may_be = request.may_fail or (request.may_be_too_long and answer.reason == TRUNCATED)
    return _has_failed(answer) and not may_be


def _has_failed(answer: Answer) -> bool:
    return str(answer.reason or '').startswith(INFRA)
