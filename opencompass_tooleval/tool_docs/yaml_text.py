"""Parses YAML to JSON values, without tags and anchors and with limits; ``no`` is a text."""

from __future__ import annotations

import re
from typing import Any

from opencompass_tooleval.core.text.jsonable import MAX_DEPTH

MAX_EVENTS = 2_000_000
"""Maximum number of values, beginnings and ends in a text."""

_SCALARS = {
    'null': r'~|null|Null|NULL|',
    'bool': r'true|True|TRUE|false|False|FALSE',
    'int': r'-?(?:0|[1-9][0-9]{0,18})',
    'float': r'-?(?:0|[1-9][0-9]{0,18})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?',
}
"""Values that are not texts, as in YAML 1.2. In 1.1, ``no`` is false, ``1:30`` is 90, and ``2024-01-01`` is a date."""


def load_yaml(text: str, typed: bool = True) -> Any:
    """Parses a text with one YAML document.

    Args:
        text: The text.
        typed: False to return every scalar as text.

    Raises:
        ValueError: The text is not YAML, has a key twice, a key that is not a text or number, a tag or an anchor, or
            exceeds a limit. The message is one line.
    """
    import yaml

    try:
        _check(text, yaml)
        return yaml.load(text, Loader=_loader(yaml, typed))  # creates only these plain values
    except yaml.YAMLError as error:
        raise ValueError(' '.join(str(error).split())) from error


def _check(text: str, yaml: Any) -> None:
    """Checks a text's size before its values are created.

    Otherwise ten lists that use an anchor ten times each would fill the memory.
    """
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_base(yaml))):
        if isinstance(event, yaml.events.AliasEvent) or getattr(event, 'anchor', None):
            raise ValueError('anchors are not supported: write the document without them, or as JSON')
        if getattr(event, 'tag', None) not in (None, '!'):
            raise ValueError(f'tags are not supported: {str(event.tag)[:40]}')
        depth += isinstance(event, yaml.events.CollectionStartEvent)
        depth -= isinstance(event, yaml.events.CollectionEndEvent)
        if depth > MAX_DEPTH or count > MAX_EVENTS:
            raise ValueError('it is nested too deeply, or too long')


def _base(yaml: Any) -> Any:
    return getattr(yaml, 'CSafeLoader', yaml.SafeLoader)  # written in C if PyYAML has it: thirty times as fast


def _loader(yaml: Any, typed: bool) -> Any:
    class Loader(_base(yaml)):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for key_node, value_node in node.value:
                key = self.construct_object(key_node, deep=deep)
                if not isinstance(key, (str, int, float)) and key is not None:
                    raise ValueError('a key is not a string')
                name = key_node.value if isinstance(key_node, yaml.ScalarNode) else str(key)  # a status such as 200
                if name in found:
                    raise ValueError(f'{name[:80]!r} occurs more than once')
                found[name] = self.construct_object(value_node, deep=deep)
            return found

    Loader.yaml_implicit_resolvers = {}
    for kind, pattern in _SCALARS.items() if typed else ():
        Loader.add_implicit_resolver(f'tag:yaml.org,2002:{kind}', re.compile(f'(?:{pattern})\\Z'), None)
    return Loader
