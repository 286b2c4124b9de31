"""Charts of UltraTool: the judge's dimensions, domains, JSON rate (arXiv 2401.17167, Figures 5 and 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opencompass_tooleval.benchmarks.ultratool.judge import LABELS
from opencompass_tooleval.catalogue.metrics import words_of_metric
from opencompass_tooleval.report.board import Board
from opencompass_tooleval.report.figure import Figure, Number, Series, mean
from opencompass_tooleval.report.names import caveats_note, title_of
from opencompass_tooleval.report.published import published
from opencompass_tooleval.results.table import Material

MAIN = {
    'planning': 'overall',
    'tool_creation_awareness': 'local_accuracy',
    'tool_creation': 'overall',
    'tool_usage_awareness': 'local_accuracy',
    'tool_selection': 'local_accuracy',
    'tool_usage': 'local_levenshtein',
}
"""Task -> its metric by domain: Overall, or the local metrics of Table 2."""
JSON_TASKS = tuple(MAIN)[1:]
FIGURE_5 = ('Qwen-7B', 'Qwen-14B', 'Qwen-72B', 'GPT-4')
"""Published models shown beside the measured ones, from the paper's Figure 5."""


def figures(boards: Sequence[Board], material: Material) -> Iterator[Figure]:
    """Yields the figures of both languages."""
    for language in ('zh', 'en'):
        board = next((board for board in boards if board.name == f'tooleval-ultratool_{language}'), None)
        if board is not None:
            yield from _dimensions(language, material)
            yield from _domains(language, material)
            yield _json_rate(language, board, material)


def _dimensions(language: str, material: Material) -> Iterator[Figure]:
    scored = material.by_pair()
    for task, labels in LABELS.items():
        dimensions = tuple(name for name in labels if name != 'overall')
        dataset = f'tooleval-ultratool-{task}_{language}'
        series = [
            Series(model, tuple(scored[model, dataset].number(dimension) for dimension in dimensions))
            for model in material.models
            if (model, dataset) in scored
        ]
        if series:
            table = published(f'ultratool_{task}_{language}')
            series += [
                Series(f'{model} (published)', tuple(table.rows[model][name] for name in dimensions), published=True)
                for model in FIGURE_5
            ]
            title = f"{title_of(f'tooleval-ultratool_{language}')}: the judge's dimensions"
            note = f'Published: {table.source}, judged by GPT-4. '
            note += caveats_note(
                caveat
                for model in material.models
                if (model, dataset) in scored
                for caveat in scored[model, dataset].caveats
            )
            name = f'ultratool-{language}-{task}'
            beside = f'tooleval-ultratool_{language}'
            yield Figure(
                name,
                'ultratool',
                title,
                'bars',
                dimensions,
                tuple(series),
                y_title='score',
                note=note.strip(),
                choice=words_of_metric(task.removeprefix('tool_')).name,
                board=beside,
            )


def _domains(language: str, material: Material) -> Iterator[Figure]:
    scored = material.by_pair()
    values: dict[tuple[str, str], list[float]] = {}
    tasks: dict[str, set[str]] = {}
    for model in material.models:
        for task, metric in MAIN.items():
            entry = scored.get((model, f'tooleval-ultratool-{task}_{language}'))
            for domain, scores in (entry.part('breakdown').get('domains') or {}).items() if entry else ():
                if isinstance(scores.get(metric), (int, float)):
                    values.setdefault((model, domain), []).append(float(scores[metric]))
                    tasks.setdefault(model, set()).add(task)
    domains = tuple(sorted({domain for _, domain in values}))
    if len(domains) < 2:
        return
    most = len(set().union(*tasks.values()))
    series = tuple(
        Series(
            model if len(measured) == most else f'{model} ({len(measured)} of {most} tasks)',
            tuple(mean(values.get((model, domain), [])) for domain in domains),
        )
        for model, measured in tasks.items()
    )
    note = 'Mean over the tasks with this domain: Overall for planning and creation, local metrics for the others.'
    title = f'{title_of(f"tooleval-ultratool_{language}")}: domains'
    yield Figure(
        f'ultratool-{language}-domains',
        'ultratool',
        title,
        'bars',
        domains,
        series,
        y_title='score',
        note=note,
        board=f'tooleval-ultratool_{language}',
    )


def _json_rate(language: str, board: Board, material: Material) -> Figure:
    at = board.columns.index('overall')
    table, scored = published(f'ultratool_json_{language}'), material.by_pair()
    series = []
    printed: list[tuple[str, Number, Number]] = []
    for row in board.rows:
        if row.source:
            printed.append((row.model, table.rows[row.model]['average'], row.cells[at].value))
            continue
        names = [f'tooleval-ultratool-{task}_{language}' for task in JSON_TASKS]
        rates = [scored[row.model, name].number('json_rate') for name in names if (row.model, name) in scored]
        rate = mean(rates) if len(rates) == len(JSON_TASKS) else None
        if rate is not None and row.cells[at].value is not None:
            series.append(Series(row.model, (row.cells[at].value,), x=(rate,)))
    if series:
        names_, x, y = zip(*printed, strict=True)
        series.append(Series('published', tuple(y), x=tuple(x), published=True))
    labels = names_ if series else ()
    return Figure(
        f'ultratool-{language}-json-rate',
        'ultratool',
        f'{board.title}: JSON rate against Overall',
        'points',
        tuple(labels),
        tuple(series),
        x_title='JSON rate, mean of five tasks',
        y_title='Overall',
        note=f'Published: {table.source}, and Table 2. {caveats_note(board.caveats(["overall"]))}'.strip(),
        top=None,
        board=board.name,
    )
