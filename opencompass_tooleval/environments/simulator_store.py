"""Stores simulated responses in one SQLite file, which any number of processes may share.

SQLite's journal keeps the file consistent: the next process rolls back an unfinished write of a killed process. If two
processes answer the same request, both use the first response. The journal is a rollback journal, since a write-ahead
log does not work on the network file systems that the tasks of a Slurm job share.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.embedding.locate import default_cache
from opencompass_tooleval.environments.simulator import Simulator

_APPLICATION = 0x5442534D  # 'TBSM'
_SECONDS_FOR_OTHERS = 120.0
_TABLE = 'CREATE TABLE simulated (digest TEXT PRIMARY KEY, response TEXT NOT NULL)'
_FORGET_UNREAD = "DELETE FROM simulated WHERE response = ''"
"""Deletes empty responses, which stand for a missing reply; such calls are made again."""
_FIX = "simulator=dict(cache='ANOTHER FILE', ...) in the config"


def open_simulator(model: Mapping[str, Any], system: str = 'tooleval', cache: str | Path | None = None) -> Simulator:
    """Opens a simulator from a config.

    An example is ``simulator=dict(model=..., system='stabletoolbench', cache='simulated.sqlite')``.

    The runner of the dialogues builds the model under the name
    :data:`~opencompass_tooleval.environments.simulator.SIMULATOR`.

    Args:
        model: Config of any OpenCompass model. Its abbr, or else its path, is its name in digests and results. Two
            configs with the same name share stored responses, even if other settings, such as the temperature, differ.
        system: The system prompt of :class:`~opencompass_tooleval.environments.simulator.Simulator`.
        cache: File of stored responses, created with the first response. By default all runs share one file in the
            cache folder (``$TOOLEVAL_CACHE``).

    Raises:
        ValueError: The prompt does not exist.
    """
    return Simulator(model_name(model), system, SimulatorStore(Path(cache or default_cache() / 'simulated.sqlite')))


class SimulatorStore(MutableMapping[str, str]):
    """Digest -> stored response; threads may share it.

    Args:
        file: Path of the store; the file and its folder are created at the first use.

    Raises:
        DataError: At any use: the file is not a store, is damaged, or cannot be written.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            self.file, timeout=_SECONDS_FOR_OTHERS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute('BEGIN IMMEDIATE')  # of two processes without a table, one waits for the other
            application = connection.execute('PRAGMA application_id').fetchone()[0]
            if not connection.execute('SELECT 1 FROM sqlite_master').fetchone():
                connection.execute(f'PRAGMA application_id = {_APPLICATION}')
                connection.execute(_TABLE)
            elif application != _APPLICATION:
                raise DataError(self.file, 'the file contains something other than simulated responses', fix=_FIX)
            else:
                connection.execute(_FORGET_UNREAD)
            connection.execute('COMMIT')
        except BaseException:
            connection.close()
            raise
        return connection

    def _run(self, statement: str, *parameters: str) -> list[Any]:
        try:
            with self._lock, closing(self._connection.execute(statement, parameters)) as cursor:
                return cursor.fetchall()
        except sqlite3.Error as error:
            raise DataError(self.file, f'simulated responses cannot be read or stored ({error})', fix=_FIX) from error

    def __getitem__(self, digest: str) -> str:
        rows = self._run('SELECT response FROM simulated WHERE digest = ?', digest)
        if not rows:
            raise KeyError(digest)
        return str(rows[0][0])

    def __setitem__(self, digest: str, response: str) -> None:
        self._run('INSERT OR REPLACE INTO simulated VALUES (?, ?)', digest, response)

    def setdefault(self, digest: str, default: str = '') -> str:
        """Returns the stored response; the first one of any process is kept."""
        self._run('INSERT OR IGNORE INTO simulated VALUES (?, ?)', digest, default)
        return self[digest]

    def __delitem__(self, digest: str) -> None:
        self[digest]  # KeyError
        self._run('DELETE FROM simulated WHERE digest = ?', digest)

    def __iter__(self) -> Iterator[str]:
        return iter([row[0] for row in self._run('SELECT digest FROM simulated ORDER BY digest')])

    def __len__(self) -> int:
        return int(self._run('SELECT COUNT(*) FROM simulated')[0][0])

    def close(self) -> None:
        """Closes the file."""
        if '_connection' in vars(self):
            self._connection.close()
            del self._connection
