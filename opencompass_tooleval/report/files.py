"""Writes tables as files for a paper: CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from opencompass_tooleval.core.text.escapes import csv_cell, latex_text, markdown_text
from opencompass_tooleval.report.figure import Table


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
