"""Findings about a config before a sweep; ``tooleval plan``, ``tooleval run``, partitioners and runners show them."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled
from opencompass.registry import ICL_EVALUATORS, MODELS, RUNNERS
from opencompass.utils import build_dataset_from_cfg, dataset_abbr_from_cfg, get_logger, model_abbr_from_cfg

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.sampling_settings import PUBLISHED, answer_limit
from opencompass_tooleval.data_path import MISSING, dialogues_of, missing_files, needed_encoders
from opencompass_tooleval.embedding.locate import EncoderMissingError, locate_encoder
from opencompass_tooleval.findings.finding import BEFORE_FIX, Finding, found, merged
from opencompass_tooleval.findings.of_results import few
from opencompass_tooleval.models.accelerator import run_options
from opencompass_tooleval.models.api.engine_nodes import lacking_nodes, nodes_of
from opencompass_tooleval.models.budget import sends_nothing
from opencompass_tooleval.models.gpus import lacking_gpus
from opencompass_tooleval.models.literal_keys import other_models
from opencompass_tooleval.models.request_settings import key_variable, wire_of
from opencompass_tooleval.models.settings import budget_fault, class_of, is_class_of_package, name_of_model
from opencompass_tooleval.plugin import CONFIG_CHECKS, SWEEP_CHECKS, load

_GIVES_NODES = 'SlurmArrayRunner'
"""The runner whose tasks get the nodes that their engines take."""

_told: set[Finding] = set()
_lock = threading.Lock()

Config = Mapping[str, Any]
Pair = tuple[Config, Config]
"""Configs of a model and of a data set."""


@dataclass(frozen=True)
class Sweep:
    """The work that a sweep has left.

    Attributes:
        runner: ``type`` of the runner of the inference stage; the GPUs of a cluster are not those of this machine.
        asked: Models and data sets that still need answers.
        scored: Models and data sets that still need scores.
    """

    runner: Any
    asked: Sequence[Pair]
    scored: Sequence[Pair]


def config_findings(config: Config) -> list[Finding]:
    """Returns the findings that a config alone shows (``CONFIG_CHECKS`` of ``plugin.py``).

    Args:
        config: The config; without ``infer`` and ``eval``, models and data sets are checked.
    """
    return [one for check in CONFIG_CHECKS for one in load(check)(config)]


def sweep_findings(sweep: Sweep) -> list[Finding]:
    """Returns the findings that the work shows that is left (``SWEEP_CHECKS`` of ``plugin.py``)."""
    return [one for check in SWEEP_CHECKS for one in load(check)(sweep)]


def check_settings(config: Config) -> list[Finding]:
    """Ends a run whose config has faults, before its first task; returns its other findings.

    Raises:
        SystemExit: It has some; the message has a line for each.
    """
    findings = config_findings(config)
    if faults := merged((one for one in findings if one.is_fault), most=1):
        raise SystemExit('\n'.join(f'tooleval: {one}' for one in faults))
    return findings


def tell(findings: Iterable[Finding]) -> None:
    """Writes findings to OpenCompass's log, before the first request; each once in a process."""
    with _lock:
        new = [one for one in findings if one not in _told]
        _told.update(new)
    for one in merged(new, most=1):
        get_logger().warning(one.line if one.is_fault else str(one))


def of_tasks(tasks: Iterable[Config]) -> dict[str, list[Any]]:
    """Returns the models and the data sets of all tasks, each once.

    Of two models with one name both are returned, since they differ; two tasks of one pair are not found.
    """
    config: dict[str, list[Any]] = {'models': [], 'datasets': []}
    for task in tasks:
        config['models'] += (model for model in task['models'] if model not in config['models'])
        config['datasets'] += (row for rows in task['datasets'] for row in rows if row not in config['datasets'])
    return config


def pairs_of(tasks: Iterable[Config]) -> Iterator[Pair]:
    """Yields each model of some tasks with each of its data sets."""
    for task in tasks:
        for model, datasets in zip(task['models'], task['datasets'], strict=True):
            yield from ((model, dataset) for dataset in datasets)


def unused_limits(config: Config) -> Iterator[Finding]:
    """Yields a note per model whose token limit is below that of a benchmark, which is used instead."""
    asked: dict[str, Any] = {
        dataset_abbr_from_cfg(row): inferencer
        for row in config.get('datasets') or ()
        if PUBLISHED in (inferencer := (row.get('infer_cfg') or {}).get('inferencer') or {})
    }
    for model in config.get('models') or () if asked else ():
        limits = {name: answer_limit(model, inferencer) for name, inferencer in asked.items()}
        unused = {name: limit.unused for name, limit in limits.items() if limit and limit.unused}
        if unused:
            limit = f'max_out_len={next(iter(unused.values()))} of its config'
            text = f"{limit} is below the benchmark's limit, which is used instead: {few(unused)}"
            yield found('config:unused_limit', name_of_model(model), text)


