"""Names of tools and parameters in a query, which would tell an agent what to call, and facts of the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from opencompass_tooleval.agents.goal_check import holds_fact, plain_text
from opencompass_tooleval.core.tool_set import ToolSchema

_TECHNICAL = re.compile(r'[A-Za-z0-9]+[_.][A-Za-z0-9]|[a-z][A-Z]')
"""A name that nobody uses in a sentence by chance: ``file_path``, ``checkIn``, ``Tool.function``; not ``date``."""

_SERVICE = re.compile(r'^(?:GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS) /', re.IGNORECASE)


def leaked_names(query: str, tools: Iterable[ToolSchema]) -> tuple[str, ...]:
    """Returns the technical names of tools and parameters that a query contains."""
    text = plain_text(query)
    return tuple(dict.fromkeys(name for name in _names(tools) if holds_fact(text, name)))


def leaked_facts(query: str, facts: Iterable[str]) -> tuple[str, ...]:
    """Returns the facts that a query contains."""
    text = plain_text(query)
    return tuple(fact for fact in facts if holds_fact(text, fact))


def _names(tools: Iterable[ToolSchema]) -> Iterator[str]:
    for tool in tools:
        for name in (tool.name, tool.name.rpartition('.')[2], *tool.parameters.get('properties', {})):
            if _TECHNICAL.search(name) or _SERVICE.match(name):
                yield name
