"""``tooleval import``: makes a run from published predictions, to score it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.extras.exports.importing import import_predictions
from opencompass_tooleval.work_dir.printing import say


def import_run(
    folder: Annotated[
        Path, typer.Argument(metavar='DIR', help='Folder that tooleval export wrote; only the predictions are read.')
    ],
    work_dir: Annotated[
        Path, typer.Argument(metavar='WORK_DIR', help='Working directory of OpenCompass for the new run.')
    ],
) -> None:
    """Makes a run from published predictions, and prints the command that scores it.

    Raises:
        DataError: The predictions cannot be used.
    """
    done = import_predictions(folder, work_dir)
    say(f'{done.predictions} predictions of {done.models} models on {done.datasets} data sets: {done.run.path}')
    say(f'score them with: opencompass CONFIG -w {work_dir} -r {done.run.path.name} -m eval')
