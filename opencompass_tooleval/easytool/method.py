"""What the runs of EasyTool's method share, whatever tools they have: prompts filled in, replies asked again, tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.rounds import Rounds
from opencompass_tooleval.easytool import method_replies as replies
from opencompass_tooleval.easytool.method_prompts import TASK_TOPOLOGY
from opencompass_tooleval.easytool.method_replies import Reader, Unreadable

NO_TASKS = 'plan:no_tasks'
NO_ORDER = 'plan:no_order'
NO_TOOL = 'parse:no_tool'
UNREADABLE_PARAMETERS = 'args:unreadable'

MAX_TRIES = 5
MAX_REQUESTS = 12

MAX_FIELD = 50_000
"""Characters of whatever is put into a prompt; the published runs have no bound, and no real answer comes near it."""

Ask = Callable[[str, str, Mapping[str, Any]], Rounds[Answer]]
"""Fills in a template with fields and asks it; takes the template, what a perfect model says, and the fields."""

AskAgain = Callable[[str, Any, Reader, Mapping[str, Any]], Rounds[Any]]
"""The same until the reply can be read: template, the value that a perfect model gives, how it is read, fields."""


class MethodStopped(Exception):
    """The published run stops here.

    Attributes:
        reason: Why, as ``area:code``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def filled(template: str, fields: Mapping[str, Any]) -> str:
    """A prompt with its fields, which are shown as Python's ``str`` has them."""
    return template.format(**{name: str(value)[:MAX_FIELD] for name, value in fields.items()})


def ask_until_read(
    ask: Ask, template: str, gold: Any, read: Reader, fields: Mapping[str, Any], requests: int, reading: str
) -> Rounds[Any]:
    """Asks until a reply can be read.

    Args:
        ask: Asks once.
        template: The prompt.
        gold: What a perfect model gives, as JSON values.
        read: How a reply is read.
        fields: What the template has.
        requests: How often it is asked at most.
        reading: One of :data:`~opencompass_tooleval.easytool.method_replies.READINGS`.

    Raises:
        Unreadable: None can; with the last reply.
    """
    reply: str = ''
    for _ in range(requests):
        reply = yield from ask(template, _written(gold), fields)
        try:
            return read(reply, reading)
        except Unreadable:
            continue
    raise Unreadable(reply)


def _written(gold: Any) -> str:
    """JSON where that can be read as a Python literal, which null cannot."""
    text = json.dumps(gold)
    return repr(gold) if 'null' in text else text


def plan(
    ask: AskAgain, decompose: str, question: str, fields: Mapping[str, Any], steps: Sequence[str]
) -> Rounds[list[dict[str, Any]]]:
    """Decomposes a question and puts its tasks in order; each has ``task``, ``id`` and ``dep``, a list of ids.

    Args:
        ask: Asks, again and again.
        decompose: The prompt to decompose with.
        question: The question.
        fields: What this prompt has beside the question.
        steps: The tasks of a perfect model; each depends on the one before it.

    Raises:
        MethodStopped: No tasks or no order can be read, or a task cannot be told from others.
    """
    try:
        tasks = yield from ask(decompose, {'Tasks': list(steps)}, replies.read_tasks, {'question': question, **fields})
    except Unreadable:
        raise MethodStopped(NO_TASKS) from None
    if not isinstance(tasks, (list, tuple, str)):
        raise MethodStopped(NO_TASKS)
    numbered = [{'task': task, 'id': number} for number, task in enumerate(tasks, start=1)]
    gold = [{'task': step, 'id': number, 'dep': [number - 1 or -1]} for number, step in enumerate(steps, start=1)]
    try:
        order = yield from ask(TASK_TOPOLOGY, gold, replies.read_topology, {'question': question, 'task_ls': numbered})
    except Unreadable:
        raise MethodStopped(NO_ORDER) from None
    if not all({'task', 'id'} <= set(task) and _is_key(task['id']) for task in order):
        raise MethodStopped(NO_ORDER)
    return order  # type: ignore[no-any-return]


def _is_key(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
