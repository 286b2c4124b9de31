"""Builds models from configs that contain settings of this package."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from opencompass.utils import build_model_from_cfg

from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.core.scoring.prices import BUDGET, budget_of, read_prices
from opencompass_tooleval.core.scoring.sampling_settings import STORED_ANSWERS
from opencompass_tooleval.models.budget import account_of_auxiliary
from opencompass_tooleval.models.request_queue import Arrivals, RequestQueue, open_queue

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


_DEFAULT_BATCH = 64
_DEFAULT_OUT_LEN = 4096


class AuxiliaryModel:
    """A model beside the one under test, such as a judge or a simulator, with the limits of its config.

    Args:
        cfg: Config of any OpenCompass model.

    Attributes:
        name: The model's abbr, or else its path.
        prices: Prices from the config.
        max_out_len: Maximum number of tokens per answer; by default 4,096.
        batch_size: Requests per batch, for a model that takes batches; by default 64.
        account: The budget that its requests count against; None without a budget.

    Raises:
        ValueError: The prices or the budget are invalid.
    """

    def __init__(self, cfg: Mapping[str, Any]) -> None:
        self.name = model_name(cfg)
        self.prices = read_prices(cfg.get(PRICES))
        self.max_out_len = int(cfg.get('max_out_len') or _DEFAULT_OUT_LEN)
        self.batch_size = int(cfg.get('batch_size') or _DEFAULT_BATCH)
        self.account = account_of_auxiliary(cfg)
        self._cfg = dict(cfg)

    @cached_property
    def model(self) -> Any:
        """The model object, built at the first use."""
        return build_model({key: value for key, value in self._cfg.items() if key not in {'max_out_len', 'batch_size'}})

    def open_queue(self, arrivals: Arrivals[Any] | None = None) -> RequestQueue[Any]:
        """Opens the model's queue with :func:`~opencompass_tooleval.models.request_queue.open_queue`."""
        return open_queue(self.model, self.max_out_len, self.batch_size, arrivals=arrivals, account=self.account)
