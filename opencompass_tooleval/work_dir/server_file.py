"""The file with address and key of a server that many tasks share, readable only by its owner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from opencompass_tooleval.core.errors import shorten
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import read_plain
from opencompass_tooleval.work_dir.lock import is_held
from opencompass_tooleval.work_dir.names import sweep_lock
from opencompass_tooleval.work_dir.whole_file import whole_file

QUEUED, STARTING, READY, FAILED = 'queued', 'starting', 'ready', 'failed'
_SUFFIX = '.server.json'
_MAX_BYTES = 1 << 16
_MAX_WHY = 8_000


@dataclass(frozen=True)
class ServerState:
    """State of a shared server.

    Attributes:
        stage: ``queued`` (the runner will start it), ``starting``, ``ready``, or ``failed`` (it is not started again).
        url: Base URL for OpenAI clients, if the server is ready.
        key: The key of the engine; '' unless the server is ready.
        why: The last lines of a failed server's log.
        since: Time of the last change of the state.
        log: Log file of the engine.
    """

    stage: str
    url: str = ''
    key: str = field(default='', repr=False)
    why: str = ''
    since: str = ''
    log: str = ''


def server_file(folder: Path, name: str) -> Path:
    """Returns the path of a server's file in a runner's folder, which no other user may enter."""
    return folder / f'{name}{_SUFFIX}'


def wanted_mark(file: Path) -> Path:
    """Returns the file that the first request makes, so that a stage without new requests loads no model."""
    return file.with_suffix('.wanted')


def write_server(file: Path, state: ServerState) -> None:
    """Writes the state atomically, readable only by its owner; sets ``since``.

    Raises:
        OSError: The file cannot be written.
    """
    since = f'{datetime.now(timezone.utc):%F %T} UTC'
    with whole_file(file) as temporary:
        temporary.chmod(0o600)
        temporary.write_text(json.dumps({**asdict(state), 'why': state.why[:_MAX_WHY], 'since': since}))


def read_server(file: Path) -> ServerState | None:
    """Reads the state; returns None if the file is missing or invalid."""
    try:
        value = load_json(read_plain(file, _MAX_BYTES))
        state = ServerState(**value) if isinstance(value, dict) else None
    except (OSError, ValueError, TypeError):
        return None
    return state if state and all(isinstance(text, str) for text in asdict(state).values()) else None


def server_lines(run: Path) -> Iterator[str]:
    """Yields a line about each shared server of a run, without its key."""
    ended = '' if is_held(sweep_lock(run)) else '; its runner has ended'
    for file in sorted(run.glob(f'tmp/*/*/*{_SUFFIX}')):
        if state := read_server(file):
            what = shorten(state.why) if state.stage == FAILED else state.url
            yield f'{file.name.removesuffix(_SUFFIX)}: {state.stage} since {state.since} {what}'.rstrip() + ended
