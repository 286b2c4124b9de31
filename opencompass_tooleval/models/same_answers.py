"""Why a model that is asked the same several times would answer the same each time."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from opencompass.models import VLLMwithChatTemplate
from opencompass.models.openai_api import OAI_REASONING_MODEL_LIST, OpenAI


def _sampling(model: Any, temperature: float | None) -> dict[str, Any]:
    """What a model samples with, as far as its config and the data set's say it; what is said later wins."""
    parts: list[Any] = [
        {'temperature': getattr(model, 'temperature', None)},
        getattr(model, 'generation_kwargs', None),
        getattr(model, 'gen_config', None),  # LMDeploy's
        {} if temperature is None else {'temperature': temperature, 'do_sample': temperature > 0},
        getattr(model, 'openai_extra_kwargs', None),
    ]
    given = {name: value for part in parts if isinstance(part, Mapping) for name, value in part.items()}
    return {name: value for name, value in given.items() if value is not None}


def why_same_answers(model: Any, temperature: float | None = None) -> str:
    """Why all trials of a record would have one answer; '' if they need not, or nobody can tell.

    Args:
        model: Any model of OpenCompass, as its config made it.
        temperature: That of the data set's config; None if it sets none.
    """
    given = _sampling(model, temperature)
    for name in ('seed', 'random_seed'):
        if name in given:
            return f'it samples with {name}={given[name]} each time'
    accepted = inspect.signature(model.generate).parameters
    if 'do_sample' in accepted or ('min_out_len' in accepted and 'temperature' not in accepted):  # LMDeploy, HF
        return '' if given.get('do_sample') else 'it decodes greedily, since do_sample is not set'
    if isinstance(model, OpenAI) and any(name in model.path for name in OAI_REASONING_MODEL_LIST):
        return ''  # these are sent no temperature
    if isinstance(model, VLLMwithChatTemplate):
        given.setdefault('temperature', 0)
    elif 'temperature' in accepted:
        given.setdefault('temperature', accepted['temperature'].default)
    return 'it samples at temperature 0' if given.get('temperature') == 0 else ''
