"""A judge model: many questions at once, resumable, and none twice."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import uuid
from collections import Counter
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from opencompass.utils import get_logger

from opencompass_tooleval.core.answer import USAGE, Answer
from opencompass_tooleval.core.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.jsonable import bounded_text
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.result import INFRA
from opencompass_tooleval.core.usage import Usage, read_usage
from opencompass_tooleval.judging.judge_item import JudgeItem, Judging, carry_out
from opencompass_tooleval.judging.judgement import Unread
from opencompass_tooleval.models.auxiliary_model import AuxiliaryModel
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.literal_keys import KEYS, is_secret
from opencompass_tooleval.models.model_config import PRICES
from opencompass_tooleval.work_dir.journal import Journal

T = TypeVar('T')
Name = TypeVar('Name', bound=Hashable)

JUDGE = 'judge'

TRIES = 4
"""A reply that cannot be read is asked for again, up to three times."""

_ADDRESSES = {
    'openai_api_base', 'api_base', 'base_url', 'url', 'token_url', 'api_addr', 'openai_proxy_url', 'proxy_url',
    'http_client_cfg',
}  # fmt: skip
_SPEED = {
    'batch_size', 'max_workers', 'query_per_second', 'retry', 'backoff', 'timeout', 'run_cfg', 'verbose',
    'rpm_verbose',
}  # fmt: skip
_UNUSED = {'abbr', 'summarizer_abbr', 'pred_postprocessor', 'min_out_len', PRICES}
_NOT_SETTINGS = KEYS | _ADDRESSES | _SPEED | _UNUSED

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
        'type': 'opencompass_tooleval.models.openai_model.ToolEvalOpenAI',
        'path': model,
        'key': os.environ.get('OC_JUDGE_API_KEY') or 'none',
        'openai_api_base': os.environ.get('OC_JUDGE_API_BASE') or 'https://api.openai.com/v1/',
        'temperature': 0,
        'max_seq_len': 49152,
    }


def tell_only_warnings() -> None:
    """For commands that write JSON on standard output, where OpenCompass's logger writes too."""
    get_logger().setLevel('WARNING')


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


def _text_of(reply: Answer) -> str:
    """What a judge said: the first of its native calls as JSON, or its text."""
    calls = reply.calls
    return json.dumps({'name': calls[0].name, 'arguments': calls[0].arguments}) if calls else reply.text


