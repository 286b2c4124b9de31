"""Removes keys from logs and messages, also if a server or a proxy echoes them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from opencompass_tooleval.core.jsonable import printable

EXCERPT_CHARS = 300
"""Number of characters of a server's text in a log or a message."""

_READ_CHARS = 1 << 16
_HIDDEN = '[key]'
# At the end of the name: KEYBOARD_LAYOUT holds no key.
_SECRET_NAME = re.compile(r'(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTHORIZATION)S?$', re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r'(?<=://)[^/@\s]{1,200}@')
# Shorter ones are no secrets: 'EMPTY' and 'test', which local servers take, are words of answers, too.
_SHORTEST_KEY = 8

_keys: set[str] = set()


def is_secret_name(name: str) -> bool:
    """Tests if the value of a variable, header or parameter of this name is a key."""
    return bool(_SECRET_NAME.search(name))


def remember_keys(keys: Iterable[str]) -> None:
    """Records keys that configs name; those of the environment are known."""
    _keys.update(key for key in keys if len(key) >= _SHORTEST_KEY)


def remember_headers(headers: Mapping[str, object]) -> None:
    """Records the keys among the headers that a config names."""
    # 'Bearer sk-...': the key is the last word.
    named = (str(value or '').split() for name, value in headers.items() if _SECRET_NAME.search(name))
    remember_keys(words[-1] for words in named if words)


def _known_keys() -> set[str]:
    of_environment = (value for name, value in os.environ.items() if _SECRET_NAME.search(name))
    parts = (part.strip() for value in of_environment for part in value.split(','))
    return _keys | {part for part in parts if len(part) >= _SHORTEST_KEY}


@lru_cache(maxsize=256)
def _pattern(key: str) -> re.Pattern[str]:
    """Returns a pattern that finds a key, plain or escaped: in a URL, in JSON (``\\/`` too), in HTML."""
    return re.compile(''.join(map(_written, key)))


def _written(letter: str) -> str:
    """Returns all escapes of a letter, also with capital or small hex digits."""
    forms = [re.escape(letter), rf'\\{re.escape(letter)}']
    code = ord(letter)
    if code < 1 << 16:
        forms += [rf'(?i:\\u{code:04x})', rf'(?i:&#(?:0{{0,6}}{code}|x0{{0,6}}{code:x});)']
    forms.append(''.join(f'(?i:%{byte:02x})' for byte in letter.encode('utf-8', 'replace')))
    forms += [re.escape(f'&{name};') for name in _ENTITIES.get(letter, ())]
    return f'(?:{"|".join(forms)})'


_ENTITIES = {'&': ('amp',), '<': ('lt',), '>': ('gt',), '"': ('quot',), "'": ('apos',)}
_LONGEST_FORM = 12
"""Maximum number of characters in an escape of one letter: ``&#x0000000a;``."""


def redact(text: str) -> str:
    """Replaces every known key, with any escapes, and the login before the host of a URL."""
    for key in sorted(_known_keys(), key=len, reverse=True):  # one may be a part of another
        text = _pattern(key).sub(_HIDDEN, text)
    return _PASSWORD_IN_URL.sub(f'{_HIDDEN}@', text)


def excerpt(text: str, chars: int = EXCERPT_CHARS) -> str:
    """Returns the beginning of a text in one line; keys are replaced before the cut, so that no half key is left."""
    shown = redact(text[:_READ_CHARS])
    if len(text) > _READ_CHARS:  # its end may be the first half of a key
        shown = shown[: -_LONGEST_FORM * max(map(len, _known_keys()), default=1)]
    shown = printable(' '.join(shown[: 4 * chars].split()))
    return shown if len(shown) <= chars else f'{shown[:chars]}...'
