"""References inside a JSON document, ``{"$ref": "#/..."}``: OpenAPI and JSON Schema have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 50
"""References within references that are followed; a chain that is longer, or a circle, stays as it is written."""

MAX_NODES = 100_000
"""Values that the references of one document may unfold to: a few nested ones can otherwise fill the memory."""


class Resolver:
    """Replaces references by what they point to.

    Args:
        document: What they point into.
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
        """Returns ``value`` without references, but for circles and those into other files.

        Args:
            value: A part of the document.
            path: The references that lead to it.

        Raises:
            ValueError: One points to nothing, or they unfold to more than :data:`MAX_NODES` values.
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
