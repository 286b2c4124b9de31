"""Models from configs that say more than their classes take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opencompass.utils import build_model_from_cfg

from opencompass_tooleval.core.prices import read_prices

PRICES = 'prices'
"""What tokens cost is a setting of the model for us, and no argument of its class."""


def build_model(cfg: Mapping[str, Any]) -> Any:
    """Builds any model of OpenCompass from its config, less what is ours.

    Raises:
        ValueError: The prices are none.
    """
    read_prices(cfg.get(PRICES))
    return build_model_from_cfg({name: value for name, value in cfg.items() if name != PRICES})
