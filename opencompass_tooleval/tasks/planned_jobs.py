"""Plans the jobs of a sweep without running it."""

from __future__ import annotations

import logging
from collections import Counter as Counts
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.registry import ICL_EVALUATORS, PARTITIONERS
from opencompass.utils import (
    dataset_abbr_from_cfg,
    get_logger,
    model_abbr_from_cfg,
)

from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.core.scoring.prices import budget_of, read_prices
from opencompass_tooleval.core.scoring.sampling_settings import ASK, STORED_ANSWERS, answer_limit
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import counted_by, spending_of
from opencompass_tooleval.core.text.redaction import redact
from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator
from opencompass_tooleval.findings.finding import Finding, merged
from opencompass_tooleval.findings.of_results import left_out
from opencompass_tooleval.inferencers.resuming import undecided
from opencompass_tooleval.models.api.engine_nodes import nodes_of
from opencompass_tooleval.models.budget import sends_nothing
from opencompass_tooleval.models.model_calls import texts_of
from opencompass_tooleval.models.model_config import PRICES
from opencompass_tooleval.models.preflight import (
    Sweep,
    config_findings,
    loaded,
    no_bars,
    pairs_of,
    sweep_findings,
)
from opencompass_tooleval.models.request_settings import MAX_WORKERS, addresses_of, wire_of
from opencompass_tooleval.models.selection import SELECTION
from opencompass_tooleval.models.settings import API_TASKS, is_class_of_package, runs_beside_others
from opencompass_tooleval.models.shared_servers import shared_servers, starts_servers
from opencompass_tooleval.tasks.first_prompts import FirstPrompts
from opencompass_tooleval.tasks.read_config import read_config
from opencompass_tooleval.work_dir.budget_file import ledger_file, read_ledger
from opencompass_tooleval.work_dir.names import replica_of, whole_name
from opencompass_tooleval.work_dir.prompt_tokens import ESTIMATE, Counter, counter_of
from opencompass_tooleval.work_dir.work_dir import WorkDir


@dataclass(frozen=True)
class EarlierUsage:
    """Mean usage of the answers to one dataset.

    Attributes:
        prompt: Mean number of prompt tokens per answer (over all rounds of a dialogue), averaged over models.
        completion: Mean number of completion tokens per answer, averaged over models.
        models: The models that gave the answers.
        counted_by: The server or tokenizer that counted the tokens.
    """

    prompt: float
    completion: float
    models: tuple[str, ...]
    counted_by: str = ''


def earlier_usage(run: Path, datasets: Collection[str]) -> dict[str, EarlierUsage]:
    """Returns the mean usage of answers by dataset, from the results of a run.

    Args:
        run: A run, or a folder of runs (the latest is used). It need not exist.
        datasets: Abbrs of the datasets to read.
    """
    try:
        work = WorkDir.find(run)
    except DataError:
        return {}
    means: dict[str, dict[str, tuple[float, float]]] = {}
    counters: dict[str, dict[str, None]] = {}
    for model, dataset in work.pairs():
        if dataset not in datasets:
            continue
        try:
            usage = (work.result(model, dataset) or {}).get('usage')
        except DataError:
            continue  # a damaged result has no usage
        spending = spending_of(usage)
        count = spending.with_tokens if spending else 0
        if spending and count > 0:
            means.setdefault(dataset, {})[model] = spending.prompt / count, spending.completion / count
            counters.setdefault(dataset, {})[counted_by(usage or {})] = None
    earlier = {}
    for dataset, by_model in means.items():
        prompt, completion = (sum(part) / len(by_model) for part in zip(*by_model.values(), strict=True))
        earlier[dataset] = EarlierUsage(prompt, completion, tuple(by_model), ', '.join(filter(None, counters[dataset])))
    return earlier


_NAMES = {'models': model_abbr_from_cfg, 'datasets': dataset_abbr_from_cfg}
"""List in a config -> function that returns the abbr of a row."""

_SAMPLED = 200
"""Number of prompts per dataset to count. Their mean is used for the other prompts."""


