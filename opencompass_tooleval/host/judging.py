"""Asking a judge model: batched, resumable, and never twice for the same prompt."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from opencompass.utils import build_model_from_cfg, get_logger
from tqdm import tqdm

from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.host.conversation import Conversation
from opencompass_tooleval.host.journal import Journal

Verdict = TypeVar('Verdict')

TRIES = 4
"""A reply that cannot be read is asked for again, up to three times."""

_NOT_SETTINGS = {'abbr', 'key', 'openai_api_base', 'batch_size', 'max_workers', 'query_per_second', 'retry', 'run_cfg'}
_DEFAULT_BATCH = 64
_DEFAULT_OUT_LEN = 2048


@dataclass(frozen=True)
class JudgeItem:
    """One thing to judge.

    Attributes:
        id: Names it in messages and for a replayed judge, such as ``12`` or ``12/1.2``.
        prompt: What the judge is asked.
    """

    id: str
    prompt: str

    @property
    def key(self) -> str:
        """32 hex digits that stand for the prompt."""
        return hashlib.blake2b(self.prompt.encode('utf-8', 'backslashreplace'), digest_size=16).hexdigest()


def judge_cfg_from_env() -> dict[str, Any] | None:
    """The judge that ``$OC_JUDGE_MODEL``, ``$OC_JUDGE_API_KEY`` and ``$OC_JUDGE_API_BASE`` name, or None."""
    model = os.environ.get('OC_JUDGE_MODEL')
    if not model:
        return None
    return {
        'type': 'opencompass_tooleval.host.api_model.ToolEvalOpenAI',
        'path': model,
        'key': os.environ.get('OC_JUDGE_API_KEY', 'none'),
        'openai_api_base': os.environ.get('OC_JUDGE_API_BASE', 'https://api.openai.com/v1/'),
        'temperature': 0,
        'max_seq_len': 49152,
    }


def judge_name(cfg: Mapping[str, Any]) -> str:
    """How a result names the judge."""
    return str(cfg.get('abbr') or cfg.get('path') or cfg['type'])


def settings_hash(cfg: Mapping[str, Any]) -> str:
    """12 hex digits of what may change a judge's replies: not its key, address or speed."""
    settings = {name: str(value) for name, value in cfg.items() if name not in _NOT_SETTINGS}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode('utf-8')).hexdigest()[:12]


class Judge(Generic[Verdict]):
    """A judge model with a memory.

    Replies that could be read are kept in a folder per judge and settings, one file per process, so that any number of
    evaluations may share it: a second one costs no call, and after a kill only the batch in flight is asked again.

    Args:
        cfg: Any model of OpenCompass; ``max_out_len`` and ``batch_size`` as in a model config.
        folder: Parent folder of the kept replies.
        read: A reply -> what it says, or None if it cannot be read.
        source: Names the data set for a replayed judge, such as ``judge-planning-zh``.
    """

    def __init__(
        self, cfg: Mapping[str, Any], folder: Path, read: Callable[[str], Verdict | None], source: str = 'judge'
    ) -> None:
        self.name = judge_name(cfg)
        self.settings = settings_hash(cfg)
        self.calls = 0
        self._cfg = dict(cfg)
        self._read = read
        self._source = source
        self._model: Any = None
        self._folder = folder / 'judgements' / f'{self.name.replace(os.sep, "_")}-{self.settings}'
        self._journal = Journal(self._folder / f'{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}.jsonl')

    def judge(self, items: Sequence[JudgeItem]) -> dict[str, Verdict]:
        """Returns id -> verdict for every item that got one in ``TRIES`` tries; the others are missing."""
        kept = self._kept({item.key for item in items})
        if kept:
            get_logger().info(f'{self.name}: {len(kept)} of {len(items)} judgements are kept from earlier')
        open_items = [item for item in items if item.key not in kept]
        for _ in range(TRIES):
            self._ask(open_items, kept)
            open_items = [item for item in open_items if item.key not in kept]
            if not open_items:
                break
        return {item.id: kept[item.key] for item in items if item.key in kept}

    def _kept(self, keys: set[str]) -> dict[str, Verdict]:
        found: dict[str, Verdict] = {}
        for file in sorted(self._folder.glob('*.jsonl')):
            for row in Journal(file).rows():
                if row.get('key') in keys and (verdict := self._read(str(row.get('reply', '')))) is not None:
                    found[row['key']] = verdict
        return found

    def _ask(self, items: Sequence[JudgeItem], kept: dict[str, Verdict]) -> None:
        if not items:
            return
        if self._model is None:
            cfg = {name: value for name, value in self._cfg.items() if name not in {'max_out_len', 'batch_size'}}
            self._model = build_model_from_cfg(cfg)
            self._folder.mkdir(parents=True, exist_ok=True)
        size = self._cfg.get('batch_size') or _DEFAULT_BATCH
        for start in tqdm(range(0, len(items), size), desc=f'judging by {self.name}', unit='batch'):
            batch = items[start : start + size]
            prompts = [self._conversation(item, start + offset) for offset, item in enumerate(batch)]
            max_out_len = self._cfg.get('max_out_len') or _DEFAULT_OUT_LEN
            replies = self._model.generate_from_template(prompts, max_out_len=max_out_len)
            self.calls += len(batch)
            rows: dict[int, dict[str, str]] = {}
            for item, reply in zip(batch, replies, strict=True):
                verdict = self._read(str(reply))
                if verdict is not None:
                    kept[item.key] = verdict
                    rows[start + len(rows)] = {'key': item.key, 'id': item.id, 'reply': str(reply)}
            if rows:
                self._journal.append(rows)

    def _conversation(self, item: JudgeItem, position: int) -> Conversation:
        entry = {'record_id': item.id, 'source': self._source, 'idx': position, 'gold_answer': ''}
        return Conversation.of([Message('user', item.prompt)], entry)
