"""Checks that the models and datasets that a config selects exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from opencompass.utils import dataset_abbr_from_cfg

from opencompass_tooleval.catalogue.subset_names import nearest_first
from opencompass_tooleval.core.errors import DataError

SELECTION = 'dataset_abbrs'
"""Variable of a config with the abbrs of the selected datasets, or patterns (``*``). Each must match a dataset."""


def check_selection(cfg: Mapping[str, Any]) -> None:
    """Checks that a config selects models and datasets, and that all selected datasets exist.

    Raises:
        DataError: Nothing is selected, or a dataset is missing; the message lists the nearest names.
    """
    where = getattr(cfg, 'filename', None) or 'the config'
    for what in ('models', 'datasets'):
        if not cfg.get(what):
            names = list(_names(cfg)) if what == 'datasets' else []
            there = f' Data sets in the config: {nearest_first("", names)}' if names else ''
            raise DataError(where, f'{what!r} is empty: a filter may match nothing.{there}')
    selected = [dataset_abbr_from_cfg(dataset) for dataset in cfg['datasets']]
    for wanted in cfg.get(SELECTION) or ():
        if not any(fnmatchcase(abbr, wanted) for abbr in selected):
            there = nearest_first(wanted, [*_names(cfg), *selected], most=5)
            raise DataError(where, f'{SELECTION} names {wanted!r}, which matches no data set; there are {there}')


def _names(cfg: Mapping[str, Any]) -> Iterator[str]:
    """Yields the abbrs of all datasets in a config's variables, also of those that a filter excludes."""
    for value in cfg.values():
        for row in value if isinstance(value, (list, tuple)) else ():
            if isinstance(row, Mapping) and 'reader_cfg' in row and 'abbr' in row:
                yield str(row['abbr'])
