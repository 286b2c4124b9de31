"""The inference task, which continues after a dataset fails; ``task_process`` runs it in OpenCompass's workers."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mmengine.config import ConfigDict
from opencompass.models import VLLMwithChatTemplate
from opencompass.models.openai_api import OAI_REASONING_MODEL_LIST, OpenAI
from opencompass.registry import TASKS
from opencompass.tasks import OpenICLInferTask, openicl_infer
from opencompass.utils import (
    dataset_abbr_from_cfg,
    get_infer_output_path,
    get_logger,
    model_abbr_from_cfg,
)

from opencompass_tooleval.core.scoring.prices import budget_of
from opencompass_tooleval.core.scoring.sampling_settings import PUBLISHED, StoredAnswers, answer_limit
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.models.api.engine_nodes import nodes_of
from opencompass_tooleval.models.model_config import build_model
from opencompass_tooleval.models.preflight import faults_of_pair
from opencompass_tooleval.models.sampling import sampling_view
from opencompass_tooleval.models.served_model import ToolEvalServed
from opencompass_tooleval.models.shared_servers import is_served
from opencompass_tooleval.tasks.task import CommandOfTask, Failures
from opencompass_tooleval.work_dir.budget_file import Ledger, LockedTask
from opencompass_tooleval.work_dir.causes import ALSO
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.names import lock_path, replica_of
from opencompass_tooleval.work_dir.replicas import Claims, remove_claims
from opencompass_tooleval.work_dir.run_context import in_context


def _sampling(model: Any, temperature: float | None) -> dict[str, Any]:
    """Returns the sampling settings of a model's config and of the dataset's temperature."""
    model = sampling_view(model, temperature)
    parts: list[Any] = [
        {'temperature': getattr(model, 'temperature', None)},
        getattr(model, 'generation_kwargs', None),
        getattr(model, 'gen_config', None),  # LMDeploy's
        {} if temperature is None else {'temperature': temperature, 'do_sample': temperature > 0},
        getattr(model, 'openai_extra_kwargs', None),
    ]
    given = {name: value for part in parts if isinstance(part, Mapping) for name, value in part.items()}
    return {name: value for name, value in given.items() if value is not None}


def why_same_answers(model: Any, temperature: float | None = None) -> str:
    """Returns why all trials of a record would get the same answer; '' if they would not, or it is unknown.

    Args:
        model: Any OpenCompass model, built from its config.
        temperature: Temperature in the dataset's config; None if it sets none.
    """
    given = _sampling(model, temperature)
    for name in ('seed', 'random_seed'):
        if name in given:
            return f'it samples with {name}={given[name]} each time'
    if given.get('top_k') == 1:
        return 'it decodes greedily, by top_k=1'
    accepted = inspect.signature(model.generate).parameters
    if 'do_sample' in accepted or ('min_out_len' in accepted and 'temperature' not in accepted):  # LMDeploy, HF
        return '' if given.get('do_sample') else 'it decodes greedily, since do_sample is not set'
    by_name = any(name in model.path for name in OAI_REASONING_MODEL_LIST)  # as OpenCompass's class decides it
    if isinstance(model, OpenAI) and getattr(model, 'no_temperature', by_name):
        return ''  # no temperature is sent
    if isinstance(model, VLLMwithChatTemplate):
        given.setdefault('temperature', 0)
    elif 'temperature' in accepted:
        given.setdefault('temperature', accepted['temperature'].default)
    return 'it samples at temperature 0' if given.get('temperature') == 0 else ''


_SECONDS_PER_LOOK = 1.0


def warn_of_same_answers(model: Any, dataset_cfg: Mapping[str, Any]) -> None:
    """Logs a warning before inference if the trials of a record would be the same.

    Args:
        model: The model under test.
        dataset_cfg: Config of the dataset; its ``n`` is the number of trials.
    """
    trials, inferencer = dataset_cfg.get('n') or 1, dataset_cfg['infer_cfg']['inferencer']
    why = why_same_answers(model, inferencer.get('temperature')) if trials > 1 else ''
    if why:
        get_logger().warning(
            f'{dataset_abbr_from_cfg(dataset_cfg)}: n={trials} asks for every record {trials} times, and the answers '
            f"may all be the same: {why}. Set a temperature above 0 in the model's config, or leave out n"
        )


class LeftOutError(ValueError):
    """Raised for a dataset that a task leaves out, since its data are missing or its scoring will fail."""


def _leave_out(faults: Sequence[Finding]) -> None:
    raise LeftOutError(ALSO.join(one.told for one in faults))


@TASKS.register_module()
class ToolEvalInferTask(CommandOfTask, OpenICLInferTask):
    """OpenCompass's :class:`OpenICLInferTask`, but it continues after a dataset fails, and then fails at the end.

    So a dataset with too many infrastructure failures does not end the other datasets of the task. A dataset without
    its data, or whose scoring will fail, is left out; the error has all of its faults. A dataset on which
    another process works is refused.
    """

    stage = 'infer'
    script = openicl_infer.__file__
    num_gpus: int

    def __init__(self, cfg: Any) -> None:
        super().__init__(cfg)
        self.replica = replica_of(self.cfg)

    @property
    def num_nodes(self) -> int:
        """Number of nodes of the task: the maximum of its models' engines."""
        return max(map(nodes_of, self.model_cfgs))

    @property
    def name(self) -> str:
        """Name of the task, with the replica's number."""
        name = super().name
        return f'{name[:-1]}, {self.replica.number + 1} of {self.replica.of}]' if self.replica else name

    def get_log_path(self, file_extension: str = 'json') -> str:
        """Returns the path of the log; each replica has its own."""
        path: str = super().get_log_path(file_extension)
        if self.replica is None:
            return path
        return f'{path.removesuffix(f".{file_extension}")}_{self.replica.number}.{file_extension}'

    def get_command(self, cfg_path: str, template: str) -> str:
        """Returns the command that runs this task, without torchrun if the GPUs belong to an engine."""
        gpus = self.num_gpus
        if is_served(self.model_cfgs[0]):
            self.num_gpus = 0
        try:
            return super().get_command(cfg_path, template)
        finally:
            self.num_gpus = gpus

    def run(self, cur_model: Any = None, cur_model_abbr: str | None = None) -> None:
        """Runs the datasets one by one, and loads each model once.

        Raises:
            TaskFailedError: A dataset failed. (If a model cannot be loaded, the task ends at once with that error.)
        """
        try:
            with in_context(engine_log=self.engine_log()):
                self._run_all(cur_model, cur_model_abbr)
        finally:
            self._close_engine()

    def _close_engine(self) -> None:
        model = getattr(self, 'model', None)
        if isinstance(model, ToolEvalServed):
            model.close()  # not at the end of the process, since the next model needs the GPUs

    def _run_all(self, cur_model: Any, cur_model_abbr: str | None) -> None:
        failures = Failures()
        self.model, loaded = cur_model, cur_model_abbr
        tasks = zip(self.cfg['models'], self.cfg['datasets'], strict=True)
        pairs = [(model_cfg, dataset_cfg) for model_cfg, rows in tasks for dataset_cfg in rows]
        shared: list[tuple[Any, Any]] = []
        for model_cfg, dataset_cfg in pairs:
            if self.replica and self._file(model_cfg, dataset_cfg).exists():
                continue  # other replicas have finished it, so the model need not be loaded
            if faults := faults_of_pair(model_cfg, dataset_cfg, self.cfg.get('is_scored', True)):
                failures.attempt(partial(_leave_out, faults), dataset_cfg)
                continue
            abbr = model_abbr_from_cfg(model_cfg)
            if abbr != loaded:
                self._close_engine()
                self.model, loaded = build_model(model_cfg), abbr
            self.model_cfgs, self.dataset_cfgs = [model_cfg], [[dataset_cfg]]
            if failures.attempt(partial(super().run, self.model, loaded), dataset_cfg):
                shared += [(model_cfg, dataset_cfg)] if self.replica else []
        while shared := [pair for pair in shared if not self._file(*pair).exists()]:
            for pair in list(shared):
                if not failures.attempt(partial(self._take_over, *pair), pair[1]):
                    shared.remove(pair)
            time.sleep(_SECONDS_PER_LOOK)
        failures.check()

    def _take_over(self, model_cfg: Any, dataset_cfg: Any) -> None:
        """Continues a dataset of other replicas if one has ended early, or if the predictions must be written."""
        claims = self._claims(model_cfg, dataset_cfg)
        if claims and claims.has_work():
            self.model_cfgs, self.dataset_cfgs = [model_cfg], [[dataset_cfg]]
            super().run(self.model, model_abbr_from_cfg(model_cfg))

    def _claims(self, model_cfg: Any, dataset_cfg: Any) -> Claims | None:
        return Claims(self._file(model_cfg, dataset_cfg), self.replica) if self.replica else None

    def _file(self, model_cfg: Any, dataset_cfg: Any) -> Path:
        return Path(get_infer_output_path(model_cfg, dataset_cfg, str(Path(self.work_dir, 'predictions'))))

    def _set_answer_limit(self) -> None:
        """Passes the token limit that applies to an inferencer of this package."""
        inferencer = self.dataset_cfg['infer_cfg']['inferencer']
        if PUBLISHED in inferencer:
            # In a copy, since other models of the task may use the same dataset.
            decided = answer_limit(self.model_cfg, inferencer)
            self.infer_cfg = ConfigDict(
                self.dataset_cfg['infer_cfg'], inferencer=ConfigDict(inferencer, decided_limit=decided)
            )

    def _inference(self) -> None:
        """Sends a dataset's prompts to the model, while holding a lock so that no other process sends them too."""
        if 'record_id' in self.dataset.test.column_names:
            warn_of_same_answers(self.model, self.dataset_cfg)
        self._set_answer_limit()
        file, claims = self._file(self.model_cfg, self.dataset_cfg), self._claims(self.model_cfg, self.dataset_cfg)
        stored = StoredAnswers.of(self.model_cfg, self.dataset_cfg['infer_cfg']['inferencer'])
        if int(os.environ.get('RANK', 0)):
            with in_context(stored=stored):
                super()._inference()  # the first of the processes that torchrun starts for a model holds the lock
            return
        locked_task = LockedTask(Path(self.work_dir), claims.lock if claims else lock_path(file))
        budget = budget_of(self.model_cfg)
        ledger = Ledger(locked_task, model_abbr_from_cfg(self.model_cfg), budget) if budget else None
        with (
            exclusive(locked_task.lock, len(self.dataset.test)) as reporter,
            in_context(
                report=reporter.has_answered,
                report_wait=reporter.waits_for,
                locked_task=locked_task,
                ledger=ledger,
                claims=claims,
                stored=stored,
            ),
        ):
            if not claims:
                remove_claims(file)
            try:
                super()._inference()
            finally:
                if claims:
                    claims.leave()
