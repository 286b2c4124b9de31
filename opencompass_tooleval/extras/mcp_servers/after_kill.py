"""Runs a shell command if this process is killed, to stop servers and remove copies."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def after_kill(command: str, argument: str) -> Iterator[Callable[[int], object]]:
    """Runs a shell command if this process is killed within the block, even by SIGKILL.

    A shell waits for the end of its input, which the kernel closes when this process ends. The block gets a function
    that sets ``$number`` of the command, which is empty before.

    Args:
        command: The command; ``argument`` is its ``$0``.
        argument: The argument.

    Raises:
        OSError: No shell is installed.
    """
    shell = subprocess.Popen(
        ['sh', '-c', f'number=; while read -r line; do number=$line; done; {command}', argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert shell.stdin is not None
    pipe = shell.stdin.fileno()
    with shell:
        try:
            yield lambda number: os.write(pipe, b'%d\n' % number)
        finally:
            shell.kill()
