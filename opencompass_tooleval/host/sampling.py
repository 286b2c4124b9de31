"""A temperature that a data set asks for, in the words of each model wrapper of OpenCompass."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any


def _own_temperature(model: Any) -> float | None:
    """The temperature that the model's config sets: API models have it themselves, local ones in generation_kwargs."""
    temperature = getattr(model, 'temperature', None)
    if temperature is None:
        settings = getattr(model, 'generation_kwargs', None)
        temperature = settings.get('temperature') if isinstance(settings, Mapping) else None
    return None if temperature is None else float(temperature)


def sampling_options(model: Any, temperature: float | None) -> dict[str, Any]:
    """More arguments for a model's ``generate``, so that it samples at ``temperature``.

    Args:
        model: Any model of OpenCompass.
        temperature: 0 is greedy; None leaves it to the model.

    Raises:
        ValueError: The model's config sets another temperature, or its class takes none.
    """
    if temperature is None:
        return {}
    own = _own_temperature(model)
    if own is not None and own != temperature:
        raise ValueError(
            f"the model's config sets temperature {own:g}, the data set {temperature:g}: take one of them out"
        )
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
