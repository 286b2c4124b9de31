"""Writes a report: pages with charts, samples and tables."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from plotly.offline import get_plotlyjs

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.catalogue.variants import find_variant
from opencompass_tooleval.findings.of_results import findings_of_run, of_comparisons
from opencompass_tooleval.plugin import BENCHMARKS, VARIANTS
from opencompass_tooleval.report.agent_figures import agent_figures
from opencompass_tooleval.report.board import Board, board_table, boards, printed_table
from opencompass_tooleval.report.charts import to_plotly
from opencompass_tooleval.report.figure import Figure, Table, as_table
from opencompass_tooleval.report.files import save_table
from opencompass_tooleval.report.overview import Overview, overview
from opencompass_tooleval.report.pages import Page, pages_of
from opencompass_tooleval.report.provenance import missing_table, older_table, others_table, results_table, runs_table
from opencompass_tooleval.report.published import published_table
from opencompass_tooleval.report.reasons import reason_figures
from opencompass_tooleval.report.samples import SampleFiles
from opencompass_tooleval.report.script import to_script
from opencompass_tooleval.report.spending import cost_in_all, spending_figures, spent_of
from opencompass_tooleval.report.variant_figures import (
    comparisons,
    rankings_table,
    spread_table,
    variant_figures,
    variant_table,
)
from opencompass_tooleval.report.writing import STATIC, replaced, templates, write_page
from opencompass_tooleval.results.table import Material, read, run_names
from opencompass_tooleval.work_dir.printing import say

MARKER = '.tooleval-report'


def write_report(work_dirs: Sequence[Path], out: Path, include_private: bool = False) -> Path:
    """Writes the report of work directories into a folder. Only a complete report replaces an earlier one.

    Damaged results and predictions files are listed in the report.

    Args:
        work_dirs: Runs, or folders of runs.
        out: A new or empty folder, or one with an earlier report.
        include_private: True to show results on a user's own tools if there are several work directories.

    Returns:
        The first page.

    Raises:
        DataError: A path is not a work directory, a retrieval file is damaged, or ``out`` contains something else.
    """
    material = read(work_dirs, include_private)
    with replaced(out, MARKER, 'report') as fresh:
        _write(material, fresh)
    if material.private:
        say(f'results on your own tools are left out ({material.private}); --include-private shows them')
    return out / 'index.html'


def _write(material: Material, out: Path) -> None:
    samples = SampleFiles(out / 'samples')
    spent = spent_of(material, samples.write_all(material))
    tokens = {key: cost.prompts for key, cost in spent.items()}
    tables = tuple(boards(material, published_columns()))
    first = overview(tables, samples.digest, spent, material.missing)
    # All charts and tables have the models in the order of the first page.
    order = {model: place for place, model in enumerate(first.models)}
    ranked = sorted(material.scored, key=lambda entry: order.get(entry.model, len(order)))
    material = replace(material, scored=tuple(ranked))
    compared = {name: list(comparisons(find_variant(name), material)) for name in VARIANTS}
    figures = [
        *(figure for name in BENCHMARKS for figure in _further_figures(name, tables, material)),
        *(figure for name, measured in compared.items() for figure in variant_figures(name, measured, tokens)),
        *(figure for name in VARIANTS for figure in _further_figures(name, tables, material)),
        *spending_figures(tables, spent),
        *agent_figures(material),
        *reason_figures(material),
    ]
    figures = [figure for figure in figures if not figure.is_empty()]
    of_variants = {
        name: [variant_table(name, measured, tokens)] if measured else [] for name, measured in compared.items()
    }
    for name, measured in compared.items():
        if find_variant(name).several:
            tables_of_pairs = spread_table(name, measured), rankings_table(name, measured)
            of_variants[name] += [table for table in tables_of_pairs if table and table.rows]
    for name in {figure.section for figure in figures} & set(VARIANTS):
        of_variants[name] += map(published_table, find_variant(name).published)
    pages = pages_of(material, tables, figures, of_variants)
    about_runs = (
        runs_table(material),
        results_table(material, spent),
        older_table(material),
        others_table(material),
        missing_table(material, samples.damaged),
    )
    _write_files(pages, tables, [*about_runs, *map(as_table, figures)], out / 'files')
    _write_pages(material, first, pages, about_runs, out)
    _write_charts(figures, out)


def _further_figures(name: str, tables: Sequence[Board], material: Material) -> Iterator[Figure]:
    """Yields the charts that are specific to a benchmark or a kind of variants."""
    if name in plugin.FIGURES:
        yield from plugin.load(plugin.FIGURES[name])(tables, material)


def _write_files(pages: Sequence[Page], tables: Sequence[Board], others: Sequence[Table], folder: Path) -> None:
    folder.mkdir()
    for table in (*(table for page in pages for table in page.tables), *others):
        save_table(table, folder)
    for board in tables:
        save_table(board_table(board), folder, latex=printed_table(board))


def _write_pages(
    material: Material, first: Overview, pages: Sequence[Page], about_runs: Sequence[Table], out: Path
) -> None:
    environment = templates()
    benchmarks = [(page.name, page.title.partition(':')[0]) for page in pages]
    context = {
        'material': material,
        'runs': run_names(material.runs).values(),
        'overview': first,
        'cost': cost_in_all(material),
        'notes': [one.line for one in of_comparisons(findings_of_run(material.results))],
        'pages': [('index', 'Overview'), *benchmarks, ('samples', 'Samples'), ('provenance', 'Provenance')],
        'about_runs': about_runs,
    }
    for name in ('index', 'samples', 'provenance'):
        write_page(environment, name, name, out, context)
    for page in pages:
        write_page(environment, 'benchmark', page.name, out, context | {'benchmark': page})


def _write_charts(figures: Sequence[Figure], out: Path) -> None:
    charts = {
        figure.name: to_plotly(figure) | {'links': figure.links} for figure in figures if figure.section != 'reasons'
    }
    (out / 'figures.js').write_text(to_script('tooleval.figures', charts), encoding='ascii')
    (out / 'plotly.js').write_text(get_plotlyjs(), encoding='utf-8')
    for file in STATIC.iterdir():
        shutil.copyfile(file, out / file.name)
