"""What was simulated, on disk: one SQLite file, which any number of processes share.

SQLite's own journal holds it together: what a killed process was writing is rolled back by the next, and whoever comes
second with an answer to the same question takes the first one. It is a rollback journal and no write-ahead log, which
does not work on the network file systems that the tasks of a Slurm job share.
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
from opencompass_tooleval.embedding.cache import default_cache
from opencompass_tooleval.environments.simulator import Simulator

_APPLICATION = 0x5442534D  # 'TBSM'
_SECONDS_FOR_OTHERS = 120.0
_TABLE = 'CREATE TABLE simulated (digest TEXT PRIMARY KEY, response TEXT NOT NULL)'
_FORGET_UNREAD = "DELETE FROM simulated WHERE response = ''"
"""Earlier versions kept '' for a reply that they could not read; such a call is asked again."""
_FIX = "simulator=dict(cache='ANOTHER FILE', ...) in the config"


def open_simulator(model: Mapping[str, Any], system: str = 'tooleval', cache: str | Path | None = None) -> Simulator:
    """A simulator as configs have it: ``simulator=dict(model=..., system='stabletoolbench',
    cache='simulated.sqlite')``.

    The model itself is asked by whoever runs the dialogues, which name it
    :data:`~opencompass_tooleval.environments.simulator.SIMULATOR`.

    Args:
        model: Config of any model of OpenCompass. Its abbr, or else its path, is its name in digests and results: two
            configs of one name share what was simulated, whatever else they say, such as a temperature.
        system: As :class:`~opencompass_tooleval.environments.simulator.Simulator`.
        cache: File of what was simulated; made when something is. By default one for all, in the cache
            (``$TOOLEVAL_CACHE``).

    Raises:
        ValueError: There is no such prompt.
    """
    return Simulator(model_name(model), system, SimulatorStore(Path(cache or default_cache() / 'simulated.sqlite')))


class SimulatorStore(MutableMapping[str, str]):
    """Digest -> what was simulated; threads may share it.

    Args:
        file: Where it is; its folder and it are made at the first use.

    Raises:
        DataError: At any use: the file is something else, or damaged, or cannot be written.
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
            connection.execute('BEGIN IMMEDIATE')  # of two processes that find no table, one waits for the other's
            application = connection.execute('PRAGMA application_id').fetchone()[0]
            if not connection.execute('SELECT 1 FROM sqlite_master').fetchone():
                connection.execute(f'PRAGMA application_id = {_APPLICATION}')
                connection.execute(_TABLE)
            elif application != _APPLICATION:
                raise DataError(self.file, 'the file holds something else than what was simulated', fix=_FIX)
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
            raise DataError(self.file, f'what was simulated cannot be read or kept ({error})', fix=_FIX) from error

    def __getitem__(self, digest: str) -> str:
        rows = self._run('SELECT response FROM simulated WHERE digest = ?', digest)
        if not rows:
            raise KeyError(digest)
        return str(rows[0][0])

    def __setitem__(self, digest: str, response: str) -> None:
        self._run('INSERT OR REPLACE INTO simulated VALUES (?, ?)', digest, response)

    def setdefault(self, digest: str, default: str = '') -> str:
        """What stands there: the first that any process has kept."""
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
        """Lets go of the file."""
        if '_connection' in vars(self):
            self._connection.close()
            del self._connection
