"""Runs a shell command if this process is killed, to stop servers and remove copies."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def after_kill(command: str, argument: str) -> Iterator[None]:
    """Runs a shell command if this process is killed within the block, even by SIGKILL.

    A shell waits for the end of its input, which the kernel closes when this process ends.

    Args:
        command: The command; ``argument`` is its ``$0``.
        argument: The argument.

    Raises:
        OSError: No shell is installed.
    """
    shell = subprocess.Popen(
        ['sh', '-c', f'read -r _ || {{ {command}; }}', argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with shell:
        try:
            yield
        finally:
            shell.kill()
