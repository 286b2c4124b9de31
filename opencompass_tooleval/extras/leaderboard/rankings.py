"""Ranks the results of bundles, with separate tables for results that are not comparable, and a model's history."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.benchmark import records_of
from opencompass_tooleval.catalogue.comparable import deciding_settings, unlike
from opencompass_tooleval.catalogue.metrics import main_first, words_of_metric
from opencompass_tooleval.catalogue.tables import errors_of, published_columns
from opencompass_tooleval.catalogue.variants import find_variant
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.core.statistics.paired import metrics_of
from opencompass_tooleval.extras.exports.bundle import Bundle, BundleResult
from opencompass_tooleval.plugin import USERS, VARIANTS
from opencompass_tooleval.report.board import OVERVIEW, Board, boards, narrowed
from opencompass_tooleval.report.figure import short_name, shown, slug
from opencompass_tooleval.report.names import FAMILIES, family_of, title_of
from opencompass_tooleval.results.table import Material, ModelResult
from opencompass_tooleval.work_dir.work_dir import WorkDir

Settings = Mapping[str, Mapping[str, Any]]
"""Data set -> its settings that affect scores."""
_NAMED = 2
"""Maximum number of data sets that a reason names; the others are only counted."""


@dataclass(frozen=True)
class Head:
    """The first cell of a row.

    Attributes:
        title: Its text, with a link to ``page``.
        page: The page with the row's history; '' for this page.
        anchor: Permanent link fragment of the row, on this page and on ``page``.
        date: Date of the bundle.
        note: A small text below the title.
    """

    title: str
    page: str
    anchor: str
    date: str
    note: str


@dataclass(frozen=True)
class Ranking:
    """A table of rows, which are comparable with each other except in a history.

    Attributes:
        board: The table; its models are labels of entries.
        heads: Label -> the first cell of its row.
        reason: Why it is separate from the main table, or a note on a history; '' if there is nothing to say.
        has_files: True if the table is also written as files.
    """

    board: Board
    heads: Mapping[str, Head]
    reason: str = ''
    has_files: bool = False


@dataclass(frozen=True)
class Section:
    """The rankings for one table, or for one benchmark and method on the first page.

    Attributes:
        name: Name of its main table.
        title: Its heading.
        family: The benchmark.
        method: One of :data:`~opencompass_tooleval.plugin.VARIANTS`; '' for the original data sets.
        rankings: The main ranking, then the rankings of results that are not comparable with it.
    """

    name: str
    title: str
    family: str
    method: str
    rankings: tuple[Ranking, ...]


@dataclass(frozen=True)
class HistoryRow:
    """A result on the page of its model, as texts for the cells of its row."""

    anchor: str
    date: str
    bundle: str
    title: str
    dataset: str
    scores: str
    records: str
    version: str
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """A model in a bundle; it has a row in every table with one of its data sets."""

    model: str
    bundle: Bundle

    @property
    def label(self) -> str:
        """Unique name of the entry in tables and files."""
        return f'{self.model} ({self.bundle.date[:10]} {self.bundle.digest[:16]})'

    @property
    def page(self) -> str:
        return page_of(self.model)

    def anchor(self, name: str) -> str:
        """Returns the permanent link fragment of the entry's row for a data set or a table."""
        parts = _joined(self.bundle.digest, self.model, name)
        return f'r-{hashlib.sha256(parts).hexdigest()[:16]}'


def _joined(*parts: str) -> bytes:
    """Joins texts unambiguously, with NULs, which occur in no name."""
    return '\0'.join(parts).encode('utf-8', 'surrogatepass')


def table_name(board: str) -> str:
    """Returns a table's name for anchors, distinct from data sets: an agent's table is named like its data set."""
    return f'table {board}'


def page_of(model: str) -> str:
    """Returns the permanent file name of a model's page."""
    return f'model-{slug(model)[:60]}-{hashlib.sha256(_joined(model)).hexdigest()[:8]}.html'


def method_of(name: str) -> str:
    """Returns the method (one of :data:`VARIANTS`) of a table or a data set by its name; '' for originals."""
    kinds = {variant: find_variant(variant) for variant in VARIANTS}
    return next((variant for variant, kind in kinds.items() if kind.is_variant(name) or name.endswith(kind.suffix)), '')


