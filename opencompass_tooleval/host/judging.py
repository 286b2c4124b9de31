"""Asking a judge model: many questions at once, resumable, and never twice for the same prompt."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import uuid
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from opencompass.utils import get_logger
from tqdm import tqdm

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.jsonable import bounded_text
from opencompass_tooleval.core.judge_item import JudgeItem, Judging
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.result import INFRA
from opencompass_tooleval.core.verdicts import Unread
from opencompass_tooleval.host.conversation import Conversation
from opencompass_tooleval.host.model_config import PRICES
from opencompass_tooleval.host.other_model import OtherModel
from opencompass_tooleval.sweep.journal import Journal

T = TypeVar('T')
Name = TypeVar('Name', bound=Hashable)
Verdict = TypeVar('Verdict')

TRIES = 4
"""A reply that cannot be read is asked for again, up to three times."""

_KEYS = {
    'key', 'api_key', 'access_key', 'accesskey', 'secret', 'secret_id', 'secret_key', 'secretkey', 'ak', 'sk',
    'token', 'org', 'appid', 'group_id',
}  # fmt: skip
_ADDRESSES = {
    'openai_api_base', 'api_base', 'base_url', 'url', 'token_url', 'api_addr', 'openai_proxy_url', 'proxy_url',
    'http_client_cfg',
}  # fmt: skip
_SPEED = {
    'batch_size', 'max_workers', 'query_per_second', 'retry', 'backoff', 'timeout', 'run_cfg', 'verbose',
    'rpm_verbose',
}  # fmt: skip
_SECRET = re.compile(r'(api_?key|secret|password|authori[sz]ation|headers?$|cookie|credential|(auth|access)_?token$)')
_UNUSED = {'abbr', 'summarizer_abbr', 'pred_postprocessor', 'min_out_len', PRICES}
_NOT_SETTINGS = _KEYS | _ADDRESSES | _SPEED | _UNUSED

_NAME_LENGTH = 80

MAX_UNREAD = 200
_UNREAD_CHARS = 2_000
"""So many replies that could not be read are kept by one judge, and so many characters of each."""


def judge_cfg_from_env() -> dict[str, Any] | None:
    """The judge that ``$OC_JUDGE_MODEL``, ``$OC_JUDGE_API_KEY`` and ``$OC_JUDGE_API_BASE`` name, or None."""
    model = os.environ.get('OC_JUDGE_MODEL')
    if not model:
        return None
    return {
        'type': 'opencompass_tooleval.host.api_model.ToolEvalOpenAI',
        'path': model,
        'key': os.environ.get('OC_JUDGE_API_KEY') or 'none',
        'openai_api_base': os.environ.get('OC_JUDGE_API_BASE') or 'https://api.openai.com/v1/',
        'temperature': 0,
        'max_seq_len': 49152,
    }


def tell_only_warnings() -> None:
    """For commands that write JSON on standard output, where OpenCompass's logger writes too."""
    get_logger().setLevel('WARNING')


def is_secret(name: str) -> bool:
    """Whether a setting may hold a key, at whatever depth: results are shown around."""
    return name.lower() in _KEYS or bool(_SECRET.search(name.lower()))


def _canonical(value: Any) -> Any:
    """A setting as JSON, the same in every process and however the config was written.

    A class is written as a class or as text (``opencompass tasks`` dump configs); 0 and 0.0 are one temperature.
    """
    if isinstance(value, Mapping):
        return {str(name): _canonical(content) for name, content in value.items() if not is_secret(str(name))}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, (int, float)):
        return float(value)
    return getattr(value, '__qualname__', None) or str(value)


