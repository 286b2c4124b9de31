"""Partitions a config into tasks, after checking it; several replicas of a task can share its data sets."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from difflib import get_close_matches
from itertools import filterfalse, islice, product
from pathlib import Path
from typing import Any

from opencompass.partitioners import NaivePartitioner
from opencompass.registry import PARTITIONERS
from opencompass.utils import dataset_abbr_from_cfg, get_infer_output_path, get_logger, model_abbr_from_cfg

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.findings.of_results import left_out
from opencompass_tooleval.inferencers.resuming import RESULTS, finished_only, is_of_package
from opencompass_tooleval.models.accelerator import restore_settings, run_options
from opencompass_tooleval.models.preflight import Sweep, check_settings, pairs_of, sweep_findings, tell
from opencompass_tooleval.work_dir.causes import resuming
from opencompass_tooleval.work_dir.shards import numbered_shards

_MOST_REPLICAS = 1024


def check_config(cfg: Any) -> list[Finding]:
    """Checks a config's selection and its settings of models and data sets; restores settings that ``-a`` left out.

    Returns:
        Findings that are not faults.

    Raises:
        SystemExit: The config selects no model, no data set, or a missing one, a setting is unknown or has a wrong
            type, or two models or two data sets have the same name.
    """
    findings = check_settings(cfg)
    restore_settings(cfg)
    return findings


def check_run_exists(run: Path, dumped: str | None) -> None:
    """Ends this process, and removes what it has written, if ``opencompass -r NAME`` names a run that does not exist.

    OpenCompass makes the folder of such a run, and would ask everything.

    Args:
        run: The run.
        dumped: The config that OpenCompass has written into it.

    Raises:
        SystemExit: The run has nothing but this config.
    """
    options, files = run_options(), [run / 'configs', run / 'configs' / Path(dumped or '').name]
    if options is None or options.reuse in (None, 'latest') or [*islice(run.rglob('*'), 3)] != files:
        return
    files[1].unlink()
    files[0].rmdir()
    run.rmdir()
    near = get_close_matches(run.name, [one.parent.name for one in run.parent.glob('*/configs')], n=1, cutoff=0)
    fix = resuming(run.with_name(near[0])) if near else resuming(run).rpartition(' -r ')[0]
    raise SystemExit(f'tooleval: {run}: there is no such run to continue. Fix it with: {fix}')


@PARTITIONERS.register_module()
class ToolEvalPartitioner(NaivePartitioner):
    """OpenCompass's :class:`NaivePartitioner`, which also rejects an empty selection, a missing data set
    and invalid settings.

    Args:
        out_dir: Argument of :class:`NaivePartitioner`.
        replicas: Number of inference tasks per model that share its data sets. Each claims ranges of records as it
            becomes free, so that faster replicas do more. 1 to share nothing.
        kwargs: Further arguments of :class:`NaivePartitioner`.

    Raises:
        ValueError: ``replicas`` is out of range, or set for evaluation.
    """

    tells = True
    """False while ``tooleval plan`` uses it."""

    def __init__(self, out_dir: str, replicas: int = 1, **kwargs: Any) -> None:
        super().__init__(out_dir, **kwargs)
        if not 1 <= replicas <= _MOST_REPLICAS or (replicas > 1 and Path(out_dir).name == RESULTS):
            raise ValueError(f'replicas={replicas}: a number from 1 to {_MOST_REPLICAS}, and for inference only')
        self.replicas = replicas

    def __call__(self, cfg: Any) -> Any:
        """Partitions a config, and logs the findings of ``tooleval plan``, before the first request.

        Raises:
            SystemExit: The selection or a setting is invalid (:func:`check_config`), or ``-r`` names no run.
        """
        check_run_exists(Path(self.out_dir).parent, getattr(cfg, 'filename', None))
        findings = check_config(cfg)
        tasks = super().__call__(cfg)
        options, pairs = run_options(), list(pairs_of(tasks))
        mode, is_scoring = options.mode if options else 'all', Path(self.out_dir).name == RESULTS
        runner = ((cfg.get('infer') or {}).get('runner') or {}).get('type')
        sweep = Sweep(runner, () if is_scoring else pairs, pairs if is_scoring or mode == 'all' else ())
        for task in tasks if mode == 'infer' else ():
            task['is_scored'] = False  # then what scoring lacks leaves no data set out
        if self.tells:
            tell([*findings, *sweep_findings(sweep), *(() if is_scoring else left_out(Path(self.out_dir).parent, cfg))])
        return tasks

    def partition(self, model_dataset_combinations: Any, work_dir: str, out_dir: str, add_cfg: Any = None) -> Any:
        """Partitions pairs of models and data sets. Pairs whose config needs more than is stored count as unfinished.

        Raises:
            SystemExit: OpenCompass has split a data set that uses another package's inferencer.
        """
        for combination in model_dataset_combinations if Path(out_dir).name != RESULTS else ():
            _check_unsplit(combination['models'], combination['datasets'], out_dir)
        with finished_only(out_dir, model_dataset_combinations) as folder:
            tasks: list[Any] = super().partition(model_dataset_combinations, work_dir, folder, add_cfg or {})
        return tasks if self.replicas == 1 else list(self._replicated(tasks))

    def _replicated(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yields each task once per replica; only the first replica gets data sets with other packages' inferencers."""
        sweep = secrets.token_hex(8)
        for task in tasks:
            model = task['models'][0]
            if (processes := model.get('run_cfg', {}).get('num_procs') or 1) > 1:
                what = f'num_procs={processes} in its run_cfg, and a replica is one process'
                get_logger().warning(f'{model_abbr_from_cfg(model)}: its task has no replicas: {what}')
                yield task
                continue
            for number in range(self.replicas):
                copy = deepcopy(task)
                copy['replica'] = {'number': number, 'of': self.replicas, 'sweep': sweep}
                copy['datasets'] = [
                    [row for row in rows if not number or is_of_package(row)] for rows in task['datasets']
                ]
                if any(copy['datasets']):
                    yield copy


