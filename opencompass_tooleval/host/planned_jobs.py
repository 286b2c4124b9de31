"""What a sweep would run, without running it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled
from mmengine.config import Config
from opencompass.registry import PARTITIONERS
from opencompass.utils import (
    build_dataset_from_cfg,
    dataset_abbr_from_cfg,
    get_logger,
    model_abbr_from_cfg,
)

from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.prices import read_prices
from opencompass_tooleval.core.tool_set import ToolSet
from opencompass_tooleval.host.conversation import TOOLS
from opencompass_tooleval.host.model_config import PRICES
from opencompass_tooleval.sweep.earlier_usage import EarlierUsage, earlier_usage
from opencompass_tooleval.sweep.prompt_tokens import choose_counter
from opencompass_tooleval.sweep.shards import whole_name

_SAMPLED = 200
"""So many prompts of a data set are counted; the mean stands for the others."""


@dataclass(frozen=True)
class ModelPlan:
    """What one model has to do.

    Attributes:
        model: Its abbr.
        jobs: Inference jobs.
        gpus: GPUs of each.
        datasets: Data sets that are still to be asked.
        done: Data sets of which nothing is to be asked any more.
        samples: Samples to ask, those of a begun data set included.
        prompt_tokens: Tokens of their prompts, estimated; of dialogues of several rounds, only where earlier answers
            say how many there are.
        counter: What they were counted with.
        evaluations: Evaluation jobs.
        answer_tokens: Tokens of the answers: as many as an earlier model's in the same run had on average, or else as
            ``max_out_len`` lets them be.
        answers_by: How many data sets are reckoned which way, as text.
        bound: What stands before ``answer_tokens`` and ``cost``: ``about``, ``at most``, ``at least``.
        cost: By the prices of the model's config; None without any.
        dialogues: Samples that are dialogues of which no earlier answer tells how long they are: their prompts are
            counted as the first message alone.
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


@dataclass(frozen=True)
class Plan:
    """A sweep.

    Attributes:
        models: One entry per model.
        workers: Inference jobs at a time; None where the runner does not say.
        runner: Name of the runner of the inference stage.
    """

    models: list[ModelPlan]
    workers: int | None
    runner: str


