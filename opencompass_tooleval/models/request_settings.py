"""Reads the settings of requests from the config of an API model, and finds their faults."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.model_name import is_openais_reasoning
from opencompass_tooleval.models.api.endings import TOKEN_LIMITS
from opencompass_tooleval.models.api.wires import WIRES
from opencompass_tooleval.models.api.wires.chat import CHAT
from opencompass_tooleval.models.api.wires.wire import Wire
from opencompass_tooleval.work_dir.causes import KEY_ENV

_WITH_DISPLAY = ('', 'adaptive', 'enabled')
"""Types of ``thinking`` that take ``display``."""


def addresses_of(named: str | Sequence[str], wire: Wire) -> Sequence[str]:
    """Returns the base URLs of a config; by default ``$OPENAI_BASE_URL`` (for OpenAI's API), or else the vendor's."""
    base = named or (wire.base == CHAT.base and os.environ.get('OPENAI_BASE_URL')) or wire.base
    return [base] if isinstance(base, str) else base


def wire_of(settings: Mapping[str, Any]) -> Wire:
    """Returns the request format in a config; chat completions if it is invalid."""
    return WIRES.get(str(settings.get('wire', 'chat')), CHAT)


MAX_WORKERS = 16
"""Default of ``max_workers``, the maximum number of a model's requests in flight."""


def key_variable(wire: Wire) -> str:
    """Returns the environment variable with the key: the one that ``tooleval run`` sets, or else the vendor's."""
    return os.environ.get(KEY_ENV, '').partition('=')[0] or wire.key


def further_members(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members that the config and the request format add to requests; one that is None is not sent."""
    extra = {**(settings.get('openai_extra_kwargs') or {})}
    more = extra.pop('extra_body', None) or {}
    members = {**extra, **(settings.get('extra_body') or {}), **more}
    members = {name: value for name, value in members.items() if name not in ('extra_headers', 'extra_query')}
    for name, default in wire_of(settings).members.items():
        own = members.get(name, default)
        is_partial = isinstance(own, Mapping) and isinstance(default, Mapping) and own.get('type', '') in _WITH_DISPLAY
        members[name] = {**default, **own} if is_partial else own
    return members


def why_no_temperature(settings: Mapping[str, Any]) -> str:
    """Returns why no temperature is sent to the model of a config; ``''`` if one is sent."""
    members = further_members(settings)
    if 'temperature' in members:
        return 'since openai_extra_kwargs leaves it out' if members['temperature'] is None else ''
    if why := wire_of(settings).no_temperature:
        return why
    addresses = addresses_of(settings.get('openai_api_base') or '', wire_of(settings))
    is_openais = any(is_openais_reasoning(url, str(settings.get('path'))) for url in addresses)
    return "since OpenAI's reasoning models refuse it (to send it, set it in openai_extra_kwargs)" if is_openais else ''


def body_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yields the faults of a config's members of requests."""
    members, temperature = further_members(settings), settings.get('temperature')
    if (named := str(settings.get('wire', 'chat'))) not in WIRES:
        yield f'wire is {named[:50]!r}; it must be one of {", ".join(map(repr, WIRES))}'
    is_chat = wire_of(settings) is CHAT
    if not is_chat and settings.get('mode', 'none') != 'none':
        yield f"mode={settings['mode']!r} shortens prompts of chat completions only: set wire='chat', or mode='none'"
    for name in dict.fromkeys((*TOKEN_LIMITS, *wire_of(settings).limits)):
        if members.get(name) is not None:
            yield f"leave {name} out: requests get it from max_out_len of the model's config (token_limit_key names it)"
    for name in () if is_chat else ('system', 'instructions'):
        if members.get(name) is not None:
            yield f'leave {name} out: requests get it from the system messages; set system_prompt instead'
    if temperature and temperature != 1 and (why := why_no_temperature(settings)):
        yield f'temperature={temperature:g} is not sent, {why}: leave it out'
