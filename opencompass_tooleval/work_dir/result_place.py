"""Where OpenCompass puts a result, and what lies beside it. Imports no OpenCompass."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.work_dir.recorded import RECORDED_SHAPE
from opencompass_tooleval.work_dir.shards import shard_pattern
from opencompass_tooleval.work_dir.work_dir import WorkDir


@dataclass(frozen=True)
class ResultPlace:
    """The place of one result: ``WORK_DIR/results/MODEL/DATASET.json``.

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
        """The place of a result, by its path without the ending; None if that is no path of a run."""
        return cls(WorkDir(path.parents[2]), path.parent.name, path.name) if len(path.parents) > 2 else None

    @classmethod
    def of(cls, evaluator: object) -> ResultPlace | None:
        """The place of what an evaluator scores; None outside OpenCompass's task, which tells it where that is."""
        path = getattr(evaluator, '_out_dir', None)
        return cls.at(Path(path)) if path else None

    def recorded_shapes(self) -> list[str | None]:
        """The published shape of each recorded answer, in the data's order; None for answers that a model gave."""
        rows = self.work.prediction_rows(self.model, self.dataset)
        return [row.get(RECORDED_SHAPE) if isinstance(row, dict) else None for row in rows]

    def other_models(self) -> list[str]:
        """Models of the run, beside this one, that answer the same data set, wholly or in part."""
        name = re.compile(rf'(?:tmp_)?{shard_pattern(self.dataset)}\.jsonl?')
        files = (self.work.path / 'predictions').glob('*/*')
        return sorted({file.parent.name for file in files if name.fullmatch(file.name)} - {self.model})
