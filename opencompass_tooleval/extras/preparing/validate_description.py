"""Checks that a description is about its tool: not a refusal, not part of an object, and with words of the
documentation.

The check finds obvious errors in English and Chinese; it does not rate quality. It takes linear time; texts are
limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opencompass_tooleval.core.scoring.refusal import declines_or_apologizes
from opencompass_tooleval.extras.preparing.validate import Flaw
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc

REFUSAL = 'description:refusal'
BRACKET = 'description:bracket'
UNRELATED = 'description:unrelated'

_MAX_CHARS = 200_000
"""Maximum length of the documentation's beginning in which to search for words."""

_PAIRS = {'}': '{', ']': '['}

_WORD = re.compile(r'[㐀-鿿]+|[^\W\d_㐀-鿿]+')
_HUMP = re.compile(r'(?<=[a-z])(?=[A-Z])')
_PREFIX = 4
"""Number of first letters of a word to compare: movie and movies, retrieve and retrieving count as the same."""

_COMMON_WORDS = (
    'a about all also an and any api apis are as at be built by can could do does for from function functions get has '
    'have help helps how if in into is it its may more multiple not of on one or other out such text that the their '
    'these they this to tool tools two use used user users uses using various very was what when which will with would '
    'you your i me my we us sorry cannot unable please'
)
_COMMON = frozenset(_COMMON_WORDS.split())
_COMMON_CHINESE = '工具 可以 用于 这个 该工 一个 能够 具可 以用 提供 功能 使用 用户 描述 我们 无法 抱歉 对不 不起'
_COMMON_PAIRS = frozenset(_COMMON_CHINESE.split())


def _without_names(text: str, doc: ToolDoc) -> str:
    """Removes the names of the tool from a text; names may contain any brackets, or begin with any word."""
    for name in sorted({doc.name, *(function.name for function in doc.functions)}, key=len, reverse=True):
        if not name.strip().isalnum():
            text = text.replace(name, ' ')
    return text


def _is_balanced(text: str) -> bool:
    """Tests if every brace and every square bracket has its counterpart."""
    opened: list[str] = []
    for character in text:
        if character in '{[':
            opened.append(character)
        elif character in _PAIRS and (not opened or opened.pop() != _PAIRS[character]):
            return False
    return not opened


def _words(text: str) -> Iterator[str]:
    """Yields the units that are compared: words, cut to their beginning, and pairs of Chinese characters."""
    for match in _WORD.finditer(text):
        run = match[0]
        if '㐀' <= run[0] <= '鿿':
            yield from ({run[at : at + 2] for at in range(len(run) - 1)} or {run}) - _COMMON_PAIRS
            continue
        for word in (part.casefold() for part in {run, *_HUMP.split(run)}):
            if len(word) > 1 and word not in _COMMON:
                yield word[:_PREFIX] if len(word) > _PREFIX else word


def _documented(doc: ToolDoc) -> str:
    texts = [doc.name, doc.description]
    for function in doc.functions:
        texts += [function.name, function.description]
        for parameter in (*function.required, *function.optional):
            texts += [parameter.name, parameter.description]
    texts += [raw for raw in (doc.raw, *(function.raw for function in doc.functions)) if isinstance(raw, str)]
    return '\n'.join(texts)[:_MAX_CHARS]


def check_description(doc: ToolDoc, text: str) -> list[Flaw]:
    """Compares a description with the documentation.

    Args:
        doc: The tool, or a part of one.
        text: The description, limited in length.

    Returns:
        The errors; empty without errors. The comparison is skipped for documentation without words.
    """
    faults = []
    if declines_or_apologizes(text) and not text.lstrip('\'"`* ').casefold().startswith(doc.name.casefold()):
        faults.append(Flaw(REFUSAL, 'It is a refusal or an apology, and no description of the tool.'))
    if not _is_balanced(_without_names(text, doc)):
        faults.append(Flaw(BRACKET, 'It has a brace or a square bracket without its counterpart.'))
    documented = set(_words(_documented(doc)))
    if documented and documented.isdisjoint(_words(text)):
        faults.append(Flaw(UNRELATED, 'It has no word of the documentation: say what this tool does.'))
    return faults
