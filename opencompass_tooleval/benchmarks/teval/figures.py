"""Charts of T-Eval: the six abilities, and JSON against string answers (arXiv 2312.14033, Table 1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opencompass_tooleval.report.board import Board
from opencompass_tooleval.report.figure import Figure, Series
from opencompass_tooleval.report.names import caveats_note
from opencompass_tooleval.results.table import Material

ABILITIES = ('instruct', 'plan', 'reason', 'retrieve', 'understand', 'review')
TWO_FORMATS = ABILITIES[:-1]
FEWEST_AXES = 3
"""Minimum number of abilities for a radar chart."""
REFERENCES = ('GPT-4-Turbo (Nov 2023)', 'Qwen-7B')
"""Published models shown beside the measured ones."""


def figures(boards: Sequence[Board], _: Material) -> Iterator[Figure]:
    """Yields the figures of every table of T-Eval."""
    for board in boards:
        if board.name.startswith('tooleval-teval'):
            yield from _radar(board)
            yield from _gaps(board)


def _radar(board: Board) -> Iterator[Figure]:
    abilities = tuple(ability for ability in ABILITIES if ability in board.measured)
    if len(abilities) < FEWEST_AXES:
        return
    series = []
    for row in board.rows:
        values = tuple(row.cells[board.columns.index(ability)].value for ability in abilities)
        if any(value is not None for value in values) and (not row.source or row.model in REFERENCES):
            series.append(Series(row.model, values, published=bool(row.source)))
    name, title = f'{board.name}-abilities', f'{board.title}: {"six " * (abilities == ABILITIES)}abilities'
    note = caveats_note(board.caveats(abilities))
    yield Figure(name, 'teval', title, 'radar', abilities, tuple(series), note=note, board=board.name)


def _gaps(board: Board) -> Iterator[Figure]:
    at = {column: i for i, column in enumerate(board.columns)}
    abilities = tuple(ability for ability in TWO_FORMATS if {f'{ability}_json', f'{ability}_str'} & set(board.measured))
    for number, row in enumerate(row for row in board.rows if not row.source):
        series = []
        for kind, suffix in (('json', 'json'), ('string', 'str')):
            cells = [row.cells[at[name]] if (name := f'{ability}_{suffix}') in at else None for ability in abilities]
            values = tuple(cell.value if cell else None for cell in cells)
            errors = tuple((cell.error, cell.error) if cell and cell.error is not None else None for cell in cells)
            series.append(Series(kind, values, errors=errors))
        yield Figure(
            f'{board.name}-formats-{number}',
            'teval',
            f'{board.title}: JSON compared with string',
            'bars',
            abilities,
            tuple(series),
            y_title='score',
            note='Error bars show one standard error. Review has only one format.',
            choice=row.model,
            board=board.name,
        )
