"""A made task: the task for agents, the solutions that its goal is made of, its gold path, and its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from opencompass_tooleval.agents.scoring.matching import call_key
from opencompass_tooleval.agents.tasks.goal import ORDINARY, SIBLINGS, Goal
from opencompass_tooleval.agents.tasks.task import Task, parse_task
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.extras.making.wording import without_line
from opencompass_tooleval.work_dir.data_files import read_text

T = TypeVar('T')

TASKS_FILE = 'tasks.jsonl'


@dataclass(frozen=True)
class SolvedCall:
    """A call of a solution, with the observation that it was given.

    Attributes:
        name: The tool.
        arguments: JSON values.
        observation: The response, as the model was shown it.
        thought: The model's text beside the call.
        source: As :class:`~opencompass_tooleval.core.calls.trajectory.AnsweredCall`.
        error: As there: ``''`` or None for a call without an error.
    """

    name: str
    arguments: Mapping[str, Any]
    observation: str
    thought: str = ''
    source: str = ''
    error: str | None = None


@dataclass(frozen=True)
class Solution:
    """One solution of a task, from a fresh state.

    Attributes:
        model: Name of the model that solved it.
        calls: Its calls in order, those with errors included.
        answer: Its final answer.
        changes: As :attr:`~opencompass_tooleval.core.calls.trajectory.Trajectory.changes`.
        plan: The planner's steps.
    """

    model: str
    calls: tuple[SolvedCall, ...]
    answer: str
    changes: Mapping[str, str] | None = None
    plan: tuple[str, ...] = ()


@dataclass(frozen=True)
class MadeTask:
    """One task of a made set.

    Attributes:
        task: The task as agents get it; ``task.goal`` is set.
        solutions: The solutions that agree, the one that the gold calls are taken from first.
        operation: UltraTool's operation that the query went through: ``''``, ``generalise`` or ``complicate``.
        made_by: Role (``query``, ``solution``, ``second``, ``reviewer``) -> name of the model.
        is_reviewed: Whether a person has accepted or edited the task.
        comment: That person's comment.
    """

    task: Task
    solutions: tuple[Solution, ...] = ()
    operation: str = ''
    made_by: Mapping[str, str] | None = None
    is_reviewed: bool = False
    comment: str = ''

    @property
    def goal(self) -> Goal:
        """The task's goal."""
        assert self.task.goal is not None
        return self.task.goal

    @property
    def query(self) -> str:
        """The query without the line that asks for its result."""
        return without_line(self.task.query, self.goal.form, self.task.language)

    def with_goal(self, goal: Goal) -> MadeTask:
        """Returns the task with another goal; its gold calls are the first alternatives of the goal's calls."""
        gold = tuple(alternatives[0] for alternatives in goal.calls)
        return replace(self, task=replace(self.task, goal=goal, gold=gold))

    def to_row(self) -> dict[str, Any]:
        """Returns the JSON values of a line of ``tasks.jsonl``."""
        return {
            'task': json.loads(self.task.to_payload()),
            'solutions': [asdict(solution) for solution in self.solutions],
            'operation': self.operation,
            'made_by': dict(self.made_by or {}),
            'reviewed': self.is_reviewed,
            'comment': self.comment,
        }


def parse_made_task(raw: Mapping[str, Any]) -> MadeTask:
    """Converts a line of ``tasks.jsonl``.

    Raises:
        ValueError: A field is missing or of the wrong type.
    """
    raw = to_jsonable(raw)  # without lone surrogates, which no file can hold
    try:
        made = MadeTask(
            parse_task(json.dumps(raw['task'])),
            tuple(_solution(solution) for solution in raw.get('solutions', ())),
            str(raw.get('operation', '')),
            dict(raw.get('made_by') or {}),
            raw.get('reviewed') is True,
            str(raw.get('comment', '')),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f'it is no made task ({type(error).__name__}: {error})') from error
    if made.task.goal is None or made.task.gold is None:
        raise ValueError('the task has no goal, or no gold calls')
    _check_task(made.task)
    return made


