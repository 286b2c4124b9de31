"""Computes the cost of results, and draws scores against cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from opencompass_tooleval.catalogue.benchmark import holds_dialogues
from opencompass_tooleval.catalogue.metrics import lower_is_better, main_first, words_of_metric
from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.prices import Prices
from opencompass_tooleval.core.scoring.usage_summary import prompt_tokens_of, spending_of
from opencompass_tooleval.report.board import OVERVIEW, Board
from opencompass_tooleval.report.figure import Figure, Number, Series, Table
from opencompass_tooleval.report.names import OTHERS, family_of, title_of
from opencompass_tooleval.report.provenance import Spent
from opencompass_tooleval.results.sampled import estimates_of
from opencompass_tooleval.results.table import Material, ModelResult
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.progress import cost_of_run, prices_of
from opencompass_tooleval.work_dir.work_dir import WorkDir

Key = tuple[str, str]
_ANSWERS = 1000
"""Number of answers whose cost is shown, since the cost of one answer is a very small number."""
_FEWEST = 2
"""Minimum number of models for a comparison."""


def spent_of(material: Material, estimated: Mapping[Key, Spent]) -> dict[Key, Spent]:
    """Returns model and data set -> usage, from the results; estimated for results without usage."""
    prices = {run: _prices(run) for run in {entry.run for entry in material.scored}}
    return {
        (entry.model, entry.dataset): _known(
            entry, estimated.get((entry.model, entry.dataset)), prices[entry.run].get(entry.folder)
        )
        for entry in material.scored
    }


def _prices(run: WorkDir) -> dict[str, Prices]:
    """Returns the prices of a run's models from its config; empty if the config cannot be read."""
    try:
        return prices_of(read_dumped(run.config()))
    except (DataError, OSError):
        return {}


def _known(entry: ModelResult, estimated: Spent | None, prices: Prices | None) -> Spent:
    usage = entry.part('usage')
    prompts = prompt_tokens_of(usage, holds_dialogues(entry.result))
    base, spending = estimated or Spent(prompts, None, None), spending_of(usage, prices)
    known = spending.with_tokens if spending else 0
    if spending is None or known <= 0:
        return base
    cost = None if spending.cost is None else spending.cost / known
    return replace(base, answers=spending.completion / known, cost=cost, known=known)


def sampled_tables(family: str, entries: Sequence[ModelResult]) -> Iterator[Table]:
    """Yields a table of main scores that are estimated from samples, with intervals and the cost of the rest.

    Yields nothing without samples.
    """
    by_model: dict[str, dict[str, Mapping[str, Any]]] = {}
    for entry in entries:
        by_model.setdefault(entry.model, {})[entry.dataset] = entry.result
    columns = published_columns()
    rows = [
        (model, title_of(one.name), words_of_metric(one.metric).name, *one.cells)
        for model, results in by_model.items()
        for one in estimates_of(results, columns)
    ]
    if rows:
        heads = ('model', 'data set', 'score', 'sample', 'low', 'high', 'asked', 'of', 'cost of the rest, estimated')
        yield Table(
            f'sampled-{family}', 'Samples, with the 95% interval of the score of all records', heads, tuple(rows)
        )


def spending_figures(boards: Sequence[Board], spent: Mapping[Key, Spent]) -> Iterator[Figure]:
    """Yields charts of each table's main score against the cost of answers or, without prices, their tokens.

    A chart needs at least two models whose usage a server reported or a tokenizer counted.
    """
    for board in boards:
        if board.name == OVERVIEW or family_of(board.name) == OTHERS:
            continue
        columns = [column for column in board.columns if not lower_is_better(column)]
        figures = (figure for column in main_first(columns) if (figure := _figure(board, column, spent)))
        yield from islice(figures, 1)


def _figure(board: Board, column: str, spent: Mapping[Key, Spent]) -> Figure | None:
    """Builds the chart of one column; None if fewer than two models have a score with cost or tokens."""
    at = board.columns.index(column)
    cells = {row.model: row.cells[at] for row in board.rows if not row.source}
    scores = {model: cell.value for model, cell in cells.items() if cell.value is not None}
    datasets = list(dict.fromkeys(dataset for dataset, _ in board.shares[column]))
    costs = _over(scores, datasets, {key: amount.cost for key, amount in spent.items()})
    tokens = _over(scores, datasets, {key: amount.answers for key, amount in spent.items() if amount.known})
    if len(costs) >= _FEWEST:
        what, x_title = 'cost', f'cost of {_ANSWERS:,} answers'
        across = {model: _ANSWERS * cost for model, cost in costs.items()}
    else:
        across, what, x_title = tokens, 'tokens', 'tokens of an answer, thoughts included'
    if len(across) < _FEWEST:
        return None
    left_out = [model for model in scores if model not in across]
    return Figure(
        f'{board.name}-spending',
        family_of(board.name),
        f'{board.title}: score and {what}',
        'points',
        (),
        tuple(Series(model, (scores[model],), x=(x,)) for model, x in across.items()),
        x_title=x_title,
        y_title=board.words(column).name,
        note=f'Unknown for {", ".join(left_out)}.' if left_out else '',
        board=board.name,
    )


def _over(models: Iterable[str], datasets: Sequence[str], numbers: Mapping[Key, Number]) -> dict[str, float]:
    """Returns model -> mean over the data sets, for models that have a number for every data set."""
    values = {model: [numbers.get((model, dataset)) for dataset in datasets] for model in models}
    return {
        model: math.fsum(filter(None, costs)) / len(costs)
        for model, costs in values.items()
        if costs and None not in costs
    }


def spending_over(
    models: Sequence[str], datasets: Sequence[str], spent: Mapping[Key, Spent]
) -> dict[str, tuple[Number, Number, Number]]:
    """Returns model -> prompt tokens and answer tokens of a task, and cost of 1,000 answers: means over the data sets.

    A number is None if it is unknown for one of the data sets.
    """
    numbers = {
        key: (amount.prompts.task, amount.answers, None if amount.cost is None else _ANSWERS * amount.cost)
        for key, amount in spent.items()
    }
    means = [_over(models, datasets, {key: those[i] for key, those in numbers.items()}) for i in range(3)]
    return {model: (means[0].get(model), means[1].get(model), means[2].get(model)) for model in models}


def cost_in_all(material: Material) -> Number:
    """Returns the cost of all answers of all runs, as ``tooleval status`` counts it; None if no config has prices."""
    costs = [
        cost_of_run(
            run,
            {(one.folder, one.dataset): one.result for one in material.scored if one.run == run and not one.is_earlier},
        )
        for run in material.runs
    ]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if known else None
