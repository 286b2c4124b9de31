"""Asking again what got no answer through no fault of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.journal import Journal
from opencompass_tooleval.work_dir.lock import InUseError, exclusive, is_held, lock_path, sweep_lock
from opencompass_tooleval.work_dir.progress import abbrs_of
from opencompass_tooleval.work_dir.shards import read_predictions, whole_name
from opencompass_tooleval.work_dir.work_dir import WorkDir


@dataclass(frozen=True)
class Unanswered:
    """A predictions file with samples that have no answer.

    Attributes:
        model: Its abbr.
        dataset: Its abbr; of a shard, see :func:`in_config`.
        file: The predictions, whole or a shard.
        samples: How many have no answer; None if the file is not finished, such as where too many had none.
    """

    model: str
    dataset: str
    file: Path
    samples: int | None


def find_unanswered(work: WorkDir) -> Iterator[Unanswered]:
    """Looks through all predictions of a run, finished or not.

    Raises:
        DataError: A file is damaged.
    """
    for folder in sorted((work.path / 'predictions').glob('*/')):
        for file in sorted(folder.glob('[!.]*.json')):
            count = sum(bool(row.get('infra')) for row in read_predictions(file))
            if count:
                yield Unanswered(folder.name, file.stem, file, count)
        for journal in sorted(folder.glob('tmp_*.jsonl')):
            file = folder / f'{journal.stem.removeprefix("tmp_")}.json'
            if not file.exists():
                yield Unanswered(folder.name, file.stem, file, None)


@dataclass(frozen=True)
class RetryConfig:
    """A config under which any number of samples may stay without an answer.

    Attributes:
        content: Its values.
        pairs: The models and data sets that it has, by abbr.
    """

    content: dict[str, Any]
    pairs: set[tuple[str, str]]

    def write(self, file: Path) -> None:
        """Writes it, for its owner only: it may hold keys."""
        file.touch(mode=0o600)
        # Not as mmengine lays it out, which leaves quotes in a key as they are: a config of somebody else's run could
        # then hold more than literals.
        lines = (f'{name} = {value!r}\n' for name, value in self.content.items())
        file.write_text(''.join(lines), encoding='utf-8')


def retry_config(config: Path) -> RetryConfig:
    """A config like one that OpenCompass keeps in a run, which is read and not executed.

    Raises:
        DataError: It cannot be read.
    """
    content = read_dumped(config)
    models, datasets = abbrs_of(content, config)
    content.pop('_base_', None)  # no dump has it; mmengine would execute what it names
    for dataset in content['datasets']:
        infer_cfg = dataset.get('infer_cfg')
        inferencer = infer_cfg.get('inferencer') if isinstance(infer_cfg, dict) else None
        if isinstance(inferencer, dict) and 'opencompass_tooleval.' in str(inferencer.get('type')):
            inferencer['max_infra_share'] = 1.0
    return RetryConfig(content, {(model, dataset) for model in models for dataset in datasets})


def in_config(unanswered: Sequence[Unanswered], pairs: set[tuple[str, str]]) -> list[Unanswered]:
    """The same, each under the data set of the config that it is, or is a shard of."""
    datasets = {dataset for _, dataset in pairs}
    return [replace(entry, dataset=whole_name(entry.file.stem, datasets)) for entry in unanswered]


def reopen(work: WorkDir, unanswered: Sequence[Unanswered]) -> None:
    """Turns predictions files back into journals, so that a resumed run asks only what has no answer.

    A journal is written before the predictions go, and they go before the result: killed anywhere, nothing is lost.

    Raises:
        InUseError: A sweep is at work there.
    """
    with exclusive(sweep_lock(work.path)):
        for lock in work.path.glob('predictions/*/.*.lock'):
            if is_held(lock):
                raise InUseError(f'{lock} is held: a task of a sweep is still at work here')
        for entry in unanswered:
            if entry.samples is None:
                continue
            file = entry.file
            with exclusive(lock_path(file)):
                journal = Journal(file.with_name(f'tmp_{file.stem}.jsonl'))
                rows = dict(enumerate(read_predictions(file)))
                journal.remove()
                journal.append(rows)  # failures too: what they cost is part of the run
                (work.path / 'results' / entry.model / f'{entry.dataset}.json').unlink(missing_ok=True)
                file.unlink()
