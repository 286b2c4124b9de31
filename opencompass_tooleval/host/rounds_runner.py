"""Many dialogues of several rounds at once, each going on by itself, and a killed run asks nothing twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tqdm import tqdm

from opencompass_tooleval.core.answer import CUT, Answer, extras, with_extras
from opencompass_tooleval.core.messages import messages_payload, messages_text, normalise
from opencompass_tooleval.core.result import INFRA
from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.core.tool_calls import calls_payload
from opencompass_tooleval.core.usage import Usage
from opencompass_tooleval.host.conversation import Conversation
from opencompass_tooleval.host.model_calls import token_length
from opencompass_tooleval.host.pipe import Pipe, open_pipe
from opencompass_tooleval.sweep.journal import Journal

T = TypeVar('T')

_TEXTS = ('key', 'asked', 'answer')
"""Of a row of the journal."""


@dataclass
class Outcome(Generic[T]):
    """How a dialogue ended.

    Attributes:
        value: What it returned; None if ``infra``.
        infra: Why there is no value: the model gave no answer in some round, through no fault of its own.
        turns: ``{'messages': [{role, content}, ...], 'answer': text}`` of every round, in order; with ``calls`` where
            there are native ones.
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

    def start(self) -> None:
        self._advance(lambda: next(self.rounds))

    def receive(self, answer: Answer) -> None:
        assert self.turn is not None
        if self.outcome.finish != CUT:
            self.outcome.finish = answer.finish
        row: dict[str, Any] = {'messages': messages_payload(self.turn.messages), 'answer': str(answer)}
        self.outcome.turns.append({**row, 'calls': calls_payload(answer.calls)} if answer.calls else row)
        self.outcome.usages.append(answer.usage)
        self._advance(lambda: self.rounds.send(answer))

    def fail(self, reason: str) -> None:
        self.rounds.close()
        self.turn, self.outcome.infra = None, reason

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
    return hashlib.blake2b(text.encode('ascii'), digest_size=16).hexdigest()


class RoundsRunner:
    """Runs dialogues on one model.

    A dialogue goes on as soon as it is answered, whatever the others wait for; of a model that is asked in batches, all
    advance together, a round of all that still go on after the other. Each answer is on disk before its dialogue goes
    on; after a kill only what was in flight is asked again. An answer is reused only for the very same question.

    Args:
        model: Any model of OpenCompass.
        journal: Where answers are kept while the run lasts; removing it is the caller's to do. None keeps none.
        max_out_len: Tokens per answer at most.
        batch_size: Dialogues per batch, of a model that is asked in batches.
        source: Names the data set in each :class:`Conversation`, for recorded answers.
        options: More arguments for the model's ``generate``.
        description: Of the progress bar, which counts dialogues and shows the tokens spent; None shows none.
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
    ) -> None:
        self.model = model
        self.journal = journal
        self.max_out_len = max_out_len
        self.batch_size = batch_size
        self.source = source
        self.options = options
        self.description = description
        self.calls = 0
        self.tokens = 0
        self._rows = 0

    def run(self, dialogues: Mapping[str, Rounds[T]]) -> dict[str, Outcome[T]]:
        """Returns the outcome of every dialogue, under the same keys and in the same order."""
        everyone = [_Dialogue(key, position, rounds) for position, (key, rounds) in enumerate(dialogues.items())]
        bar = tqdm(total=len(everyone), desc=self.description, disable=self.description is None)
        with bar, open_pipe(self.model, self.max_out_len, self.batch_size, self.options) as pipe:
            for dialogue in everyone:
                dialogue.start()
            self._restore(everyone)
            for dialogue in everyone:
                self._put(pipe, dialogue)
            bar.update(sum(dialogue.turn is None for dialogue in everyone))
            while arrived := pipe.take():
                self._keep(arrived)
                for dialogue, answer in arrived:
                    self._advance(dialogue, answer)
                    self._put(pipe, dialogue)
                bar.set_postfix(calls=self.calls, tokens=self.tokens, refresh=False)
                bar.update(sum(dialogue.turn is None for dialogue, _ in arrived))
        return {dialogue.key: dialogue.outcome for dialogue in everyone}

    def _put(self, pipe: Pipe[_Dialogue[Any]], dialogue: _Dialogue[Any]) -> None:
        if dialogue.turn:
            pipe.put(dialogue, self._conversation(dialogue))

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
                number = len(dialogue.outcome.turns)
                answer = kept.get((dialogue.key, number, _digest(dialogue.turn)))
                if answer is None:
                    break
                dialogue.receive(answer)

    def _conversation(self, dialogue: _Dialogue[Any]) -> Conversation:
        assert dialogue.turn is not None
        number = len(dialogue.outcome.turns)
        record_id = f'{dialogue.key}/{number}' if number else dialogue.key
        return conversation_of(dialogue.turn, record_id, self.source, dialogue.position)

    def _advance(self, dialogue: _Dialogue[Any], answer: Answer) -> None:
        self.calls += 1
        if self.description is not None:
            self.tokens += token_length(self.model, self._conversation(dialogue))
            self.tokens += int(self.model.get_token_len(str(answer)))
        if _is_failure(answer):
            dialogue.fail(str(answer.reason))
        else:
            dialogue.receive(answer)

    def _keep(self, answered: Sequence[tuple[_Dialogue[Any], Answer]]) -> None:
        """Writes answers into the journal, before their dialogues go on."""
        rows: dict[int, dict[str, Any]] = {}
        for dialogue, answer in answered:
            if not _is_failure(answer):
                assert dialogue.turn is not None
                row = {'key': dialogue.key, 'round': len(dialogue.outcome.turns), 'asked': _digest(dialogue.turn)}
                rows[self._rows + len(rows)] = {**row, 'answer': str(answer), 'finish': answer.finish, **extras(answer)}
        if self.journal and rows:
            self.journal.append(rows)
        self._rows += len(rows)


def _kept_answer(row: Mapping[str, Any]) -> Answer | None:
    """The answer of a row of the journal; None where its calls cannot be read, so that it is asked for again."""
    finish = row.get('finish')
    try:
        return with_extras(Answer(row['answer'], None, finish if isinstance(finish, str) else None), row)
    except ValueError:
        return None


def _is_failure(answer: Answer) -> bool:
    return str(answer.reason or '').startswith(INFRA)
