"""Charts and tables of agents: last steps, sources of observations, usage per task.

All numbers come from the results: metrics, and counts in their ``breakdown``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.catalogue.labels import SOURCES, words_of_reason
from opencompass_tooleval.catalogue.metrics import words_of_metric
from opencompass_tooleval.core.scoring.usage import whole_number
from opencompass_tooleval.report.figure import Figure, Series, Table, shown, slug
from opencompass_tooleval.report.names import family_of, title_of
from opencompass_tooleval.results.table import Material, ModelResult

FINISHED = 'finished'
"""Name in the breakdown of an end without a fault."""
_MOST_BARS = 25
_DIGITS = 7
"""Numbers of steps with at least this many digits are invalid."""
_SPENT = {
    'steps': 'steps',
    'calls': 'calls',
    'prompt': 'prompt tokens',
    'completion': 'answer tokens',
    'seconds': 'seconds',
}
"""Parts of the breakdown with numbers per task -> their names in a table."""


def agent_figures(material: Material) -> Iterator[Figure]:
    """Yields the charts of all data sets of agents, data set by data set."""
    for dataset, entries in _of_agents(material).items():
        yield _sources(dataset, entries)
        for number, entry in enumerate(entries):
            yield _ends(dataset, number, entry)


def agent_tables(family: str, entries: Sequence[ModelResult]) -> Iterator[Table]:
    """Yields tables of usage per task, with a row per data set and model, and of scores with repaired gold calls."""
    of_agents = [
        (entry, part)
        for entry in sorted(entries, key=lambda entry: (entry.dataset, entry.model))
        if _is_agent(part := entry.part('breakdown'))
    ]
    rows = [
        (title_of(entry.dataset), entry.model, *(_numbers(_runs(entry), name) for name in _SPENT), _left_out(entry))
        for entry, _ in of_agents
    ]
    if rows:
        columns = ('data set', 'model', *_SPENT.values(), 'observations left out')
        yield Table(
            f'spent-{family}',
            'Usage per answered task: mean (95th percentile, of a single trial)',
            columns,
            tuple(rows),
        )
    repaired = [row for entry, part in of_agents for row in _repaired(entry, part.get('repaired'))]
    if repaired:
        columns = ('data set', 'model', 'metric', 'official', 'repaired')
        yield Table(
            f'repaired-{family}', 'Faulty gold calls, which no documented call can equal', columns, tuple(repaired)
        )


def _repaired(entry: ModelResult, beside: Any) -> Iterator[tuple[str, ...]]:
    """Yields a row per metric that faulty gold calls affect: the official score, and the score with repaired calls."""
    for metric, value in beside.items() if isinstance(beside, dict) else ():
        official = entry.number(str(metric))
        if official is not None and isinstance(value, (int, float)):
            name = words_of_metric(metric).name
            yield title_of(entry.dataset), entry.model, name, shown(official, 2), shown(value, 2)


def _is_agent(breakdown: Mapping[str, Any]) -> bool:
    return isinstance(breakdown.get('sources'), dict) and isinstance(breakdown.get('steps'), dict)


def _of_agents(material: Material) -> dict[str, list[ModelResult]]:
    by_dataset: dict[str, list[ModelResult]] = {}
    for entry in material.scored:
        if _is_agent(entry.part('breakdown')):
            by_dataset.setdefault(entry.dataset, []).append(entry)
    return by_dataset


def _runs(entry: ModelResult) -> list[Mapping[str, Any]]:
    """Returns the breakdown of every run of the data set."""
    given = entry.result.get('breakdown')
    return [run for run in (given if isinstance(given, list) else [given]) if isinstance(run, dict)]


def _counts(*parts: Any) -> Counter[str]:
    """Adds the counts of several runs."""
    total = Counter[str]()
    for part in parts:
        given = part.items() if isinstance(part, dict) else ()
        total.update({str(name): count for name, count in given if whole_number(count)})
    return total


def _sources(dataset: str, entries: Sequence[ModelResult]) -> Figure:
    counts = [_counts(*(run.get('sources') for run in _runs(entry))) for entry in entries]
    names = [*SOURCES, *dict.fromkeys(name for counter in counts for name in counter if name not in SOURCES)]
    simulators = {entry.model: by for entry in entries if (by := entry.provenance.simulated_by)}
    return Figure(
        f'sources-{slug(dataset)}',
        family_of(dataset),
        'Sources of observations',
        'stacked',
        tuple(entry.model for entry in entries),
        tuple(
            Series(
                SOURCES[name].name if name in SOURCES else name,
                tuple(_share(counter, counter[name]) for counter in counts),
            )
            for name in names  # also unused sources, so that a source has the same colour in all charts
        ),
        y_title='share of the calls, %',
        note='; '.join(f'{model}: simulated by {by}' for model, by in simulators.items()),
        choice=title_of(dataset),
        board=dataset,
    )


def _share(counts: Counter[str], count: float) -> float | None:
    return 100 * count / counts.total() if counts.total() else None


def _ends(dataset: str, number: int, entry: ModelResult) -> Figure:
    """Builds a chart of the number of tasks by last step and kind of end."""
    ends = [run_ends if isinstance(run_ends := run.get('ends'), dict) else {} for run in _runs(entry)]
    names = dict.fromkeys(str(end) for run_ends in ends for end in run_ends)
    by_end = {end: _steps(_counts(*(run_ends.get(end) for run_ends in ends))) for end in names}
    width = math.ceil(max((step for steps in by_end.values() for step in steps), default=0) / _MOST_BARS) or 1
    bars = range(max((_bar(step, width) for steps in by_end.values() for step in steps), default=-1) + 1)
    total = sum(steps.total() for steps in by_end.values())
    order = sorted(by_end, key=lambda end: (end != FINISHED, -by_end[end].total(), end))
    return Figure(
        f'ends-{slug(dataset)}-{number}',
        family_of(dataset),
        'How tasks end, by step',
        'stacked',
        tuple(str(bar + 1) if width == 1 else f'{bar * width + 1}–{(bar + 1) * width}' for bar in bars),
        tuple(
            Series(
                FINISHED if end == FINISHED else words_of_reason(end).name,
                tuple(
                    100 * sum(count for step, count in by_end[end].items() if _bar(step, width) == bar) / total
                    for bar in bars
                ),
            )
            for end in order
        ),
        x_title='steps',
        y_title='share of the tasks, %',
        choice=f'{title_of(dataset)}, {entry.model}',
        top=None,
        board=dataset,
    )


def _steps(counts: Counter[str]) -> Counter[int]:
    """Converts steps to numbers; leaves out invalid ones."""
    return Counter({int(step): count for step, count in counts.items() if step.isdecimal() and len(step) < _DIGITS})


def _bar(step: int, width: int) -> int:
    """Returns the index of the bar for a number of steps; tasks without steps are in the first bar."""
    return max(0, step - 1) // width


def _numbers(runs: Sequence[Mapping[str, Any]], name: str) -> str:
    """Formats mean and 95th percentile as ``4.2 (9)``; '' if unknown.

    For several trials, returns the mean of their means without a percentile.
    """
    parts = [part for run in runs if isinstance(part := run.get(name), dict)]
    means = [mean for part in parts if isinstance(mean := part.get('mean'), (int, float))]
    if not means:
        return ''
    high = parts[0].get('p95') if len(runs) == 1 else None
    return shown(math.fsum(means) / len(means), 1) + (f' ({high:.6g})' if isinstance(high, (int, float)) else '')


def _left_out(entry: ModelResult) -> str:
    """Formats the number of omitted observations over all trials; '' if unknown."""
    counts = _counts(*(run.get('omitted_observations') for run in _runs(entry)))
    return str(counts['observations']) if 'observations' in counts else ''
