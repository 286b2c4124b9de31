"""Builds the first page: the ranking of models, a matrix of models and benchmarks, and the largest differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from opencompass_tooleval.catalogue.labels import words_of_reason
from opencompass_tooleval.catalogue.metrics import lower_is_better
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.core.statistics.intervals import (
    BY_MEAN,
    LEADS,
    NO_INTERVAL,
    TOO_FEW,
    Score,
    in_words,
    lead_of,
)
from opencompass_tooleval.report.board import OVERVIEW, Board, best_first
from opencompass_tooleval.report.figure import Number, mean, shown
from opencompass_tooleval.report.names import FAMILIES, OTHERS, family_of, is_variant, title_of
from opencompass_tooleval.report.provenance import Spent
from opencompass_tooleval.report.reasons import fragment
from opencompass_tooleval.report.spending import spending_over
from opencompass_tooleval.report.standing import Digest, Shares, Standing, standings
from opencompass_tooleval.results.table import Cell, Missing

MEAN = ''
"""Key of the ranking among the rows, whose names are never empty."""
MOST = 12
"""Maximum number of models in the matrix; the benchmark pages show all models."""
LISTED = 3
"""Number of rows under each heading."""
_BEHIND = {LEADS: 'significant', BY_MEAN: 'not significant', TOO_FEW: TOO_FEW, NO_INTERVAL: 'no interval'}
"""Kind of lead of the first model -> text in the row of the other model."""
_LEAST = 0.05
"""Minimum difference that is listed: smaller ones would be shown as 0.0."""


@dataclass(frozen=True)
class Place:
    """A model in the ranking.

    Attributes:
        model: Name of the model.
        score: 0-100.
        behind: Difference from the first model with its interval, as text; '' for the first.
        verdict: Says if the difference is significant.
        prompts: Mean prompt tokens per task, over the data sets of the score; None if unknown for one of them.
        answers: Mean answer tokens per task, over the same data sets.
        cost: Cost of 1,000 answers, over the same data sets.
    """

    model: str
    score: float
    behind: str
    verdict: str
    prompts: float | None
    answers: float | None
    cost: float | None


@dataclass(frozen=True)
class MatrixRow:
    """A row of the matrix: one score with a cell per model, and a verdict on the leader."""

    title: str
    page: str
    cells: tuple[Cell, ...]
    verdict: str


@dataclass(frozen=True)
class Highlight:
    """A difference between models, or a loss of points, with a link to the samples."""

    text: str
    number: str
    link: str
    why: str = ''


@dataclass(frozen=True)
class Overview:
    """The first page.

    Attributes:
        headline: One sentence on the best model.
        measure: Name of the score that ranks the models.
        note: How that score is computed; '' if it is a benchmark's own score.
        places: The ranking; empty if the models have no common score.
        models: Models in the matrix.
        left_out: Number of models that are not in the matrix.
        rows: Rows of the matrix.
        highlights: Heading -> rows.
        caveats: Distinct reasons why cells are not comparable with published scores.
        as_published: Publication -> the measured models whose scores equal the published ones.
    """

    headline: str
    measure: str
    note: str
    places: tuple[Place, ...]
    models: tuple[str, ...]
    left_out: int
    rows: tuple[MatrixRow, ...]
    highlights: Mapping[str, tuple[Highlight, ...]]
    caveats: tuple[str, ...]
    as_published: Mapping[str, str] = field(default_factory=dict)


def overview(
    boards: Sequence[Board],
    digest: Digest,
    spent: Mapping[tuple[str, str], Spent],
    missing: Sequence[Missing] = (),
) -> Overview:
    """Builds the first page.

    Args:
        boards: All tables, the overview first; empty if there are no scores.
        digest: The digest of all samples.
        spent: Model and data set -> usage.
        missing: The missing results.
    """
    if not boards:
        return Overview('', '', '', (), (), 0, (), {}, ())
    board = boards[0]
    measured = best_first((row for row in board.rows if not row.source), board.columns)
    columns, values = dict(board.shares), _values(board)
    ranked, ranked_by = who_is_ranked(board)
    measure, note = _measure(list(ranked_by), columns)
    unranked = tuple(row.model for row in measured if row.model not in ranked)
    without = [one.model for one in missing if one.model not in {row.model for row in measured}]
    if lacking := dict.fromkeys([*unranked, *without]):
        whys = first_of([_why_unranked(model, missing) for model in lacking], MOST)
        note = f'{note} Not ranked, since results are missing: {whys}.'.strip()
    if ranked_by:
        parts: dict[Score, float] = {}
        for name, share in ranked_by.items():
            for score, part in columns[name].items():
                parts[score] = parts.get(score, 0.0) + share * part
        columns[MEAN] = parts
        values[MEAN] = {
            model: math.fsum(share * values[name][model] for name, share in ranked_by.items()) for model in ranked
        }
    standing_of = standings(columns, values, digest)
    ranking = standing_of.get(MEAN)
    order = (*ranking.order, *unranked) if ranking else tuple(row.model for row in measured)
    by_model = {row.model: row for row in measured}
    across = order[:MOST]
    rows = tuple(
        MatrixRow(
            column,
            f'{_family(columns[column])}.html',
            tuple(by_model[model].cells[i] for model in across),
            '' if _family(columns[column]) == OTHERS else verdict_of(standing_of.get(column)),
        )
        for i, column in enumerate(board.columns)
    )
    return Overview(
        _with_rows(headline(ranking), ranked_by, rows) if ranking or len(measured) > 1 else '',
        measure,
        note,
        _places(ranking, spending_of_ranked(boards, spent)) if ranking else (),
        across,
        len(order) - len(across),
        rows,
        {
            'Abilities with the largest gaps': tuple(_gaps(boards, digest)),
            'Reasons that cost the most points': tuple(_costs(digest)),
            'Records on which models differ most': tuple(_records(digest)),
        },
        tuple(board.caveats()),
        {source: models for board in boards for source, models in board.as_published.items()},
    )


def _family(shares: Shares) -> str:
    return family_of(next(iter(shares))[0])


def _values(board: Board) -> dict[str, dict[str, float]]:
    """Returns column -> measured model -> score."""
    rows = [row for row in board.rows if not row.source]
    return {
        column: {row.model: float(value) for row in rows if (value := row.cells[i].value) is not None}
        for i, column in enumerate(board.columns)
    }


def _why_unranked(model: str, missing: Sequence[Missing]) -> str:
    """Returns a model with its first missing result, the cause, and the number of the others."""
    those = [one for one in missing if one.model == model]
    return f'{model} ({first_of([title_of(one.dataset) for one in those], 1)}: {those[0].what})' if those else model


def spending_of_ranked(
    boards: Sequence[Board], spent: Mapping[tuple[str, str], Spent]
) -> dict[str, tuple[Number, Number, Number]]:
    """Returns :func:`spending_over` of the ranked models, over the data sets of the scores that rank them.

    Args:
        boards: All tables, the overview first.
        spent: Model and data set -> usage.
    """
    ranked, names = who_is_ranked(boards[0]) if boards else ((), {})
    shares = [score for name in names for score in boards[0].shares[name]]
    return spending_over(ranked, list(dict.fromkeys(dataset for dataset, _ in shares)), spent)


def who_is_ranked(board: Board) -> tuple[Sequence[str], dict[str, float]]:
    """Returns the ranked models, and the measure: row of the overview -> share.

    If the models share no row, only those with the most rows are ranked.
    """
    columns, values, models = board.shares, _values(board), [row.model for row in board.rows if not row.source]
    ranked_by = _ranked_by(columns, values, models)
    counts = {model: sum(model in scores for scores in values.values()) for model in models}
    most = [model for model in models if counts[model] == max(counts.values())]
    if ranked_by or len(most) < 2:
        return models, ranked_by
    return most, _ranked_by(columns, values, most)


def _ranked_by(
    columns: Mapping[str, Shares], values: Mapping[str, Mapping[str, float]], models: Sequence[str]
) -> dict[str, float]:
    """Returns the measure: row -> share. Benchmarks have equal weight; each is the mean of its rows that all have."""
    whole = [name for name in columns if all(model in values[name] for model in models)]
    # For data sets from outside this package, it is unknown if more is better.
    whole = [name for name in whole if _family(columns[name]) != OTHERS]
    plain = [name for name in whole if not any(is_variant(dataset) for dataset, _ in columns[name])] or whole
    families: dict[str, list[str]] = {}
    for name in plain:
        families.setdefault(_family(columns[name]), []).append(name)
    return {name: 1 / len(names) / len(families) for names in families.values() for name in names}


def _measure(names: Sequence[str], columns: Mapping[str, Shares]) -> tuple[str, str]:
    """Returns the name of the measure, and how it is computed ('' if it is a benchmark's own score)."""
    if len(names) < 2:
        return ''.join(names), ''
    titles = [FAMILIES[family] for family in dict.fromkeys(_family(columns[name]) for name in names)]
    variants = any(is_variant(dataset) for name in names for dataset, _ in columns[name])
    which = 'all of which are variants' if variants else 'without variants (EasyTool instructions, function calling)'
    note = f'rows below that all ranked models have, {which}. No paper has this mean.'
    if len(titles) == 1:
        return f'Mean of {titles[0]}', f'Mean of the {note}'
    return 'Mean score', f'Mean of {", ".join(titles)}: each is the mean of its {note}'


def _with_rows(title: str, ranked_by: Mapping[str, float], rows: Sequence[MatrixRow]) -> str:
    """Names the row that a headline is about if there are others, and a row in which a model leads."""
    if len(ranked_by) != 1 or len(rows) < 2:
        return title
    leads = [f'; {row.verdict} on {row.title}' for row in rows if row.title not in ranked_by and LEADS in row.verdict]
    return f'{title} on {next(iter(ranked_by))}{"".join(leads[:1])}'


def headline(ranking: Standing | None) -> str:
    """Returns a sentence on the best model, its lead, and whether the lead is significant."""
    if ranking is None:
        return 'The models have no score in common'
    first, *others = ranking.order
    if not others:
        return f'{first}: {shown(ranking.scores[first])}'
    if others[0] in ranking.equal:
        return f'{_joined([first, *ranking.equal])} have {"the same score" if ranking.scores[first] else "no points"}'
    interval, lead = ranking.behind[others[0]], lead_of(ranking.behind[others[0]])
    span = f'{-ranking.behind_by(others[0]):.1f} points'
    if interval:
        span += f' on average (95%: {-interval.high + 0.0:.1f} to {-interval.low + 0.0:.1f})'
    if lead == LEADS:
        return f'{first} leads {others[0]} by {span}'
    if lead == TOO_FEW:
        return f'{first_of(ranking.order, 2)}: too few records to rank'
    ahead, _, doubt = lead.partition(', ')
    return f'{first} is {ahead} of {others[0]} by {span}, {doubt}'


def _joined(names: Sequence[str]) -> str:
    return ' and '.join(names) if len(names) == 2 else first_of(names, 2)


def verdict_of(standing: Standing | None) -> str:
    """Says if the first model of a row leads significantly, and over which models if not over all."""
    if standing is None or len(standing.order) < 2:
        return ''
    first, *others = standing.order
    if standing.equal:
        names = _joined([first, *standing.equal])
        all_equal = 'equal' if standing.scores[first] else 'all have 0.00'
        return all_equal if len(standing.equal) == len(others) else f'{names} have the same score'
    led = standing.others(LEADS)
    if len(led) == len(others):
        return f'{first} {LEADS}'
    lead = next(lead for lead in (TOO_FEW, NO_INTERVAL, BY_MEAN) if standing.others(lead))
    return f'{lead}; {LEADS} {first_of(led, 2)}' if led else lead


def _places(ranking: Standing, spending: Mapping[str, tuple[Number, Number, Number]]) -> tuple[Place, ...]:
    return tuple(
        Place(
            model,
            ranking.scores[model],
            '' if model == ranking.leader else in_words(ranking.behind[model]) or f'{ranking.behind_by(model):+.2f}',
            'first' if model == ranking.leader else _BEHIND[lead_of(ranking.behind.get(model))],
            *spending[model],
        )
        for model in ranking.order
    )


def _gaps(boards: Sequence[Board], digest: Digest) -> Iterator[Highlight]:
    """Yields the largest differences between the best and the worst model, significant ones first."""
    gaps = []
    for board in boards:
        rows = [row for row in board.rows if not row.source]
        halves = board.halves
        for i, column in enumerate(board.columns if board.name not in (OVERVIEW, OTHERS) else ()):
            if column in halves or column == 'overall' or lower_is_better(column):
                continue
            scored = [(float(cell.value), row.model) for row in rows if (cell := row.cells[i]).value is not None]
            if len(scored) > 1 and (gap := max(scored)[0] - min(scored)[0]) >= _LEAST:
                pair = {model: score for score, model in (max(scored), min(scored))}
                best, worst = pair
                behind = standings({column: board.shares[column]}, {column: pair}, digest)[column].behind
                gaps.append((gap, lead_of(behind[worst]), board, column, best, worst))
    for gap, lead, board, column, best, worst in sorted(gaps, key=lambda gap: (gap[1] != LEADS, -gap[0]))[:LISTED]:
        # An ability averages several data sets; link to the one in which the models differ most.
        dataset = max((dataset for dataset, _ in board.shares[column]), key=partial(_apart, digest, best, worst))
        name, sentence = board.words(column)
        link = fragment(worst, dataset, other=best, differ=True)
        number = f'{gap:.1f} points' if lead == LEADS else f'{gap:.1f} points, {_BEHIND[lead]}'
        yield Highlight(f'{board.title}, {name}: {worst} behind {best}', number, link, sentence)


def _apart(digest: Digest, best: str, worst: str, dataset: str) -> float:
    """Computes the difference between two models' mean sample scores on a data set, -1 to 1."""
    means = [mean(digest.scores.get((model, dataset), ())) or 0.0 for model in (best, worst)]
    return means[0] - means[1]


def _costs(digest: Digest) -> Iterator[Highlight]:
    """Yields the reasons that cost the most points, by model and benchmark."""
    where: dict[tuple[str, str, str], dict[str, float]] = {}
    for (model, dataset), reasons in digest.lost.items():
        for reason, points in reasons.items():
            if points >= _LEAST:
                where.setdefault((model, family_of(dataset), reason), {})[dataset] = points
    most = sorted(where.items(), key=lambda item: -sum(item[1].values()))[:LISTED]
    for (model, family, reason), points_of in most:
        dataset = max(points_of, key=lambda name: points_of[name])
        name, sentence = words_of_reason(reason)
        place = title_of(dataset).removeprefix(FAMILIES[family]).strip()
        text = f'{model}, {FAMILIES[family]}: {name}, most in {place}'
        samples = sum(len(scores) for (m, d), scores in digest.scores.items() if (m, family_of(d)) == (model, family))
        lost = f'{sum(points_of.values()):,.1f}'.removesuffix('.0')
        number = f'cost {lost} of {samples:,} samples'
        yield Highlight(text, number, fragment(model, dataset, reason), sentence)


def _records(digest: Digest) -> Iterator[Highlight]:
    """Yields the records on which the scores of models differ most."""
    spreads: list[tuple[float, str, int, str, str]] = []
    for dataset in dict.fromkeys(dataset for _, dataset in digest.scores):
        models = [model for model, name in digest.scores if name == dataset]
        ids = {tuple(digest.ids[model, dataset]) for model in models}
        if len(models) < 2 or len(ids) > 1:
            continue  # indices only match if all models have the same records
        spread = []
        for i, row in enumerate(zip(*(digest.scores[model, dataset] for model in models), strict=True)):
            scored = [(score, model) for score, model in zip(row, models, strict=True) if score is not None]
            if len(scored) > 1 and 10 * (max(scored)[0] - min(scored)[0]) >= _LEAST:  # shown as whole points
                spread.append((max(scored)[0] - min(scored)[0], dataset, i, max(scored)[1], min(scored)[1]))
        spreads += sorted(spread, key=lambda entry: -entry[0])[:1]
    spreads.sort(key=lambda entry: -entry[0])
    of_families: dict[str, tuple[float, str, int, str, str]] = {}
    for entry in spreads:
        of_families.setdefault(family_of(entry[1]), entry)  # at most one record per benchmark first
    for gap, dataset, i, best, worst in list(of_families.values())[:LISTED]:
        record = digest.ids[worst, dataset][i]
        link = fragment(worst, dataset, other=best, differ=True, sample=i)
        yield Highlight(f'{title_of(dataset)}, {record}: {worst} behind {best}', f'{100 * gap:.0f} points', link)
