"""All results of any number of working directories, without their samples, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.host.work_dir import WorkDir, last_error


@dataclass(frozen=True)
class Scored:
    """One result.

    Attributes:
        model: How the report calls the model.
        dataset: Abbr of the data set.
        run: Where it is.
        folder: The model's abbr there.
        result: What the file holds, without ``details``.
    """

    model: str
    dataset: str
    run: WorkDir
    folder: str
    result: Mapping[str, Any]

    def number(self, metric: str) -> float | None:
        """A score, 0-100; None if it was not measured."""
        value = self.result.get(metric)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def part(self, name: str) -> Mapping[str, Any]:
        """A nested dict of the result, such as ``provenance``; empty if there is none."""
        part = self.result.get(name)
        if isinstance(part, list) and part:  # one per run of the data set
            part = part[0]
        return part if isinstance(part, dict) else {}


@dataclass(frozen=True)
class Missing:
    """A model and a data set without a result, and why."""

    model: str
    dataset: str
    why: str


@dataclass(frozen=True)
class Material:
    """What a report is made of.

    Attributes:
        runs: The working directories.
        scored: Results, by model and data set.
        missing: What was begun, or done by another model, and has no result.
    """

    runs: tuple[WorkDir, ...]
    scored: tuple[Scored, ...]
    missing: tuple[Missing, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The models with results, in order."""
        return tuple(dict.fromkeys(entry.model for entry in self.scored))

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets with results, in order."""
        return tuple(sorted({entry.dataset for entry in self.scored}))

    def by_pair(self) -> dict[tuple[str, str], Scored]:
        """Model and data set -> result."""
        return {(entry.model, entry.dataset): entry for entry in self.scored}


def _begun(run: WorkDir) -> Iterator[str]:
    yield from (folder.name for part in ('predictions', 'results') for folder in run.path.glob(f'{part}/*/'))


def _of_run(run: WorkDir, seen: set[str]) -> tuple[list[Scored], list[Missing]]:
    scored, missing = [], []
    models = sorted(set(_begun(run)))
    datasets = {dataset for _, dataset in run.pairs()} | seen
    for model in models:
        for dataset in sorted(datasets):
            try:
                result = run.result(model, dataset)
            except DataError as error:
                missing.append(Missing(model, dataset, f'damaged: {error}'))
                continue
            if result is not None and 'error' not in result:
                bare = {key: value for key, value in result.items() if key != 'details'}
                scored.append(Scored(model, dataset, run, model, bare))
                continue
            asked = bool(list((run.path / 'predictions' / model).glob(f'{dataset}*.json')))
            why = last_error(run.log(model, dataset, 'eval' if asked else 'infer'), dataset)
            missing.append(Missing(model, dataset, why or ('answered, not scored' if asked else 'no answers')))
    return scored, missing


def read(paths: Sequence[Path]) -> Material:
    """Reads working directories.

    A model with a result of the same data set in two of them is called ``MODEL (RUN)``.

    Raises:
        DataError: One is no run of OpenCompass.
    """
    runs = tuple(dict.fromkeys(WorkDir.find(path).absolute() for path in paths))
    found, missing = [], []
    for run in runs:
        predicted = {file.stem for file in run.path.glob('predictions/*/*.json') if not file.name.startswith('.')}
        known = {dataset for _, dataset in run.pairs()}
        unscored = {name for name in predicted if name not in known and not _is_shard(name, known | predicted)}
        scored, lacking = _of_run(run, unscored)
        found += scored
        missing += lacking
    count = Counter((entry.model, entry.dataset) for entry in found)
    doubled = {model for (model, _), times in count.items() if times > 1}
    renamed = [
        Scored(f'{entry.model} ({entry.run.path.name})', entry.dataset, entry.run, entry.folder, entry.result)
        if entry.model in doubled
        else entry
        for entry in found
    ]
    return Material(runs, tuple(sorted(renamed, key=lambda entry: (entry.model, entry.dataset))), tuple(missing))


def _is_shard(name: str, known: set[str]) -> bool:
    whole, _, number = name.rpartition('_')
    return number.isdecimal() and whole in known