def _check_unsplit(models: Sequence[Any], datasets: Sequence[Any], out_dir: str) -> None:
    """Rejects shards of data sets with other packages' inferencers: their rows lack ids, so they cannot be joined."""
    names = set(map(dataset_abbr_from_cfg, datasets))
    for model, dataset in product(models, filterfalse(is_of_package, datasets)):
        whole = Path(get_infer_output_path(model, dataset, out_dir))
        if shards := [
            file for file in numbered_shards(whole).values() if file.stem not in names and not whole.exists()
        ]:
            what = "OpenCompass has split this data set of another package's inferencer, and continues it"
            fix = "infer['partitioner'] = dict(type='NumWorkerPartitioner', num_worker=N)"
            raise SystemExit(f'tooleval: {DataError(shards[0], what, fix=fix)}')


@PARTITIONERS.register_module()
class ToolEvalNumWorkerPartitioner(ToolEvalPartitioner):
    """:class:`ToolEvalPartitioner` with ``replicas=num_worker``, and all data sets of a model in one task.

    It accepts the arguments of OpenCompass's :class:`NumWorkerPartitioner`, but does not split data sets.

    Args:
        out_dir: Argument of :class:`NumWorkerPartitioner`.
        num_worker: Number of replicas of each model.
        num_split: Has no effect, since replicas claim ranges as they become free.
        min_task_size: Has no effect.
        strategy: Has no effect.
        keep_keys: Argument of :class:`NumWorkerPartitioner`.
    """

    def __init__(
        self,
        out_dir: str,
        num_worker: int = 8,
        num_split: int | None = None,
        min_task_size: int | None = None,
        strategy: str | None = None,
        keep_keys: list[str] | None = None,
    ) -> None:
        super().__init__(out_dir, replicas=num_worker, n=sys.maxsize, keep_keys=keep_keys)
        given = {'num_split': num_split, 'min_task_size': min_task_size, 'strategy': strategy}
        if unread := [name for name, value in given.items() if value is not None]:
            get_logger().warning(f'{", ".join(unread)} of the partitioner: no effect, as replicas share data sets')
