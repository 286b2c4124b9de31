"""Detects models that give the same answer in every trial."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from opencompass.models import VLLMwithChatTemplate
from opencompass.models.openai_api import OAI_REASONING_MODEL_LIST, OpenAI

from opencompass_tooleval.models.sampling import sampling_view


def _sampling(model: Any, temperature: float | None) -> dict[str, Any]:
    """Returns the sampling settings of a model's config and of the dataset's temperature."""
    model = sampling_view(model, temperature)
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
    """Returns why all trials of a record would get the same answer; '' if they would not, or it is unknown.

    Args:
        model: Any OpenCompass model, built from its config.
        temperature: Temperature in the dataset's config; None if it sets none.
    """
    given = _sampling(model, temperature)
    for name in ('seed', 'random_seed'):
        if name in given:
            return f'it samples with {name}={given[name]} each time'
    if given.get('top_k') == 1:
        return 'it decodes greedily, by top_k=1'
    accepted = inspect.signature(model.generate).parameters
    if 'do_sample' in accepted or ('min_out_len' in accepted and 'temperature' not in accepted):  # LMDeploy, HF
        return '' if given.get('do_sample') else 'it decodes greedily, since do_sample is not set'
    by_name = any(name in model.path for name in OAI_REASONING_MODEL_LIST)  # as OpenCompass's class decides it
    if isinstance(model, OpenAI) and getattr(model, 'no_temperature', by_name):
        return ''  # no temperature is sent
    if isinstance(model, VLLMwithChatTemplate):
        given.setdefault('temperature', 0)
    elif 'temperature' in accepted:
        given.setdefault('temperature', accepted['temperature'].default)
    return 'it samples at temperature 0' if given.get('temperature') == 0 else ''
