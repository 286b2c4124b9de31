"""Measures a response bank of 100,000 calls: SQLite, as it is, against JSON lines with an index in memory.

python tools/benchmark_parts/measure_bank.py
"""

from __future__ import annotations

import hashlib
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from opencompass_tooleval.environments.arguments import arguments_key
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment

CALLS, TASKS, APIS, LOOKUPS = 100_000, 10_000, 2_000, 20_000


def calls() -> Iterator[RecordedCall]:
    """Made-up calls with responses of 1,000 characters in the mean."""
    draw = random.Random(0)
    for place in range(CALLS):
        name = f'search_{place * 7919 % APIS}_for_tool'
        arguments = {'query': f'words {place % 5_000}', 'page': place % 3}
        yield RecordedCall('made_up', str(place // 10), name, arguments, 'x' * draw.randrange(2_000))


class JsonLines:
    """The other way: each call a line, and where it stands in memory."""

    def __init__(self, file: Path) -> None:
        self._file = file.open('rb')
        self._exact: dict[bytes, list[int]] = {}
        self._by_name: dict[bytes, list[int]] = {}
        place = 0
        for line in self._file:
            row = json.loads(line)
            key = arguments_key(row['arguments']) or b''
            for index, parts in ((self._exact, (row['task'], row['name'])), (self._by_name, (row['name'],))):
                index.setdefault(_key(*parts, key=key), []).append(place)
            place += len(line)

    def look_up(self, task: str, name: str, arguments: object) -> str:
        """The response to an exact call."""
        self._file.seek(self._exact[_key(task, name, key=arguments_key(arguments) or b'')][0])
        return str(json.loads(self._file.readline())['response'])


def _key(*parts: str, key: bytes) -> bytes:
    return hashlib.blake2b('\0'.join(parts).encode() + key, digest_size=16).digest()


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _measure(open_: Callable[[], Callable[[str, str, object], str]]) -> None:
    before, start = _megabytes(), time.perf_counter()
    look_up = open_()
    opened = time.perf_counter() - start
    chosen = random.Random(1).choices([*range(CALLS)], k=LOOKUPS)
    times = []
    for place in chosen:
        name, arguments = (
            f'search_{place * 7919 % APIS}_for_tool',
            {'query': f'words {place % 5_000}', 'page': place % 3},
        )
        start = time.perf_counter()
        look_up(str(place // 10), name, arguments)
        times.append(1_000 * (time.perf_counter() - start))
    times.sort()
    print(
        f'open {opened:.2f} s, look-up {statistics.median(times):.3f} ms (mean {statistics.fmean(times):.3f} ms, '
        f'95%: {times[int(0.95 * LOOKUPS)]:.3f} ms), '
        f'memory +{_megabytes() - before:.0f} MiB ({_megabytes():.0f} in all)'
    )


def _sqlite(folder: Path) -> Callable[[str, str, object], str]:
    environment = Environment(Bank(folder / 'bank'))
    return lambda task, name, arguments: environment.begin(task).call(name, arguments).text


def main() -> None:
    """Builds both and measures each in a process of its own."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[2])
        _measure(lambda: _sqlite(folder) if sys.argv[1] == 'sqlite' else JsonLines(folder / 'lines').look_up)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        start = time.perf_counter()
        write_bank(calls(), folder / 'bank')
        print(f'sqlite: built in {time.perf_counter() - start:.1f} s, {(folder / "bank").stat().st_size >> 20} MiB')
        with (folder / 'lines').open('w') as lines:
            for call in calls():
                lines.write(json.dumps(vars(call)) + '\n')
        print(f'lines: {(folder / "lines").stat().st_size >> 20} MiB')
        for way in ('sqlite', 'lines'):
            print(way, end=': ', flush=True)
            subprocess.run([sys.executable, __file__, way, temporary], check=True)


if __name__ == '__main__':
    main()
