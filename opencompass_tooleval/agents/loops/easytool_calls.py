"""Rewrites argument names before and between the tries of a call, as EasyTool's published code does.

The published run calls Python functions whose parameters have no reserved names: ``id`` becomes ``is_id``. If a
function raises, it is called again, with other names each time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

_RESERVED = frozenset({'from', 'class', 'return', 'false', 'true', 'id', 'and', '', 'ID'})

_REWRITINGS: tuple[Callable[[str], str], ...] = (
    str,
    str.lower,
    lambda name: name.replace('-', '_'),
    lambda name: name.replace('\\', ''),
)
"""The rewriting of each try; each is applied to the names of the try before."""


def rewritten_arguments(arguments: Mapping[Any, Any], parameters: Collection[str]) -> Iterator[dict[Any, Any]]:
    """Yields the arguments for each try of a call, without repetitions.

    Args:
        arguments: The model's arguments.
        parameters: Names of the tool's parameters, which stay. No ToolBench function has a reserved name, but tools of
            other benchmarks do.
    """

    def renamed(name: Any, rewrite: Callable[[str], str]) -> Any:
        if not isinstance(name, str) or name in parameters:
            return name
        name = rewrite(name)
        return f'is_{name.lower()}' if name in _RESERVED and name not in parameters else name

    passed, tried = dict(arguments), None
    for rewrite in _REWRITINGS:
        passed = {renamed(name, rewrite): value for name, value in passed.items()}
        if passed != tried:
            yield passed
        tried = passed
