"""Writes tables as files for a paper: CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from opencompass_tooleval.report.figure import Table

_LATEX = {sign: f'\\{sign}' for sign in '&%$#_{}'} | {
    '\\': r'\textbackslash{}',
    '~': r'\textasciitilde{}',
    '^': r'\textasciicircum{}',
    '±': r'$\pm$',
    '★': r'$\star$',
    '†': r'$\dagger$',
}
_NUMBER = re.compile(r'[+-]?\d+(\.\d+)?')


def _csv_cell(text: str) -> str:
    """Escapes a cell, so that a spreadsheet reads neither a formula nor several rows (at a bare ``\\r``) from it."""
    text = text.replace('\r\n', '\n').replace('\r', '\n')  # line feeds are quoted
    return f"'{text}" if text[:1] in ('=', '+', '-', '@', '\t', '\n') and not _NUMBER.fullmatch(text) else text


def to_csv(table: Table) -> str:
    """Formats a table as comma-separated values, with a header row."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator='\n')
    writer.writerows([_csv_cell(text) for text in row] for row in (table.columns, *table.rows))
    return stream.getvalue()


def to_markdown(table: Table) -> str:
    """Formats a table as GitHub Markdown."""

    def line(row: tuple[str, ...]) -> str:
        texts = (re.sub(r'([\\|`*_\[\]])', r'\\\1', ' '.join(text.split())) for text in row)
        return '| ' + ' | '.join(text.replace('&', '&amp;').replace('<', '&lt;') for text in texts) + ' |'

    rule = '| ' + ' | '.join('---' for _ in table.columns) + ' |'
    return '\n'.join([line(table.columns), rule, *map(line, table.rows)]) + '\n'


def to_latex(table: Table) -> str:
    """Formats a table as a LaTeX tabular for the package booktabs."""

    def line(row: tuple[str, ...]) -> str:
        texts = (''.join(_LATEX.get(sign, sign) for sign in ' '.join(text.split())) for text in row)
        joined = ' & '.join(texts)
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
