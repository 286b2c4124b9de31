"""A small made set to review, one of its tasks with all warnings."""

from __future__ import annotations

from pathlib import Path

from opencompass_tooleval.agents.tasks.goal import FORBIDDEN, Goal
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.extras.making.made_set import Dropped, MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask, Solution, SolvedCall

TOOLS = tuple(
    ToolSchema(name, f'{name} of a note.', {'type': 'object', 'properties': {'note_id': {'type': 'integer'}}})
    for name in ('read_note', 'drop_note', 'list_notes')
)


def task_to_review(
    name: str, query: str = 'What is the price in the second note?', observation: str = 'It costs 4,200 euros.'
) -> MadeTask:
    """A task without warnings, solved by two models."""
    gold = GoldCall('read_note', {'note_id': 2})
    calls = ((gold, GoldCall('list_notes', {})),)
    answer = 'The price is 4,200 euros (VAT included).'
    goal = Goal(FORBIDDEN, calls, (), ('drop_note',), {'notes/2': 'read', 'draft': ''}, ('4,200',), answer=answer)
    call = SolvedCall('read_note', {'note_id': 2}, observation, 'I read the note.', 'live', '')
    solutions = tuple(Solution(model, (call,), answer, {'notes/2': 'read'}, ('Read.',)) for model in ('one', 'two'))
    return MadeTask(Task(name, 'notes', query, TOOLS, (gold,), goal=goal), solutions, '', {'query': 'one'})


def task_with_warnings(name: str) -> MadeTask:
    """A task with a fact and a tool in its query, a simulated observation and an error, and one model."""
    made = task_to_review(name, 'Does read_note say 4,200?')
    calls = (
        SolvedCall('read_note', {'note_id': 9}, 'No such note.', '', 'error', 'not_found'),
        SolvedCall('read_note', {'note_id': 2}, 'It costs 4,200 euros.', '', 'simulated', ''),
    )
    return MadeTask(made.task, (Solution('one', calls, 'The price is 4,200 euros.'),), '', {'query': 'one'})


def set_to_review(folder: Path, *more: MadeTask) -> MadeSet:
    """A set of three tasks without warnings, one with four, and further ones; written."""
    tasks = (*(task_to_review(f't{number}') for number in range(3)), task_with_warnings('worst'), *more)
    source = {'kind': 'functions', 'input': 'notes.json'}
    dropped = (Dropped('d1', 'agreement', 'agreement:none', 'two and three'),)
    made = MadeSet(folder, 'notes', source, {'loop': 'react'}, {'query': 'one'}, {'seed': 1}, tasks, dropped)
    made.write()
    return made
