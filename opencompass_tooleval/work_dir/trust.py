"""Records which task sets and runs this user made or trusts, by digests in the user's cache.

The digests are never in the folder of the task set or run, which somebody else may have written. What somebody else
made is data: the programs that it names are shown, and started only with ``--trust``.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from opencompass_tooleval.core.text.jsonable import answer_digest
from opencompass_tooleval.core.text.redaction import excerpt, redact
from opencompass_tooleval.embedding.locate import default_cache
from opencompass_tooleval.work_dir.data_files import sha256_of
from opencompass_tooleval.work_dir.dumped_config import read_dumped

FOLDER = 'trusted'
"""Folder in ``$TOOLEVAL_CACHE`` with an empty file for each digest."""

logger = logging.getLogger(__name__)

_OURS = ('opencompass', 'opencompass_tooleval', 'mmengine')
_ADDRESS = re.compile(r'\s{0,9}[a-z+]{1,20}://\S{1,2000}\s{0,9}', re.IGNORECASE)
_PROGRAMS = re.compile(r'command|bashrc|script|trust_remote_code|(?:^|_)cmd$', re.IGNORECASE)
_CLIENT = re.compile(r'prox|api_base|base_url|host|endpoint|client', re.IGNORECASE)
"""Names of settings that start programs, and that say where requests go."""


_MOST_SHOWN = 1_000
_of_this_process: set[Path] = set()


class UntrustedError(ValueError):
    """A folder or file that would start programs is not trusted; the message lists the programs."""


@dataclass(frozen=True)
class Trustee:
    """A folder or file that starts programs or sends keys when it is used.

    Attributes:
        path: The folder or file, for messages.
        parts: JSON values that identify everything that decides which programs are started, and how.
        shows: One line for each program, variable, host and key.
    """

    path: Path
    parts: Any
    shows: tuple[str, ...]

    @property
    def _file(self) -> Path:
        return default_cache() / FOLDER / answer_digest(self.parts)

    def trust(self) -> None:
        """Records that this user trusts it; only for this process if the cache cannot be written."""
        _of_this_process.add(self._file)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.touch()
        except OSError as error:
            logger.warning('cannot record that %s is trusted: %s', self.path, error)

    @property
    def is_trusted(self) -> bool:
        """True if this user made it or trusts it, and it has not changed since."""
        return self._file in _of_this_process or self._file.is_file()

    def check(self) -> None:
        """Checks that it is trusted.

        Raises:
            UntrustedError: It is not trusted.
        """
        if not self.is_trusted:
            raise UntrustedError(
                f'{self.path}: somebody else made it, or it has changed since you trusted it. Nothing was started. It '
                f'would use:{self.lines}\nIf you trust all of this, run the command again with --trust, once.'
            )

    @property
    def lines(self) -> str:
        """``shows`` as lines."""
        return ''.join(f'\n  {line}' for line in dict.fromkeys(self.shows)) or ' nothing but its own files'


def run_trustee(config: Path) -> Trustee:
    """Returns the trustee of a run: the config with which it was started, since OpenCompass executes what it names.

    Raises:
        DataError: The config cannot be read.
    """
    shows = tuple(uses(read_dumped(config)))  # first, since it limits the size
    any_program = f'`--trust` executes {config} as `opencompass {config}` would, so it may run any program'
    return Trustee(config, ['run', sha256_of(config)], (any_program, *shows))


def trust_own_run(work_dir: Path) -> None:
    """Trusts the config with which this process started a run, so that ``tooleval retry`` may start it again."""
    configs = list(work_dir.glob(f'configs/*_{os.getpid()}.py'))
    if len(configs) == 1:  # somebody else's folder may contain a config for every process id
        Trustee(configs[0], ['run', sha256_of(configs[0])], ()).trust()


def uses(value: Any, name: str = '') -> Iterator[str]:
    """Yields one line for each program, variable, key, address and foreign class named in a config or a task set.

    Args:
        value: A part of the config.
        name: Its name.
    """
    if isinstance(value, Mapping):
        if name == 'env':
            yield from (_line(f'variable: {key}{_from_where(text)}') for key, text in value.items())
        elif _CLIENT.search(name):
            yield _line(f'{name}: {value}')
        else:
            yield from (line for key, one in value.items() for line in uses(one, str(key)))
    elif not value:
        return
    elif name in ('key', 'api_key', 'openai_key'):
        yield from (f'key: {_shown_key(key)}' for key in (value if isinstance(value, (list, tuple)) else [value]))
    elif _PROGRAMS.search(name):
        yield _line(f'{name}: {_as_line(value)}')
    elif name == 'server' and isinstance(value, str):
        yield _line(f'{"server" if "://" in value else "command"}: {value}')
    elif name == 'allow' and isinstance(value, (list, tuple)):
        yield _line(f'tools that may change things: {", ".join(map(str, value))}')
    elif isinstance(value, (list, tuple)):
        yield from (line for one in value for line in uses(one, name))
    elif name == 'type' and isinstance(value, str) and '.' in value and value.split('.')[0] not in _OURS:
        yield _line(f'code: {value}')
    elif isinstance(value, str) and _ADDRESS.fullmatch(value):
        yield _line(f'host: {urlsplit(value.strip()).netloc.rpartition("@")[2]}')
    elif isinstance(value, str) and ('://' in value or _CLIENT.search(name)):
        yield _line(f'{name}: {value}')


def _line(text: str) -> str:
    return excerpt(text, _MOST_SHOWN)


def _as_line(value: Any) -> str:
    return ' '.join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _from_where(value: Any) -> str:
    text = str(value)
    return f', filled from your ${text[1:]}' if text.startswith('$') else f'={redact(text)}'


def _shown_key(key: Any) -> str:
    text = str(key)
    is_name = text.isidentifier() and text.upper() == text
    return f'your ${"OPENAI_API_KEY" if text == "ENV" else text}' if is_name else 'a literal one'
