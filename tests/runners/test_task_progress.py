"""The terminal's display of running tasks: progress, times and cost."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import sys
import termios
import time
from contextlib import suppress
from io import StringIO
from logging import StreamHandler
from pathlib import Path
from typing import Any

import pytest
from opencompass.runners.base import BaseRunner
from opencompass.utils import get_logger

from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.runners import SlurmArrayRunner, ToolEvalLocalRunner
from opencompass_tooleval.runners.task_progress import TaskProgress
from opencompass_tooleval.tasks import ToolEvalInferTask
from opencompass_tooleval.work_dir.lock import exclusive, holder_of
from opencompass_tooleval.work_dir.names import lock_path
from tests.engines import until


@pytest.mark.parametrize('kind', [ToolEvalLocalRunner, SlurmArrayRunner])
def test_a_base_class_that_raises_after_failed_tasks_does_not_end_the_run(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def summarize(runner: Any, status: Any) -> None:
        if any(code for _, code in status):
            raise RuntimeError(f'{len(status)} tasks failed')

    def call(runner: Any, tasks: Any) -> None:
        summarize(runner, list(runner.launch(tasks)))

    monkeypatch.setattr(BaseRunner, '__call__', call)
    monkeypatch.setattr(BaseRunner, 'summarize', summarize)
    monkeypatch.setattr(kind, 'launch', lambda runner, tasks: [(task, 1) for task in tasks])
    screen = StringIO()
    monkeypatch.setattr(get_logger(), 'handlers', [StreamHandler(screen)])
    kind(task={'type': ToolEvalInferTask})(['a', 'b'])
    assert 'RuntimeError: 2 tasks failed' in screen.getvalue()


def task(folder: Path, *datasets: str, **model: Any) -> dict[str, Any]:
    model = {'type': 'X', 'path': 'm', 'abbr': 'm', **model}
    return {'work_dir': str(folder), 'models': [model], 'datasets': [[{'abbr': abbr} for abbr in datasets]]}


def lock(folder: Path, dataset: str) -> Path:
    return lock_path(folder / 'predictions' / 'm' / f'{dataset}.json')


def test_lines_where_there_is_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    progress = TaskProgress(seconds=0.01, seconds_per_line=0.05)
    message = ''

    def has_said(text: str) -> bool:
        nonlocal message
        message += capsys.readouterr().out
        return text in message

    with progress.shown(), progress.task(task(tmp_path, 'a', 'b', prices={'input': 2, 'output': 6, 'cached': 1})):
        with exclusive(lock(tmp_path, 'a'), 400) as reporter:
            until(lambda: has_said('m x a: 0 of 400 samples\n'))
            time.sleep(1.05)  # at most one report a second is written
            reporter.has_answered(100, 0, [Usage(1_000_000, 500_000, cached=200_000), None])
            until(lambda: has_said(' left, 1,500,000 tokens, cost 4.8\n'))
            assert 'm x a: 100 of 400 samples, ' in message and '/s, ' in message
            reporter.waits_for('http://h/v1 has not been reached for 32 s')
            until(lambda: has_said('cost 4.8, http://h/v1 has not been reached for 32 s\n'))
        with exclusive(lock(tmp_path, 'b'), 7) as reporter:
            until(lambda: has_said('m x b: 0 of 7 samples\n'))


def test_a_bar_for_each_task_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 160, 0, 0))
    with os.fdopen(writer, 'w', encoding='utf-8') as terminal:
        monkeypatch.setattr(sys, 'stderr', terminal)
        os.set_blocking(reader, False)
        shown = ''

        def has_shown(text: str) -> bool:
            nonlocal shown
            with suppress(BlockingIOError):
                shown += os.read(reader, 1 << 16).decode('utf-8', 'replace')
            return text in shown

        progress = TaskProgress(seconds=0.01)
        with (
            progress.shown(),
            progress.task(task(tmp_path, 'a')),
            progress.task(task(tmp_path, 'b')),
            exclusive(lock(tmp_path, 'a'), 400) as first,
            exclusive(lock(tmp_path, 'b'), 50) as second,
        ):
            time.sleep(1.05)
            first.has_answered(100, 90, [Usage(10, 5)])
            second.has_answered(5, 0, [])
            until(lambda: has_shown('m x a:  25%') and has_shown('100/400') and has_shown('15 tokens'))
            until(lambda: has_shown('m x b:  10%') and has_shown('5/50'))
    os.close(reader)


def test_damaged_reports_are_none(tmp_path: Path) -> None:
    with exclusive(lock(tmp_path, 'a'), 4):
        for damage in ({'answered': True}, {'prompt': '1'}, {'odd': 1}, {'samples': None}):
            content = json.loads(lock(tmp_path, 'a').read_text())
            damaged = tmp_path / 'damaged'
            damaged.write_text(json.dumps({**content, **damage}))
            assert holder_of(damaged) is None
