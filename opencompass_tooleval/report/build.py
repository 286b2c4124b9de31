"""Writes a report: pages with charts, samples and tables."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from opencompass_tooleval import __version__, plugin
from opencompass_tooleval.catalogue.labels import words_of_reason
from opencompass_tooleval.catalogue.metrics import lower_is_better
from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.catalogue.variants import find_variant
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.escapes import csv_cell, latex_text, markdown_text
from opencompass_tooleval.findings.of_results import findings_of_run, of_comparisons
from opencompass_tooleval.plugin import BENCHMARKS, VARIANTS
from opencompass_tooleval.report.agent_figures import agent_figures
from opencompass_tooleval.report.board import Board, board_table, boards, printed_table
from opencompass_tooleval.report.charts import to_plotly
from opencompass_tooleval.report.figure import Figure, Table, as_table, shown
from opencompass_tooleval.report.names import title_of
from opencompass_tooleval.report.overview import Overview, overview
from opencompass_tooleval.report.pages import Page, pages_of
from opencompass_tooleval.report.provenance import missing_table, older_table, others_table, results_table, runs_table
from opencompass_tooleval.report.published import published_table
from opencompass_tooleval.report.reasons import reason_figures
from opencompass_tooleval.report.samples import SampleFiles, to_script
from opencompass_tooleval.report.spending import cost_in_all, spending_figures, spent_of
from opencompass_tooleval.report.variant_figures import (
    comparisons,
    rankings_table,
    spread_table,
    variant_figures,
    variant_table,
)
from opencompass_tooleval.results.table import Material, read, run_names
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.whole_file import naming


def to_csv(table: Table) -> str:
    """Formats a table as comma-separated values, with a header row."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator='\n')
    writer.writerows([csv_cell(text) for text in row] for row in (table.columns, *table.rows))
    return stream.getvalue()


def to_markdown(table: Table) -> str:
    """Formats a table as GitHub Markdown."""

    def line(row: tuple[str, ...]) -> str:
        return '| ' + ' | '.join(markdown_text(' '.join(text.split())) for text in row) + ' |'

    rule = '| ' + ' | '.join('---' for _ in table.columns) + ' |'
    return '\n'.join([line(table.columns), rule, *map(line, table.rows)]) + '\n'


def to_latex(table: Table) -> str:
    """Formats a table as a LaTeX tabular for the package booktabs."""

    def line(row: tuple[str, ...]) -> str:
        joined = ' & '.join(map(latex_text, row))
        # The previous line ends in \\ or \midrule, which would read '[' or '*' as an argument.
        return ('{}' if joined.startswith(('[', '*')) else '') + joined + r' \\'

    head = rf'\begin{{tabular}}{{l{"r" * (len(table.columns) - 1)}}}'
    body = [head, r'\toprule', line(table.columns), r'\midrule', *map(line, table.rows), r'\bottomrule']
    return '\n'.join([*body, r'\end{tabular}']) + '\n'


def save_table(table: Table, folder: Path, latex: Table | None = None) -> None:
    """Writes ``NAME.csv``, ``NAME.md`` and ``NAME.tex``; broken characters become question marks.

    Args:
        table: The table.
        folder: The destination.
        latex: Replaces the table in LaTeX, if its texts are too long for print.
    """
    for ending, text in (('csv', to_csv(table)), ('md', to_markdown(table)), ('tex', to_latex(latex or table))):
        (folder / f'{table.name}.{ending}').write_text(text, encoding='utf-8', errors='replace')


FRESH = '.unfinished'
"""Subfolder in which pages are built: this process may not be allowed to write next to the target folder."""
STATIC = Path(__file__).parent / 'static'


_DIGEST = re.compile(r'[0-9a-f]{24,}')


def short_digests(text: str) -> Markup:
    """Marks digests in a text, so that a page shows them shortened, but copies them whole."""
    parts = Markup('<span class="digest" tabindex="0" data-tip="{0}">{0}</span>')
    digests = _DIGEST.findall(text)
    texts = zip(_DIGEST.split(text), [*map(parts.format, digests), ''], strict=True)
    return Markup('').join(part for pair in texts for part in pair)


@contextmanager
def replaced(out: Path, marker: str, what: str) -> Iterator[Path]:
    """Yields an empty folder; its content replaces that of ``out`` when the block ends without an error.

    Args:
        out: A new or empty folder, or one with earlier pages.
        marker: Name of the file that marks a folder of such pages.
        what: Name of the pages in a message.

    Raises:
        DataError: ``out`` contains something else.
    """
    try:
        if out.exists() and any(out.iterdir()) and not (out / marker).is_file():
            raise DataError(out, f'this folder has other files than a {what}', fix='name another with -o')
        out.mkdir(parents=True, exist_ok=True)
        (out / marker).write_text(f'{__version__}\n', encoding='utf-8')
    except OSError as error:
        why = f'the folder cannot be created or written ({error.strerror})'
        raise DataError(out, why, fix='choose another folder with -o') from error
    fresh = out / FRESH
    shutil.rmtree(fresh, ignore_errors=True)  # left by a killed process
    try:
        with naming(out):
            fresh.mkdir()
            yield fresh
        for old in out.iterdir():
            if old.name not in (FRESH, marker):
                shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
        for new in fresh.iterdir():
            new.rename(out / new.name)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def templates() -> Environment:
    """Returns the environment of the page templates; all text is escaped."""
    environment = Environment(
        loader=PackageLoader('opencompass_tooleval.report'),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters['short_digests'] = short_digests
    environment.globals |= {
        'shown': shown,
        'as_table': as_table,
        'title_of': title_of,
        'words_of_reason': words_of_reason,
        'version': __version__,
        'lower_is_better': lower_is_better,
    }
    return environment


def write_page(environment: Environment, template: str, name: str, out: Path, context: Mapping[str, Any]) -> None:
    """Writes ``NAME.html``; broken characters become question marks."""
    text = environment.get_template(f'{template}.html.j2').render(context, page=name)
    (out / f'{name}.html').write_text(text, encoding='utf-8', errors='replace')


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
