"""The real ``transformers serve``, which sends an event stream without a request for one."""

from __future__ import annotations

import socket
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tests.forked import start_python
from tests.models.test_openai_model import prompts

serving = pytest.importorskip('transformers.commands.serving', reason='no transformers serve in this version')


@pytest.fixture(scope='module')
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not serving.serve_dependencies_available:
        pytest.skip('what transformers serve needs is not installed')
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
    command = ('-m', 'transformers.commands.transformers_cli', 'serve', '--device', 'cpu')
    log = tmp_path_factory.mktemp('serve') / 'serve.log'
    process = start_python(*command, '--port', port, output=log)
    try:
        deadline = time.monotonic() + 1500
        while not _is_up(port):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield f'http://127.0.0.1:{port}/v1'
    finally:
        process.kill()
        process.wait()


def _is_up(port: int) -> bool:
    try:
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/health') as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_its_streams_are_answers(served: str, tiny_model: Path) -> None:
    message = {'model': str(tiny_model), 'messages': [{'role': 'user', 'content': 'question'}], 'stream': False}
    raw = httpx.post(f'{served}/chat/completions', json=message, timeout=120)
    assert 'event-stream' in raw.headers['content-type']  # else this tests nothing
    both = []
    for stream in (False, True):
        settings: dict[str, Any] = {'retry': 0, 'max_workers': 1, 'timeout': 120, 'max_seq_len': 8192, 'stream': stream}
        model = ToolEvalOpenAI(str(tiny_model), key='none', openai_api_base=served, **settings)
        both.append([(answer.text, answer.reason, answer.finish_reason) for answer in model.answers(prompts(2), 8)])
        first, second = model.answers(prompts(2), 8)
    assert both[0] == both[1]
    for answer in (first, second):
        assert answer.text and (answer.reason, answer.finish_reason) == (None, 'stop')
    assert first.text != second.text
