"""Passes a dataset's temperature to OpenCompass's model wrappers, whose settings for it differ."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from copy import copy
from typing import Any

from opencompass.models import OpenAI, TurboMindModel, TurboMindModelwithChatTemplate

_LMDEPLOY = (TurboMindModel, TurboMindModelwithChatTemplate)

GREEDY = 1e-3
"""Temperatures up to this value are greedy: OpenCompass writes 1e-6 or 0.001 for wrappers that refuse 0."""


def _written_by_accelerator(gen_config: Mapping[str, Any]) -> bool:
    """Tests if ``opencompass -a lmdeploy`` wrote this ``gen_config`` because the model's config sets no sampling."""
    sampling = {'top_k': 1, 'top_p': 0.9, 'temperature': gen_config.get('temperature')}
    more = {name: value for name, value in gen_config.items() if name not in sampling}
    is_greedy = all(gen_config.get(name) == value for name, value in sampling.items())
    # 1e-6 for a chat model, 0.0 or 0.001 for a base model
    is_written = sampling['temperature'] in (1e-6, 0.0, 0.001) and set(more) <= {'max_new_tokens', 'stop_words'}
    return is_greedy and is_written and bool(more) == (sampling['temperature'] != 1e-6)


def sampling_view(model: Any, temperature: float | None) -> Any:
    """Returns the model, or a view of it with the temperature in its settings if its ``generate`` ignores the argument.

    LMDeploy's wrappers read ``gen_config``, where ``top_k=1`` would stay in effect. :class:`OpenAISDK` reads its
    attribute ``temperature``.

    Args:
        model: Any OpenCompass model; it is not changed.
        temperature: 0 is greedy; None keeps the model's temperature.
    """
    if temperature is None:
        return model
    if isinstance(model, _LMDEPLOY):
        view = copy(model)
        given = dict(model.gen_config)
        if temperature and _written_by_accelerator(given):
            given = {name: value for name, value in given.items() if name in ('max_new_tokens', 'stop_words')}
        sampled = {'do_sample': True, 'temperature': temperature} if temperature else {'do_sample': False}
        view.gen_config = {**given, **sampled}
        return view
    if isinstance(model, OpenAI) and not hasattr(model, 'answer'):
        view = copy(model)
        view.temperature = temperature
        return view
    return model


def config_sampling(model: Any) -> tuple[float | None, str]:
    """Returns the temperature in a model's config, and the text of the setting; ``(None, '')`` if there is none.

    The temperature is 0 if another setting makes decoding greedy.
    """
    temperature = getattr(model, 'temperature', None)
    parts = (getattr(model, name, None) for name in ('generation_kwargs', 'gen_config'))
    settings = {name: value for part in parts if isinstance(part, Mapping) for name, value in part.items()}
    if temperature is None and not _written_by_accelerator(settings):
        for name, greedy in (('do_sample', False), ('top_k', 1)):
            if name in settings and settings[name] == greedy:
                return 0.0, f'{name}={greedy}, which is temperature 0'
        temperature = settings.get('temperature')
    return (None, '') if temperature is None else (float(temperature), f'temperature {float(temperature):g}')


def contradiction(model: Any, temperature: float) -> str:
    """Returns the fault if a dataset's temperature contradicts the model's config; '' if it does not.

    Args:
        model: A model, or an object with the settings of its config as attributes.
        temperature: Temperature of the dataset.
    """
    in_config, words = config_sampling(model)
    unsent = getattr(model, 'no_temperature', '')
    if unsent and temperature not in (0, 1):  # 1 is the servers' default
        return f"the data set's temperature {temperature:g} is not sent, {unsent}: leave it out, or take 1"
    if in_config is None or math.isclose(in_config, temperature, abs_tol=GREEDY):
        return ''
    return f"the model's config sets {words}, the data set {temperature:g}: remove one of them"


def sampling_options(model: Any, temperature: float | None) -> dict[str, Any]:
    """Returns additional arguments of a model's ``generate`` that make it sample at ``temperature``.

    Args:
        model: Any OpenCompass model.
        temperature: 0 is greedy; None keeps the model's temperature.

    Raises:
        ValueError: The model's config sets another temperature, or its class has no temperature.
    """
    if temperature is None:
        return {}
    if fault := contradiction(model, temperature):
        raise ValueError(fault)
    accepted = inspect.signature(model.generate).parameters
    if 'min_out_len' in accepted and 'temperature' not in accepted:  # HF: temperature 0 is an error there
        return {'do_sample': True, 'temperature': temperature} if temperature else {'do_sample': False}
    if 'temperature' in accepted:
        return {'temperature': temperature, **({'do_sample': temperature > 0} if 'do_sample' in accepted else {})}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values()):
        return {'temperature': temperature}  # vLLM
    if temperature:
        raise ValueError(
            f"{type(model).__name__} takes no temperature: set it in the model's config, as its class has it"
        )
    return {}
