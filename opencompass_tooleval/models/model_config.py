"""Builds models from configs that contain settings of this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opencompass.utils import build_model_from_cfg

from opencompass_tooleval.core.scoring.prices import BUDGET, budget_of, read_prices
from opencompass_tooleval.core.scoring.sampling_settings import STORED_ANSWERS

PRICES = 'prices'
"""Key of the token prices."""
OF_PACKAGE = (PRICES, BUDGET, STORED_ANSWERS)
"""Settings that only this package reads; they are not arguments of the model's class."""


def build_model(cfg: Mapping[str, Any]) -> Any:
    """Builds any OpenCompass model from its config, leaving out the settings of this package.

    Raises:
        ValueError: The prices or the budget are invalid.
    """
    read_prices(cfg.get(PRICES))
    budget_of(cfg)
    return build_model_from_cfg({name: value for name, value in cfg.items() if name not in OF_PACKAGE})
