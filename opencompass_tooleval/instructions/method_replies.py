"""Parses the values in replies to EasyTool's published prompts, without evaluating code.

The published runs evaluate a reply as Python, so that ``{"Parameters": {"input": [8, 1/31]}}`` passes a number; this
alone explains six numbers in the published logs of FuncQA. Here a reply is parsed; its literals, and arithmetic between
numbers, are computed with limits. Any other reply is unreadable and requested again.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from opencompass_tooleval.core.calls.literal_reply import first_block, last_block
from opencompass_tooleval.core.text.jsonable import MAX_BITS, MAX_CHARS, MAX_DEPTH, is_huge_power
from opencompass_tooleval.core.text.reading import parse_enclosed

READINGS = ('official', 'strict')

Reader = Callable[[str, str], Any]
"""Parses a reply by one of ``READINGS``; raises :class:`Unreadable`."""

Task = dict[str, Any]

_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_SIGNS: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}

_TRUTH = ((': true', ': True'), (': false', ': False'))
_TRUTH_WITHOUT_BLANK = ((':true', ': True'), (':false', ': False'))


class Unreadable(ValueError):
    """The published run requests this reply again."""


def read_python(text: str) -> Any:
    """Parses a Python literal, and computes arithmetic between numbers in it.

    Raises:
        Unreadable: The text is not a literal, or exceeds the limits of :mod:`~opencompass_tooleval.core.text.reading`.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable('the reply is too long')
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # '\d' in a reply must not print a warning
            return _value(ast.parse(text.lstrip(' \t'), mode='eval').body, 0)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, MemoryError, RecursionError) as error:
        raise Unreadable(f'the reply is not a literal ({type(error).__name__})') from None


def _value(node: ast.expr, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise Unreadable('the reply is nested too deeply')
    if isinstance(node, ast.Constant):
        return _bounded(node.value)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        items = [_value(item, depth + 1) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items) if isinstance(node, ast.Tuple) else set(items)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {_key(key, depth + 1): _value(value, depth + 1) for key, value in pairs}
    if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        return _SIGNS[type(node.op)](_number(node.operand, depth + 1))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _number(node.left, depth + 1), _number(node.right, depth + 1)
        if isinstance(node.op, ast.Pow) and is_huge_power(left, right):
            raise Unreadable('a power is too large')
        return _bounded(_OPERATORS[type(node.op)](left, right))
    raise Unreadable('the reply contains more than values')


def _key(node: ast.expr | None, depth: int) -> Any:
    if node is None:  # {**other}
        raise Unreadable('the reply contains more than values')
    return _value(node, depth)


def _number(node: ast.expr, depth: int) -> int | float:
    number = _value(node, depth)
    if not isinstance(number, (int, float)):
        raise Unreadable('the reply calculates with a value that is not a number')
    return number


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise Unreadable('a number is too large')
    return value


def _read(text: str, reading: str, brackets: str, published: Callable[[str], str]) -> Any:
    try:
        return read_python(published(text))
    except Unreadable:
        if reading == 'official':
            raise
    parsed = parse_enclosed(text, brackets[0], brackets[1])
    if not parsed.ok:
        raise Unreadable(parsed.reason)
    return parsed.value


def _field(value: Any, key: str) -> Any:
    if not isinstance(value, dict) or key not in value:
        raise Unreadable(f'the reply is not an object with {key!r}')
    return value[key]


def read_tasks(text: str, reading: str) -> Any:
    """Parses ``Tasks``, a list of texts if the reply follows the prompt; ignores text after the first blank line."""
    return _field(_read(text, reading, '{}', lambda reply: reply.partition('\n\n')[0]), 'Tasks')


def read_topology(text: str, reading: str) -> list[Task]:
    """Parses the tasks in order. Each has ``dep``, a list of ids; other keys are checked when the task is run.

    Raises:
        Unreadable: The reply is not such a list, or its last task has an empty ``dep``, which the published run also
            requests again.
    """
    order = _read(text, reading, '[]', str)
    if not isinstance(order, (list, tuple)) or not order:
        raise Unreadable('the reply is not a list of tasks')
    tasks = [{**task, 'dep': _dependencies(task)} if isinstance(task, dict) else {} for task in order]
    if not all(tasks) or not tasks[-1]['dep']:
        raise Unreadable('a task has no "dep"')
    return tasks


def _dependencies(task: Task) -> list[int]:
    given = _field(task, 'dep')
    if isinstance(given, int):
        return [int(given)]
    if not isinstance(given, (str, list)):
        raise Unreadable('"dep" is not a list of ids')
    try:
        return [int(number) for number in (given.split(',') if isinstance(given, str) else given)]
    except (ValueError, TypeError, OverflowError):
        raise Unreadable('"dep" is not a list of ids') from None


def read_choice(text: str, reading: str) -> Any:
    """Parses the choice of a tool, such as ``{"ID": 1}``; ignores text after the first ``(``."""
    return _read(text, reading, '{}', lambda reply: reply.partition('(')[0].strip())


def read_choice_at_end(text: str, reading: str) -> Any:
    """Parses the choice of a tool in ToolBench's runs, which use the text after the last blank line."""
    return _read(text, reading, '{}', last_block)


def read_names(text: str, reading: str) -> list[Any]:
    """Parses names of APIs: a list, or one text, without bare fences; ignores text after the first blank line.

    The items of a list are not checked: the published run drops names that are not an API of the tool.
    """
    names = _read(text, reading, '[]', lambda reply: first_block(_as_python(reply, ())).strip())
    if not isinstance(names, (list, str)):
        raise Unreadable('the reply is not a list of names')
    return [names] if isinstance(names, str) else names


def read_need(text: str, reading: str) -> bool:
    """Parses the decision to use a tool, ``{"Reason": "...", "Choice": "Yes"}`` if the reply follows the prompt."""
    reply = _read(text, reading, '{}', str)
    _field(reply, 'Reason')
    choice = _field(reply, 'Choice')
    if not isinstance(choice, str):
        raise Unreadable('the reply has no choice')
    return 'yes' in choice.lower()


def read_parameters(text: str, reading: str) -> Any:
    """Parses ``Parameters`` as the published one-hop runs do, with ``true``, ``false`` and bare fences."""
    return _field(
        _read(text, reading, '{}', lambda reply: _as_python(reply, _TRUTH + _TRUTH_WITHOUT_BLANK)), 'Parameters'
    )


def read_parameters_depend(text: str, reading: str) -> Any:
    """Parses ``Parameters`` as the published multi-hop runs do: ``:true`` without a space is not allowed."""
    return _field(_read(text, reading, '{}', lambda reply: _as_python(reply, _TRUTH)), 'Parameters')


def _as_python(text: str, words: tuple[tuple[str, str], ...]) -> str:
    for word, python in words:
        text = text.replace(word, python)
    return text.replace('```', '').strip()


def read_check(text: str) -> str:
    """Parses the model's check of its own answer: ``yes`` (right), ``no`` or ``unreadable``."""
    try:
        choice = _field(read_python(text), 'Choice')
    except Unreadable:
        return 'unreadable'
    if not isinstance(choice, str):
        return 'unreadable'
    return 'yes' if 'yes' in choice.lower() else 'no'
