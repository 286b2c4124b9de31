"""API keys in configs, which OpenCompass copies to the work directory, where others may read them; spent budgets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.core.scoring.prices import budget_of
from opencompass_tooleval.findings.finding import Finding, found
from opencompass_tooleval.work_dir.budget_file import not_asked_line
from opencompass_tooleval.work_dir.progress import model_abbr

KEYS = {
    'key', 'api_key', 'access_key', 'accesskey', 'secret', 'secret_id', 'secret_key', 'secretkey', 'ak', 'sk',
    'token', 'org', 'appid', 'group_id',
}  # fmt: skip
_SECRET = re.compile(r'(api_?key|secret|password|authori[sz]ation|headers?$|cookie|credential|(auth|access)_?token$)')
_NO_SECRETS = {'appid', 'group_id', 'org'}
"""Names of accounts: not secret, but left out of results like keys."""
_NO_KEYS = {'', 'dummy', 'empty', 'env', 'no-key', 'none', 'not-needed', 'ollama', 'sk-no-key-required'}
"""Values that are not keys: those for local servers, and ``ENV``."""


_VARIABLES = {
    'OpenAI': 'OPENAI_API_KEY',
    'ClaudeSDK': 'ANTHROPIC_API_KEY',
    'Gemini': 'GEMINI_API_KEY',
    'SenseTime': 'SENSENOVA_API_KEY',
}
"""Part of a class's name -> the environment variable that it reads with ``key='ENV'``."""


def is_secret(name: str) -> bool:
    """Tests if a setting may contain a key, by its name. Results leave it out, since they are published."""
    return name.lower() in KEYS or bool(_SECRET.search(name.lower()))


def _is_key(name: str, value: Any) -> bool:
    values = value if isinstance(value, (list, tuple)) else [value]
    texts = (text.strip().lower() for text in values if isinstance(text, str))
    return is_secret(name) and name not in _NO_SECRETS and not _NO_KEYS.issuperset(texts)


def _has_key(cfg: Any) -> bool:
    """Tests if a model's config contains a key, at any depth, such as in headers."""
    if isinstance(cfg, Mapping):
        return any(
            _is_key(str(name).lower().replace('-', '_'), value) or _has_key(value) for name, value in cfg.items()
        )
    return isinstance(cfg, (list, tuple)) and any(map(_has_key, cfg))


def other_models(cfg: Any) -> Iterator[tuple[str, Any]]:
    """Yields role and config of each judge and simulator, at any depth of a dataset's config."""
    if isinstance(cfg, Mapping):
        for name, value in cfg.items():
            if 'judge' in str(name):
                yield from (('judge', judge) for judge in (value if isinstance(value, (list, tuple)) else [value]))
            elif name == 'simulator' and isinstance(value, Mapping):
                yield 'simulator', value.get('model')
            else:
                yield from other_models(value)
    elif isinstance(cfg, (list, tuple)):
        for value in cfg:
            yield from other_models(value)


def _advice(cfg: Mapping[str, Any]) -> str:
    name = str(cfg.get('type', 'the model')).rpartition('.')[2]
    variable = next((variable for part, variable in _VARIABLES.items() if part.lower() in name.lower()), '')
    if not variable:
        return f'{name} reads no known variable: make the working directory private (chmod 700)'
    return f"write key='ENV' there, and keep the key in ${variable}"


def literal_keys(config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields a warning for each model, judge and simulator whose config contains a key."""
    others = other_models(config.get('datasets') or ())
    for role, cfg in chain((('model', model) for model in config.get('models') or ()), others):
        if isinstance(cfg, Mapping) and _has_key(cfg):
            text = (
                'its key is in the config, and so in all copies of the config in the working directory, which others '
                'may read'
            )
            yield found('config:literal_key', f'{role} {cfg.get("abbr", cfg.get("path", ""))}', text, _advice(cfg))


def spent_budgets(work_dir: Path, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields a finding per budget that left out requests: of a model, or of a judge or simulator."""
    others = [(model_name, cfg) for _, cfg in other_models(config['datasets']) if isinstance(cfg, Mapping)]
    for name_of, cfg in [*((model_abbr, cfg) for cfg in config['models']), *others]:
        with suppress(ValueError, LookupError):  # the run may come from anybody
            if budget := budget_of(cfg):
                line = not_asked_line(work_dir, name_of(cfg), budget, name_of is model_name)
                yield from [found('run:budget', '', line)] if line else ()
