"""Removes API keys from logs and messages, also if a server or a proxy echoes them."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from urllib.parse import parse_qsl, unquote

from opencompass_tooleval.core.text.jsonable import printable

EXCERPT_CHARS = 300
"""Number of characters from a server's text in a log or a message."""

_READ_CHARS = 1 << 16
_HIDDEN = '[key]'
# Only at the end of the name: KEYBOARD_LAYOUT is not a key.
_SECRET_NAME = re.compile(r'(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTHORIZATION)S?$', re.IGNORECASE)
# Names in headers and queries that a config sends: X-Auth, Cookie, Ocp-Apim-Subscription-Key, sig.
_SENT_SECRET = re.compile(r'key|token|secret|passw|pwd|credential|auth(?!ors?$)|cookie|session|jwt|^sig', re.IGNORECASE)
_NO_SECRET = re.compile(r'version|max.?tokens', re.IGNORECASE)
# Up to the last @ before a slash, since a password may contain @.
_PASSWORD_IN_URL = re.compile(r'(?<=://)[^/\s]{1,4000}@')
_DEEPEST = 20
# Shorter keys are not secret: 'EMPTY' and 'test', used with local servers, also occur in answers.
_SHORTEST_KEY = 8

_keys: set[str] = set()


def usable_key(key: str) -> str:
    """Removes the blanks and line breaks around a key that files and copying add.

    Raises:
        ValueError: The key is not valid in a header.
    """
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError('the key has characters that a header cannot have')
    return key


def remember_keys(keys: Iterable[str]) -> None:
    """Records keys from configs. Those in the environment need not be recorded."""
    _keys.update(key for key in keys if len(key) >= _SHORTEST_KEY)


def remember_headers(headers: Mapping[str, object]) -> None:
    """Records the keys among the headers, parameters or variables in a config."""
    for name, value in headers.items():
        if _SENT_SECRET.search(name) and not _NO_SECRET.search(name):
            _remember_sent(str(value or ''))


def remember_query(query: Mapping[str, object]) -> None:
    """Records all values of a query except versions, since servers accept keys under any name."""
    for name, value in query.items():
        if not _NO_SECRET.search(name):
            _remember_sent(str(value or ''))


def remember_url(url: str) -> None:
    """Records the login and the query of an address, with or without a scheme."""
    address, _, query = url.partition('?')
    remember_query(dict(parse_qsl(query)))
    login = address.partition('://')[2] or address
    login = login[: login.rfind('@') + 1]  # a password may contain @ and /
    if login:
        _keys.add(login)
        plain = unquote(login[:-1])
        basic = base64.b64encode(plain.encode('utf-8', 'replace')).decode('ascii')
        remember_keys([login.partition(':')[2][:-1], plain.partition(':')[2], basic])


def remember_config(cfg: object, depth: int = 0) -> None:
    """Records the secrets in a config: keys, headers, queries, logins in addresses."""
    if depth > _DEEPEST:
        return
    if isinstance(cfg, Mapping):
        for name, value in cfg.items():
            if isinstance(value, Mapping) and str(name).lower().endswith('query'):
                remember_query({str(key): one for key, one in value.items()})
            elif isinstance(value, (Mapping, list, tuple)) and not str(name).lower().endswith('key'):
                remember_config(value, depth + 1)
            elif isinstance(value, (list, tuple)):
                remember_keys(str(one) for one in value)
            else:
                remember_headers({str(name): value if isinstance(value, str) else ''})
                remember_config(value, depth + 1)
    elif isinstance(cfg, (list, tuple)):
        for item in cfg:
            remember_config(item, depth + 1)
    elif isinstance(cfg, str) and '://' in cfg[:16]:
        remember_url(cfg)


def _remember_sent(value: str) -> None:
    """Records a value and its parts that may be echoed: the last word, cookies, the login of Basic."""
    words = value.split()
    remember_keys([value.strip(), *words[-1:], *(part.partition('=')[2].strip() for part in value.split(';'))])
    if len(words) == 2 and words[0].lower() == 'basic':
        with suppress(ValueError):
            login = base64.b64decode(words[1], validate=True).decode('utf-8')
            remember_keys([login, login.partition(':')[2]])


def _known_keys() -> set[str]:
    of_environment = (value for name, value in os.environ.items() if _SECRET_NAME.search(name))
    parts = (part.strip() for value in of_environment for part in value.split(','))
    return _keys | {part for part in parts if len(part) >= _SHORTEST_KEY}


@lru_cache(maxsize=256)
def _pattern(key: str) -> re.Pattern[str]:
    """Returns a pattern that finds a key, plain or escaped in a URL or in JSON (``\\/`` too)."""
    return re.compile(''.join(map(_written, key)), re.IGNORECASE)


def _written(letter: str) -> str:
    """Returns a pattern for all escapes of a letter."""
    forms = [re.escape(letter), rf'\\{re.escape(letter)}']
    code = ord(letter)
    if code < 1 << 16:
        forms.append(rf'\\u{code:04x}')
    forms.append(''.join(f'%{byte:02x}' for byte in letter.encode('utf-8', 'replace')))
    return f'(?:{"|".join(forms)})'


_LONGEST_FORM = 12
"""Maximum length of the escape of one letter: four bytes in a URL."""


def redact(text: str) -> str:
    """Replaces each known key, in any case, also if it is escaped for a URL or JSON, and the login in a URL."""
    for key in sorted(_known_keys(), key=len, reverse=True):  # longest first, since a key may be a part of another
        text = _pattern(key).sub(_HIDDEN, text)
    return _PASSWORD_IN_URL.sub(f'{_HIDDEN}@', text)


def excerpt(text: str, chars: int = EXCERPT_CHARS) -> str:
    """Returns the beginning of a text in one line. Keys are replaced first, so that no part of a key is left."""
    shown = redact(text[:_READ_CHARS])
    if len(text) > _READ_CHARS:  # its end may be the beginning of a key
        shown = shown[: -_LONGEST_FORM * max(map(len, _known_keys()), default=1)]
    shown = printable(' '.join(shown[: 4 * chars].split()))
    return shown if len(shown) <= chars else f'{shown[:chars]}...'