@dataclass(frozen=True)
class ModelPlan:
    """The planned work of one model.

    Attributes:
        model: The model's abbr.
        jobs: Number of inference jobs.
        gpus: Number of GPUs per job and node, without those of a shared server.
        datasets: Number of datasets that still need answers.
        done: Number of datasets with all answers.
        samples: Number of samples in the unfinished datasets, including answered ones.
        prompt_tokens: Number of tokens in the prompts, including offered tools. ``counter`` counts the first prompt of
            each sample; for multi-round dialogues the usage of earlier answers is used, if there is any.
        counter: Name of the counter of the prompts.
        prompts_by: Text with the number of datasets per way of counting prompts.
        evaluations: Number of evaluation jobs.
        answer_tokens: Number of tokens in the answers: from the mean of an earlier model in the same run, or else from
            the token limit.
        answers_by: Text with the number of datasets per way of counting answers.
        bound: Text before ``answer_tokens`` and ``cost``: ``about``, ``at most``, ``at least``.
        cost: Cost by the prices in the model's config; None without prices.
        dialogues: Number of samples that are dialogues without usage of earlier answers. Only their first prompts are
            counted.
        not_counted: Descriptions of other requests, which the numbers do not include.
        answer_limits: Token limit of an answer and its source, as text -> the datasets with this limit.
        over_budget: A text if the tokens or cost exceed the rest of the model's budget; else ``''``.
        nodes: Number of nodes per job.
    """

    model: str
    jobs: int
    gpus: int
    datasets: int
    done: int
    samples: int
    prompt_tokens: int
    counter: str
    evaluations: int
    answer_tokens: int = 0
    answers_by: str = ''
    bound: str = 'about'
    cost: float | None = None
    dialogues: int = 0
    prompts_by: str = ''
    not_counted: tuple[str, ...] = ()
    answer_limits: Mapping[str, Sequence[str]] = field(default_factory=dict)
    over_budget: str = ''
    nodes: int = 1


@dataclass(frozen=True)
class Plan:
    """The plan of a sweep.

    Attributes:
        models: One entry per model.
        workers: Maximum number of inference jobs at once; None if the config does not set it.
        runner: Name of the runner of the inference stage.
        findings: Faults that would stop the sweep, warnings and notes, as far as the config and this machine show them.
        sizes: Dataset -> number of its records (None if it has all answers) and number of trials of each.
        servers: A line about each server that jobs share, or that several models ask at once.
        replicas: Number of jobs per model that share its datasets; 1 if they share none.
    """

    models: list[ModelPlan]
    workers: int | None
    runner: str
    findings: list[Finding] = field(default_factory=list)
    sizes: dict[str, tuple[int | None, int]] = field(default_factory=dict)
    servers: list[str] = field(default_factory=list)
    replicas: int = 1

    @property
    def at_once(self) -> str:
        """A text with the number of inference jobs at once; ``''`` if the runner decides."""
        if self.workers:
            return f', at most {self.workers} at a time'
        is_local = self.runner == 'ToolEvalLocalRunner'
        return f', one at a time (API models: {API_TASKS})' if is_local else ''

    @property
    def faults(self) -> list[Finding]:
        """The findings that would stop the sweep."""
        return [one for one in self.findings if one.is_fault]


@dataclass
class _Asked:
    """The requests of a dataset.

    Attributes:
        size: Number of samples.
        prompts: The texts of the first prompts of some samples, spread over the dataset.
        others: Descriptions of other requests.
        fault: Why the prompts could not be built; ``''`` if they were.
        cannot_load: The faults of a dataset that cannot be loaded.
    """

    size: int
    prompts: list[list[str]]
    others: list[str]
    fault: str = ''
    cannot_load: Sequence[Finding] = ()


