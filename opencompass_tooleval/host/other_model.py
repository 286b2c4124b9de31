"""A model beside the one under test, such as a judge or a simulator: built from its config once it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.host.model_config import build_model
from opencompass_tooleval.host.pipe import Arrivals, Pipe, open_pipe

_DEFAULT_BATCH = 64
_DEFAULT_OUT_LEN = 4096


class OtherModel:
    """A model with the limits that its own config gives it.

    Args:
        cfg: Any model of OpenCompass; ``max_out_len`` (4,096) and ``batch_size`` (64) as in a model config.

    Attributes:
        name: Its abbr, else its path.
    """

    def __init__(self, cfg: Mapping[str, Any]) -> None:
        self.name = model_name(cfg)
        self._cfg = dict(cfg)

    @cached_property
    def model(self) -> Any:
        """The model itself."""
        return build_model({key: value for key, value in self._cfg.items() if key not in {'max_out_len', 'batch_size'}})

    def open_pipe(self, arrivals: Arrivals[Any] | None = None) -> Pipe[Any]:
        """Its pipe, as :func:`~opencompass_tooleval.host.pipe.open_pipe` opens it."""
        max_out_len = self._cfg.get('max_out_len') or _DEFAULT_OUT_LEN
        return open_pipe(self.model, max_out_len, self._cfg.get('batch_size') or _DEFAULT_BATCH, arrivals=arrivals)
