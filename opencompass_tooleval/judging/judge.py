"""A judge model: sends many requests at once, resumes after a kill, and never repeats an answered request."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from inspect import isroutine
from pathlib import Path
from typing import Any, TypeVar, cast

from opencompass.utils import get_logger

from opencompass_tooleval.core.calls.answer import USAGE, Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.scoring.result import INFRA, OVER_BUDGET
from opencompass_tooleval.core.scoring.usage import Usage, read_usage
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.judging.judge_item import JudgeItem, Judging, begun, carry_out
from opencompass_tooleval.judging.judgement import UnjudgedError, Unread
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.literal_keys import KEYS, is_secret
from opencompass_tooleval.models.model_config import OF_PACKAGE, AuxiliaryModel
from opencompass_tooleval.work_dir.store import AnswerStore, Place, Row

T = TypeVar('T')
Name = TypeVar('Name', bound=Hashable)

JUDGE = 'judge'

TRIES = 4
"""Maximum number of requests per item: an unreadable reply is requested again up to three times."""

_ADDRESSES = {
    'openai_api_base', 'api_base', 'base_url', 'url', 'token_url', 'api_addr', 'openai_proxy_url', 'proxy_url',
    'http_client_cfg', 'shared', 'open',
}  # fmt: skip
_SPEED = {
    'batch_size', 'max_workers', 'query_per_second', 'retry', 'backoff', 'timeout', 'idle_timeout', 'stream', 'run_cfg',
    'verbose', 'rpm_verbose',
}  # fmt: skip
_UNUSED = {'abbr', 'summarizer_abbr', 'pred_postprocessor', 'min_out_len', *OF_PACKAGE}
_NOT_SETTINGS = KEYS | _ADDRESSES | _SPEED | _UNUSED

_NAME_LENGTH = 80

MAX_UNREAD = 200
_UNREAD_CHARS = 2_000
"""Maximum number of unreadable replies that one judge stores, and maximum length of each."""


def judge_cfg_from_env() -> dict[str, Any] | None:
    """Returns the judge in ``$OC_JUDGE_MODEL``, ``$OC_JUDGE_API_KEY`` and ``$OC_JUDGE_API_BASE``; None if not set."""
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
    """Limits OpenCompass's logger to warnings, for commands that write JSON to standard output like the logger."""
    get_logger().setLevel(logging.WARNING)


def canonical(value: Any) -> Any:
    """Converts a setting to JSON that is the same in every process and for every notation in a config.

    A config may contain a class or its name (``opencompass tasks`` dump configs); 0 and 0.0 are the same temperature.
    """
    if isinstance(value, Mapping):
        return {str(name): canonical(content) for name, content in value.items() if not is_secret(str(name))}
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    if isinstance(value, (set, frozenset)):  # their order differs between processes
        return sorted((canonical(item) for item in value), key=json.dumps)
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, (int, float)):
        return float(value)
    # Not getattr, which mmengine's lazy objects answer for every name.
    return value.__qualname__ if isinstance(value, type) or isroutine(value) else str(value)


