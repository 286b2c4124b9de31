"""Partitions a config into jobs: checks its selection first, and may split data sets over several jobs."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from opencompass.partitioners import NaivePartitioner, NumWorkerPartitioner
from opencompass.registry import PARTITIONERS
from opencompass.utils import build_dataset_from_cfg, dataset_abbr_from_cfg, get_infer_output_path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.inferencers.inferencer import MAX_INFRA_SHARE
from opencompass_tooleval.inferencers.resuming import RESULTS, finished_only, is_of_package
from opencompass_tooleval.models.accelerator import restore_prices, run_options
from opencompass_tooleval.models.preflight import (
    Sweep,
    check_settings,
    pairs_of,
    sweep_findings,
    tell,
)
from opencompass_tooleval.models.selection import check_selection
from opencompass_tooleval.work_dir.replicas import claims_file
from opencompass_tooleval.work_dir.shards import FIX, is_damaged, numbered_shards, read_predictions

_MOST_REPLICAS = 1024


def check_config(cfg: Any) -> list[Finding]:
    """Checks the selection of a config, and the settings of its models and data sets; restores what ``-a`` left out.

    Returns:
        Its findings without faults.

    Raises:
        DataError: The config selects no model, no data set, or a missing one.
        SystemExit: A setting is read by no class, is of a wrong type, or two models or data sets have one name.
    """
    check_selection(cfg)
    findings = check_settings(cfg)
    restore_prices(cfg)
    return findings


class _Telling:
    """A partitioner that logs what ``tooleval plan`` finds, before the first request."""

    out_dir: str
    tells = True
    """False while ``tooleval plan`` uses it."""

    def __call__(self, cfg: Any) -> Any:
        """Partitions a config.

        Raises:
            DataError: There is no model or no data set, or ``dataset_abbrs`` names a missing one.
            SystemExit: A setting is invalid; see :func:`check_config`.
        """
        findings = check_config(cfg)
        tasks: list[Any] = super().__call__(cfg)  # type: ignore[misc]
        options, pairs = run_options(), list(pairs_of(tasks))
        mode, is_scoring = options.mode if options else 'all', Path(self.out_dir).name == RESULTS
        runner = ((cfg.get('infer') or {}).get('runner') or {}).get('type')
        sweep = Sweep(runner, () if is_scoring else pairs, pairs if is_scoring or mode == 'all' else ())
        if self.tells:
            tell([*findings, *sweep_findings(sweep)])
        return tasks


@PARTITIONERS.register_module()
class ToolEvalPartitioner(_Telling, NaivePartitioner):
    """OpenCompass's :class:`NaivePartitioner`, which also rejects an empty selection, a missing data set
    and invalid settings.

    Args:
        out_dir: Argument of :class:`NaivePartitioner`.
        replicas: Number of tasks per model that share its data sets, for inference: each claims ranges of records as it
            becomes free, so that a fast one does more. 1 for none that shares.
        kwargs: Further arguments of :class:`NaivePartitioner`.

    Raises:
        ValueError: ``replicas`` is out of range, or set for evaluation.
    """

    def __init__(self, out_dir: str, replicas: int = 1, **kwargs: Any) -> None:
        super().__init__(out_dir, **kwargs)
        if not 1 <= replicas <= _MOST_REPLICAS or (replicas > 1 and Path(out_dir).name == RESULTS):
            raise ValueError(f'replicas={replicas}: a number from 1 to {_MOST_REPLICAS}, and for inference only')
        self.replicas = replicas

    def partition(self, model_dataset_combinations: Any, work_dir: str, out_dir: str, add_cfg: Any = None) -> Any:
        """Partitions pairs of models and data sets; those whose config asks for more than is stored are unfinished."""
        with finished_only(out_dir, model_dataset_combinations) as folder:
            tasks: list[Any] = super().partition(model_dataset_combinations, work_dir, folder, add_cfg or {})
        return tasks if self.replicas == 1 else list(self._replicated(tasks))

    def _replicated(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yields each task once per replica. Data sets that another package asks are for the first one alone."""
        sweep = secrets.token_hex(8)
        for task in tasks:
            for number in range(self.replicas):
                copy = deepcopy(task)
                copy['replica'] = {'number': number, 'of': self.replicas, 'sweep': sweep}
                copy['datasets'] = [
                    [row for row in rows if not number or is_of_package(row)] for rows in task['datasets']
                ]
                if any(copy['datasets']):
                    yield copy


@PARTITIONERS.register_module()
class ToolEvalNumWorkerPartitioner(_Telling, NumWorkerPartitioner):
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
        self._unsplit: set[str] = set()

    def get_size(self, dataset: Any) -> int:
        """Returns the number of records of a data set, after its ``test_range``."""
        key = repr((dataset.get('abbr'), dataset.reader_cfg.get('test_range')))
        if key not in self._sizes:
            self._sizes[key] = len(build_dataset_from_cfg(dataset).test)
        return self._sizes[key]

    def split_dataset(self, dataset_cfg: Any) -> list[Any]:
        """Splits a data set, unless an earlier run has begun it as a whole.

        A part may have as many samples without an answer as the whole.
        """
        if dataset_abbr_from_cfg(dataset_cfg) in self._unsplit:
            return [dataset_cfg]
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
            DataError: A shard of an earlier run has another size: ``num_worker`` or the number of records was another.
        """
        for combination in model_dataset_combinations:
            for model in combination['models']:
                for dataset in combination['datasets']:
                    self._check_earlier(Path(get_infer_output_path(model, dataset, out_dir)), dataset)
        tasks: list[Any] = []
        for combination in model_dataset_combinations:
            for model in combination['models']:
                one = [{'models': [model], 'datasets': combination['datasets']}]
                with finished_only(out_dir, one) as folder:
                    self._unsplit = set(self._begun_whole(model, combination['datasets'], Path(out_dir), folder))
                    tasks += super().partition(one, work_dir, folder, add_cfg or {})
        return tasks

    @staticmethod
    def _begun_whole(model: Any, datasets: Any, out_dir: Path, finished: str) -> Iterator[str]:
        """Yields the data sets of which an earlier run has predictions that are not split, and not complete."""
        for dataset in datasets:
            whole = Path(get_infer_output_path(model, dataset, str(out_dir)))
            if whole.exists() and not Path(finished, whole.relative_to(out_dir)).exists():
                yield dataset_abbr_from_cfg(dataset)

    def _check_earlier(self, whole: Path, dataset: Any) -> None:
        if claims_file(whole).exists():
            what = 'replicas share this data set, and num_worker would split it'
            raise DataError(claims_file(whole), what, fix='give replicas again, or neither')
        if whole.exists() or not whole.parent.is_dir() or self.num_split <= 1:
            return
        earlier = numbered_shards(whole)
        sizes = [self.get_size(part) for part in self.split_dataset(dataset)] if earlier else []
        for number, file in earlier.items():
            if is_damaged(file):
                continue
            expected = sizes[number] if number < len(sizes) else 0
            count = len(read_predictions(file))
            if count != expected:
                what = f'it holds {count} records, not {expected}'
                why = 'it was made of another number of records, or with another num_worker'
                raise DataError(file, f'{what}: {why}', fix=f'give the same num_worker and test_range, or {FIX}')