class Judge:
    """A judge model with a memory.

    Replies that could be read are kept in a folder per judge and settings, one file per process, so that any number of
    evaluations may share it: a second one costs no call, and after a kill only what was in flight is asked again.
    Beside them lie the first of those that could not be read, with ``fault``, cut, for people to look at.

    Args:
        cfg: Any model of OpenCompass; ``max_out_len`` and ``batch_size`` as in a model config.
        folder: Parent folder of the kept replies.
        source: Names the data set for a replayed judge: ``planning-zh`` makes it ``judge-planning-zh``.

    Attributes:
        calls: How often the model was asked.
        usages: What each of these answers cost.
        asked: Keys of the questions that it was asked.
        cached_usages: Key -> what a judgement cost that was kept from earlier; None where that was not kept with it.
        folder: Where its replies are.
    """

    def __init__(self, cfg: Mapping[str, Any], folder: Path, source: str = '') -> None:
        self._model = AuxiliaryModel(cfg)
        self.name = self._model.name
        self.settings = settings_hash(cfg)
        self.prices = self._model.prices
        self.usages: list[Usage | None] = []
        self.asked: set[str] = set()
        self.cached_usages: dict[str, Usage | None] = {}
        self.folder = folder / 'judgements' / _folder_name(cfg)
        self._source = source
        self._journal = Journal(self.folder / f'{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}.jsonl')
        self._rows = self._unread = 0
        self._unsaved: dict[int, dict[str, Any]] = {}
        self._kept: dict[str, list[tuple[Journal, int]]] = {}
        self._verdicts: dict[str, Any] = {}
        self._tries: Counter[str] = Counter()

    @property
    def calls(self) -> int:
        """See above."""
        return len(self.usages)

    def converse(self, dialogues: Mapping[Name, Judging[T]]) -> dict[Name, T]:
        """Judging in several questions, each dialogue going on as soon as it is answered, whatever the others wait for.

        Args:
            dialogues: Of each its name and its questions, which get their verdict, or an ``Unread`` after ``TRIES``.

        Returns:
            Name -> what its dialogue ended in.
        """
        self._find_cached()
        names = {str(place): name for place, name in enumerate(dialogues)}
        others = {JUDGE: self._model}
        description = f'judging by {self.name}' if dialogues else None
        runner = DialogueRunner(
            None, None, 0, source=self._source, description=description, others=others, report=lambda *_: self._save()
        )
        try:
            found = runner.run({place: carry_out(dialogues[name], self._ask) for place, name in names.items()})
        finally:
            self._save()
        self.usages += runner.other_usages.get(JUDGE, [])
        get_logger().info(f'{self.name}: {len(self.cached_usages)} judgements kept from earlier, {self.calls} requests')
        return {names[place]: cast(T, outcome.value) for place, outcome in found.items()}

    def _find_cached(self) -> None:
        """Where the replies lie that were kept before."""
        self._verdicts.clear()
        self._tries.clear()
        self._kept.clear()
        for file in sorted(self.folder.glob('*.jsonl')):
            journal = Journal(file)
            for position, row in journal.lines():
                if 'fault' not in row:
                    self._kept.setdefault(str(row.get('key')), []).append((journal, position))

    def _ask(self, item: JudgeItem) -> Dialogue[Any]:
        """Asks until there is a verdict, ``TRIES`` times at most, unless it is known."""
        key, verdict = item.key, None
        for tried in range(TRIES):
            if (known := self._known(item)) is not None:
                return known
            reply = yield _request(item)
            verdict = self._verdict(item, reply)
            if tried == self._tries[key]:  # several dialogues may get this reply
                self._tries[key] += 1
                self.asked.add(key)
                self._keep(item, reply, verdict)
            if not isinstance(verdict, Unread):
                break
        self._verdicts[key] = verdict
        return verdict

    def _known(self, item: JudgeItem) -> Any:
        """The verdict of an item that was judged before; None if it was not."""
        for journal, position in reversed(self._kept.pop(item.key, ())):
            row = journal.row_at(position)
            verdict = item.read(str(row.get('reply', '')))
            if not isinstance(verdict, Unread):
                self._verdicts[item.key] = verdict
                self.cached_usages[item.key] = read_usage(row.get(USAGE))
                break
        return self._verdicts.get(item.key)

    def _verdict(self, item: JudgeItem, reply: Answer) -> Any:
        reason = reply.reason or ''
        return Unread(reason) if reason.startswith(INFRA) else item.read(_text_of(reply))

    def _keep(self, item: JudgeItem, reply: Answer, verdict: Any) -> None:
        """Keeps a reply that could be read; of the others the first ones, cut."""
        row: dict[str, Any] = {'key': item.key, 'id': item.id}
        row |= {USAGE: reply.usage.to_payload()} if reply.usage else {}
        text = _text_of(reply)
        if isinstance(verdict, Unread):
            if not text or verdict.why.startswith(INFRA) or self._unread >= MAX_UNREAD:
                return
            self._unread += 1
            row['fault'], text = verdict.why, bounded_text(text, _UNREAD_CHARS)
        self._unsaved[self._rows] = {**row, 'reply': text}
        self._rows += 1

    def _save(self) -> None:
        """Writes what was kept: replies that came together take one flush to the disk."""
        if self._unsaved:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._journal.append(self._unsaved)
            self._unsaved.clear()


def _request(item: JudgeItem) -> ModelRequest:
    prompt = item.prompt.encode('utf-8', 'replace').decode('utf-8')  # half a surrogate pair cannot be sent
    system = [Message('system', item.system)] if item.system else []
    messages = (*system, Message('user', prompt))
    return ModelRequest(messages, tools=item.tools, model=JUDGE, may_fail=True, name=item.id, key=item.key)