def replayed_judges(config: Config) -> Iterator[Finding]:
    """Yields a warning if judgements for a model under test are read from a file."""
    if all(map(sends_nothing, config.get('models') or ())):
        return
    evaluators = {
        dataset_abbr_from_cfg(row): (row.get('eval_cfg') or {}).get('evaluator') or {} for row in config['datasets']
    }
    judges = {name: evaluator.get('judge_cfg') for name, evaluator in evaluators.items()}
    if graded := sorted(name for name, judge in judges.items() if isinstance(judge, Mapping) and sends_nothing(judge)):
        text = (
            'judgements are replayed from a file, which may be about other answers; judged scores of '
            f'{", ".join(graded)} count only if it is about these'
        )
        yield found('config:replayed', '', text)


def missing_key(cfg: Config) -> str:
    """Returns the fault and fix of an API model without a key; '' if it has one, or is not known to need one."""
    from opencompass.models import OpenAI, OpenAISDK

    from opencompass_tooleval.models.served_model import ToolEvalServed

    kind = cfg.get('type')
    kind = kind if isinstance(kind, type) else MODELS.get(str(kind))
    if not isinstance(kind, type) or not issubclass(kind, (OpenAI, OpenAISDK)) or issubclass(kind, ToolEvalServed):
        return ''  # this package sets the key of an engine that it starts
    key, variable = cfg.get('key', 'ENV'), key_variable(wire_of(cfg))
    if 'ENV' not in (key if isinstance(key, (list, tuple)) else [key]) or os.environ.get(variable):
        return ''
    return f'its key is read from ${variable}, which is not set. Fix it with: export {variable}=...'


def _models(sweep: Sweep) -> dict[str, Config]:
    return {model_abbr_from_cfg(model): model for model, _ in sweep.asked}


def _runs_here(sweep: Sweep) -> bool:
    from opencompass.runners import LocalRunner

    kind = sweep.runner if isinstance(sweep.runner, type) else RUNNERS.get(str(sweep.runner))
    return isinstance(kind, type) and issubclass(kind, LocalRunner)


def lacking_machines(sweep: Sweep) -> Iterator[Finding]:
    """Yields the faults of models that need more GPUs or nodes than their tasks get."""
    models, runner = _models(sweep), sweep.runner
    if _runs_here(sweep):
        needed = {name: int(model.get('run_cfg', {}).get('num_gpus', 0)) for name, model in models.items()}
        if lacking := lacking_gpus(needed):
            yield found('config:gpus', '', lacking)
    if str(getattr(runner, '__name__', runner)).rpartition('.')[2] != _GIVES_NODES:
        for name, model in models.items():
            if lacking := lacking_nodes(nodes_of(model)):
                yield found('config:nodes', name, lacking)


def ignored_workers(config: Config) -> Iterator[Finding]:
    """Yields a fault if OpenCompass ignores ``--max-num-workers``, since the config has ``infer``."""
    options = run_options()
    if options and options.max_num_workers != 1 and config.get('infer'):
        text = 'opencompass ignores --max-num-workers beside a config with infer'
        yield found('config:workers', '', f"{text}: set infer['runner']['max_num_workers'] in the config instead")


def lacking_keys(sweep: Sweep) -> Iterator[Finding]:
    """Yields the faults of models, judges and simulators without a key, or whose engines get too few nodes."""
    others = {
        f'{role} {cfg.get("abbr", cfg.get("path", ""))}': cfg
        for role, cfg in other_models([dataset for _, dataset in sweep.asked])
        if isinstance(cfg, Mapping)
    }
    for name, cfg in {**_models(sweep), **others}.items():
        if why := missing_key(cfg):
            yield found('config:key', name, why)
        if name in others and nodes_of(cfg) > 1 and not cfg.get('shared'):
            why = 'the task of its engine gets one node: leave out nodes, or share the engine (shared=True)'
            yield found('config:nodes', name, why)


