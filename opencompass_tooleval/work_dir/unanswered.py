"""Finds the samples of a run that infrastructure failures left without an answer, to repeat their requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.jsonable import map_texts
from opencompass_tooleval.core.text.python_literal import python_literal
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.lock import InUseError, exclusive, is_held
from opencompass_tooleval.work_dir.names import answers_in, predictions_of, sweep_lock, whole_name
from opencompass_tooleval.work_dir.progress import pairs_in
from opencompass_tooleval.work_dir.shards import read_predictions
from opencompass_tooleval.work_dir.stored import ask_more
from opencompass_tooleval.work_dir.work_dir import WorkDir

_PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True)
class Unanswered:
    """A predictions file with unanswered samples.

    Attributes:
        model: Abbr of the model.
        dataset: Abbr of the dataset; :func:`in_config` replaces a shard's name by that of its dataset.
        file: The predictions file, whole or a shard.
        samples: Number of samples without an answer; None if the file is unfinished, for example because too many
            samples have no answer.
        damage: Why the file cannot be read; '' if it can.
    """

    model: str
    dataset: str
    file: Path
    samples: int | None
    damage: str = ''


def find_unanswered(work: WorkDir) -> Iterator[Unanswered]:
    """Yields the predictions files of a run that have unanswered samples (finished or not) or are damaged."""
    for folder in sorted((work.path / 'predictions').glob('*/')):
        for file in sorted(folder.glob('[!.]*.json')):
            try:
                count = sum(bool(row.get('infra')) for row in read_predictions(file))
            except DataError as error:
                yield Unanswered(folder.name, file.stem, file, None, str(error))
                continue
            if count:
                yield Unanswered(folder.name, file.stem, file, count)
        for file in map(predictions_of, answers_in(folder)):
            if not file.exists():
                yield Unanswered(folder.name, file.stem, file, None)


@dataclass(frozen=True)
class RetryConfig:
    """The config of a run that accepts any number of unanswered samples.

    Attributes:
        content: The values of the config.
        pairs: Abbrs of model and dataset in the config.
    """

    content: dict[str, Any]
    pairs: set[tuple[str, str]]

    def write(self, file: Path) -> None:
        """Writes the config, readable only by its owner, since it may contain keys."""
        file.touch(mode=0o600)
        # Not with mmengine's formatting, which does not escape quotes in keys: somebody else's config could then
        # contain more than literals.
        lines = (f'{name} = {python_literal(value)}\n' for name, value in self.content.items())
        file.write_text(''.join(lines), encoding='utf-8')


def retry_config(config: Path) -> RetryConfig:
    """Returns the retry config for a config in a run, which is read but not executed.

    Raises:
        DataError: The config cannot be read, or names a class that this version lacks.
    """
    content = read_dumped(config)
    map_texts(content, partial(_check_class, config))
    pairs = set(pairs_in(content, config))
    content.pop('_base_', None)  # OpenCompass never writes it; mmengine would execute the file that it names
    for dataset in content['datasets']:
        infer_cfg = dataset.get('infer_cfg')
        inferencer = infer_cfg.get('inferencer') if isinstance(infer_cfg, dict) else None
        if isinstance(inferencer, dict) and 'opencompass_tooleval.' in str(inferencer.get('type')):
            inferencer['max_infra_share'] = 1.0
    return RetryConfig(content, pairs)


def _check_class(config: Path, name: str) -> str:
    """Checks that this version has the module, if the class is from this package."""
    *modules, _ = name.split('.')
    if modules[:1] == [_PACKAGE.name] and all(map(str.isidentifier, modules)):
        module = Path(_PACKAGE.parent, *modules)
        if not module.is_dir() and not module.with_suffix('.py').is_file():
            what = f'another version of this package made the run; this version has no {name}, so start a new run'
            raise DataError(config, what, fix='opencompass CONFIG')
    return name


def in_config(unanswered: Sequence[Unanswered], pairs: set[tuple[str, str]]) -> list[Unanswered]:
    """Replaces the names of shards by those of their datasets in the config."""
    datasets = {dataset for _, dataset in pairs}
    return [replace(entry, dataset=whole_name(entry.file.stem, datasets)) for entry in unanswered]


def ask_again(work: WorkDir, unanswered: Sequence[Unanswered]) -> None:
    """Removes predictions files: a resumed run then requests the missing answers and writes the files again.

    Damaged files are renamed.

    Raises:
        InUseError: A sweep runs in the directory.
    """
    with exclusive(sweep_lock(work.path)):
        for lock in work.path.glob('predictions/*/.*.lock'):
            if is_held(lock):
                raise InUseError(f'{lock} is held: a task of a sweep is still at work here')
        for entry in unanswered:
            if entry.file.exists():
                ask_more(entry.file)
