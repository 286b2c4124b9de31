"""Charts of the reasons for lost points: the share of each reason, per data set and model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlencode

from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.report.figure import Figure, Series, slug
from opencompass_tooleval.results.table import Material, ModelResult

SHOWN = 11
OTHERS = 'other reasons'


def fragment(
    model: str,
    dataset: str,
    reason: str = '',
    other: str = '',
    differ: bool = False,
    sample: int | None = None,
    cause: str = '',
) -> str:
    """Builds the link to samples in the sample browser.

    Args:
        model: The model.
        dataset: The data set.
        reason: Restricts to samples with this reason.
        other: Another model to show next to it.
        differ: True to restrict to samples on which the two models differ.
        sample: The sample to open.
        cause: Restricts to samples with this server fault.
    """
    fields = {'model': model, 'other': other, 'dataset': dataset, 'reason': reason, 'differ': '1' if differ else ''}
    fields['cause'] = cause
    fields['sample'] = '' if sample is None else str(sample)
    return urlencode({key: value for key, value in fields.items() if value}, errors='replace')


def reason_figures(material: Material) -> Iterator[Figure]:
    """Yields one figure per data set: a bar per model, a part per reason, correct answers first."""
    for dataset in material.datasets:
        entries = [entry for entry in material.scored if entry.dataset == dataset and entry.part('reasons')]
        if entries:
            yield _figure(dataset, entries)


def _figure(dataset: str, entries: list[ModelResult]) -> Figure:
    counts = [
        Counter({str(reason): int(count) for reason, count in entry.part('reasons').items()}) for entry in entries
    ]
    total = sum(counts, Counter[str]())
    lost = [reason for reason, _ in total.most_common() if reason != OK]
    kept = [OK, *lost[:SHOWN]] if OK in total else lost[:SHOWN]
    series = [Series(reason, tuple(_share(count, [reason]) for count in counts)) for reason in kept]
    links = [tuple(fragment(entry.model, dataset, reason) for entry in entries) for reason in kept]
    if lost[SHOWN:]:
        series.append(Series(OTHERS, tuple(_share(count, lost[SHOWN:]) for count in counts)))
        links.append(('',) * len(entries))  # the browser cannot filter by several reasons
    return Figure(
        f'reasons-{slug(dataset)}',
        'reasons',
        'Why points are lost',
        'stacked',
        tuple(entry.model for entry in entries),
        tuple(series),
        y_title='share of the samples, %',
        note='Click a bar, or a number of the table, for its samples.',
        choice=dataset,
        links=tuple(links),
    )


def _share(counts: Counter[str], reasons: list[str]) -> float:
    return 100 * sum(counts[reason] for reason in reasons) / max(1, counts.total())
