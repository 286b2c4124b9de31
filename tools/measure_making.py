"""Compares made sets: tasks per request, steps, calls that depend on earlier answers, tools. For the page of made sets.

    python tools/measure_making.py SET REPORT.json [SET REPORT.json ...]

``REPORT.json`` is what ``tooleval make --json`` wrote; a set of which no task was made need not exist.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from opencompass_tooleval.making.dependencies import count_dependent
from opencompass_tooleval.making.made_set import load_set

_COLUMNS = ('set', 'tasks', 'requests', 'tasks per 100 requests', 'steps per task', 'dependent chain', 'tools needed')


def row(folder: Path, report: Path) -> list[str]:
    """Measures a set: its name, counts and means, as cells."""
    told = json.loads(report.read_text(encoding='utf-8'))
    tasks = load_set(folder).tasks if told['tasks'] else ()
    steps = [len(task.task.gold or ()) for task in tasks]
    chains = [count_dependent(task.solutions[0].calls, task.task.query) > 0 for task in tasks]
    used = {call.name for task in tasks for call in task.task.gold or ()}
    means = (f'{sum(steps) / len(tasks):.1f}', f'{100 * sum(chains) / len(tasks):.0f}%') if tasks else ('-', '-')
    return [
        folder.name,
        f'{len(tasks)} of {told["wanted"]}',
        str(told['calls']),
        f'{100 * len(tasks) / told["calls"]:.1f}',
        *means,
        str(len(used)),
    ]


def main(words: list[str]) -> None:
    """Prints the table."""
    print('|', ' | '.join(_COLUMNS), '|\n|', ' | '.join(['---'] * len(_COLUMNS)), '|')
    for folder, report in zip(words[::2], words[1::2], strict=True):
        print('|', ' | '.join(row(Path(folder), Path(report))), '|')


if __name__ == '__main__':
    main(sys.argv[1:])