def missing_models(sweep: Sweep) -> Iterator[Finding]:
    """Yields the faults of Hugging Face models that run here, and whose files are not here and cannot be fetched."""
    from huggingface_hub import model_info, try_to_load_from_cache
    from opencompass.models import HuggingFacewithChatTemplate, VLLMwithChatTemplate

    for name, model in _models(sweep).items() if _runs_here(sweep) else ():
        kind, path = model.get('type'), str(model.get('path', ''))
        kind = kind if isinstance(kind, type) else MODELS.get(str(kind))
        if not isinstance(kind, type) or not issubclass(kind, (HuggingFacewithChatTemplate, VLLMwithChatTemplate)):
            continue
        try:
            if not (Path(path).is_dir() or isinstance(try_to_load_from_cache(path, 'config.json'), str)):
                model_info(path, timeout=10)
        except Exception as error:  # the hub raises many errors, all with the same fix
            text = (
                f'path {path!r} is no folder, not on this machine, and cannot be fetched from Hugging Face '
                f'({type(error).__name__}): correct `path`, or hf download {shlex.quote(path)}'
            )
            yield found('config:model', name, text)


def scoring_faults(sweep: Sweep) -> Iterator[Finding]:
    """Yields the requirements of scoring that are missing, such as a judge or an encoder."""
    for model_cfg, dataset_cfg in sweep.scored:
        evaluator = dataset_cfg.get('eval_cfg', {}).get('evaluator') or {}
        if 'opencompass_tooleval.' not in str(evaluator.get('type')):
            continue  # evaluators of other packages may load a model when they are built
        try:
            built = ICL_EVALUATORS.build(evaluator)
            built.check_model(model_abbr_from_cfg(model_cfg))
            if built.judge_name() and (fault := budget_fault(model_cfg, built.judge_cfg)):
                raise ValueError(fault)
        except Exception as error:  # scoring will report the same error
            yield _fault_of('config:scoring', dataset_cfg, error)


def needs_judge(dataset_cfg: Config) -> bool:
    """Tests if the evaluator of a data set asks a judge, as soon as it has one."""
    evaluator = {**dataset_cfg['eval_cfg']['evaluator'], 'judge_cfg': {'type': '', 'abbr': 'judge'}}
    try:
        return bool(ICL_EVALUATORS.build(evaluator).judge_name())
    except Exception:  # it takes none, or lacks something else
        return False


@contextmanager
def no_bars() -> Iterator[None]:
    """Keeps ``datasets`` from drawing a ``Map:`` bar per data set."""
    shown = is_progress_bar_enabled()
    disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            enable_progress_bar()


def loaded(dataset: Config) -> tuple[Any, list[Finding]]:
    """Loads a data set; returns its rows, and the faults if it cannot be loaded."""
    missing: list[Exception] = []
    token = MISSING.set(missing)
    try:
        with no_bars():
            return build_dataset_from_cfg(dataset).test, []
    except Exception as error:  # data sets are classes of any package
        return None, [_fault_of('config:data', dataset, one) for one in missing or [error]]
    finally:
        MISSING.reset(token)


def _fault_of(kind: str, dataset: Config, error: Exception) -> Finding:
    """Returns the fault of a data set whose class or evaluator raised an error. A missing encoder is missing data."""
    kind = 'config:data' if isinstance(error, EncoderMissingError) else kind
    before = '' if isinstance(error, (DataError, EncoderMissingError)) else 'cannot be loaded: '
    text, _, fix = ' '.join(str(error).split()).partition(BEFORE_FIX)
    before = before if kind == 'config:data' else 'scoring will fail: '
    return found(kind, dataset_abbr_from_cfg(dataset), f'{before}{text}', fix)


def missing_data(sweep: Sweep) -> Iterator[Finding]:
    """Yields a fault for each data set of this package whose files are not on this machine, as its class names them.

    Also one for the encoder of dialogues, which is loaded with the first task; other encoders are found on loading.
    """
    for name, row in {dataset_abbr_from_cfg(row): row for _, row in sweep.asked}.items():
        dialogues = dialogues_of(row)
        lacking = missing_files([row]) if is_class_of_package(row, 'data set') else []
        of_dialogues = [path for path in lacking if path in dialogues.values()]
        yield from loaded(row)[1] if len(of_dialogues) < len(lacking) else ()
        for path in of_dialogues:
            kind = class_of({'type': row.get('original', row['type'])}, 'data set')
            yield found('config:data', name, f'{path}: not found', f'tooleval prepare {kind.benchmark_of_records}')
        try:
            for encoder in needed_encoders([row]) if dialogues else ():
                locate_encoder(encoder)
        except EncoderMissingError as error:
            yield _fault_of('config:data', row, error)


def faults_of_pair(model: Config, dataset: Config, is_scored: bool) -> list[Finding]:
    """Returns the faults for which a data set is left out of a task: of its data, and of scoring if that follows."""
    pair = [(model, dataset)]
    return merged([*missing_data(Sweep(None, pair, ())), *scoring_faults(Sweep(None, (), pair if is_scored else ()))])
