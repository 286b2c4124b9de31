"""Texts of servers, models and files reach no terminal and no log with control characters, nor as Rich's markup."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.text.jsonable import printable
from opencompass_tooleval.environments.bank import RecordedCall, write_bank
from opencompass_tooleval.work_dir.printing import Screen, say
from tests.cli.conftest import Command, Outcome, write_json
from tests.cli.test_agents_judge import RUNS
from tests.conftest import ModelServer, start_server, sweep_of
from tests.forked import run_opencompass

MAIN = 'from opencompass_tooleval.cli.main import main; main()'
EVIL = '\x1b[2J\x1b]0;mine\x07\x9b31m\u202e[/bold][red]x'
SHOWN = r'\x1b[2J\x1b]0;mine\x07\x9b31m\u202e[/bold][red]x'
CONTROLS = {*map(chr, range(32)), *map(chr, range(127, 160)), '\u202e'} - set('\n\t')


def assert_shown(done: Outcome, code: int = 0) -> None:
    """The text is there, with its control characters as text."""
    output = (done.out + done.err).replace('\r', '')  # of progress bars
    assert done.code == code and 'Traceback' not in output, output
    assert not CONTROLS & set(output)
    # Where the error of a server is shown as it came, JSON has escaped it.
    assert (r'\x1b[2J' in output or r'\u001b[2J' in output) and '[/bold]' in output, output


@pytest.mark.parametrize('encoding', ['ascii', 'gbk'])
def test_what_an_encoding_lacks_is_shown_as_escapes(tmp_path: Path, encoding: str) -> None:
    bank = tmp_path / 'a.bank'
    write_bank([RecordedCall('f', 't', '天气查询', {'a': 1}, 'x', '')], bank)
    environment = {**os.environ, 'PYTHONUTF8': '0', 'PYTHONIOENCODING': encoding}
    command: list[str | Path] = [sys.executable, '-c', MAIN, 'agents', 'bank', 'stats', bank]
    done = subprocess.run(command, env=environment, capture_output=True)
    shown = done.stdout.decode(encoding)
    assert done.returncode == 0 and ('\\u5929' if encoding == 'ascii' else '天气查询') in shown, (shown, done.stderr)


@pytest.fixture(scope='module')
def process() -> Iterator[ModelServer]:
    server = start_server('--canned', EVIL, '--key', 'right')
    yield server
    server.stop()


@pytest.fixture
def server(process: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """It, with a text of an attacker as the message of each error."""
    process.reset(f'bad@all={EVIL}')
    # OpenCompass's logger writes to the standard error of the first test, which is closed.
    monkeypatch.setattr(logging, 'raiseExceptions', False)
    return process


def config(folder: Path, server: ModelServer, **more: Any) -> Path:
    cfg = {'path': 'tiny', 'abbr': 'api', 'key': 'right', 'openai_api_base': server.url, 'retry': 0} | more
    file = folder / 'model.py'
    file.write_text(
        'from opencompass_tooleval.models.openai_model import ToolEvalOpenAI\n'
        f'models = [dict(type=ToolEvalOpenAI, **{cfg})]\n',
        encoding='utf-8',
    )
    return file


def test_names_and_descriptions_of_tools(tooleval: Command, tmp_path: Path, server: ModelServer) -> None:
    function = {'name': EVIL, 'description': EVIL, 'parameters': {'type': 'object', 'properties': {}}}
    tools, out = tmp_path / 'tools.json', tmp_path / 'instructions.json'
    source = ('--source', 'function_schema', '--input', tools)
    for model, code, name in ((config(tmp_path, server), 1, 'look'), ('template', 0, EVIL)):
        write_json(tools, [{'type': 'function', 'function': {**function, 'name': name}}])
        made = tooleval('easytool', 'generate', *source, '--model', model, '--out', out)
        assert made.code == code and not CONTROLS & set((made.out + made.err).replace('\r', ''))  # of progress bars
    assert_shown(tooleval('easytool', 'stats', *source, '--instructions', out, '--tokenizer', 'offline'))


def test_names_in_a_bank_and_of_a_file(tooleval: Command, tmp_path: Path) -> None:
    write_bank([RecordedCall(EVIL, EVIL, EVIL, {'a': 1}, 'x', EVIL)], tmp_path / 'a.bank')
    assert_shown(tooleval('agents', 'bank', 'stats', tmp_path / 'a.bank'))
    as_json = tooleval('agents', 'bank', 'stats', tmp_path / 'a.bank', '--json', '-')
    assert not CONTROLS & set(as_json.out) and EVIL in json.loads(as_json.out)['apis']
    file = tmp_path / f'{EVIL.replace("/", "|")}.json'
    file.write_text('no json', encoding='utf-8')
    done = tooleval('score', 'teval', 'plan_str', file, '--data', file)
    assert done.code and not CONTROLS & set(done.out + done.err) and r'\x1b[2J' in done.err


def test_a_server_that_is_looked_at_or_judges(
    tooleval: Command, tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'right')
    assert_shown(tooleval('doctor', '--endpoint', server.url, '--model', 'tiny'), 1)
    words = ('agents', 'judge', RUNS, '--out', tmp_path / 'out.jsonl', '--judge', config(tmp_path, server))
    for fault in (f'bad@all={EVIL}', '401@all', 'error200@all', '500@all'):
        server.reset(fault)
        done = tooleval(*words)
        assert done.code == 1 and 'Traceback' not in done.err, fault
        assert done.err.splitlines()[-1].startswith('tooleval: ')
        assert not CONTROLS & set(done.err.replace('\r', ''))  # of progress bars
    config(tmp_path, ModelServer(server.process, 'http://127.0.0.1:9/v1'), patience=0.1)
    done = tooleval(*words)
    assert done.code == 1 and 'Traceback' not in done.err and 'model.py: the model failed' in done.err, done.err


def test_last_screen_notes_logs_and_status(
    tooleval: Command, tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'sweep.py').write_text(
        sweep_of('tooleval-teval-review_str_v2', retry=0).replace('URL', server.url), encoding='utf-8'
    )
    done = run_opencompass('sweep.py', '-w', 'out', env=dict(os.environ))
    assert done.returncode == 1 and '\x1b[2J' not in done.stdout + done.stderr
    files = [*tmp_path.rglob('*.out'), *tmp_path.rglob('*_notes.txt')]
    assert {file.suffix for file in files} == {'.out', '.txt'}
    for file in files:
        text = file.read_text(encoding='utf-8').replace('\r', '')  # of progress bars
        assert not {'\x07', '\x9b', '\u202e'} & set(text) and '\x1b[2J' not in text and '\x1b]0' not in text, file
    (log, *_) = tmp_path.rglob('*.out')
    with log.open('a', encoding='utf-8') as stream:
        stream.write(f'Traceback (most recent call last):\nValueError: {EVIL}\n')
    assert not CONTROLS & set(tooleval('status', 'out').out)


@pytest.mark.parametrize('text', [EVIL, '\r\x08', '[/]', ':smile:', 'plain', '\ud800'])
def test_one_place_prints(capsys: pytest.CaptureFixture[str], text: str) -> None:
    say(text)
    Screen(width=200).print(text)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[1] == printable(text).replace('\ud800', r'\ud800')
    assert SHOWN in (printable(EVIL), lines[0])