def _texts(rows: Any) -> list[str]:
    """Prompts of some rows, spread over the data set; none for dialogues that have no first prompt in the data."""
    if 'messages' not in rows.column_names:
        return []
    step = max(1, len(rows) // _SAMPLED)
    spread = [json.loads(messages) for messages in rows['messages'][::step]]
    tools = rows[TOOLS][::step] if TOOLS in rows.column_names else [None] * len(spread)
    return [
        '\n'.join([*(message['content'] for message in messages), *_offered(offered)])
        for messages, offered in zip(spread, tools, strict=True)
    ]


def _offered(tools: str | None) -> list[str]:
    """Tools that are offered natively, as JSON each: they are part of the prompt."""
    offered = ToolSet.of_text(tools).as_request() if tools else []
    return [json.dumps(tool, ensure_ascii=False) for tool in offered]


@contextmanager
def _no_bars() -> Iterator[None]:
    """Keeps ``datasets`` from drawing a ``Map:`` bar per data set."""
    shown = is_progress_bar_enabled()
    disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            enable_progress_bar()


class _Sizes:
    """Size and prompts of each data set, loaded once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, list[str]]] = {}

    def of(self, dataset: Any) -> tuple[int, list[str]]:
        key = repr((dataset_abbr_from_cfg(dataset), dataset['reader_cfg'].get('test_range')))
        if key not in self._known:
            with _no_bars():
                rows = build_dataset_from_cfg(dataset).test
            self._known[key] = len(rows), _texts(rows)
        return self._known[key]


def _datasets_of(cfg: Config, model: str) -> set[str]:
    """Abbrs of the data sets that a model is to do."""
    combinations = cfg.get('model_dataset_combinations') or [{'models': cfg['models'], 'datasets': cfg['datasets']}]
    return {
        dataset_abbr_from_cfg(dataset)
        for combination in combinations
        if model in map(model_abbr_from_cfg, combination['models'])
        for dataset in combination['datasets']
    }


def _tasks(cfg: Config, stage: str, folder: Path) -> list[Any]:
    """The tasks that OpenCompass would make of one stage."""
    stage_cfg = cfg.get(stage)
    if stage_cfg is None:
        mend = 'read tooleval_local.py or tooleval_slurm.py into it'
        raise DataError(cfg.filename, f'it has no {stage!r} section', mend=mend)
    partitioner = PARTITIONERS.build({**stage_cfg['partitioner'], 'out_dir': str(folder)})
    return list(partitioner(cfg))


def make_plan(config: Path, run: Path | None = None, track: Callable[[Sequence[Any]], Any] = iter) -> Plan:
    """Partitions a config as OpenCompass would.

    Args:
        config: The sweep's config.
        run: A run that would be resumed, such as ``outputs/NAME/20260101_120000``; None for a new one.
        track: Wraps the loop over the tasks, for a progress bar.

    Raises:
        DataError: The config cannot be read or has no ``infer`` or ``eval``, or a data set is missing or damaged.
    """
    try:
        cfg = Config.fromfile(config, format_python_code=False)
    except Exception as error:  # a config is a program: it may fail in any way
        raise DataError(config, f'the config cannot be read ({type(error).__name__}: {error})') from error
    work_dir = run or Path(cfg.get('work_dir', 'outputs/default'), 'new')
    cfg['work_dir'] = str(work_dir)
    get_logger().setLevel('WARNING')  # partitioners and data sets tell their counts on standard output
    sizes = _Sizes()
    tasks = _tasks(cfg, 'infer', work_dir / 'predictions')
    evaluations = _tasks(cfg, 'eval', work_dir / 'results')
    todo: dict[str, list[Any]] = {model_abbr_from_cfg(model): [] for model in cfg['models']}
    jobs = dict.fromkeys(todo, 0)
    for task in track(tasks):
        for model, datasets in zip(task['models'], task['datasets'], strict=True):
            jobs[model_abbr_from_cfg(model)] += 1
            todo[model_abbr_from_cfg(model)] += datasets
            for dataset in datasets:
                sizes.of(dataset)
    abbrs = {dataset_abbr_from_cfg(dataset) for dataset in cfg['datasets']}
    earlier = earlier_usage(run or work_dir.parent, abbrs)
    scored = [model_abbr_from_cfg(model) for task in evaluations for model in task['models']]
    runner = cfg['infer']['runner']
    return Plan(
        [_model_plan(cfg, model, todo, jobs, scored, sizes, earlier) for model in cfg['models']],
        runner.get('max_num_workers'),
        str(getattr(runner['type'], '__name__', runner['type'])).rpartition('.')[2],
    )


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
    counter = choose_counter([model.get('tokenizer_path'), model.get('path')])
    abbrs = _datasets_of(cfg, abbr)
    left = {whole_name(dataset_abbr_from_cfg(part), abbrs) for part in todo[abbr]}
    tokens, dialogues, answers = 0.0, 0, _AnswerTokens()
    for dataset in todo[abbr]:
        size, texts = sizes.of(dataset)
        name = whole_name(dataset_abbr_from_cfg(dataset), abbrs)
        inferencer = dataset['infer_cfg']['inferencer']
        is_dialogue = 'dialogues' in inferencer or not texts
        if is_dialogue and name in earlier:
            tokens += size * earlier[name].prompt
        else:
            tokens += size * sum(counter.count(texts)) / max(1, len(texts))
            dialogues += size if is_dialogue else 0
        most = None if is_dialogue else inferencer.get('max_out_len') or model.get('max_out_len')
        answers.add(name, size, earlier.get(name), most)
    prices = read_prices(model.get(PRICES))
    return ModelPlan(
        model=abbr,
        jobs=jobs[abbr],
        gpus=int(model.get('run_cfg', {}).get('num_gpus', 0)),
        datasets=len(left),
        done=len(abbrs - left),
        samples=sum(sizes.of(dataset)[0] for dataset in todo[abbr]),
        prompt_tokens=round(tokens),
        counter=counter.name,
        evaluations=scored.count(abbr),
        answer_tokens=round(answers.total),
        answers_by=str(answers),
        bound=answers.bound,
        cost=prices.cost(round(tokens), round(answers.total)) if prices else None,
        dialogues=dialogues,
    )


class _AnswerTokens:
    """Adds up how long the answers to several data sets will be.

    Attributes:
        total: Tokens.
    """

    def __init__(self) -> None:
        self.total = 0.0
        self._bounded: set[str] = set()
        self._as_earlier: set[str] = set()
        self._models: dict[str, None] = {}
        self._unknown: set[str] = set()

    def add(self, dataset: str, samples: int, earlier: EarlierUsage | None, most: int | None) -> None:
        """Adds a data set, or a part of one; ``most`` are the tokens that an answer may have."""
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
        """``at most`` where answers are counted by what they may have, ``at least`` where some are not counted."""
        if bool(self._bounded) == bool(self._unknown):
            return 'about'
        return 'at most' if self._bounded else 'at least'

    def __str__(self) -> str:
        """``data sets: 2 as long as those of m1; 1 by max_out_len, the most that they can have``."""
        parts = []
        if self._as_earlier:
            parts.append(f'{len(self._as_earlier)} as long as those of {first_of(list(self._models), most=3)}')
        if self._bounded:
            parts.append(f'{len(self._bounded)} by max_out_len, the most that they can have')
        if self._unknown:
            parts.append(f'{len(self._unknown)} of dialogues not counted')
        return f'data sets: {"; ".join(parts)}' if parts else ''
