"""Sampling settings and token limit of answers; decides if a resumed run with other settings uses stored answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT
from opencompass_tooleval.core.calls.sent import AS_SENT, THOUGHTS
from opencompass_tooleval.core.text.jsonable import answer_digest
from opencompass_tooleval.core.text.redaction import redact, remember_config

MAX_OUT_LEN = 'max_out_len'
"""Key of the limit in configs of models and inferencers, in rows of predictions and in results."""
PUBLISHED = 'published_max_out_len'
"""Key of the benchmark's limit (that of its published runs) in configs of inferencers and in results."""


@dataclass(frozen=True)
class AnswerLimit:
    """The maximum number of tokens of an answer.

    Attributes:
        tokens: The limit that is sent.
        source: Who set it: ``data set``, ``model`` or ``benchmark``.
        published: The benchmark's limit; None if it has none.
        unused: The model's ``max_out_len`` if it is lower and ignored; else None.
    """

    tokens: int
    source: str
    published: int | None = None
    unused: int | None = None

    def __str__(self) -> str:
        """Formats ``16,384 tokens (max_out_len of the model)``."""
        if self.source != 'benchmark':
            return f'{self.tokens:,} tokens ({MAX_OUT_LEN} of the {self.source})'
        more = '' if self.unused is None else f", since the model's ({self.unused:,}) is lower"
        return f"{self.tokens:,} tokens (the benchmark's limit{more})"

    @property
    def note(self) -> str:
        """A note if the model's limit is ignored, or the benchmark's limit is higher; else ``''``."""
        if self.unused is not None:
            return (
                f"answers have up to {self.tokens:,} tokens, the benchmark's limit, since max_out_len={self.unused} "
                "of the model is lower. To use a lower limit anyway, set max_out_len in the data set's inferencer"
            )
        if self.published and self.tokens < self.published:
            return f"answers have up to {self.tokens:,} tokens, fewer than the benchmark's {self.published:,}"
        return ''


def answer_limit(model: Mapping[str, Any], inferencer: Mapping[str, Any]) -> AnswerLimit | None:
    """Chooses the limit from two configs; returns None if neither has one.

    The dataset's inferencer takes precedence. Otherwise the larger of the model's and the benchmark's limits counts:
    OpenCompass's model configs have 100 to 1,024, which would cut answers that were not cut in the published runs.

    Args:
        model: Config of a model.
        inferencer: Config of the dataset's inferencer.

    Raises:
        ValueError: A value is not a positive integer.
    """
    of_dataset, published = _tokens(inferencer, MAX_OUT_LEN), _tokens(inferencer, PUBLISHED)
    of_model = _tokens(model, MAX_OUT_LEN)
    if of_dataset is not None:
        return AnswerLimit(of_dataset, 'data set', published)
    if published is None:
        return None if of_model is None else AnswerLimit(of_model, 'model')
    if of_model is not None and of_model >= published:
        return AnswerLimit(of_model, 'model', published)
    return AnswerLimit(published, 'benchmark', published, of_model)


def _tokens(cfg: Mapping[str, Any], name: str) -> int | None:
    value = cfg.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ValueError(f'{name} is {str(value)[:50]!r}, and must be a whole number above 0')
    return value


