"""The page on which a person reviews the tasks of a made set: one file, opened from disk."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import opencompass_tooleval.report
from opencompass_tooleval import __version__
from opencompass_tooleval.catalogue.labels import FAULTS, SOURCES
from opencompass_tooleval.core.calls.observation import ERROR, INJECTED, SIMULATED
from opencompass_tooleval.core.calls.trajectory import AnsweredCall
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.jsonable import clean_text
from opencompass_tooleval.extras.making.decisions import MAX_COMMENT, set_digest, task_digest
from opencompass_tooleval.extras.making.facts import leaked_names
from opencompass_tooleval.extras.making.gates import given_away
from opencompass_tooleval.extras.making.made_set import MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask, Solution
from opencompass_tooleval.report.script import to_data
from opencompass_tooleval.report.texts import cut
from opencompass_tooleval.report.trajectories import NAME, OBSERVATION, THOUGHT, shown_calls
from opencompass_tooleval.work_dir.data_files import read_json
from opencompass_tooleval.work_dir.whole_file import write_whole

PAGE_FILE = 'review.html'
CHECK_FILE = 'check.json'

MAX_SOLUTIONS = 10
"""Solutions of a task that are shown."""
MAX_TOOLS = 200
_MAX_DESCRIPTION = 300
_MAX_CHECKS = 20
_KNOWN = ('names in queries', 'facts in queries')
"""Gates of ``tooleval make check`` that the page has sentences of its own for."""

_REPORT = Path(opencompass_tooleval.report.__file__).parent
_STYLES = ('static/report.css', 'review/review.css')
_SCRIPTS = ('static/diff.js', 'static/trajectories.js', 'static/tables.js', 'review/review.js')


def write_page(made: MadeSet, out: Path) -> None:
    """Writes the page. It needs no network, and nothing of the set can be anything but text on it.

    Args:
        made: The set; its ``check.json`` is read where it has one.
        out: The page.

    Raises:
        OSError: The page cannot be written.
    """
    style, script = ('\n'.join((_REPORT / name).read_text('utf-8') for name in names) for names in (_STYLES, _SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    template = Template((_REPORT / 'review' / 'page.html').read_text('utf-8'))
    text = template.substitute(
        policy=policy,
        name=escape(clean_text(made.name)),
        version=__version__,
        style=style,
        script=script,
        data=to_data(page_data(made)),
    )
    write_whole(out, text)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_data(made: MadeSet) -> dict[str, Any]:
    """Returns what the page shows, as JSON values: the tasks with most warnings first, long texts cut."""
    checks = _checks(made.folder)
    tasks = [_shown_task(task, warnings_of(task, checks.get(task.task.id, ()))) for task in made.tasks]
    return {
        'set': made.name,
        'digest': set_digest(made),
        'longest_comment': MAX_COMMENT,
        'sources': SOURCES | FAULTS,
        'tasks': sorted(tasks, key=lambda task: -len(task['warnings'])),
    }


def warnings_of(made: MadeTask, checks: Sequence[str] = ()) -> list[str]:
    """Returns sentences on what a reviewer should look at.

    Args:
        made: The task.
        checks: Sentences of ``tooleval make check`` on the task.
    """
    return [cut(text, _MAX_DESCRIPTION) for text in (*_warnings(made), *checks[:_MAX_CHECKS])]


def _warnings(made: MadeTask) -> Iterator[str]:
    for fact in given_away(made):
        yield f'The query contains a fact of the answer: {fact}'
    for name in leaked_names(made.task.query, made.task.tools):
        yield f'The query names a tool or a parameter: {name}'
    calls = [call for solution in made.solutions for call in solution.calls]
    if simulated := sum(call.source == SIMULATED for call in calls):
        yield f'Simulated observations: {simulated} of {len(calls)}.'
    if errors := sum(call.source == ERROR or call.error not in (None, '', INJECTED) for call in calls):
        yield f'Calls that ended in an error: {errors} of {len(calls)}.'
    models = sorted({solution.model for solution in made.solutions})
    if len(models) < 2:
        yield f'Solved by one model only: {models[0]}' if models else 'It has no solution.'


def _checks(folder: Path) -> Mapping[str, Sequence[str]]:
    """Reads the faults of tasks from ``check.json``, which ``tooleval make check DIR --json DIR/check.json`` writes.

    Nothing is read from a file of another shape.
    """
    file = folder / CHECK_FILE
    try:
        gates = read_json(file)['gates'] if file.is_file() else []
    except (DataError, KeyError, TypeError, IndexError):
        return {}
    found: dict[str, list[str]] = {}
    for gate in gates if isinstance(gates, list) else ():
        name, faults = (gate.get('name'), gate.get('faults')) if isinstance(gate, dict) else (None, None)
        if isinstance(name, str) and isinstance(faults, dict) and name not in _KNOWN:
            for task, fault in faults.items():
                found.setdefault(task, []).append(f'{name}: {fault}')
    return found


def _shown_task(made: MadeTask, warnings: Sequence[str]) -> dict[str, Any]:
    task, goal = made.task, made.goal
    return {
        'id': task.id,
        'digest': task_digest(made),
        'query': task.query,
        'kind': goal.kind,
        'language': task.language,
        'operation': made.operation,
        'made_by': dict(made.made_by or {}),
        'reviewed': made.is_reviewed,
        'comment': made.comment,
        'warnings': warnings,
        'gold': [call.name for call in task.gold or ()],
        'tools': [
            {
                'name': tool.name,
                'description': cut(tool.description, _MAX_DESCRIPTION),
                'parameters': [cut(name, NAME) for name in tool.parameters.get('properties', {})],
            }
            for tool in task.tools[:MAX_TOOLS]
        ],
        'goal': {
            'answer': goal.answer,
            'facts': goal.facts,
            'form': goal.form,
            'result': goal.result,
            'forbidden': goal.forbidden,
            'effects': _shown_changes(goal.effects),
            'missing': goal.missing,
            'fails_first': goal.fails_first,
            'order': goal.order,
            'is_single_path': goal.is_single_path,
            'calls': [
                [
                    {**shown, 'open_arguments': call.open_arguments}
                    for call, shown in zip(
                        alternatives,
                        shown_calls(AnsweredCall(one.name, one.arguments, '') for one in alternatives),
                        strict=False,
                    )
                ]
                for alternatives in goal.calls
            ],
        },
        'solutions': [_shown_solution(solution) for solution in made.solutions[:MAX_SOLUTIONS]],
        'left_out': max(0, len(made.solutions) - MAX_SOLUTIONS),
    }


def _shown_solution(solution: Solution) -> dict[str, Any]:
    calls = (
        AnsweredCall(call.name, call.arguments, call.observation, call.source, error=call.error)
        for call in solution.calls
    )
    shown = shown_calls(calls)
    return {
        'model': solution.model,
        'plan': [cut(step, OBSERVATION) for step in solution.plan],
        'answer': cut(solution.answer, THOUGHT),
        'changes': _shown_changes(solution.changes),
        'all': len(solution.calls),
        'calls': [
            {**row, 'thought': cut(call.thought, THOUGHT)} for call, row in zip(solution.calls, shown, strict=False)
        ],
    }


def _shown_changes(changes: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if changes is None else {cut(part, NAME): cut(value, OBSERVATION) for part, value in changes.items()}
