"""The path of a result of OpenCompass, and the files beside it. Imports no OpenCompass."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.work_dir.recorded import RECORDED_SHAPE
from opencompass_tooleval.work_dir.shards import shard_pattern
from opencompass_tooleval.work_dir.work_dir import WorkDir


@dataclass(frozen=True)
class ResultPlace:
    """Place of one result: ``WORK_DIR/results/MODEL/DATASET.json``.

    Attributes:
        work: The run.
        model: The model's abbr.
        dataset: The data set's abbr.
    """

    work: WorkDir
    model: str
    dataset: str

    @classmethod
    def at(cls, path: Path) -> ResultPlace | None:
        """Returns the place of a result from its path without extension; None if that is no path of a run."""
        return cls(WorkDir(path.parents[2]), path.parent.name, path.name) if len(path.parents) > 2 else None

    @classmethod
    def of(cls, evaluator: object) -> ResultPlace | None:
        """Returns the place of an evaluator's result; None outside OpenCompass's task, which sets that place."""
        path = getattr(evaluator, '_out_dir', None)
        return cls.at(Path(path)) if path else None

    def recorded_shapes(self) -> list[str | None]:
        """Returns the published shape of each recorded answer, in the data's order; None for answers of a model."""
        rows = self.work.prediction_rows(self.model, self.dataset)
        return [row.get(RECORDED_SHAPE) if isinstance(row, dict) else None for row in rows]

    def other_models(self) -> list[str]:
        """Returns the other models of the run that answer the same data set, completely or in part."""
        name = re.compile(rf'(?:tmp_)?{shard_pattern(self.dataset)}\.jsonl?')
        files = (self.work.path / 'predictions').glob('*/*')
        return sorted({file.parent.name for file in files if name.fullmatch(file.name)} - {self.model})
