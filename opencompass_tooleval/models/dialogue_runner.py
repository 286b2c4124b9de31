"""Many dialogues of several rounds at once, each going on by itself, and a killed run asks nothing twice."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from tqdm import tqdm

from opencompass_tooleval.core.answer import CUT, USAGE, Answer, extras, with_extras
from opencompass_tooleval.core.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.jsonable import answer_digest
from opencompass_tooleval.core.messages import messages_payload, messages_text, normalise
from opencompass_tooleval.core.result import INFRA, TRUNCATED
from opencompass_tooleval.core.tool_calls import calls_payload
from opencompass_tooleval.core.usage import Usage, read_usage, total_usage, with_failed
from opencompass_tooleval.core.usage_summary import OTHERS, other_usage
from opencompass_tooleval.models.auxiliary_model import AuxiliaryModel
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.request_queue import Arrivals, RequestQueue, RequestQueues, open_queue
from opencompass_tooleval.work_dir.journal import FAILED, MODEL, REASON, Journal
from opencompass_tooleval.work_dir.lock import Report, report_nothing

T = TypeVar('T')

_TEXTS = ('key', 'asked', 'answer')
"""Of a row of the journal."""


@dataclass
class Outcome(Generic[T]):
    """How a dialogue ended; of all but the model under test, only ``infra`` tells.

    Attributes:
        value: What it returned; None if ``infra``.
        infra: Why there is no value: a model gave no answer in some round, through no fault of its own. Of another than
            the model under test it has the name: ``infra:simulator:timeout``.
        rounds: ``{'messages': [{role, content}, ...], 'answer': text}`` of every round that was answered, in order;
            with ``calls`` where there are native ones.
        finish_reason: How the last answer ended; ``length`` if any was cut.
        usages: What every answer of ``rounds`` cost.
        failed: What the requests cost that brought none.
        others: What the answers of other models cost that this dialogue asked for, failures included, as
            :func:`~opencompass_tooleval.core.usage_summary.other_rows` reads it. Where several dialogues wait for the
            same answer, it is the first one's.
    """

    value: T | None = None
    infra: str | None = None
    rounds: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str | None = None
    usages: list[Usage | None] = field(default_factory=list)
    failed: list[Usage | None] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)

    @property
    def usage(self) -> Usage | None:
        """What the model under test cost in all."""
        return with_failed(total_usage(self.usages), self.failed)


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
            self._note(self.request, answer)
        self._advance(lambda: self.dialogue.send(answer))

    def fail(self, answer: Answer) -> None:
        assert self.request is not None
        self.dialogue.close()
        if not self.request.model:
            self.outcome.failed.append(answer.usage)
        whom = f'{INFRA}{self.request.model}:' if self.request.model else INFRA
        self.request, self.outcome.infra = None, whom + str(answer.reason).removeprefix(INFRA)

    @property
    def round(self) -> int:
        """How often the model under test has been asked; of another model, how often the very same."""
        assert self.request is not None
        return self.asked[self._counter(self.request)]

    def _counter(self, request: ModelRequest) -> str:
        # By question: once a simulator's answers are kept, a resumed dialogue asks it less than it did.
        return _digest(request) if request.model else ''

    def _note(self, request: ModelRequest, answer: Answer) -> None:
        if _has_failed(answer):
            self.outcome.failed.append(answer.usage)
            return
        if self.outcome.finish_reason != CUT:
            self.outcome.finish_reason = answer.finish_reason
        row: dict[str, Any] = {'messages': messages_payload(request.messages), 'answer': answer.text}
        self.outcome.rounds.append({**row, 'calls': calls_payload(answer.calls)} if answer.calls else row)
        self.outcome.usages.append(answer.usage)

    def _advance(self, step: Callable[[], ModelRequest]) -> None:
        try:
            self.request = step()
        except StopIteration as end:
            self.request, self.outcome.value = None, end.value


def conversation_of(request: ModelRequest, record_id: str, source: str, position: int) -> Conversation:
    """What a model is given in a round."""
    entry = {'record_id': record_id, 'source': source, 'idx': position, 'gold_answer': request.gold}
    return Conversation.of(normalise(request.messages, {}), entry, request.tools)


def _digest(request: ModelRequest) -> str:
    """32 hex digits that stand for what is asked."""
    if request.key:
        return request.key
    text = messages_text(request.messages) + (request.tools.to_text() if request.tools else '')
    if request.model:
        text += json.dumps({'model': request.model})
    return hashlib.blake2b(text.encode('ascii'), digest_size=16).hexdigest()


class DialogueRunner:
    """Runs dialogues on one model, and on others that they name.

    A dialogue goes on as soon as it is answered, whatever the others wait for; of a model that is asked in batches, all
    advance together, a round of all that still go on after the other. Each answer is on disk before its dialogue goes
    on; after a kill only what was in flight is asked again. An answer is reused only for the very same question.

    One of ``others`` is not asked a question that it is being asked already: all who ask get the same answer. A prompt
    that is too long is the dialogue's to answer where its :class:`ModelRequest` says so, and is not tried again after a
    kill.

    Args:
        model: Any model of OpenCompass; None where dialogues ask ``others`` alone.
        journal: Where answers are kept while the run lasts; removing it is the caller's to do. None keeps none.
        max_out_len: Tokens per answer at most.
        batch_size: Dialogues per batch, of a model that is asked in batches.
        source: Names the data set in each :class:`Conversation`, for recorded answers.
        options: More arguments for the model's ``generate``.
        description: Of the progress bar, which counts dialogues and shows the tokens spent; None shows none.
        others: Name that a :class:`ModelRequest` may have in ``model`` -> that model.
        report: Of dialogues that have ended, and of the model's answers.

    Attributes:
        calls: Answers of the model under test in this run, failures among them.
        tokens: Of these calls, as far as they are known.
        other_calls: Name -> answers of another model, likewise.
        other_usages: Name -> what these cost.
    """

    def __init__(
        self,
        model: Any,
        journal: Journal | None,
        max_out_len: int,
        batch_size: int = 64,
        source: str = '',
        options: Mapping[str, Any] | None = None,
        description: str | None = None,
        others: Mapping[str, AuxiliaryModel] | None = None,
        report: Report = report_nothing,
    ) -> None:
        self.model = model
        self.journal = journal
        self.max_out_len = max_out_len
        self.batch_size = batch_size
        self.source = source
        self.options = options
        self.description = description
        self.others = dict(others or {})
        self.report = report
        self.calls = 0
        self.tokens = 0
        self.other_usages: dict[str, list[Usage | None]] = {}
        self._rows = 0
        self._waiting: dict[str, list[_Running[Any]]] = {}

    def run(self, dialogues: Mapping[str, Dialogue[T]]) -> dict[str, Outcome[T]]:
        """Returns the outcome of every dialogue, under the same keys and in the same order."""
        everyone = [_Running(key, position, dialogue) for position, (key, dialogue) in enumerate(dialogues.items())]
        bar = tqdm(total=len(everyone), desc=self.description, disable=self.description is None)
        with bar, RequestQueues[_Running[Any]](self._openers()) as queues:
            for dialogue in everyone:
                dialogue.start()
            self._restore(everyone)
            for dialogue in everyone:
                self._put(queues, dialogue)
            ended = earlier = sum(dialogue.request is None for dialogue in everyone)
            bar.update(earlier)
            while taken := queues.results():
                for dialogue, answer in taken:
                    self._count(dialogue, answer)
                spent = [answer.usage for dialogue, answer in taken if dialogue.request and not dialogue.request.model]
                for arrived in self._in_turn(taken):
                    self._keep(arrived)
                    for dialogue, answer in arrived:
                        self._advance(dialogue, answer)
                        self._put(queues, dialogue)
                    ended += sum(dialogue.request is None for dialogue, _ in arrived)
                counts = {'calls': self.calls, 'tokens': self.tokens} if self.model else {}
                bar.set_postfix({**counts, **self.other_calls}, refresh=False)
                bar.update(ended - bar.n)
                self.report(ended, earlier, spent)
        return {dialogue.key: dialogue.outcome for dialogue in everyone}

    @property
    def other_calls(self) -> dict[str, int]:
        """Name -> how often another model was asked."""
        return {name: len(usages) for name, usages in self.other_usages.items()}

    def _openers(self) -> dict[str, Callable[[Arrivals[Any]], RequestQueue[Any]]]:
        def open_under_test(arrivals: Arrivals[Any]) -> RequestQueue[Any]:
            return open_queue(self.model, self.max_out_len, self.batch_size, self.options, arrivals)

        return {'': open_under_test, **{name: other.open_queue for name, other in self.others.items()}}

    def _put(self, queues: RequestQueues[_Running[Any]], dialogue: _Running[Any]) -> None:
        request = dialogue.request
        if request is None:
            return
        if request.model:
            self._check(request.model, dialogue.key)
            asking = self._waiting.setdefault(_digest(request), [])
            asking.append(dialogue)
            if len(asking) > 1:
                return
        queues.submit(request.model, dialogue, self._conversation(dialogue))

    def _check(self, name: str, key: str) -> None:
        if name not in self.others:
            there_are = ', '.join(self.others) or 'none'
            raise ValueError(
                f'dialogue {key} asks the model {name!r}, and there is no such model (there are: {there_are}); the '
                "data set's config has to say which it is"
            )

    def _in_turn(self, taken: Sequence[tuple[_Running[Any], Answer]]) -> Iterator[list[tuple[_Running[Any], Answer]]]:
        """Who gets which answers, in groups that go on together.

        Other models' answers come first and one by one: a dialogue that goes on may ask just what another answer of
        ``taken`` says, and joins those who wait for it as long as its group has not come.
        """
        under_test = [
            (dialogue, answer) for dialogue, answer in taken if dialogue.request and not dialogue.request.model
        ]
        others = [(dialogue, answer) for dialogue, answer in taken if dialogue.request and dialogue.request.model]
        for dialogue, answer in others:
            assert dialogue.request is not None
            again = replace(answer, usage=None)  # it was paid for once
            waiting = self._waiting.pop(_digest(dialogue.request))
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

    def _restore(self, dialogues: Sequence[_Running[Any]]) -> None:
        if self.journal is None:
            return
        rows = self.journal.restore()
        # Not len(rows): a line that cannot be read leaves rows 0 and 2, and a new row 2 would take the old one's place.
        self._rows = 1 + max(rows, default=-1)
        restored = {
            (row['key'], row['round'], row['asked']): answer
            for row in rows.values()
            if isinstance(row.get('round'), int) and all(isinstance(row.get(name), str) for name in _TEXTS)
            if (answer := _journal_answer(row)) is not None
        }
        self._restore_spent(dialogues, rows.values())
        for dialogue in dialogues:
            while dialogue.request:
                answer = restored.get((dialogue.key, dialogue.round, self._asked(dialogue.request)))
                if answer is None or _is_failure(answer, dialogue.request):
                    break
                dialogue.receive(answer)

    def _restore_spent(self, dialogues: Sequence[_Running[Any]], rows: Iterable[Mapping[str, Any]]) -> None:
        """Notes what an earlier run spent, but for the answers of the model under test, which are noted as they return.

        An answer of another model may not be asked for again, such as a simulator's that is kept elsewhere too.
        """
        outcomes = {dialogue.key: dialogue.outcome for dialogue in dialogues}
        for row in rows:
            outcome = outcomes.get(str(row.get('key')))
            if outcome is None:
                continue
            if isinstance(row.get(OTHERS), list):
                outcome.others += row[OTHERS]
            elif row.get(FAILED):
                outcome.failed.append(read_usage(row.get(USAGE)))

    def _other(self, name: str, answer: Answer) -> list[dict[str, Any]]:
        """What an answer of another model cost; nothing where nothing says it."""
        other = self.others[name]
        return [other_usage(name, other.name, other.prices, [answer.usage])] if answer.usage else []

    def _asked(self, request: ModelRequest) -> str:
        """What the journal has for a question: of another model, its name too.

        In a run that is resumed with another simulator, what the first one said does not stand for the other.
        """
        other = self.others.get(request.model)
        return f'{_digest(request)} {answer_digest(other.name)}' if other else _digest(request)

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

    def _keep(self, answered: Sequence[tuple[_Running[Any], Answer]]) -> None:
        """Writes answers into the journal, before their dialogues go on; of failures, what they cost."""
        rows: dict[int, dict[str, Any]] = {}
        for dialogue, answer in answered:
            request = dialogue.request
            assert request is not None
            # What a dialogue takes that may fail is asked for again after a kill; that a prompt is too long stays so.
            failed = _is_failure(answer, request) or (_has_failed(answer) and answer.reason != TRUNCATED)
            if failed and answer.usage is None:
                continue
            row: dict[str, Any] = {'key': dialogue.key, 'round': dialogue.round, 'asked': self._asked(request)}
            row |= {FAILED: answer.reason} if failed else {'answer': answer.text, 'finish_reason': answer.finish_reason}
            row |= {REASON: TRUNCATED} if answer.reason == TRUNCATED and not failed else {}
            row |= extras(answer)
            if request.model:
                row |= {MODEL: request.model, OTHERS: self._other(request.model, answer)}
            rows[self._rows + len(rows)] = row
        if self.journal and rows:
            self.journal.append(rows)
        self._rows += len(rows)


def _journal_answer(row: Mapping[str, Any]) -> Answer | None:
    """The answer of a row of the journal; None where its calls cannot be read, so that it is asked for again."""
    finish_reason = row.get('finish_reason')
    reason = TRUNCATED if row.get(REASON) == TRUNCATED else None
    try:
        return with_extras(
            Answer(row['answer'], reason, finish_reason if isinstance(finish_reason, str) else None), row
        )
    except ValueError:
        return None


def _is_failure(answer: Answer, request: ModelRequest) -> bool:
    """Whether an answer ends the dialogue."""
    may_be = request.may_fail or (request.may_be_too_long and answer.reason == TRUNCATED)
    return _has_failed(answer) and not may_be


def _has_failed(answer: Answer) -> bool:
    return str(answer.reason or '').startswith(INFRA)
