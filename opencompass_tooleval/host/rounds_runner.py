"""Many dialogues of several rounds at once, each going on by itself, and a killed run asks nothing twice."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tqdm import tqdm

from opencompass_tooleval.core.answer import CUT, Answer, extras, with_extras
from opencompass_tooleval.core.messages import messages_payload, messages_text, normalise
from opencompass_tooleval.core.result import INFRA, TRUNCATED
from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.core.tool_calls import calls_payload
from opencompass_tooleval.core.usage import Usage
from opencompass_tooleval.core.verdicts import answer_digest
from opencompass_tooleval.host.conversation import Conversation
from opencompass_tooleval.host.model_calls import token_length
from opencompass_tooleval.host.other_model import OtherModel
from opencompass_tooleval.host.pipe import Arrivals, Pipe, Pipes, open_pipe
from opencompass_tooleval.sweep.journal import MODEL, REASON, Journal

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
        turns: ``{'messages': [{role, content}, ...], 'answer': text}`` of every round that was answered, in order; with
            ``calls`` where there are native ones.
        finish: How the last answer ended; ``length`` if any was cut.
        usages: What every answer cost.
    """

    value: T | None = None
    infra: str | None = None
    turns: list[dict[str, Any]] = field(default_factory=list)
    finish: str | None = None
    usages: list[Usage | None] = field(default_factory=list)


@dataclass
class _Dialogue(Generic[T]):
    key: str
    position: int
    rounds: Rounds[T]
    turn: Turn | None = None
    outcome: Outcome[T] = field(default_factory=Outcome)
    asked: Counter[str] = field(default_factory=Counter)

    def start(self) -> None:
        self._advance(lambda: next(self.rounds))

    def receive(self, answer: Answer) -> None:
        assert self.turn is not None
        self.asked[self._counter(self.turn)] += 1
        if not self.turn.model and answer.reason != TRUNCATED:
            self._note(self.turn, answer)
        self._advance(lambda: self.rounds.send(answer))

    def fail(self, reason: str) -> None:
        assert self.turn is not None
        self.rounds.close()
        whom = f'{INFRA}{self.turn.model}:' if self.turn.model else INFRA
        self.turn, self.outcome.infra = None, whom + reason.removeprefix(INFRA)

    @property
    def round(self) -> int:
        """How often the model under test has been asked; of another model, how often the very same."""
        assert self.turn is not None
        return self.asked[self._counter(self.turn)]

    def _counter(self, turn: Turn) -> str:
        # By question: once a simulator's answers are kept, a resumed dialogue asks it less than it did.
        return _digest(turn) if turn.model else ''

    def _note(self, turn: Turn, answer: Answer) -> None:
        if self.outcome.finish != CUT:
            self.outcome.finish = answer.finish
        row: dict[str, Any] = {'messages': messages_payload(turn.messages), 'answer': str(answer)}
        self.outcome.turns.append({**row, 'calls': calls_payload(answer.calls)} if answer.calls else row)
        self.outcome.usages.append(answer.usage)

    def _advance(self, step: Callable[[], Turn]) -> None:
        try:
            self.turn = step()
        except StopIteration as end:
            self.turn, self.outcome.value = None, end.value


def conversation_of(turn: Turn, record_id: str, source: str, position: int) -> Conversation:
    """What a model is given in a round."""
    entry = {'record_id': record_id, 'source': source, 'idx': position, 'gold_answer': turn.gold}
    return Conversation.of(normalise(turn.messages, {}), entry, turn.tools)


def _digest(turn: Turn) -> str:
    """32 hex digits that stand for what is asked."""
    text = messages_text(turn.messages) + (turn.tools.to_text() if turn.tools else '')
    if turn.model:
        text += json.dumps({'model': turn.model})
    return hashlib.blake2b(text.encode('ascii'), digest_size=16).hexdigest()


