"""Partitions a config into jobs: checks its selection first, and may split data sets over several jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from opencompass.partitioners import NaivePartitioner, NumWorkerPartitioner
from opencompass.registry import PARTITIONERS
from opencompass.utils import build_dataset_from_cfg, dataset_abbr_from_cfg, get_infer_output_path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.subset_names import nearest_first
from opencompass_tooleval.inferencers.inferencer import MAX_INFRA_SHARE
from opencompass_tooleval.models.literal_keys import warn_of_literal_keys
from opencompass_tooleval.work_dir.shards import FIX, check_runs, numbered_shards, read_predictions, set_aside_cut

SELECTION = 'dataset_abbrs'
"""Variable of a config with abbrs of the selected data sets; patterns (``*``) too. Each must match."""


def check_selection(cfg: Mapping[str, Any]) -> None:
    """Checks that a config selects models and data sets, and that all selected data sets exist.

    Raises:
        DataError: It does not, or one is missing; the message has the nearest names.
    """
    where = getattr(cfg, 'filename', None) or 'the config'
    for what in ('models', 'datasets'):
        if not cfg.get(what):
            names = list(_names(cfg)) if what == 'datasets' else []
            there = f' Data sets that it reads: {nearest_first("", names)}' if names else ''
            raise DataError(where, f'{what!r} is empty: a filter may match nothing.{there}')
    selected = [dataset_abbr_from_cfg(dataset) for dataset in cfg['datasets']]
    for wanted in cfg.get(SELECTION) or ():
        if not any(fnmatchcase(abbr, wanted) for abbr in selected):
            there = nearest_first(wanted, [*_names(cfg), *selected], most=5)
            raise DataError(where, f'{SELECTION} names {wanted!r}, which no data set is called; there are {there}')


def _names(cfg: Mapping[str, Any]) -> Iterator[str]:
    """Yields abbrs of all data sets in a config's variables, also of those that a filter excludes."""
    for value in cfg.values():
        for row in value if isinstance(value, (list, tuple)) else ():
            if isinstance(row, Mapping) and 'reader_cfg' in row and 'abbr' in row:
                yield str(row['abbr'])


@PARTITIONERS.register_module()
class ToolEvalPartitioner(NaivePartitioner):
    """OpenCompass's :class:`NaivePartitioner`, which also rejects an empty selection or a missing data set."""

    def __call__(self, cfg: Any) -> Any:
        """Partitions a config.

        Raises:
            DataError: There is no model or no data set, or ``dataset_abbrs`` names a missing one.
        """
        check_selection(cfg)
        return super().__call__(cfg)

    def partition(self, model_dataset_combinations: Any, work_dir: str, out_dir: str, add_cfg: Any = None) -> Any:
        """Partitions pairs of models and data sets; an output that a power cut left empty or cut counts as missing."""
        _set_aside_cut(model_dataset_combinations, out_dir)
        return super().partition(model_dataset_combinations, work_dir, out_dir, add_cfg or {})


def _set_aside_cut(combinations: Any, out_dir: str) -> None:
    for combination in combinations:
        for model in combination['models']:
            for dataset in combination['datasets']:
                set_aside_cut(Path(get_infer_output_path(model, dataset, out_dir)))


@PARTITIONERS.register_module()
class ToolEvalNumWorkerPartitioner(NumWorkerPartitioner):
    """OpenCompass's :class:`NumWorkerPartitioner`, which counts the records of every data set again.

    OpenCompass stores sizes by ``abbr`` in a file of the working directory. With an outdated size it drops records, or
    requests some that do not exist.

    Args:
        out_dir: Argument of :class:`NumWorkerPartitioner`.
        kwargs: Further arguments, except ``dataset_size_path`` and ``force_rebuild``.
    """

    def __init__(self, out_dir: str, **kwargs: Any) -> None:
        super().__init__(out_dir, dataset_size_path='', force_rebuild=True, **kwargs)
        self._sizes: dict[str, int] = {}

    def __call__(self, cfg: Any) -> Any:
        """Partitions a config.

        Raises:
            DataError: There is no model or no data set, or ``dataset_abbrs`` names a missing one.
        """
        check_selection(cfg)
        return super().__call__(cfg)

    def get_size(self, dataset: Any) -> int:
        """Returns the number of records of a data set, after its ``test_range``."""
        key = repr((dataset.get('abbr'), dataset.reader_cfg.get('test_range')))
        if key not in self._sizes:
            self._sizes[key] = len(build_dataset_from_cfg(dataset).test)
        return self._sizes[key]

    def split_dataset(self, dataset_cfg: Any) -> list[Any]:
        """Splits a data set; a part may have as many samples without an answer as the whole."""
        parts: list[Any] = super().split_dataset(dataset_cfg)
        for part in parts if len(parts) > 1 else ():
            inferencer = part.get('infer_cfg', {}).get('inferencer', {})
            if 'opencompass_tooleval.' in str(inferencer.get('type')):
                share = inferencer.get('max_infra_share', MAX_INFRA_SHARE)
                inferencer['max_infra_share'] = min(1.0, share * len(parts))
        return parts

    def partition(self, model_dataset_combinations: Any, work_dir: str, out_dir: str, add_cfg: Any = None) -> Any:
        """Partitions pairs of models and data sets.

        Raises:
            DataError: A shard of an earlier run has another size: it was made with another ``num_worker``.
            ValueError: ``n`` and ``test_range`` of a data set conflict.
        """
        _set_aside_cut(model_dataset_combinations, out_dir)
        for combination in model_dataset_combinations:
            warn_of_literal_keys(combination['models'], combination['datasets'])
            for model in combination['models']:
                for dataset in combination['datasets']:
                    self._check_runs(dataset)
                    self._check_earlier(Path(get_infer_output_path(model, dataset, out_dir)), dataset)
        return super().partition(model_dataset_combinations, work_dir, out_dir, add_cfg or {})

    def _check_runs(self, dataset: Any) -> None:
        rows = build_dataset_from_cfg(dataset).test if dataset.get('n', 1) > 1 else None
        if rows is not None and 'record_id' in rows.column_names:
            check_runs(dataset, rows['record_id'])

    def _check_earlier(self, whole: Path, dataset: Any) -> None:
        if whole.exists() or not whole.parent.is_dir() or self.num_split <= 1:
            return
        earlier = numbered_shards(whole)
        sizes = [self.get_size(part) for part in self.split_dataset(dataset)] if earlier else []
        for number, file in earlier.items():
            expected = sizes[number] if number < len(sizes) else 0
            count = len(read_predictions(file))
            if count != expected:
                what = f'it holds {count} records, not {expected}: it was made with another num_worker'
                raise DataError(file, what, fix=f'give the same num_worker, or {FIX}')
