r"""Escapes names and texts of any origin for Markdown, CSV and TeX, so that they stay text in one cell."""

from __future__ import annotations

import re

from opencompass_tooleval.core.text.jsonable import printable

_MARKDOWN = str.maketrans({char: f'&#{ord(char)};' for char in '&<>|`*_[]@\\#!~'})
_LATEX = str.maketrans(
    {sign: f'\\{sign}' for sign in '&%$#_{}'}
    | {
        '\\': r'\textbackslash{}',
        '~': r'\textasciitilde{}',
        '^': r'\textasciicircum{}',
        '±': r'$\pm$',
        '★': r'$\star$',
        '†': r'$\dagger$',
    }
)
_NUMBER = re.compile(r'[+-]?\d+(\.\d+)?')


def markdown_text(text: str) -> str:
    """Escapes text for a cell of a Markdown table, so that it cannot become HTML, a link, a mention or a new cell."""
    return ''.join(char if char.isprintable() else ' ' for char in text).translate(_MARKDOWN)


def latex_text(text: str) -> str:
    """Escapes text for a cell of a LaTeX table."""
    return printable(' '.join(text.split())).translate(_LATEX)


def csv_cell(text: str) -> str:
    """Escapes a cell, so that a spreadsheet reads neither a formula nor several rows (at a bare ``\\r``) from it."""
    text = printable(text.replace('\r\n', '\n').replace('\r', '\n'))  # line feeds are quoted
    return f"'{text}" if text[:1] in ('=', '+', '-', '@', '\t', '\n') and not _NUMBER.fullmatch(text) else text