def is_private(entry: BundleResult) -> bool:
    """Tests if a result belongs to a data set that a user made from their own tools."""
    return entry.is_private or family_of(entry.dataset) in USERS


class Leaderboard:
    """The content of a site.

    Args:
        bundles: Checked bundles with different digests.
        include_private: True to keep data sets that users made from their own tools.
    """

    def __init__(self, bundles: Sequence[Bundle], include_private: bool = False) -> None:
        self.bundles = sorted(bundles, key=lambda bundle: (bundle.date, bundle.digest), reverse=True)
        self.entries: dict[str, Entry] = {}
        self.private = 0
        scored = []
        for bundle in self.bundles:
            for result in bundle.results:
                if is_private(result) and not include_private:
                    self.private += 1
                    continue
                entry = Entry(result.model, bundle)
                self.entries.setdefault(entry.label, entry)
                run = WorkDir(Path(bundle.name))
                scored.append(ModelResult(entry.label, result.dataset, run, result.model, result.result))
        scored.sort(key=lambda entry: (entry.model, entry.dataset))
        self.material = Material((), tuple(scored), ())
        self._settings: dict[str, dict[str, Mapping[str, Any]]] = {}
        for item in scored:
            self._settings.setdefault(item.model, {})[item.dataset] = _settings(item)

    @cached_property
    def models(self) -> list[str]:
        """The models, sorted by name."""
        return sorted({entry.model for entry in self.entries.values()})

    @cached_property
    def boards(self) -> tuple[Board, ...]:
        """Tables of the first page, one per benchmark and method, then the tables of the benchmark pages."""
        tables = boards(self.material, published_columns())
        rest = [board for board in tables if board.name != OVERVIEW]
        overview = next((board for board in tables if board.name == OVERVIEW), None)
        if overview is None:
            return tuple(rest)
        parts: dict[tuple[str, str], list[str]] = {}
        for column in overview.columns:
            dataset = next(iter(overview.shares[column]))[0]
            parts.setdefault((family_of(dataset), method_of(dataset)), []).append(column)
        first = []
        for (family, method), columns in parts.items():
            title = FAMILIES[family] + (f', {find_variant(method).title}' if method else '')
            name = f'{OVERVIEW}-{family}{f"-{method}" if method else ""}'
            first.append(narrowed(overview, self.entries, columns, name=name, title=title))
        return (*first, *rest)

    def sections(self, family: str = '') -> Iterator[Section]:
        """Yields the sections of a benchmark's page, or of the first page if ``family`` is empty."""
        for board in self.boards:
            is_first = board.name.startswith(OVERVIEW)
            dataset = next((dataset for shares in board.shares.values() for dataset, _ in shares), '')
            board_family = family_of(dataset) if is_first else family_of(board.name)
            if is_first == (not family) and family in ('', board_family):
                method = method_of(dataset if is_first else board.name)
                yield Section(board.name, board.title, board_family, method, tuple(self._rankings(board)))

    def _rankings(self, board: Board) -> Iterator[Ranking]:
        """Yields the ranking with the most models, then the rankings that are not comparable with it, with reasons."""
        datasets = {dataset for shares in board.shares.values() for dataset, _ in shares}
        done = {
            row.model: {name: values for name, values in self._settings[row.model].items() if name in datasets}
            for row in board.rows
            if not row.source
        }
        order = sorted(done, key=lambda label: (len(done[label]), self.entries[label].bundle.date), reverse=True)
        groups: list[tuple[dict[str, Mapping[str, Any]], dict[str, str]]] = []
        for label in order:
            together, newest = next((group for group in groups if _is_alike(group[0], done[label])), ({}, {}))
            if not newest:
                groups.append((together, newest))
            together.update(done[label])
            newest.setdefault(
                self.entries[label].model, label
            )  # prefers the entry with the most data sets, then the latest
        groups.sort(key=lambda group: -len(group[1]))
        for number, (settings, labels) in enumerate(groups):
            name = f'{board.name}-apart-{number}' if number else board.name
            part = narrowed(board, set(labels.values()), published=not number, name=name)
            heads = {label: self._head(label, board.name) for label in labels.values()}
            reason = differences(settings, groups[0][0]) if number else ''
            yield Ranking(part, heads, reason, has_files=not number)

    def _head(self, label: str, name: str) -> Head:
        entry = self.entries[label]
        date = entry.bundle.date[:10]
        return Head(entry.model, entry.page, entry.anchor(table_name(name)), date, date)

    def history(self, model: str) -> Iterator[Ranking]:
        """Yields the tables of one model with a row per bundle, the latest first, and notes on differing settings."""
        labels = {label: entry for label, entry in self.entries.items() if entry.model == model}
        for board in self.boards:
            part = narrowed(board, labels)
            if not part.rows:
                continue
            rows = sorted(part.rows, key=lambda row: list(labels).index(row.model))  # the latest first
            rows = [replace(row, cells=tuple(replace(cell, best=False) for cell in row.cells)) for row in rows]
            heads, notes = {}, []
            datasets = {dataset for shares in part.shares.values() for dataset, _ in shares}
            latest = self._of(rows[0].model, datasets)
            for row in rows:
                bundle = labels[row.model].bundle
                anchor = labels[row.model].anchor(table_name(board.name))
                heads[row.model] = Head(bundle.date, '', anchor, bundle.date[:10], bundle.digest[:12])
                if why := differences(self._of(row.model, datasets), latest):
                    notes.append(f'{bundle.date} does not compare with the latest: {why}')
            yield Ranking(replace(part, rows=tuple(rows)), heads, '. '.join(notes))

    def _of(self, label: str, datasets: set[str]) -> Settings:
        return {name: values for name, values in self._settings[label].items() if name in datasets}

    def results(self, model: str) -> Iterator[HistoryRow]:
        """Yields all results of a model, the latest bundle first."""
        by_label: dict[str, list[ModelResult]] = {}
        for item in self.material.scored:
            by_label.setdefault(item.model, []).append(item)
        for label, entry in self.entries.items():
            for item in by_label[label] if entry.model == model else ():
                count = records_of(item.result)
                yield HistoryRow(
                    entry.anchor(item.dataset),
                    entry.bundle.date,
                    entry.bundle.digest[:12],
                    title_of(item.dataset),
                    item.dataset,
                    '; '.join(_scores(item)),
                    '' if count is None else str(count),
                    item.provenance.version,
                    item.caveats,
                    item.provenance.stored,
                )