class RoundsRunner:
    """Runs dialogues on one model, and on others that they name.

    A dialogue goes on as soon as it is answered, whatever the others wait for; of a model that is asked in batches, all
    advance together, a round of all that still go on after the other. Each answer is on disk before its dialogue goes
    on; after a kill only what was in flight is asked again. An answer is reused only for the very same question.

    One of ``others`` is not asked a question that it is being asked already: all who ask get the same answer. A prompt
    that is too long is the dialogue's to answer where its :class:`Turn` says so, and is not tried again after a kill.

    Args:
        model: Any model of OpenCompass.
        journal: Where answers are kept while the run lasts; removing it is the caller's to do. None keeps none.
        max_out_len: Tokens per answer at most.
        batch_size: Dialogues per batch, of a model that is asked in batches.
        source: Names the data set in each :class:`Conversation`, for recorded answers.
        options: More arguments for the model's ``generate``.
        description: Of the progress bar, which counts dialogues and shows the tokens spent; None shows none.
        others: Name that a :class:`Turn` may have in ``model`` -> that model.

    Attributes:
        calls: Answers of the model under test in this run, failures among them.
        tokens: Of these calls, where there is a progress bar.
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
        others: Mapping[str, OtherModel] | None = None,
    ) -> None:
        self.model = model
        self.journal = journal
        self.max_out_len = max_out_len
        self.batch_size = batch_size
        self.source = source
        self.options = options
        self.description = description
        self.others = dict(others or {})
        self.calls = 0
        self.tokens = 0
        self.other_usages: dict[str, list[Usage | None]] = {}
        self._rows = 0
        self._waiting: dict[str, list[_Dialogue[Any]]] = {}

    def run(self, dialogues: Mapping[str, Rounds[T]]) -> dict[str, Outcome[T]]:
        """Returns the outcome of every dialogue, under the same keys and in the same order."""
        everyone = [_Dialogue(key, position, rounds) for position, (key, rounds) in enumerate(dialogues.items())]
        bar = tqdm(total=len(everyone), desc=self.description, disable=self.description is None)
        with bar, Pipes[_Dialogue[Any]](self._openers()) as pipes:
            for dialogue in everyone:
                dialogue.start()
            self._restore(everyone)
            for dialogue in everyone:
                self._put(pipes, dialogue)
            bar.update(sum(dialogue.turn is None for dialogue in everyone))
            while taken := pipes.take():
                for dialogue, answer in taken:
                    self._count(dialogue, answer)
                arrived = [pair for dialogue, answer in taken for pair in self._given_to(dialogue, answer)]
                self._keep(arrived)
                for dialogue, answer in arrived:
                    self._advance(dialogue, answer)
                    self._put(pipes, dialogue)
                bar.set_postfix({'calls': self.calls, 'tokens': self.tokens, **self.other_calls}, refresh=False)
                bar.update(sum(dialogue.turn is None for dialogue, _ in arrived))
        return {dialogue.key: dialogue.outcome for dialogue in everyone}

    @property
    def other_calls(self) -> dict[str, int]:
        """Name -> how often another model was asked."""
        return {name: len(usages) for name, usages in self.other_usages.items()}

    def _openers(self) -> dict[str, Callable[[Arrivals[Any]], Pipe[Any]]]:
        def open_own(arrivals: Arrivals[Any]) -> Pipe[Any]:
            return open_pipe(self.model, self.max_out_len, self.batch_size, self.options, arrivals)

        return {'': open_own, **{name: other.open_pipe for name, other in self.others.items()}}

    def _put(self, pipes: Pipes[_Dialogue[Any]], dialogue: _Dialogue[Any]) -> None:
        turn = dialogue.turn
        if turn is None:
            return
        if turn.model:
            self._check(turn.model, dialogue.key)
            asking = self._waiting.setdefault(_digest(turn), [])
            asking.append(dialogue)
            if len(asking) > 1:
                return
        pipes.put(turn.model, dialogue, self._conversation(dialogue))

    def _check(self, name: str, key: str) -> None:
        if name not in self.others:
            there_are = ', '.join(self.others) or 'none'
            raise ValueError(
                f'dialogue {key} asks the model {name!r}, and there is no such model (there are: {there_are}); the '
                "data set's config has to say which it is"
            )

    def _given_to(self, dialogue: _Dialogue[Any], answer: Answer) -> Iterator[tuple[_Dialogue[Any], Answer]]:
        """Who gets an answer: whoever has asked for it meanwhile, too."""
        assert dialogue.turn is not None
        everyone = self._waiting.pop(_digest(dialogue.turn)) if dialogue.turn.model else [dialogue]
        return ((waiting, answer) for waiting in everyone)

    def _count(self, dialogue: _Dialogue[Any], answer: Answer) -> None:
        assert dialogue.turn is not None
        if dialogue.turn.model:
            self.other_usages.setdefault(dialogue.turn.model, []).append(answer.usage)
            return
        self.calls += 1
        if self.description is not None:
            self.tokens += self._tokens(dialogue, answer)

    def _tokens(self, dialogue: _Dialogue[Any], answer: Answer) -> int:
        usage = answer.usage
        if usage and usage.prompt is not None and usage.completion is not None:
            return usage.prompt + usage.completion
        return token_length(self.model, self._conversation(dialogue)) + int(self.model.get_token_len(str(answer)))

    def _restore(self, dialogues: Sequence[_Dialogue[Any]]) -> None:
        if self.journal is None:
            return
        rows = self.journal.restore()
        # Not len(rows): a line that cannot be read leaves rows 0 and 2, and a new row 2 would take the old one's place.
        self._rows = 1 + max(rows, default=-1)
        kept = {
            (row['key'], row['round'], row['asked']): answer
            for row in rows.values()
            if isinstance(row.get('round'), int) and all(isinstance(row.get(name), str) for name in _TEXTS)
            if (answer := _kept_answer(row)) is not None
        }
        for dialogue in dialogues:
            while dialogue.turn:
                answer = kept.get((dialogue.key, dialogue.round, self._asked(dialogue.turn)))
                if answer is None or _is_failure(answer, dialogue.turn):
                    break
                dialogue.receive(answer)

    def _asked(self, turn: Turn) -> str:
        """What the journal has for a question: of another model, its name too.

        In a run that is resumed with another simulator, what the first one said does not stand for the other.
        """
        other = self.others.get(turn.model)
        return f'{_digest(turn)} {answer_digest(other.name)}' if other else _digest(turn)

    def _conversation(self, dialogue: _Dialogue[Any]) -> Conversation:
        turn = dialogue.turn
        assert turn is not None
        record_id = f'{dialogue.key}/{dialogue.round}' if dialogue.round else dialogue.key
        source = f'{turn.model}-{self.source}' if turn.model else self.source
        return conversation_of(turn, record_id, source, dialogue.position)

    def _advance(self, dialogue: _Dialogue[Any], answer: Answer) -> None:
        assert dialogue.turn is not None
        if _is_failure(answer, dialogue.turn):
            dialogue.fail(str(answer.reason))
        else:
            dialogue.receive(answer)

    def _keep(self, answered: Sequence[tuple[_Dialogue[Any], Answer]]) -> None:
        """Writes answers into the journal, before their dialogues go on."""
        rows: dict[int, dict[str, Any]] = {}
        for dialogue, answer in answered:
            assert dialogue.turn is not None
            if not _is_failure(answer, dialogue.turn):
                row = {'key': dialogue.key, 'round': dialogue.round, 'asked': self._asked(dialogue.turn)}
                row |= {'answer': str(answer), 'finish': answer.finish, **extras(answer)}
                row |= {REASON: TRUNCATED} if answer.reason == TRUNCATED else {}
                rows[self._rows + len(rows)] = {**row, MODEL: dialogue.turn.model} if dialogue.turn.model else row
        if self.journal and rows:
            self.journal.append(rows)
        self._rows += len(rows)


def _kept_answer(row: Mapping[str, Any]) -> Answer | None:
    """The answer of a row of the journal; None where its calls cannot be read, so that it is asked for again."""
    finish = row.get('finish')
    reason = TRUNCATED if row.get(REASON) == TRUNCATED else None
    try:
        return with_extras(Answer(row['answer'], reason, finish if isinstance(finish, str) else None), row)
    except ValueError:
        return None


def _is_failure(answer: Answer, turn: Turn) -> bool:
    """Whether an answer ends the dialogue."""
    may_be = turn.may_be_too_long and answer.reason == TRUNCATED
    return str(answer.reason or '').startswith(INFRA) and not may_be
