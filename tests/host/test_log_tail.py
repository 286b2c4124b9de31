"""host/log_tail: one line that says what went wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencompass_tooleval.host.log_tail import last_error_line


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('', ''),
        ('all is well\nbye\n', 'bye'),
        ('Traceback (most recent call last):\n  x()\nValueError: no such thing\n', 'ValueError: no such thing'),
        ('KeyError: 1\nTook 3 s\ntorch.OutOfMemoryError: too much\nbye\n', 'torch.OutOfMemoryError: too much'),
        ('0%\r50%\rslurmstepd: error: *** JOB 5 CANCELLED ***\r\n', 'slurmstepd: error: *** JOB 5 CANCELLED ***'),
        ('Killed\n', 'Killed'),
        ('found 0 errors\nbye\n', 'bye'),
    ],
)
def test_last_error_line(tmp_path: Path, text: str, expected: str) -> None:
    log = tmp_path / 'a.out'
    log.write_text(text)
    assert last_error_line(log) == expected


def test_long_logs_and_lines_are_cut(tmp_path: Path) -> None:
    log = tmp_path / 'a.out'
    log.write_bytes(b'ValueError: early\n' + b'\xff' * 200000 + b'\nTypeError: ' + b'x' * 5000 + b'\n')
    line = last_error_line(log)
    assert line.startswith('TypeError: x') and len(line) == 300


def test_no_log(tmp_path: Path) -> None:
    assert last_error_line(tmp_path / 'none.out') == ''
