"""Tables that show where scores come from: settings, usage, runs and missing results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.catalogue.metrics import main_metrics
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens, read_others
from opencompass_tooleval.core.statistics.paired import metrics_of
from opencompass_tooleval.report.figure import Number, Table, shown
from opencompass_tooleval.results.table import Material, Missing, run_names
from opencompass_tooleval.work_dir.data_files import sha256_of
from opencompass_tooleval.work_dir.work_dir import WorkDir, tail

_ELAPSED = re.compile(r'time elapsed: +([\d.]+)s')  # OpenCompass itself writes two spaces
_FIRST = ('benchmark', 'subset', 'language', 'version', 'opencompass_tooleval', 'opencompass')


@dataclass(frozen=True)
class Spent:
    """Usage of a model on a data set.

    Attributes:
        prompts: Mean number of prompt tokens per task.
        answers: Mean number of answer tokens per task, estimated unless ``known``; None without predictions.
        calls: Number of requests to the model, including every round of a dialogue; None without predictions.
        cost: Mean cost of an answer at the model's prices; None if unknown.
        known: Number of answers whose tokens a server or a tokenizer counted; 0 if ``answers`` is estimated.
    """

    prompts: PromptTokens
    answers: Number
    calls: int | None
    cost: Number = None
    known: int = 0


def results_table(material: Material, spent: Mapping[tuple[str, str], Spent]) -> Table:
    """Builds a table with a row per result: samples, failures, tokens, calls, cost and all keys of its provenance."""
    keys = dict.fromkeys([*_FIRST, *(key for entry in material.scored for key in entry.provenance.stored)])
    used = [key for key in keys if any(key in entry.provenance.stored for entry in material.scored)]
    columns = (
        'model',
        'data set',
        'run',
        'date',
        'samples',
        'no answer',
        'cut',
        'first prompt, tokens',
        'all prompts, tokens',
        'answers, tokens',
        'counted',
        'calls',
        'cost',
        *used,
    )
    rows, names = [], run_names([*material.runs, *(entry.run for entry in material.scored)])
    for entry in material.scored:
        cost, samples = spent.get((entry.model, entry.dataset)), entry.part('samples')
        numbers = [''] * 6
        if cost:
            numbers = [shown(number, 0) for number in (cost.prompts.first, cost.prompts.task, cost.answers)]
            money = None if cost.cost is None else cost.cost * cost.known
            numbers += [cost.prompts.counted_by, shown(cost.calls, 0), shown(money, 4)]
        counts = tuple(str(samples.get(name, '')) for name in ('all', 'infra', 'cut'))
        details = (_text(entry.provenance.stored.get(key)) for key in used)
        rows.append((entry.model, entry.dataset, names[entry.run], entry.date, *counts, *numbers, *details))
    return Table('provenance', 'Results', columns, tuple(rows))


def older_table(material: Material) -> Table:
    """Builds a table of the results that do not count, since a newer one has the same settings."""
    names = run_names([*material.runs, *(entry.run for entry in material.older)])
    rows = (
        (entry.model, entry.dataset, names[entry.run], entry.date, shown(entry.number(metric)))
        for entry in material.older
        for metric in main_metrics(metrics_of(entry.result))
    )
    return Table('older', 'Older results', ('model', 'data set', 'run', 'date', 'score'), tuple(rows))


def others_table(material: Material) -> Table:
    """Builds a table with a row per result and auxiliary model, such as a judge or a simulator."""
    rows = [
        (
            entry.model,
            entry.dataset,
            other.role,
            other.model,
            *(shown(number, 0) for number in (spent.answers, spent.requests, spent.prompt, spent.completion)),
            shown(spent.cost, 4),
            shown(spent.unknown + spent.incomplete, 0),
            ', '.join(spent.counters),
            shown(cached.answers, 0),
            shown(cached.prompt + cached.completion, 0),
            shown(cached.cost, 4),
        )
        for entry in material.scored
        for other in read_others(entry.part('usage'))
        for spent, cached in [(other.spent, other.from_cache)]
    ]
    asked = ('answers', 'requests', 'prompts, tokens', 'answers, tokens', 'cost', 'tokens unknown', 'counted here')
    cache_columns = ('answers from cache', 'tokens from cache', 'cost from cache')
    columns = ('model', 'data set', 'role', 'asked', *asked, *cache_columns)
    return Table('others', 'Judges and simulators', columns, tuple(rows))


def runs_table(material: Material) -> Table:
    """Builds a table with a row per run: wall time, and checksums of its configs, since these may contain keys."""
    rows = []
    for run, name in run_names(material.runs).items():
        configs = '; '.join(
            f'{file.name} sha256 {sha256_of(file)}' for file in sorted((run.path / 'configs').glob('*.py'))
        )
        rows.append((name, configs, shown(_seconds(run, 'infer'), 2), shown(_seconds(run, 'eval'), 2)))
    columns = ('run', 'configs', 'inference, s', 'scoring, s')
    return Table('runs', 'Working directories', columns, tuple(rows))


def missing_table(material: Material, damaged: Sequence[Missing] = ()) -> Table:
    """Builds a table of missing results, and of results with unreadable predictions."""
    rows = tuple((missing.model, missing.dataset, missing.why) for missing in (*material.missing, *damaged))
    return Table('missing', 'Missing or damaged', ('model', 'data set', 'why'), rows)


def _seconds(run: WorkDir, stage: str) -> float | None:
    """Returns the total time of the tasks in OpenCompass's logs, in seconds; None if no log has a time."""
    seconds = [float(text) for log in run.path.glob(f'logs/{stage}/*/*.out') for text in _ELAPSED.findall(tail(log))]
    return sum(seconds) if seconds else None


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ', '.join(f'{key}={item}' for key, item in value.items())
    return '' if value is None else str(value)
