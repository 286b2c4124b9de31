"""Subsets by their names: rows of tables, and which one a file or a data set is named after."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TypeVar

_PREFIX = r'(?:.*\btooleval-[a-z]+-|(?:restbench|funcqa|toolbench)_)?'
_SUFFIX = r'(?:_(?:v\d\w*|zh|en))*(?:-\w+)*'

Row = TypeVar('Row')


def find_row(table: Mapping[str, Row], name: str, benchmark: str, what: str = 'subset') -> Row:
    """The row called ``name``.

    Raises:
        ValueError: There is none; the message lists those there are.
    """
    if name not in table:
        raise ValueError(f'{benchmark} has no {what} {name!r}; it has {", ".join(table)}')
    return table[name]


def named_subsets(name: str, subsets: Collection[str]) -> set[str]:
    """The subsets that a name holds; of names within names only the longest.

    Args:
        name: Name of a file without its ending, or of a data set, such as ``tooleval-teval-plan_str_v2``.
        subsets: All there are. One that is a single word, such as ``instruct``, counts only if nothing stands beside it
            but version, language and the like: ``qwen2.5-7b-instruct`` is a model.
    """
    lowered = name.lower()
    held = set()
    for subset in subsets:
        word = re.escape(subset)
        whole = re.fullmatch(f'{_PREFIX}{word}{_SUFFIX}', lowered)
        # Not \b, which takes '_' for a letter: it would miss plan_json in 'my_plan_json_v2'.
        within = '_' in subset and re.search(f'(?<![a-z0-9]){word}(?![a-z0-9])', lowered)
        if whole or within:
            held.add(subset)
    return {subset for subset in held if not any(subset != other and subset in other for other in held)}
