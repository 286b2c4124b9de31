"""Asking a judge model: many questions at once, resumable, and never twice for the same prompt."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from opencompass.utils import get_logger
from tqdm import tqdm

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.jsonable import bounded_text
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.result import INFRA
from opencompass_tooleval.core.verdicts import Unread
from opencompass_tooleval.host.conversation import Conversation
from opencompass_tooleval.host.model_config import PRICES
from opencompass_tooleval.host.other_model import OtherModel
from opencompass_tooleval.sweep.journal import Journal

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


@dataclass(frozen=True)
class JudgeItem:
    """One thing to judge.

    Attributes:
        id: Names it in messages and for a replayed judge, such as ``12`` or ``12/1.2``.
        prompt: What the judge is asked.
        system: Its system prompt, or ``''``.
    """

    id: str
    prompt: str
    system: str = ''

    @property
    def key(self) -> str:
        """32 hex digits that stand for what the judge is sent."""
        asked = f'{self.system}\n\n{self.prompt}' if self.system else self.prompt
        return hashlib.blake2b(asked.encode('utf-8', 'backslashreplace'), digest_size=16).hexdigest()


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


@dataclass(frozen=True)
class _Asked:
    """An item that is to be asked, and where it stands among all: a replayed judge may go by that."""

    item: JudgeItem
    position: int


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
        self._journal = Journal(self.folder / f'{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}.jsonl')

    def judge(self, items: Sequence[JudgeItem]) -> dict[str, Verdict]:
        """Returns id -> verdict for every item that got one in ``TRIES`` tries; the others are missing."""
        kept = self._kept({item.key for item in items})
        if kept:
            kept_count = sum(item.key in kept for item in items)
            get_logger().info(f'{self.name}: {kept_count} of {len(items)} judgements are kept from earlier')
        asked: dict[str, _Asked] = {}
        for position, item in enumerate(items):
            if item.key not in kept:
                asked.setdefault(item.key, _Asked(item, position))
        faults = self._ask(list(asked.values()), kept) if asked else {}
        self.faults = {item.id: faults[item.key] for item in items if item.key not in kept}
        return {item.id: kept[item.key] for item in items if item.key in kept}

    def _kept(self, keys: set[str]) -> dict[str, Verdict]:
        verdicts: dict[str, Verdict] = {}
        for file in sorted(self.folder.glob('*.jsonl')):
            for row in Journal(file).rows():
                key = str(row.get('key'))
                if key not in keys or 'fault' in row:
                    continue
                verdict = self._read(str(row.get('reply', '')))
                if not isinstance(verdict, Unread):
                    verdicts[key] = verdict
        return verdicts

    def _verdict(self, reply: Any) -> Verdict | Unread:
        reason = str(getattr(reply, 'reason', None) or '')
        return Unread(reason) if reason.startswith(INFRA) else self._read(str(reply))

    def _ask(self, asked: Sequence[_Asked], kept: dict[str, Verdict]) -> dict[str, str]:
        """Asks for each until it has a verdict, ``TRIES`` times at most; returns key -> fault of the last reply.

        Verdicts are added to ``kept``.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        faults: dict[str, str] = {}
        tries: Counter[str] = Counter()
        bar = tqdm(total=len(asked), desc=f'judging by {self.name}', unit='judgement')
        with bar, self._model.open_pipe() as pipe:
            for question in asked:
                pipe.put(question, self._conversation(question))
            while arrived := pipe.take():
                rows = {}
                for question, reply in arrived:
                    self.calls += 1
                    key = question.item.key
                    verdict = self._verdict(reply)
                    if row := self._row(question, reply, verdict):
                        rows[question.position] = row
                    if not isinstance(verdict, Unread):
                        kept[key] = verdict
                    else:
                        faults[key] = verdict.why
                        tries[key] += 1
                        if tries[key] < TRIES:
                            pipe.put(question, self._conversation(question))
                if rows:
                    self._journal.append(rows)
                bar.update(sum(question.item.key in kept for question, _ in arrived))
        return faults

    def _row(self, question: _Asked, reply: Answer, verdict: Verdict | Unread) -> dict[str, str] | None:
        """What is kept of a reply; None if nothing is."""
        row = {'key': question.item.key, 'id': question.item.id}
        if not isinstance(verdict, Unread):
            return {**row, 'reply': str(reply)}
        if not reply or verdict.why.startswith(INFRA) or self._unread >= MAX_UNREAD:
            return None
        self._unread += 1
        return {**row, 'fault': verdict.why, 'reply': bounded_text(reply, _UNREAD_CHARS)}

    def _conversation(self, question: _Asked) -> Conversation:
        prompt = question.item.prompt.encode('utf-8', 'replace').decode('utf-8')  # half a surrogate pair cannot be sent
        entry = {'record_id': question.item.id, 'source': self._source, 'idx': question.position, 'gold_answer': ''}
        system = [Message('system', question.item.system)] if question.item.system else []
        return Conversation.of([*system, Message('user', prompt)], entry)