def _is_object(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _check_task(task: Task) -> None:
    goal = task.goal
    assert goal is not None
    texts = [task.id, task.subset, task.query, *(text for tool in task.tools for text in (tool.name, tool.description))]
    texts += [goal.answer, goal.result, goal.fails_first, *goal.facts, *goal.forbidden, *(goal.effects or {})]
    if not _is_object(goal.effects):
        raise ValueError('the effects of the goal are no object')
    if not all(isinstance(text, str) for text in texts):
        raise ValueError('a text of the task or of a tool is none')
    if task.language not in ('EN', 'ZH'):
        raise ValueError('its language is neither EN nor ZH')
    for tool in task.tools:
        schema = tool.parameters
        if not isinstance(schema, dict) or not isinstance(schema.get('properties') or {}, dict):
            raise ValueError(f'the parameters of {tool.name[:100]!r} are no JSON Schema of an object')


def _solution(raw: Mapping[str, Any]) -> Solution:
    calls = tuple(SolvedCall(**call) for call in raw['calls'])
    solution = Solution(**{**raw, 'calls': calls, 'plan': tuple(raw.get('plan', ()))})
    texts = [solution.model, solution.answer, *solution.plan]
    for call in calls:
        texts += [call.name, call.observation, call.thought, call.source, call.error or '']
    if not all(isinstance(text, str) for text in texts):
        raise TypeError('a text of a solution is none')
    if not all(isinstance(call.arguments, dict) for call in calls) or not _is_object(solution.changes):
        raise TypeError('arguments or changes of a solution are no object')
    return solution


@dataclass(frozen=True)
class PathCall:
    """A gold call.

    Attributes:
        name: The tool.
        arguments: JSON values.
        solved: The call of the solution; None where it has no such call, as after an edit of the gold.
        purpose: Why the call is made: the model's thought, or the planner's step; ``''`` where neither says it.
    """

    name: str
    arguments: Mapping[str, Any]
    solved: SolvedCall | None
    purpose: str


def has_one_path(made: MadeTask) -> bool:
    """Tests if a task can go into step files: one possible path, of at least one call, all of tools that it offers."""
    goal, names = made.goal, {call.name for call in made.task.gold or ()}
    is_offered = bool(names) and names <= {tool.name for tool in made.task.tools}
    return goal.is_single_path and goal.kind in (ORDINARY, SIBLINGS) and is_offered


def gold_path(made: MadeTask) -> tuple[PathCall, ...]:
    """Returns the gold calls in order.

    A planner's step counts as the purpose only where the plan has as many steps as there are calls.
    """
    gold = made.task.gold or ()
    first = made.solutions[0] if made.solutions else None
    left = [call for call in first.calls if not call.error] if first else []
    planned = first.plan if first and len(first.plan) == len(gold) else ('',) * len(gold)
    path = []
    for call, step in zip(gold, planned, strict=True):
        key = call_key(call.name, call.arguments)
        index = next((index for index, one in enumerate(left) if call_key(one.name, one.arguments) == key), None)
        solved = None if index is None else left[index]
        left = left if index is None else left[index + 1 :]
        purpose = (solved.thought.strip() if solved else '') or step.strip()
        path.append(PathCall(call.name, call.arguments, solved, purpose))
    return tuple(path)


def known_steps(path: Sequence[PathCall]) -> Sequence[PathCall]:
    """Returns the calls from the first on that have a purpose, and the observations of all calls before them."""
    for index, call in enumerate(path):
        if not call.purpose or (index and path[index - 1].solved is None):
            return path[:index]
    return path


def read_lines(file: Path, parse: Callable[[dict[str, Any]], T]) -> list[T]:
    """Reads JSON lines.

    Args:
        file: The file; U+2028 ends no line of it.
        parse: Converts the object of a line.

    Raises:
        DataError: The file is missing or damaged; names the line.
    """
    found = []
    for number, line in enumerate(read_text(file).split('\n'), 1):
        if line.strip():
            try:
                raw = load_json(line, bounded=True)
                if not isinstance(raw, dict):
                    raise ValueError('it is no JSON object')
                found.append(parse(raw))
            except (TypeError, ValueError) as error:
                raise DataError(file, str(error), f'line {number}') from error
    return found


def read_tasks(file: Path) -> list[MadeTask]:
    """Reads the tasks of a made set.

    Args:
        file: ``tasks.jsonl``.

    Raises:
        DataError: It is missing or damaged, or two tasks have one id.
    """
    tasks = read_lines(file, parse_made_task)
    ids = [task.task.id for task in tasks]
    if len(set(ids)) < len(ids):
        raise DataError(file, 'two tasks have one id', next(name for name in ids if ids.count(name) > 1))
    return tasks
