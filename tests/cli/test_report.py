"""``tooleval report``, and the summarizer that asks for one."""

from __future__ import annotations

import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from opencompass_tooleval.cli import report
from tests.cli.conftest import Command
from tests.report.support import detail, plain_run
from tests.summarizers.test_summarizer import TIME, Run


def test_a_report_is_written_and_shown(tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, 'open', opened.append)
    done = tooleval('report', plain_run(tmp_path / 'run'), '-o', 'pages', '--open')
    assert done.code == 0 and 'pages/index.html' in done.out
    assert opened == [(Path.cwd() / 'pages' / 'index.html').as_uri()]


def test_what_is_missing_is_named(tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = tooleval('report', tmp_path)
    assert done.code == 1 and 'no run of OpenCompass' in done.err and str(tmp_path) in done.err
    monkeypatch.setattr(report, 'NEEDED', ('jinja2', 'no_such_library'))
    done = tooleval('report', tmp_path)
    assert done.code == 1 and 'needs no_such_library' in done.err and 'opencompass-tooleval[report]' in done.err


def test_a_report_loads_little_and_has_its_tables_as_files(tmp_path: Path) -> None:
    run, out = plain_run(tmp_path / 'run'), tmp_path / 'out'
    code = (
        'import sys; from pathlib import Path; from opencompass_tooleval.cli.report import show_report; '
        'show_report([Path(sys.argv[1])], Path(sys.argv[2]), False); '
        "assert not {'matplotlib', 'pandas', 'torch', 'opencompass'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, '-c', code, run, out], check=True, timeout=1500)
    assert {file.suffix for file in (out / 'files').iterdir()} == {'.csv', '.md', '.tex'}


def test_the_summarizer_writes_one_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path).fill(details=[detail('r')])
    (tmp_path / 'configs').mkdir()
    summarizer = run.summarizer()
    summarizer.summarize(time_str=TIME)
    assert not (tmp_path / 'report').exists()
    summarizer.report = True
    summarizer.summarize(time_str=TIME)
    assert (tmp_path / 'report' / 'index.html').is_file() and 'report: ' in capsys.readouterr().out


def test_a_fault_of_the_report_is_none_of_the_sweep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path).fill(details=[{'id': 'r', 'values': {}, 'reason': 'ok'}])
    monkeypatch.setattr('opencompass_tooleval.report.build.overview', None)  # a fault of ours
    (tmp_path / 'configs').mkdir()
    summarizer = run.summarizer()
    summarizer.report = True
    summarizer.summarize(time_str=TIME)
    assert 'WARNING no report: TypeError: ' in capsys.readouterr().out
    run.write('m2', 'd2', {'error': 'x'})
    with pytest.raises(SystemExit) as caught:
        summarizer.summarize(time_str=TIME)
    assert caught.value.code == 1
