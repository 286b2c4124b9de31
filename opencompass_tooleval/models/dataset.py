"""The base class of this package's datasets, which checks the run before any request."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from datasets import Dataset
from opencompass.datasets.base import BaseDataset
from opencompass.openicl.icl_dataset_reader import load_partial_dataset
from opencompass.utils import model_abbr_from_cfg

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.statistics.sample import DRAW, LOOK, SEED, UNSEEN, Sample, unseen
from opencompass_tooleval.models.accelerator import run_options
from opencompass_tooleval.models.gpus import lacking_gpus
from opencompass_tooleval.models.preflight import check_settings, tell
from opencompass_tooleval.models.settings import is_class_of_package
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.names import split_range

_WORK_DIR = 'outputs/default'
"""OpenCompass's default."""

SHOWN = 'shown'
"""Column with the part of the provenance that only the dataset knows, as JSON, such as the tools shown."""
QUERY, SPREAD = 'query', 'spread'
"""Columns for drawing a sample: the query, if several records share one, and a value, such as the domain, of which the
sample keeps the proportions."""


def _dumped_config(work_dir: str) -> Mapping[str, Any]:
    """Returns the config that OpenCompass just wrote for this process's run; empty in another program."""
    files = Path(work_dir).glob(f'*/configs/*_{os.getpid()}.py')
    latest = max(files, key=lambda file: file.stat().st_mtime, default=None)
    try:
        return read_dumped(latest) if latest else {}
    except DataError:
        return {}


def _needed_gpus(config: Mapping[str, Any]) -> Mapping[str, int]:
    """Returns the GPUs of each model; empty for a config with a runner, which checks them itself."""
    try:
        models = [] if 'infer' in config else config.get('models', [])
        return {model_abbr_from_cfg(model): int(model.get('run_cfg', {}).get('num_gpus', 0)) for model in models}
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}


@cache
def _check_run() -> None:
    """Ends the run of this process if its settings are invalid, or if it needs more GPUs than there are."""
    options = run_options()
    if options is None or options.mode not in ('all', 'infer'):
        return
    config = _dumped_config(options.work_dir or _WORK_DIR)
    models, datasets = (config.get(name) for name in ('models', 'datasets'))
    if isinstance(models, list) and isinstance(datasets, list):
        # A partitioner of this package has already shown them.
        tell(
            one
            for one in check_settings(config)
            if not is_class_of_package((config.get('infer') or {}).get('partitioner') or {}, 'partitioner')
        )
    if options.slurm or options.dlc or options.dry_run:
        return
    if lacking := lacking_gpus(_needed_gpus(config)):
        raise SystemExit(f'tooleval: {lacking}')


class ToolEvalDataset(BaseDataset):
    """Base class of this package's datasets. Ends a run that cannot succeed although OpenCompass would start it.

    In ``opencompass --hf-path MODEL --datasets ...`` no other code of this package runs before the first task.

    Args:
        reader_cfg: OpenCompass's setting. ``test_range`` selects records, and each of them is repeated ``n`` times
            (OpenCompass's own datasets apply it after repeating).
        n: Number of trials.
        sample: Uses only a random part of the records, drawn by their queries: ``dict(n=100, seed=0)``, arguments of
            :class:`~opencompass_tooleval.core.statistics.sample.Sample`. None uses all.
        options: Other arguments of OpenCompass's class.

    Raises:
        SystemExit: The settings of the run are invalid, or it needs more GPUs than this machine has.
        ValueError: ``sample`` is invalid, or is combined with ``test_range``.
    """

    dataset: Dataset
    benchmark_of_records = ''
    """Benchmark whose raw records a subclass reads, if its ``load`` accepts a ``change`` of them."""

    def __init__(
        self,
        reader_cfg: Mapping[str, Any] | None = None,
        n: int = 1,
        sample: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        _check_run()
        self._trials, self._name = n, str(options.get('abbr'))
        self._sample = None if sample is None else Sample.of(sample)
        super().__init__(reader_cfg=dict(reader_cfg or {}), n=n, **options)

    @staticmethod
    def check_settings(settings: Mapping[str, Any]) -> Iterator[str]:
        """Yields the faults of a config's ``sample``."""
        if (sample := settings.get('sample')) is None:
            return
        try:
            Sample.of(sample)
        except ValueError as error:
            yield str(error)
        reader = settings.get('reader_cfg') or {}
        if split_range(str(settings.get('abbr')), reader.get('test_range'))[0]:
            yield 'sample and test_range of reader_cfg both select records: leave one of them out'

    def _init_reader(self, **settings: Any) -> None:
        records, part = split_range(self._name, settings.get('test_range'))
        count = len(self.dataset) // self._trials
        numbers = None
        if self._sample:
            if records:
                raise ValueError('sample and test_range both select records: leave one of them out')
            numbers = self._drawn(self._sample, self.dataset.select(range(count)))
        elif records and self._trials > 1:
            numbers = load_partial_dataset(Dataset.from_dict({'number': range(count)}), records)['number']
            settings['test_range'] = part
        if numbers is not None:
            self.dataset = self.dataset.select([count * trial + i for trial in range(self._trials) for i in numbers])
        super()._init_reader(**settings)

    def _drawn(self, sample: Sample, rows: Dataset) -> list[int]:
        """Draws the sample, and adds its settings to the provenance. Returns the indices of the drawn records."""
        names, spread = rows.column_names, rows[SPREAD] if SPREAD in rows.column_names else ()
        numbers, more = self._draw(sample, rows)
        shown = {**(json.loads(rows[0][SHOWN]) if SHOWN in names else {}), **more}
        shown |= {SEED: sample.seed, DRAW: 'queries' + (', spread' if len(set(spread)) > 1 else '')}
        shown |= {LOOK: sample.look} if sample.look else {}
        shown |= {UNSEEN: count} if (count := unseen(rows[QUERY if QUERY in names else 'record_id'], numbers)) else {}
        bare = self.dataset.remove_columns([name for name in (SHOWN, QUERY, SPREAD) if name in names])
        self.dataset = bare.add_column(SHOWN, [json.dumps(shown)] * len(bare))
        return numbers

    def _draw(self, sample: Sample, rows: Dataset) -> tuple[list[int], dict[str, Any]]:
        """Draws the sample; returns the places of its records, and what else the provenance says."""
        names = rows.column_names
        spread = rows[SPREAD] if SPREAD in names else ()
        return sample.draw(rows[QUERY if QUERY in names else 'record_id'], spread), {}