def limit_of_rows(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Returns the limit that applies to all rows of predictions; None if unknown.

    A resumed run may have had several limits. An answer that was not cut would be the same with a higher limit, so the
    lowest limit of a cut answer counts, or the highest of all limits if no answer was cut.
    """
    cut = [limit for row in rows if is_cut(row) and (limit := row_limit(row)) is not None]
    return min(cut) if cut else max(filter(None, (row_limit(row) for row in rows)), default=None)


def is_cut(row: Mapping[str, Any]) -> bool:
    """Tests if the limit cut the answer in a row of predictions."""
    return row.get('finish_reason') == CUT


def row_limit(row: Mapping[str, Any]) -> int | None:
    """Returns the limit of a row of predictions; None if unknown."""
    limit = row.get(MAX_OUT_LEN)
    return limit if isinstance(limit, int) and not isinstance(limit, bool) else None


def is_cut_below(row: Mapping[str, Any], limit: int) -> bool:
    """Tests if the answer in a row was cut at a limit below ``limit``, so that it is requested again."""
    before = row_limit(row)
    return is_cut(row) and before is not None and before < limit


SAMPLING = 'sampling'
"""Key of the settings in rows of predictions, and of the list of different settings in results."""
STORED_ANSWERS = 'stored_answers'
"""Key in a model's config: ``keep`` or ``ask``."""
KEEP, ASK = 'keep', 'ask'

_NAMES = (
    *('path', 'revision', 'peft_path', 'system_prompt', 'mode', 'wire', 'strict', THOUGHTS),
    *('tool_choice', 'parallel_tool_calls'),
    *('temperature', 'top_p', 'top_k', 'min_p', 'seed', 'random_seed', 'do_sample', 'num_beams'),
    *('frequency_penalty', 'presence_penalty', 'repetition_penalty', 'logit_bias', 'stop', 'stop_words'),
    *('chat_template_kwargs', 'reasoning_effort', 'reasoning', 'thinking', 'enable_thinking'),
)
"""Settings of a model's config that change answers."""
_OTHERS = (
    *('extra_headers', 'extra_query', 'api_key', 'user', 'metadata', 'store', 'service_tier', 'safety_identifier'),
    *('prompt_cache_key', 'prompt_cache_retention', 'cache_salt', 'timeout', 'stream', 'stream_options', 'use_cache'),
    *('usage', 'priority', 'max_tokens', 'max_completion_tokens', 'max_new_tokens', 'logprobs', 'top_logprobs'),
    *('return_token_ids', 'messages', 'input', 'instructions', 'tools', 'include'),
)
"""Members of requests that do not change answers, or are stored elsewhere. All others may change them."""
_PARTS = ('generation_kwargs', 'gen_config', 'openai_extra_kwargs', 'extra_body')
_GREEDY = 1e-3
"""Temperatures up to this value are greedy: OpenCompass writes 1e-6 for engines that refuse 0."""
_OF_SAMPLES = ('temperature', 'top_p', 'top_k', 'min_p', 'do_sample')
_NEUTRAL = {'n': 1, 'top_p': 1, 'min_p': 0, 'num_beams': 1, 'tool_choice': 'auto'}
_NEUTRAL |= {'frequency_penalty': 0, 'presence_penalty': 0, 'repetition_penalty': 1, 'parallel_tool_calls': True}
_NEUTRAL |= {THOUGHTS: AS_SENT, 'mode': 'none', 'system_prompt': '', 'wire': 'chat'}
"""Default values, which count as unset, so that writing a default into a config changes nothing."""
_PATHS = ('path', 'peft_path')
_SIMULATOR = 'simulator'
_MOST_STORED, _SHOWN_OF_LONG = 200, 20
_MOST_SHOWN, _MOST_NAMES = 60, 20


def sampling_of(model: Mapping[str, Any], inferencer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a config that change answers, without defaults and keys; also those of a simulator.

    All ways to set greedy decoding give the same result: no sampling settings.

    Args:
        model: Config of a model, of any class.
        inferencer: Config of the dataset's inferencer, whose temperature takes priority.
    """
    remember_config({name: model.get(name) for name in _PARTS})
    of_model = ((name, value) for name, value in _settings(model, set(model).difference(_NAMES)) if value is not None)
    own = {'temperature': value} if (value := inferencer.get('temperature')) is not None else {}
    found = {**dict(of_model), **own}
    temperature = found.get('temperature', 1)
    is_low = isinstance(temperature, (int, float)) and temperature <= _GREEDY
    if is_low or found.get('do_sample') is False or found.get('top_k') == 1:
        found = {name: value for name, value in found.items() if name not in _OF_SAMPLES}
    kept = {name: value for name, value in found.items() if name not in _NEUTRAL or value != _NEUTRAL[name]}
    simulator = (inferencer.get('dialogues') or {}).get(_SIMULATOR)
    if isinstance(simulator, Mapping) and isinstance(simulator.get('model'), Mapping):
        kept[_SIMULATOR] = sampling_of(simulator['model'], {}) | {'system': simulator.get('system')}
    return {name: _stored(name, value) for name, value in sorted(kept.items())}


def _stored(name: str, value: Any) -> Any:
    """Returns a value for rows and results. Shortens a path to its name and a long text, both with a digest."""
    encoded = redact(json.dumps(value, sort_keys=True, default=str))
    is_folder = name in _PATHS and isinstance(value, str) and value.startswith(('/', '.', '~'))
    if not is_folder and len(encoded) <= _MOST_STORED:
        return json.loads(encoded)
    shown = value.rstrip('/').rpartition('/')[2] if is_folder else encoded[:_SHOWN_OF_LONG]
    return f'{shown} #{answer_digest(encoded)[:8]}'


def _settings(cfg: Mapping[str, Any], left_out: Collection[str]) -> Iterator[tuple[str, Any]]:
    for name, value in cfg.items():
        if name in _PARTS and isinstance(value, Mapping):
            yield from _settings(value, _OTHERS)
        elif name not in left_out:
            yield name, value


@dataclass(frozen=True)
class StoredAnswers:
    """The answers that a config accepts from an earlier run.

    Attributes:
        sampling: The settings of the config, from :func:`sampling_of`; None if unknown.
        use: ``keep`` accepts answers with other settings, ``ask`` requests them again; '' if the config does not say.
    """

    sampling: Mapping[str, Any] | None = None
    use: str = ''

    @classmethod
    def of(cls, model: Mapping[str, Any], inferencer: Mapping[str, Any]) -> StoredAnswers:
        """Reads the settings from the configs of a model and of a dataset's inferencer.

        Raises:
            ValueError: ``stored_answers`` is neither ``keep`` nor ``ask``.
        """
        use = model.get(STORED_ANSWERS) or ''
        if use not in ('', KEEP, ASK):
            raise ValueError(f'{STORED_ANSWERS} is {str(use)[:50]!r}, and must be {KEEP!r} or {ASK!r}')
        return cls(sampling_of(model, inferencer), use)

    def difference(self, row: Mapping[str, Any]) -> str:
        """Returns a text with the settings in a row that differ from the config's; '' if none or unknown."""
        before = row.get(SAMPLING)
        if self.sampling is None or not isinstance(before, Mapping) or before == self.sampling:
            return ''
        now = self.sampling
        names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)][:_MOST_NAMES]
        return ', '.join(f'{name} {_shown(before, name)}, now {_shown(now, name)}' for name in names)

    def as_row(self) -> dict[str, Any]:
        """Returns the settings to store in a row."""
        return {} if self.sampling is None else {SAMPLING: dict(self.sampling)}

    def accepts(self, row: Mapping[str, Any]) -> bool:
        """Tests if the answer in a row may be used."""
        return self.use == KEEP or not self.difference(row)


