"""Tables of several trials of each record: a row per model, data set and metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opencompass_tooleval.core.metrics import words_of_metric
from opencompass_tooleval.core.trials import parse_name, trials_of_result
from opencompass_tooleval.report.figure import Table
from opencompass_tooleval.report.names import title_of
from opencompass_tooleval.report.read import Scored


def trials_tables(family: str, entries: Iterable[Scored]) -> Iterator[Table]:
    """Yields a table of averages, ``pass@k`` and ``pass^k``, with standard errors; none without repeated trials.

    Args:
        family: The benchmark, for the table's name.
        entries: Its results.
    """
    rows: list[tuple[tuple[str, ...], dict[str, str]]] = []
    for entry in sorted(entries, key=lambda entry: (entry.dataset, entry.model)):
        read = trials_of_result(entry.result)
        for metric, estimates in read.estimates.items() if read else ():
            cells = {name: str(estimate) for name, estimate in estimates.items()}
            average = cells.pop(f'avg@{read.trials}', '') if read else ''
            place = title_of(entry.dataset), words_of_metric(metric).name, entry.model
            rows.append(((*place, str(read.trials if read else ''), average), cells))
    if not rows:
        return
    # With k=1 both are the average.
    names = sorted({name for _, cells in rows for name in cells if parse_name(name)[1] > 1}, key=parse_name)
    columns = ('data set', 'metric', 'model', 'n', 'avg@n', *names)
    title = 'Several trials: correct in at least one of k (pass@k), correct in all k (pass^k)'
    yield Table(
        f'trials-{family}',
        title,
        columns,
        tuple((*place, *(cells.get(name, '') for name in names)) for place, cells in rows),
    )
