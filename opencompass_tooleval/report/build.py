"""Writes a report: pages that draw their charts, samples, tables, and on request charts as files for a paper."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from opencompass_tooleval.core.benchmark import VARIANTS, find_variant
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.json_object import load_json
from opencompass_tooleval.core.tables import published_columns
from opencompass_tooleval.report.agent_figures import agent_figures
from opencompass_tooleval.report.board import Board, board_table, boards, printed_table
from opencompass_tooleval.report.charts import to_plotly
from opencompass_tooleval.report.easytool_figures import SECTION as EASYTOOL
from opencompass_tooleval.report.easytool_figures import easytool_published, retrieval_figure, selection_figure
from opencompass_tooleval.report.figure import Figure, Table, as_table
from opencompass_tooleval.report.files import save_table
from opencompass_tooleval.report.overview import Overview, overview
from opencompass_tooleval.report.pages import Page, pages_of
from opencompass_tooleval.report.provenance import missing_table, others_table, provenance_table, runs_table
from opencompass_tooleval.report.read import Material, read, run_names
from opencompass_tooleval.report.reasons import reason_figures
from opencompass_tooleval.report.samples import SampleFiles
from opencompass_tooleval.report.script import to_script
from opencompass_tooleval.report.spending import spending_figures, spent_of
from opencompass_tooleval.report.teval_figures import teval_figures
from opencompass_tooleval.report.ultratool_figures import ultratool_figures
from opencompass_tooleval.report.variant_figures import comparisons, variant_figures, variant_table
from opencompass_tooleval.report.writing import STATIC, replaced, templates, write_page

MARKER = '.tooleval-report'


@dataclass(frozen=True)
class Report:
    """Content of the pages.

    Attributes:
        material: The results.
        boards: All tables, the overview first.
        figures: All charts that are not empty.
        overview: The first page.
        pages: One page per benchmark.
    """

    material: Material
    boards: tuple[Board, ...]
    figures: tuple[Figure, ...]
    overview: Overview
    pages: tuple[Page, ...]


def _retrievals(material: Material) -> Iterator[dict[str, Any]]:
    """Yields the content of files that ``tooleval easytool retrieval --json WORK_DIR/retrieval*.json`` wrote."""
    for file in (file for run in material.runs for file in sorted(run.path.glob('retrieval*.json'))):
        try:
            result = load_json(file.read_bytes(), bounded=True)
            values = [value for series in retrieval_figure([result]).series for value in series.values]
            if not all(value is None or _is_number(value) for value in values):
                raise TypeError('a metric is no number')
        except (OSError, ValueError, LookupError, TypeError) as error:
            fix = 'write it again with: tooleval easytool retrieval ... --json FILE'
            raise DataError(file, f'it is no result of a retrieval ({error})', fix=fix) from error
        yield result


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def write_report(work_dirs: Sequence[Path], out: Path, formats: Sequence[str] = ()) -> Path:
    """Writes the report of work directories into a folder. It replaces an earlier report when it is complete.

    Damaged results and predictions files are listed in the report.

    Args:
        work_dirs: Runs, or folders of runs.
        out: A new or empty folder, or one with an earlier report.
        formats: Further formats of every chart, which the pages do not need: 'svg', 'png', 'pdf'.

    Returns:
        The first page.

    Raises:
        DataError: A path is no work directory, a file of retrieval is damaged, or ``out`` holds something else.
    """
    material = read(work_dirs)
    with replaced(out, MARKER, 'report') as fresh:
        _write(material, fresh, formats)
    return out / 'index.html'


def _write(material: Material, out: Path, formats: Sequence[str]) -> None:
    retrievals = list(_retrievals(material))
    samples = SampleFiles(out / 'samples')
    spent = spent_of(material, samples.write_all(material))
    tokens = {key: cost.prompts for key, cost in spent.items()}
    tables = tuple(boards(material, published_columns()))
    compared = {name: list(comparisons(find_variant(name), material)) for name in VARIANTS}
    figures = [
        *teval_figures(list(tables)),
        *ultratool_figures(list(tables), material),
        *(figure for name, measured in compared.items() for figure in variant_figures(name, measured, tokens)),
        selection_figure(material),
        *([retrieval_figure(retrievals)] if retrievals else []),
        *spending_figures(tables, spent),
        *agent_figures(material),
        *reason_figures(material),
    ]
    figures = [figure for figure in figures if not figure.is_empty()]
    of_variants = {
        name: [variant_table(name, measured, tokens)] if measured else [] for name, measured in compared.items()
    }
    if any(figure.section == EASYTOOL for figure in figures):
        of_variants[EASYTOOL] += easytool_published()
    first = overview(tables, samples.digest, spent)
    pages = pages_of(material, tables, figures, of_variants)
    report = Report(material, tables, tuple(figures), first, pages)
    about_runs = (
        runs_table(material),
        provenance_table(material, spent),
        others_table(material),
        missing_table(material, samples.damaged),
    )
    _write_files(report, about_runs, out / 'files', formats)
    _write_pages(report, about_runs, out, formats)


def _write_files(report: Report, about_runs: Sequence[Table], folder: Path, formats: Sequence[str]) -> None:
    folder.mkdir()
    of_pages = (table for page in report.pages for table in page.tables)
    for table in (*of_pages, *about_runs, *map(as_table, report.figures)):
        save_table(table, folder)
    others = [board.without_makers for board in report.boards]
    for board in (*report.boards, *filter(None, others)):
        save_table(board_table(board), folder, latex=printed_table(board))
    if formats:
        from opencompass_tooleval.report.plots import save  # matplotlib takes longer than a whole report

        for figure in report.figures:
            save(figure, folder, formats)


def _write_pages(report: Report, about_runs: Sequence[Table], out: Path, formats: Sequence[str]) -> None:
    environment = templates()
    environment.globals['chart_formats'] = tuple(formats)
    benchmarks = [(page.name, page.title.partition(':')[0]) for page in report.pages]
    context = {
        'material': report.material,
        'runs': run_names(report.material.runs).values(),
        'overview': report.overview,
        'pages': [('index', 'Overview'), *benchmarks, ('samples', 'Samples'), ('provenance', 'Provenance')],
        'about_runs': about_runs,
    }
    for name in ('index', 'samples', 'provenance'):
        write_page(environment, name, name, out, context)
    for page in report.pages:
        write_page(environment, 'benchmark', page.name, out, context | {'benchmark': page})
    charts = {
        figure.name: to_plotly(figure) | {'links': figure.links}
        for figure in report.figures
        if figure.section != 'reasons'
    }
    (out / 'figures.js').write_text(to_script('tooleval.figures', charts), encoding='ascii')
    (out / 'plotly.js').write_text(get_plotlyjs(), encoding='utf-8')
    for file in STATIC.iterdir():
        shutil.copyfile(file, out / file.name)
