"""Resolves references in a JSON document, ``{"$ref": "#/..."}``, for OpenAPI and JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 50
"""Maximum nesting of references; a longer chain, or a cycle, is not resolved."""

MAX_NODES = 100_000
"""Maximum number of values after resolution: a few nested references could otherwise fill the memory."""


class Resolver:
    """Replaces references by their targets.

    Args:
        document: The document with the targets.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.nodes = 0

    def _target(self, reference: str) -> Any:
        node: Any = self.document
        for part in reference.removeprefix('#/').split('/'):
            part = part.replace('~1', '/').replace('~0', '~')
            if not isinstance(node, dict) or part not in node:
                raise ValueError(f'the reference {reference} points to nothing')
            node = node[part]
        return node

    def resolve(self, value: Any, path: tuple[str, ...] = ()) -> Any:
        """Returns ``value`` without references, except cycles and references to other files.

        Args:
            value: A part of the document.
            path: The references that lead to it.

        Raises:
            ValueError: A reference has no target, or the resolved value has more than :data:`MAX_NODES` values.
        """
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise ValueError(f'its references unfold to more than {MAX_NODES} values')
        if isinstance(value, list):
            return [self.resolve(item, path) for item in value]
        if not isinstance(value, dict):
            return value
        reference = value.get('$ref')
        if not isinstance(reference, str) or not reference.startswith('#/'):
            return {key: self.resolve(item, path) for key, item in value.items()}
        if reference in path or len(path) >= MAX_DEPTH:
            return value
        return self.resolve(self._target(reference), (*path, reference))
