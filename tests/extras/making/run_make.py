"""Runs ``tooleval make`` in a process of its own, which a test kills: FOLDER, CONFIG, options as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from opencompass_tooleval.extras.making.commands.tasks import make_tasks

if __name__ == '__main__':
    folder, model, options = sys.argv[1:]
    make_tasks(out=Path(folder), model=Path(model), tasks=6, **json.loads(options))