def _settings(item: ModelResult) -> dict[str, Any]:
    settings, count = deciding_settings(item.result), records_of(item.result)
    return settings if count is None else {**settings, 'records': count}


def _scores(item: ModelResult) -> Iterator[str]:
    errors = errors_of(item.result)
    for metric in main_first(metrics_of(item.result)):
        error = f' ±{shown(errors[metric])}' if errors.get(metric) else ''
        yield f'{words_of_metric(metric).name} {shown(item.number(metric))}{error}'


def _is_alike(first: Settings, second: Settings) -> bool:
    """Tests if two entries are comparable on every data set that both have."""
    shared = first.keys() & second.keys()
    return not any(next(unlike({'': first[one], 'other': second[one]}, True), None) for one in shared)


def differences(settings: Settings, main: Settings) -> str:
    """Describes the settings that differ from the main table; '' if all are equal."""
    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    for dataset in sorted(settings.keys() & main.keys()):
        for key, values in unlike({'here': settings[dataset], 'there': main[dataset]}, True):
            both = [str(value if value is not None else 'none') for value in values.values()]
            found.setdefault(key, {}).setdefault((both[0], both[1]), []).append(title_of(dataset))
    reasons = []
    for key, by_values in sorted(found.items()):
        titles = [title for names in by_values.values() for title in names]
        (here_value, there_value), *others = by_values
        which = 'differs' if others else f'is {short_name(here_value)}, not {short_name(there_value)}'
        reasons.append(f'{key.replace("_", " ")} {which} ({first_of(titles, _NAMED)})')
    return '; '.join(reasons)
