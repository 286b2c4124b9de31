"""``tooleval run --within``: asks growing samples until the intervals of all main scores are narrow enough.

Each look is an ordinary run of OpenCompass in the same folder with ``-r``, which asks what smaller samples lack. It has
a config: ``config.py``, ``config_2.py``, ... A run that was ended continues with the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.tables import published_columns, without_samples
from opencompass_tooleval.cli.report import report_on, run_sweep
from opencompass_tooleval.cli.run_data import config_values
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.statistics.sample import LOOKS, Sample
from opencompass_tooleval.core.text.python_literal import python_literal
from opencompass_tooleval.results.sampled import Estimate, estimates_of
from opencompass_tooleval.work_dir.data_files import sha256_of
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.progress import model_abbr
from opencompass_tooleval.work_dir.trust import Trustee
from opencompass_tooleval.work_dir.whole_file import write_whole
from opencompass_tooleval.work_dir.work_dir import WorkDir

FIRST = 100
"""Records of each data set in the first look."""
_LINE = "    _row['sample'] = "


def look_setting(sample: Sample, looks: Mapping[str, int]) -> str:
    """Returns the value of ``sample`` in the config of a look, for the row ``_row``.

    Args:
        sample: The number of records in the first look, and the seed.
        looks: Abbr of a data set -> its look, if it is not the first.
    """
    look = f"{python_literal(dict(looks))}.get(_row['abbr'], 1)" if looks else '1'
    return f"{{'n': {sample.n}, 'seed': {sample.seed}, 'look': {look}}}"


@dataclass(frozen=True)
class Look:
    """A look at the samples of a run.

    Attributes:
        config: Its config.
        number: Its number, from 1.
    """

    config: Path
    number: int = 1

    @classmethod
    def last(cls, run: Path) -> Look:
        """Finds the last look of a run.

        Raises:
            DataError: The folder has no run of ``tooleval run --within``.
        """
        look = cls(run / 'config.py')
        if not look.config.is_file():
            raise DataError(look.config, 'there is no run of tooleval run --within here')
        while (following := look._following).config.is_file():
            look = following
        return look

    @property
    def _following(self) -> Look:
        return Look(self.config.with_name(f'config_{self.number + 1}.py'), self.number + 1)

    @cached_property
    def _values(self) -> Mapping[str, Any]:
        return config_values(self.config)

    @property
    def _samples(self) -> dict[str, Sample]:
        try:
            samples = {row['abbr']: Sample.of(row['sample']) for row in self._values['datasets']}
            if any(sample.look is None for sample in samples.values()):
                raise ValueError('a sample has no look')
            return samples
        except (LookupError, TypeError, ValueError) as error:
            raise DataError(self.config, f'its data sets have no samples with looks ({error})') from error

    def trustee(self) -> Trustee:
        """Returns the trustee of the config: a config is a program, and must be trusted."""
        return Trustee(self.config, ['look', sha256_of(self.config)], (f'the program {self.config.name}',))

    def estimates(self) -> Iterator[Estimate]:
        """Yields the main scores of all models; the look must have been run."""
        work, columns = WorkDir(self.config.parent), published_columns()
        for model in self._values['models']:
            read = ((dataset, work.result(model_abbr(model), dataset)) for dataset in self._samples)
            valid = ((dataset, result) for dataset, result in read if result and 'error' not in result)
            yield from estimates_of(without_samples(valid, [*columns.values()]), columns)

    def next(self, points: float) -> Look | None:
        """Writes the config of the next look, with more records for scores whose intervals are too wide.

        Returns None if no interval is too wide, or this is the last possible look.

        Args:
            points: Maximum half-width of an interval.

        Raises:
            DataError: The config or a result cannot be read.
        """
        samples = self._samples
        looks = {dataset: sample.look or 1 for dataset, sample in samples.items() if sample.look != 1}
        estimates = list(self.estimates())
        unsure = [one for one in estimates if not one.is_within(points)]
        for one in unsure:
            for dataset, (asked, total) in one.counts.items():
                if asked < total:
                    look = samples[dataset].next_look(one.half, points, total)
                    looks[dataset] = max(looks.get(dataset, 1), look)
        say(
            f'look {self.number}: {len(estimates) - len(unsure)} of {len(estimates)} main scores are within {points:g} '
            'points, or over all records'
        )
        if not unsure or self.number >= LOOKS:
            return None
        lines = self.config.read_text(encoding='utf-8').split('\n')
        places = [place for place, line in enumerate(lines) if line.startswith(_LINE)]
        if len(places) != 1:
            raise DataError(self.config, f'it has no line {_LINE.strip()!r}, which sets the samples')
        lines[places[0]] = _LINE + look_setting(next(iter(samples.values())), looks)
        following = self._following
        write_whole(following.config, '\n'.join(lines))
        following.trustee().trust()
        return following


def run_looks(look: Look, points: float, again: str) -> int:
    """Runs a look and the following ones, and writes the report; returns the exit status.

    Args:
        look: The first look, or the one that was interrupted.
        points: Maximum half-width of the interval of each main score.
        again: The command that continues the run.

    Raises:
        DataError: A config or a result cannot be read.
    """
    run, _ = look.config.parent, look._samples  # a config without looks ends here, before the first request
    while True:
        if status := run_sweep([str(look.config), '-r', run.name], again):
            say(f'look {look.number} is not complete; continue with: {again}', err=True)
            return status
        if (following := look.next(points)) is None:
            return report_on(run)
        look = following