def judge_settings(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that may change a judge's replies, as JSON values, without keys, addresses and speed
    settings."""
    settings = {
        name: canonical(value) for name, value in cfg.items() if name not in _NOT_SETTINGS and not is_secret(name)
    }
    settings['type'] = str(settings['type']).rpartition('.')[2]
    return settings


def settings_hash(cfg: Mapping[str, Any]) -> str:
    """Returns 12 hex digits of the hash of :func:`judge_settings`."""
    return hashlib.sha256(json.dumps(judge_settings(cfg), sort_keys=True).encode('utf-8')).hexdigest()[:12]


def _folder_name(cfg: Mapping[str, Any]) -> str:
    """Returns a readable folder name with the hash of the settings; only the hash identifies the judge."""
    name = re.sub(r'[^\w.-]+', '_', str(cfg.get('path') or judge_settings(cfg)['type'])).encode('ascii', 'ignore')
    return f'{name.decode()[-_NAME_LENGTH:]}-{settings_hash(cfg)}'


def _text_of(reply: Answer) -> str:
    """Returns a reply's text: the first native call as JSON, or else the text."""
    calls = reply.calls
    return json.dumps({'name': calls[0].name, 'arguments': calls[0].arguments}) if calls else reply.text


class Judge:
    """A judge model that stores its replies.

    Readable replies are stored in a folder per judge and settings, with one file per process, so that any number of
    evaluations share them: a second evaluation sends no request, and after a kill only unanswered requests are
    repeated. The first unreadable replies are also stored for inspection, shortened and with ``fault``.

    Args:
        cfg: Config of any OpenCompass model; ``max_out_len`` and ``batch_size`` as in a model config.
        folder: Parent folder of the stored replies.
        source: Name of the data set for a replayed judge, which uses ``judge-planning-zh`` for ``planning-zh``.

    Attributes:
        calls: Number of requests to the model.
        usages: Usage of each reply.
        asked: Keys of the items for which requests were sent.
        cached_usages: Key -> usage of a reply that an earlier run stored; None if the usage was not stored.
        folder: Folder of the stored replies.
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
        self._store = AnswerStore(self.folder)
        self._unread = 0
        self._unsaved: list[Row] = []
        self._kept: dict[str, list[Place]] = {}
        self._verdicts: dict[str, Any] = {}
        self._tries: Counter[str] = Counter()

    @property
    def calls(self) -> int:
        """Number of requests to the model."""
        return len(self.usages)

    def converse(self, dialogues: Mapping[Name, Judging[T]]) -> dict[Name, T]:
        """Runs dialogues with the judge. Each continues when its reply arrives, independently of the others.

        Args:
            dialogues: Name -> dialogue. Each of its items gets a verdict, or an ``Unread`` after ``TRIES`` requests.

        Returns:
            Name -> result of its dialogue.

        Raises:
            UnjudgedError: A budget left some items without a judgement.
        """
        self._find_cached()
        names = {str(index): name for index, name in enumerate(dialogues)}
        started = {name: begun(dialogue) for name, dialogue in dialogues.items()}
        first = {item.key: item for items, _ in started.values() for item in items}
        if lacking := sum(self._known(item) is None for item in first.values()):
            get_logger().info(f'{self.name}: at least {lacking} requests, for {len(dialogues)} answers')
        others = {JUDGE: self._model}
        description = f'judging by {self.name}' if dialogues else None
        runner = DialogueRunner(
            None, None, 0, source=self._source, description=description, others=others, report=lambda *_: self._save()
        )
        try:
            found = runner.run({index: carry_out(started[name][1], self._ask) for index, name in names.items()})
        finally:
            self._save()
        self.usages += runner.other_usages.get(JUDGE, [])
        self._check_budget()
        get_logger().info(f'{self.name}: {len(self.cached_usages)} judgements from earlier runs, {self.calls} requests')
        return {names[index]: cast(T, outcome.value) for index, outcome in found.items()}

    def _check_budget(self) -> None:
        """Records the judgements that a budget left out.

        Raises:
            UnjudgedError: Judgements were left out.
        """
        verdicts = self._verdicts.values()
        unsent = sum(isinstance(verdict, Unread) and verdict.why == OVER_BUDGET for verdict in verdicts)
        if self._model.account:
            self._model.account.ledger.note_not_asked(f'judgements of {self._source}', unsent, len(verdicts))
        if unsent:
            raise UnjudgedError(
                f'{unsent} of {len(verdicts)} judgements are missing ({OVER_BUDGET}): a budget is used up. The '
                'others are stored. Raise budget in the config, and run again with -r'
            )

    def _find_cached(self) -> None:
        """Finds the places of the replies that other processes have stored."""
        self._verdicts.clear()
        self._tries.clear()
        for place, row in self._store.read():
            if 'fault' not in row:
                self._kept.setdefault(str(row.get('key')), []).append(place)

    def _ask(self, item: JudgeItem) -> Dialogue[Any]:
        """Sends up to ``TRIES`` requests until a verdict can be parsed; sends none if the verdict is known."""
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
        """Returns the verdict of an item that was judged before; None otherwise."""
        is_judged = item.key in self._verdicts
        for row in self._store.rows_at(() if is_judged else reversed(self._kept.get(item.key, ()))):
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
        """Stores a readable reply, or one of the first unreadable replies, shortened."""
        row: dict[str, Any] = {'key': item.key, 'id': item.id}
        row |= {USAGE: reply.usage.to_payload()} if reply.usage else {}
        text = _text_of(reply)
        if isinstance(verdict, Unread):
            if not text or verdict.why.startswith(INFRA) or self._unread >= MAX_UNREAD:
                return
            self._unread += 1
            row['fault'], text = verdict.why, bounded_text(text, _UNREAD_CHARS)
        self._unsaved.append({**row, 'reply': text})

    def _save(self) -> None:
        """Writes the stored replies; replies that arrived together need one flush to the disk."""
        if self._unsaved:
            for place, row in zip(self._store.append(self._unsaved), self._unsaved, strict=True):
                if 'fault' not in row:
                    self._kept.setdefault(row['key'], []).append(place)
            self._unsaved.clear()


def _request(item: JudgeItem) -> ModelRequest:
    prompt = item.prompt.encode('utf-8', 'replace').decode('utf-8')  # half a surrogate pair cannot be sent
    system = [Message('system', item.system)] if item.system else []
    messages = (*system, Message('user', prompt))
    return ModelRequest(messages, tools=item.tools, model=JUDGE, may_fail=True, name=item.id, key=item.key)