class Differences:
    """Collects which answers are stored with other settings only, for a config that does not say what to do with them.

    Args:
        stored: The answers that the config accepts.

    Attributes:
        found: Key of an answer -> description of the difference.
    """

    def __init__(self, stored: StoredAnswers) -> None:
        self.found: dict[Any, str] = {}
        self._stored = stored
        self._accepted: set[Any] = set()

    def accepts(self, key: Any, row: Mapping[str, Any]) -> bool:
        """Tests if the answer in a row may be used; several rows may have the same key."""
        difference = '' if self._stored.use == KEEP else self._stored.difference(row)
        if not difference:
            self._accepted.add(key)
            self.found.pop(key, None)
        elif self._stored.use != ASK and key not in self._accepted:
            self.found[key] = difference
        return not difference

    def check(self) -> None:
        """Checks that the config decides.

        Raises:
            ValueError: It does not.
        """
        for difference in self.found.values():
            raise ValueError(f'stored answers have other settings ({difference}): {DECIDE}')


DECIDE = f"set {STORED_ANSWERS}={KEEP!r} in the model's config to use the answers, or {ASK!r} to ask again"


def _shown(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return 'not set'
    text = json.dumps(settings[name], ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f'{text[:_MOST_SHOWN]}...'


def samplings(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the distinct settings of rows; empty if no row has any."""
    found = {json.dumps(row[SAMPLING], sort_keys=True): row[SAMPLING] for row in rows if row.get(SAMPLING) is not None}
    return list(found.values())