def judge_settings(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """What may change a judge's replies, as JSON values: not its keys, addresses or speed."""
    settings = {
        name: _canonical(value) for name, value in cfg.items() if name not in _NOT_SETTINGS and not is_secret(name)
    }
    settings['type'] = str(settings['type']).rpartition('.')[2]
    return settings


def settings_hash(cfg: Mapping[str, Any]) -> str:
    """12 hex digits of :func:`judge_settings`."""
    return hashlib.sha256(json.dumps(judge_settings(cfg), sort_keys=True).encode('utf-8')).hexdigest()[:12]


def _folder_name(cfg: Mapping[str, Any]) -> str:
    """Says to people whose replies these are; the hash says it to us, so that a new ``abbr`` costs no call."""
    name = re.sub(r'[^\w.-]+', '_', str(cfg.get('path') or judge_settings(cfg)['type'])).encode('ascii', 'ignore')
    return f'{name.decode()[-_NAME_LENGTH:]}-{settings_hash(cfg)}'


@dataclass
class _Dialogue:
    """Judging that goes on. A replayed judge may go by its place among all."""

    name: Any
    position: int
    rounds: Judging[Any]
    item: JudgeItem | None = None
    value: Any = None

    def start(self) -> None:
        self._advance(lambda: next(self.rounds))

    def receive(self, verdict: Any) -> None:
        self._advance(lambda: self.rounds.send(verdict))

    def _advance(self, step: Callable[[], JudgeItem]) -> None:
        try:
            self.item = step()
        except StopIteration as end:
            self.item, self.value = None, end.value


@dataclass(frozen=True)
class _Asked:
    """An item that is to be asked, and where its dialogue stands among all."""

    item: JudgeItem
    position: int


def _single(item: JudgeItem) -> Judging[Any]:
    return (yield item)


def _text_of(reply: Any) -> str:
    """What a judge said: the first of its native calls as JSON, or its text."""
    calls = getattr(reply, 'calls', ())
    return json.dumps({'name': calls[0].name, 'arguments': calls[0].arguments}) if calls else str(reply)


def _go_on(dialogue: _Dialogue, verdicts: Mapping[str, Any]) -> int:
    """Gives a dialogue the verdicts that there are; returns how many it took."""
    taken = 0
    while dialogue.item and dialogue.item.key in verdicts:
        dialogue.receive(verdicts[dialogue.item.key])
        taken += 1
    return taken


class Judge(Generic[Verdict]):
    """A judge model with a memory.

    Replies that could be read are kept in a folder per judge and settings, one file per process, so that any number of
    evaluations may share it: a second one costs no call, and after a kill only what was in flight is asked again.
    Beside them lie the first of those that could not be read, with ``fault``, cut, for people to look at.

    Args:
        cfg: Any model of OpenCompass; ``max_out_len`` and ``batch_size`` as in a model config.
        folder: Parent folder of the kept replies.
        read: A reply -> what it says, or why it says nothing.
        source: Names the data set for a replayed judge, such as ``judge-planning-zh``.

    Attributes:
        calls: How often the model was asked.
        faults: Id -> why :meth:`judge` has no verdict of it, from the last reply.
        folder: Where its replies are.
    """

    def __init__(
        self, cfg: Mapping[str, Any], folder: Path, read: Callable[[str], Verdict | Unread], source: str = 'judge'
    ) -> None:
        self._model = OtherModel(cfg)
        self.name = self._model.name
        self.settings = settings_hash(cfg)
        self.calls = 0
        self._read = read
        self._source = source
        self.folder = folder / 'judgements' / _folder_name(cfg)
        self.faults: dict[str, str] = {}
        self._unread = 0
        self._keys: set[str] = set()
        self._journal = Journal(self.folder / f'{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}.jsonl')

    def judge(self, items: Sequence[JudgeItem]) -> dict[str, Verdict]:
        """Returns id -> verdict for every item that got one in ``TRIES`` tries; the others are missing."""
        judged = self.converse({place: _single(item) for place, item in enumerate(items)})
        verdicts = {item.id: judged[place] for place, item in enumerate(items)}
        self.faults = {name: verdict.why for name, verdict in verdicts.items() if isinstance(verdict, Unread)}
        return {name: verdict for name, verdict in verdicts.items() if not isinstance(verdict, Unread)}

    def converse(self, dialogues: Mapping[Name, Judging[T]]) -> dict[Name, T]:
        """Judging in several questions, each dialogue going on as soon as it is answered, whatever the others wait for.

        Args:
            dialogues: Of each its name and its questions, which get their verdict, or an ``Unread`` after ``TRIES``.

        Returns:
            Name -> what its dialogue ended in.
        """
        everyone = [_Dialogue(name, place, rounds) for place, (name, rounds) in enumerate(dialogues.items())]
        for dialogue in everyone:
            dialogue.start()
        verdicts: dict[str, Any] = {}
        kept_count = 0
        while items := {item.key: item for one in everyone if (item := one.item) and item.key not in verdicts}:
            kept = self._kept(items)
            if not kept:
                break
            verdicts |= kept
            for dialogue in everyone:
                kept_count += _go_on(dialogue, verdicts)
        if kept_count:
            open_count = sum(one.item is not None for one in everyone)
            get_logger().info(f'{self.name}: {kept_count} judgements are kept from earlier, {open_count} to be made')
        waiting = [dialogue for dialogue in everyone if dialogue.item]
        if waiting:
            self._ask(waiting, verdicts)
        return {dialogue.name: dialogue.value for dialogue in everyone}

    def _kept(self, items: Mapping[str, JudgeItem]) -> dict[str, Any]:
        """Key -> verdict of those that were judged before."""
        verdicts: dict[str, Any] = {}
        for file in sorted(self.folder.glob('*.jsonl')):
            for row in Journal(file).rows():
                key = str(row.get('key'))
                if 'fault' in row:
                    continue
                self._keys.add(key)
                if key not in items:
                    continue
                verdict = self._read_reply(items[key], str(row.get('reply', '')))
                if not isinstance(verdict, Unread):
                    verdicts[key] = verdict
        return verdicts

    def _read_reply(self, item: JudgeItem, reply: str) -> Any:
        return item.read(reply) if item.read else self._read(reply)

    def _verdict(self, item: JudgeItem, reply: Any) -> Any:
        reason = str(getattr(reply, 'reason', None) or '')
        return Unread(reason) if reason.startswith(INFRA) else self._read_reply(item, _text_of(reply))

    def _ask(self, dialogues: Sequence[_Dialogue], verdicts: dict[str, Any]) -> None:
        """Asks until every dialogue has ended; each question until it has a verdict, ``TRIES`` times at most."""
        self.folder.mkdir(parents=True, exist_ok=True)
        tries: Counter[str] = Counter()
        waiting: dict[str, list[_Dialogue]] = {}
        bar = tqdm(total=len(dialogues), desc=f'judging by {self.name}', unit='judgement')
        with bar, self._model.open_pipe() as pipe:

            def put(dialogue: _Dialogue) -> None:
                """Asks what a dialogue asks next, unless another one asks just that."""
                while dialogue.item:
                    key = dialogue.item.key
                    if key not in verdicts and key in self._keys and key not in waiting:
                        verdicts.update(self._kept({key: dialogue.item}))
                    if not _go_on(dialogue, verdicts):
                        if key not in waiting:
                            pipe.put(*self._question(dialogue))
                        waiting.setdefault(key, []).append(dialogue)
                        return
                bar.update()

            for dialogue in dialogues:
                put(dialogue)
            while arrived := pipe.take():
                rows, answered = {}, []
                for question, reply in arrived:
                    self.calls += 1
                    key = question.item.key
                    verdict = self._verdict(question.item, reply)
                    if row := self._row(question, reply, verdict):
                        rows[question.position] = row
                    if isinstance(verdict, Unread):
                        tries[key] += 1
                        if tries[key] < TRIES:
                            pipe.put(question, self._conversation(question))
                            continue
                    verdicts[key] = verdict
                    answered.append(key)
                if rows:
                    self._journal.append(rows)
                for key in answered:
                    for dialogue in waiting.pop(key):
                        put(dialogue)

    def _question(self, dialogue: _Dialogue) -> tuple[_Asked, Conversation]:
        assert dialogue.item is not None
        question = _Asked(dialogue.item, dialogue.position)
        return question, self._conversation(question)

    def _row(self, question: _Asked, reply: Answer, verdict: Any) -> dict[str, str] | None:
        """What is kept of a reply; None if nothing is."""
        row = {'key': question.item.key, 'id': question.item.id}
        if not isinstance(verdict, Unread):
            return {**row, 'reply': _text_of(reply)}
        if not _text_of(reply) or verdict.why.startswith(INFRA) or self._unread >= MAX_UNREAD:
            return None
        self._unread += 1
        return {**row, 'fault': verdict.why, 'reply': bounded_text(_text_of(reply), _UNREAD_CHARS)}

    def _conversation(self, question: _Asked) -> Conversation:
        prompt = question.item.prompt.encode('utf-8', 'replace').decode('utf-8')  # half a surrogate pair cannot be sent
        entry = {'record_id': question.item.id, 'source': self._source, 'idx': question.position, 'gold_answer': ''}
        system = [Message('system', question.item.system)] if question.item.system else []
        return Conversation.of([*system, Message('user', prompt)], entry, question.item.tools)