def _asked(dataset: Any) -> _Asked:
    rows, faults = loaded(dataset)
    if faults:
        return _Asked(0, [], [], cannot_load=faults)
    if 'messages' not in rows.column_names:  # a dataset of another package
        return _Asked(len(rows), [], [], 'its prompts are not made by this package')
    judge = _judge_name(dataset)
    others = [f'the judge {judge}'] if judge else []
    try:
        asks = FirstPrompts(dataset['infer_cfg'])
        first = (asks.about(row) for row in rows.select(range(0, len(rows), max(1, len(rows) // _SAMPLED))))
        prompts = [texts_of(prompt) for prompt in first if prompt is not None]
    except Exception as error:  # a plan may be made on a machine without the bank or the encoder of an agent
        return _Asked(len(rows), [], others, f'its dialogues cannot begin here: {" ".join(str(error).split())}')
    others += [f'the {role} {model_name(cfg)}' for role, cfg in asks.others.items()]
    return _Asked(len(rows), prompts, others)


def _judge_name(dataset: Any) -> str:
    """Returns the name of the judge that an evaluator of this package calls; ``''`` if it calls none."""
    cfg = dataset.get('eval_cfg', {}).get('evaluator', {})
    kind = cfg.get('type')
    kind = ICL_EVALUATORS.get(kind) if isinstance(kind, str) else kind
    if not isinstance(kind, type) or not issubclass(kind, ToolEvalEvaluator):
        return ''
    try:
        evaluator: ToolEvalEvaluator = ICL_EVALUATORS.build(cfg)
    except (DataError, ValueError):  # for example, there is no judge, which the plan reports as a fault
        return ''
    return evaluator.judge_name()


class _Sizes:
    """The requests of each dataset, which is loaded once."""

    def __init__(self) -> None:
        self._known: dict[str, _Asked] = {}

    def of(self, dataset: Any) -> _Asked:
        key = repr((dataset_abbr_from_cfg(dataset), dataset['reader_cfg'].get('test_range')))
        if key not in self._known:
            self._known[key] = _asked(dataset)
        return self._known[key]


def _configured(cfg: Config) -> Iterator[tuple[Any, Any]]:
    """Yields each model with each of its datasets."""
    for combination in cfg.get('model_dataset_combinations') or [cfg]:
        yield from product(combination['models'], combination['datasets'])


def _datasets_of(cfg: Config, model: str) -> set[str]:
    """Returns the abbrs of a model's datasets."""
    return {dataset_abbr_from_cfg(dataset) for one, dataset in _configured(cfg) if model_abbr_from_cfg(one) == model}


def _stage(cfg: Config, stage: str) -> Any:
    stage_cfg = cfg.get(stage)
    if stage_cfg is None:
        fix = 'read tooleval_local.py or tooleval_slurm.py into it'
        raise DataError(cfg.filename, f'it has no {stage!r} section', fix=fix)
    return stage_cfg


def _tasks(cfg: Config, stage: str, folder: Path) -> list[Any]:
    """Returns the tasks that OpenCompass would make for one stage."""
    partitioner = PARTITIONERS.build({**_stage(cfg, stage)['partitioner'], 'out_dir': str(folder)})
    partitioner.tells = False
    with no_bars():
        return list(partitioner(cfg))


def _leave_out(cfg: Config, names: Collection[str]) -> None:
    """Removes the named models and datasets from a config, and rows that repeat an earlier name."""
    for part in [cfg, *(cfg.get('model_dataset_combinations') or ())]:
        for kind, name_of in _NAMES.items():
            rows = {name_of(row): row for row in reversed(part.get(kind) or ()) if 'abbr' in row or 'path' in row}
            part[kind] = [row for name, row in reversed(rows.items()) if name not in names]


def _without_faulty(cfg: Config) -> list[Finding]:
    """Removes models and datasets with invalid settings from a config; returns all findings."""
    findings = config_findings(cfg)
    if faulty := {one.about for one in findings if one.is_fault}:
        cfg.pop(SELECTION, None)
        _leave_out(cfg, faulty)
    return [one for one in findings if one.is_fault or one.about not in faulty - {''}]


def _without_unloadable(
    cfg: Config, folder: Path, sizes: _Sizes, track: Callable[[Sequence[Any]], Any]
) -> list[Finding]:
    """Removes datasets that cannot be loaded from a config; returns a fault for each.

    Datasets with all answers are not loaded, unless the partitioner (which counts records) fails.

    Raises:
        Exception: The partitioner fails for another reason than a dataset.
    """
    failure: Exception | None = None
    asked = list(cfg['datasets'])
    try:
        asked = [dataset for _, dataset in pairs_of(_tasks(cfg, 'infer', folder))]
    except Exception as error:
        failure = error
    reasons = {dataset_abbr_from_cfg(dataset): sizes.of(dataset).cannot_load for dataset in track(asked)}
    names = map(dataset_abbr_from_cfg, cfg['datasets'])
    faults = [fault for name in names for fault in reasons.get(name, ())]
    if failure and not faults:
        raise failure
    if faults:
        cfg.pop(SELECTION, None)
        _leave_out(cfg, {one.about for one in faults})
    return faults


def _decided(cfg: Config) -> list[Finding]:
    """Returns a fault for each model whose config must decide on stored answers; the plan repeats their requests."""
    combinations = cfg.get('model_dataset_combinations') or [cfg]
    faults = undecided(Path(cfg['work_dir']), combinations)
    for model in (model for combination in combinations for model in combination['models']):
        if model_abbr_from_cfg(model) in {one.about for one in faults}:
            model[STORED_ANSWERS] = ASK
    return faults


def make_plan(config: Path, run: Path | None = None, track: Callable[[Sequence[Any]], Any] = iter) -> Plan:
    """Partitions a config as OpenCompass would, and counts jobs, samples, tokens and cost.

    Args:
        config: The sweep's config.
        run: A run to resume, such as ``outputs/NAME/20260101_120000``; None for a new one.
        track: Wraps the loop over the datasets, for a progress bar.

    Raises:
        DataError: The config cannot be read, or has no ``infer`` or ``eval``.
    """
    cfg = read_config(config)
    work_dir = run or Path(cfg.get('work_dir', 'outputs/default'), 'new')
    cfg['work_dir'] = str(work_dir)
    get_logger().setLevel(logging.WARNING)  # partitioners and datasets print counts on standard output
    sizes = _Sizes()
    findings = _without_faulty(cfg)
    unloadable: list[tuple[Any, Any]] = []
    is_countable = bool(cfg['models'] and cfg['datasets']) and all(one.kind != 'config:part' for one in findings)
    if is_countable:
        configured = list(_configured(cfg))
        findings += [*_decided(cfg), *left_out(work_dir, cfg)]
        findings += _without_unloadable(cfg, work_dir / 'predictions', sizes, track)
        left = set(map(dataset_abbr_from_cfg, cfg['datasets']))
        unloadable = [pair for pair in configured if dataset_abbr_from_cfg(pair[1]) not in left]
        is_countable = bool(left)
    folders = {'infer': work_dir / 'predictions', 'eval': work_dir / 'results'}
    tasks, evaluations = (_tasks(cfg, stage, folder) if is_countable else [] for stage, folder in folders.items())
    replicas = max((replica.of for task in tasks if (replica := replica_of(task))), default=1)
    jobs = Counts(model_abbr_from_cfg(model) for task in tasks for model in task['models'])
    tasks = [task for task in tasks if not (replica := replica_of(task)) or not replica.number]
    todo: dict[str, list[Any]] = {model_abbr_from_cfg(model): [] for model in cfg['models']}
    for task in tasks:
        for model, datasets in zip(task['models'], task['datasets'], strict=True):
            todo[model_abbr_from_cfg(model)] += datasets
    abbrs = {dataset_abbr_from_cfg(dataset) for dataset in cfg['datasets']}
    earlier = earlier_usage(run or work_dir.parent, abbrs)
    jobs_of_scoring = [model_abbr_from_cfg(model) for task in evaluations for model in task['models']]
    runner = _stage(cfg, 'infer')['runner']
    asked, scored = ([*pairs_of(those), *unloadable] for those in (tasks, evaluations))
    sweep = Sweep(runner['type'], asked, scored)
    findings += sweep_findings(sweep)
    return Plan(
        [_model_plan(cfg, model, todo, jobs, jobs_of_scoring, sizes, earlier) for model in cfg['models']],
        runner.get('max_num_workers'),
        str(getattr(runner['type'], '__name__', runner['type'])).rpartition('.')[2],
        merged(findings, most=1),
        _sizes_of(cfg['datasets'], pairs_of(tasks), sizes),
        [
            *_servers(cfg, 'infer', tasks),
            *_servers(cfg, 'eval', evaluations),
            *in_flight(cfg['models'], runner.get('max_num_workers') or API_TASKS),
        ],
        replicas,
    )


def in_flight(models: Iterable[Any], at_once: int) -> Iterator[str]:
    """Yields a line per address that several models ask at once, with the sum of their requests in flight."""
    limits: dict[str, list[int]] = {}
    for model in filter(runs_beside_others, models):
        if is_class_of_package(model, 'model') and not sends_nothing(model):
            address = redact(addresses_of(model.get('openai_api_base') or '', wire_of(model))[0])
            limits.setdefault(address, []).append(int(model.get('max_workers', MAX_WORKERS)))
    for address, each in limits.items():
        if len(most := sorted(each, reverse=True)[:at_once]) > 1:
            yield f'{address}: {len(most)} models at once have up to {sum(most):,} requests in flight'


def _servers(cfg: Config, stage: str, tasks: Sequence[Any]) -> Iterator[str]:
    """Yields a line about each server that jobs of a stage share."""
    needed = [server for task in tasks for server in shared_servers(stage, task).values()]
    for server, count in Counts(server.name for server in needed).items():
        gpus = next(one.gpus for one in needed if one.name == server)
        jobs = f'{count} {"inference" if stage == "infer" else "evaluation"} jobs'
        how = f'one job with {gpus} GPUs, for which {jobs} wait'
        is_shared = starts_servers(_stage(cfg, stage)['runner'])
        yield f'{server}: {how if is_shared else f"not shared by this runner, so that each of {jobs} starts it"}'


def _sizes_of(
    datasets: Sequence[Any], pairs: Iterable[tuple[Any, Any]], sizes: _Sizes
) -> dict[str, tuple[int | None, int]]:
    """Returns records and trials of each dataset, summed over shards. OpenCompass repeats a record for each trial."""
    trials = {dataset_abbr_from_cfg(dataset): int(dataset.get('n') or 1) for dataset in datasets}
    rows: dict[str, Counts[str]] = {name: Counts() for name in trials}
    for model, part in pairs:
        rows[whole_name(dataset_abbr_from_cfg(part), trials)][model_abbr_from_cfg(model)] += sizes.of(part).size
    return {name: (max(rows[name].values()) // n if rows[name] else None, n) for name, n in trials.items()}


def _model_plan(
    cfg: Config,
    model: Any,
    todo: Mapping[str, Sequence[Any]],
    jobs: Mapping[str, int],
    scored: Sequence[str],
    sizes: _Sizes,
    earlier: Mapping[str, EarlierUsage],
) -> ModelPlan:
    abbr = model_abbr_from_cfg(model)
    counter = counter_of(model)
    abbrs = _datasets_of(cfg, abbr)
    left = {whole_name(dataset_abbr_from_cfg(part), abbrs) for part in todo[abbr]}
    prompts, answers = _PromptTokens(counter), _AnswerTokens()
    limits: dict[str, dict[str, None]] = {}
    is_shared = bool(model.get('shared')) and starts_servers(_stage(cfg, 'infer')['runner'])
    for dataset in todo[abbr]:
        name = whole_name(dataset_abbr_from_cfg(dataset), abbrs)
        asked, inferencer = sizes.of(dataset), dataset['infer_cfg']['inferencer']
        is_dialogue = 'dialogues' in inferencer or bool(asked.fault)
        prompts.add(name, asked, earlier.get(name) if is_dialogue else None, is_dialogue)
        limit = answer_limit(model, inferencer)
        limits.setdefault(str(limit or 'none'), {})[name] = None
        most = limit.tokens if limit and not is_dialogue else None
        answers.add(name, asked.size, earlier.get(name), most)
    prices = read_prices(model.get(PRICES))
    return ModelPlan(
        model=abbr,
        jobs=jobs[abbr],
        gpus=0 if is_shared else int(model.get('run_cfg', {}).get('num_gpus', 0)),
        datasets=len(left),
        done=len(abbrs - left),
        samples=sum(sizes.of(dataset).size for dataset in todo[abbr]),
        prompt_tokens=round(prompts.total),
        counter=counter.name,
        evaluations=scored.count(abbr),
        answer_tokens=round(answers.total),
        answers_by=str(answers),
        bound=answers.bound,
        cost=prices.cost(round(prompts.total), round(answers.total)) if prices else None,
        dialogues=prompts.dialogues,
        prompts_by=str(prompts),
        not_counted=tuple(prompts.not_counted),
        answer_limits={limit: list(names) for limit, names in limits.items()},
        over_budget=_over_budget(cfg, model, round(prompts.total), round(answers.total)),
        nodes=nodes_of(model),
    )


def _over_budget(cfg: Config, model: Any, prompt: int, completion: int) -> str:
    """Returns a text if tokens exceed the rest of a model's budget; else ``''``."""
    budget = budget_of(model)
    if budget is None:
        return ''
    left = budget.limit - read_ledger(ledger_file(Path(cfg['work_dir']), model_abbr_from_cfg(model), budget)).spent
    needed = budget.amount(Usage(prompt, completion))
    shown = map(budget.shown, (needed, budget.limit, max(0.0, left)))
    return 'may cost {}; the budget of {} has {} left'.format(*shown) if needed > left else ''


class _PromptTokens:
    """Sum of the prompt tokens of several datasets.

    Attributes:
        total: Number of tokens.
        dialogues: Number of samples for which only the first prompt is counted.
    """

    def __init__(self, counter: Counter) -> None:
        self.total = 0.0
        self.dialogues = 0
        self._counter = counter
        self._counted: set[str] = set()
        self._as_earlier: dict[str, EarlierUsage] = {}
        self._faults: dict[str, str] = {}
        self._others: dict[str, set[str]] = {}

    def add(self, dataset: str, asked: _Asked, earlier: EarlierUsage | None, is_dialogue: bool) -> None:
        """Adds a dataset or a shard."""
        for other in asked.others:
            self._others.setdefault(other, set()).add(dataset)
        if earlier:
            self.total += asked.size * earlier.prompt
            self._as_earlier[dataset] = earlier
        elif asked.fault:
            self._faults[dataset] = asked.fault
        else:
            counts = self._counter.count([text for prompt in asked.prompts for text in prompt])
            self.total += asked.size * sum(counts) / max(1, len(asked.prompts))
            self.dialogues += asked.size if is_dialogue else 0
            self._counted.add(dataset)

    @property
    def not_counted(self) -> Iterator[str]:
        """Yields descriptions of the requests that the numbers do not include."""
        if self.dialogues:
            yield f'the later rounds of {self.dialogues:,} dialogues'
        for other, datasets in self._others.items():
            yield f'{other} ({_sets(datasets)})'
        yield from (f'{dataset}: {fault}' for dataset, fault in self._faults.items())

    def __str__(self) -> str:
        """Formats how the prompts were counted: ``2 data sets: prompt tokens ...; 1 data set: ... for m1``."""
        by = 'estimated from words, punctuation and Chinese characters'
        by = by if self._counter.name == ESTIMATE else f'counted by {self._counter.name}'
        parts = [f'{_sets(self._counted)}: prompt tokens are {by}'] if self._counted else []
        if self._as_earlier:
            models = list(dict.fromkeys(model for earlier in self._as_earlier.values() for model in earlier.models))
            by = ', '.join(
                dict.fromkeys(earlier.counted_by for earlier in self._as_earlier.values() if earlier.counted_by)
            )
            shown = f'{_sets(self._as_earlier)}: prompt tokens as counted for {first_of(models, most=3)}'
            parts.append(f'{shown}, {by}' if by else shown)
        return '; '.join(parts)


def _sets(datasets: Collection[str]) -> str:
    return f'{len(datasets)} data set{"s" * (len(datasets) != 1)}'


class _AnswerTokens:
    """Sum of the answer tokens of several datasets.

    Attributes:
        total: Number of tokens.
    """

    def __init__(self) -> None:
        self.total = 0.0
        self._bounded: set[str] = set()
        self._as_earlier: set[str] = set()
        self._models: dict[str, None] = {}
        self._unknown: set[str] = set()

    def add(self, dataset: str, samples: int, earlier: EarlierUsage | None, most: int | None) -> None:
        """Adds a dataset or a shard; ``most`` is the token limit of an answer."""
        if earlier:
            self.total += samples * earlier.completion
            self._as_earlier.add(dataset)
            self._models |= dict.fromkeys(earlier.models)
        elif most:
            self.total += samples * most
            self._bounded.add(dataset)
        else:
            self._unknown.add(dataset)

    @property
    def bound(self) -> str:
        """``at most`` if answers count with their token limit, ``at least`` if some do not count, else ``about``."""
        if bool(self._bounded) == bool(self._unknown):
            return 'about'
        return 'at most' if self._bounded else 'at least'

    def __str__(self) -> str:
        """Formats how the answers were counted: ``2 data sets: answers as long as those of m1; ...``."""
        parts = []
        if self._as_earlier:
            parts.append(
                f'{_sets(self._as_earlier)}: answers as long as those of {first_of(list(self._models), most=3)}'
            )
        if self._bounded:
            parts.append(f'{_sets(self._bounded)}: answer tokens are at most the token limit')
        if self._unknown:
            parts.append(f'{_sets(self._unknown)} of dialogues: not counted')
        return '; '.join(parts)
