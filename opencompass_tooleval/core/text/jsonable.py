"""Converts Python values to values that strict JSON can represent, and limits untrusted texts and values."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, TypeGuard

MAX_CHARS = 200_000
"""Maximum number of characters in an answer: about 50,000 tokens, a hundred times the official limit of 512."""

TOO_LONG = 'answer:too_long'

MAX_DEPTH = 100
MAX_BITS = 10_000
_LARGEST = 1e100


def is_number(value: Any) -> TypeGuard[int | float]:
    """Tests if a value from a file is a usable number: not a boolean, not NaN, infinite, or above 1e100."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST


def beyond_bounds(value: Any) -> str:
    """Returns why ``value`` exceeds the limits (``parse:code``), or ``''``; does not recurse."""
    # Level by level: json accepts 980 nested brackets, which would exceed the recursion limit here.
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                below.extend(node)
                below.extend(node.values())
            elif isinstance(node, (list, tuple, set)):
                below.extend(node)
            elif isinstance(node, int) and node.bit_length() > MAX_BITS:
                return 'parse:huge_number'  # Python parses 0xfff..., but cannot write it in decimal
        if not below:
            return ''
        level = below
    return 'parse:too_deep'


def is_huge_power(base: float, exponent: float) -> bool:
    """Tests if a power of integers would far exceed ``MAX_BITS``. Other powers are floats, which Python limits."""
    whole = isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1
    return whole and int(base).bit_length() * exponent > 2 * MAX_BITS


_MAX_DEPTH = 120


def clean_text(text: str) -> str:
    """Replaces lone surrogates, which UTF-8 cannot encode, by their escape (``\\udc80`` as six characters)."""
    return text.encode('utf-8', 'backslashreplace').decode('utf-8')


_CONTROLS = (*range(9), *range(11, 32), *range(127, 160))
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_PRINTED = {code: f'\\x{code:02x}' for code in _CONTROLS} | {code: f'\\u{code:04x}' for code in _DIRECTIONS}


def printable(text: str) -> str:
    """Replaces control characters, which a terminal would execute, by escapes; line breaks and tabs stay.

    It also replaces marks that change the direction of text, since they can make a command look like another one.
    """
    return text.translate(_PRINTED)


def to_jsonable(value: Any, depth: int = 0) -> Any:
    """Converts any value parsed from an answer (sets, bytes, NaN, tuples, other keys) to plain JSON values.

    Args:
        value: Any value that :func:`ast.literal_eval` or :func:`json.loads` can return.
        depth: Nesting depth of ``value``; deeper values become the string ``'...'``.

    Returns:
        Only dicts with string keys, lists, strings, finite numbers, booleans and None.
    """
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        # str() of an integer raises from 4,301 digits on.
        return hex(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= _MAX_DEPTH:
        return '...'
    if isinstance(value, dict):
        keys = (clean_text(str(to_jsonable(key) if isinstance(key, int) else key)) for key in value)
        return dict(zip(keys, (to_jsonable(item, depth + 1) for item in value.values()), strict=True))
    if isinstance(value, (list, tuple)):
        return [to_jsonable(item, depth + 1) for item in value]
    return clean_text(repr(value))


def map_texts(value: Any, text: Callable[[str], str], key: Callable[[str], str] | None = None) -> Any:
    """Applies a function to all strings in a JSON value, and to the keys of its objects.

    Args:
        value: A JSON value.
        text: The function.
        key: The function for keys; by default the same.
    """
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {(key or text)(name): map_texts(item, text, key) for name, item in value.items()}
    return [map_texts(item, text, key) for item in value] if isinstance(value, list) else value


def without_folder(text: str) -> str:
    """Returns the last part of an absolute path of any system; returns other texts unchanged."""
    is_path = PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute() or text.startswith('~')
    # PureWindowsPath splits both kinds: PurePosixPath would keep 'C:\\Users\\me\\model' whole.
    return PureWindowsPath(text).name if is_path else text


def bounded_text(value: Any, most: int = 4_000) -> str:
    """Converts a value to text of at most ``most`` characters; longer text is cut and ends with ``…``.

    Args:
        value: Text, or any other value; None becomes ``''``.
        most: Maximum number of characters.
    """
    if value is None:
        return ''
    text = value if isinstance(value, str) else json.dumps(to_jsonable(value), ensure_ascii=False)
    text = clean_text(text.strip()[: most + 1])
    return text if len(text) <= most else f'{text[: most - 1]}…'


def answer_digest(judged: Any) -> str:
    """Returns 32 hex digits that identify a text, or a value independently of the order of its keys."""
    text = judged if isinstance(judged, str) else json.dumps(to_jsonable(judged), ensure_ascii=False, sort_keys=True)
    return hashlib.blake2b(text.encode('utf-8', 'backslashreplace'), digest_size=16).hexdigest()


def texts_digest(texts: Iterable[str]) -> str:
    """Returns the SHA-256 of texts, in their order, as 64 hex digits."""
    whole = hashlib.sha256()
    for text in texts:
        encoded = text.encode('utf-8', 'surrogatepass')
        whole.update(b'%d:' % len(encoded) + encoded)
    return whole.hexdigest()
