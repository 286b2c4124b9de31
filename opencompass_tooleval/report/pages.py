"""Builds a page per benchmark: tables, charts, reasons for lost points, data sets, settings and trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.comparable import result_provenance
from opencompass_tooleval.catalogue.metrics import words_of_metric
from opencompass_tooleval.catalogue.variants import find_variant
from opencompass_tooleval.core.statistics.paired import metrics_of
from opencompass_tooleval.core.statistics.trials import parse_name, trials_of_result
from opencompass_tooleval.findings.of_results import findings_of_run
from opencompass_tooleval.report.agent_figures import agent_tables
from opencompass_tooleval.report.board import OVERVIEW, Board, without_other_data
from opencompass_tooleval.report.figure import Figure, Table, shown
from opencompass_tooleval.report.names import FAMILIES, family_of, title_of
from opencompass_tooleval.report.spending import sampled_tables
from opencompass_tooleval.results.table import Material, ModelResult

_TOLD = 3
"""Maximum number of values of a setting that are listed; if there are more, the page shows their number."""


@dataclass(frozen=True)
class Page:
    """Content of one page.

    Attributes:
        name: Stem of its file.
        title: Its heading.
        boards: Its tables.
        figures: Its charts.
        reasons: Reasons for lost points: one figure per data set.
        tables: Further tables, such as those of EasyTool.
        settings: Key of the provenance -> its values.
        warnings: Reasons why its models are not comparable with each other.
    """

    name: str
    title: str
    boards: tuple[Board, ...] = ()
    figures: tuple[Figure, ...] = ()
    reasons: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    settings: Mapping[str, str] | None = None
    warnings: tuple[str, ...] = ()


def pages_of(
    material: Material, boards: Sequence[Board], figures: Sequence[Figure], of_variants: Mapping[str, Sequence[Table]]
) -> tuple[Page, ...]:
    """Builds the pages of all benchmarks with results, and of all kinds of variants that were compared.

    Args:
        material: The results.
        boards: All tables of scores.
        figures: All charts.
        of_variants: Name of a kind of variants -> its tables.
    """
    pages = []
    for family, title in FAMILIES.items():
        entries = [entry for entry in material.scored if family_of(entry.dataset) == family]
        if not entries:
            continue
        results = {(entry.model, entry.dataset): entry.result for entry in entries}
        family_boards = tuple(
            without_other_data(board, material)
            for board in boards
            if board.name != OVERVIEW and family_of(board.name) == family
        )
        names = {board.name for board in family_boards}
        pages.append(
            Page(
                family,
                title,
                family_boards,
                tuple(
                    figure if figure.board in names else replace(figure, board='')
                    for figure in figures
                    if figure.section == family
                ),
                tuple(
                    figure for figure in figures if figure.section == 'reasons' and family_of(figure.choice) == family
                ),
                (
                    *sampled_tables(family, entries),
                    *(table for tables in plugin.added('tables') for table in tables(family, entries)),
                    _metrics_table(family, entries),
                    *agent_tables(family, entries),
                    *trials_tables(family, entries),
                ),
                _settings(entries),
                tuple(str(one) for one in findings_of_run(results) if one.kind == 'result:differs'),
            )
        )
    for name, tables in of_variants.items():
        charts = tuple(figure for figure in figures if figure.section == name)
        if charts or tables:
            kind = find_variant(name)
            pages.append(Page(name, f'{kind.page}: {kind.question}', figures=charts, tables=tuple(tables)))
    return tuple(pages)


def _metrics_table(family: str, entries: Sequence[ModelResult]) -> Table:
    """Builds a table with a row per data set and metric, and a column per model."""
    models = tuple(dict.fromkeys(entry.model for entry in entries))
    values: dict[tuple[str, str], dict[str, str]] = {}
    for entry in sorted(entries, key=lambda entry: entry.dataset):
        for metric in metrics_of(entry.result):
            values.setdefault((entry.dataset, metric), {})[entry.model] = shown(entry.number(metric))
    rows = tuple(
        (title_of(dataset), words_of_metric(metric).name, *(by_model.get(model, '') for model in models))
        for (dataset, metric), by_model in values.items()
    )
    return Table(f'datasets-{family}', 'Data sets: every metric', ('data set', 'metric', *models), rows)


def _settings(entries: Iterable[ModelResult]) -> dict[str, str]:
    values_of: dict[str, dict[str, None]] = {}
    for entry in entries:
        for key, value in result_provenance(entry.result).items():
            if not isinstance(value, dict) and value not in (None, ''):
                values_of.setdefault(str(key), {})[str(value)] = None
    return {
        key: ', '.join(values) if len(values) <= _TOLD else f'{len(values)} different values'
        for key, values in values_of.items()
    }


def trials_tables(family: str, entries: Iterable[ModelResult]) -> Iterator[Table]:
    """Yields a table of averages, ``pass@k`` and ``pass^k``, with standard errors; nothing without repeated trials.

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
    # With k=1, both equal the average.
    names = sorted({name for _, cells in rows for name in cells if parse_name(name)[1] > 1}, key=parse_name)
    columns = ('data set', 'metric', 'model', 'n', 'avg@n', *names)
    title = 'Several trials: correct in at least one of k (pass@k), correct in all k (pass^k)'
    yield Table(
        f'trials-{family}',
        title,
        columns,
        tuple((*place, *(cells.get(name, '') for name in names)) for place, cells in rows),
    )
