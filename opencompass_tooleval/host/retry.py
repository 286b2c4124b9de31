"""Asking again what got no answer through no fault of the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.host.journal import Journal
from opencompass_tooleval.host.lock import exclusive, lock_path
from opencompass_tooleval.host.shards import read_predictions
from opencompass_tooleval.host.work_dir import WorkDir


@dataclass(frozen=True)
class Unanswered:
    """A predictions file with samples that have no answer.

    Attributes:
        model: Its abbr.
        dataset: Its abbr.
        file: The predictions, whole or a shard.
        samples: How many have no answer.
    """

    model: str
    dataset: str
    file: Path
    samples: int


def find_unanswered(work: WorkDir) -> Iterator[Unanswered]:
    """Looks through all predictions of a run.

    Raises:
        DataError: A file is damaged.
    """
    for folder in sorted((work.path / 'predictions').glob('*/')):
        for file in sorted(folder.glob('[!.]*.json')):
            count = sum(bool(row.get('infra')) for row in read_predictions(file))
            if count:
                known = (folder / f'{file.stem}.json').stem
                base, _, number = known.rpartition('_')
                shard = number.isdecimal() and not (work.path / 'results' / folder.name / f'{known}.json').exists()
                yield Unanswered(folder.name, base if shard else known, file, count)


def reopen(work: WorkDir, unanswered: Unanswered) -> None:
    """Turns a predictions file back into a journal, so that a resumed run asks only what has no answer.

    The journal is written before the predictions go, and they go before the result: killed anywhere, nothing is lost.

    Raises:
        InUseError: A process is asking about it now.
    """
    file = unanswered.file
    with exclusive(lock_path(file)):
        journal = Journal(file.with_name(f'tmp_{file.stem}.jsonl'))
        rows = dict(enumerate(read_predictions(file)))
        journal.remove()
        journal.append({index: row for index, row in rows.items() if not row.get('infra')})
        (work.path / 'results' / unanswered.model / f'{unanswered.dataset}.json').unlink(missing_ok=True)
        file.unlink()
