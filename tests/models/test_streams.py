"""Streamed answers of ``ToolEvalOpenAI``, read off the side of servers that send them piece by piece."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.models import served_model
from opencompass_tooleval.models.api import http_client
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.models.settings import setting_faults
from tests.conftest import ModelServer
from tests.extras.attribution.test_shapes import warnings
from tests.inferencers.test_inferencer import Run, make_rows
from tests.models.api.raw_server import RawServer, serving_raw
from tests.models.api.scripted_server import KEY, Refused, Request, Script, serving
from tests.models.test_openai_model import make_model, prompts

HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
ALIVE = b': alive\n\n'
DONE = b'data: [DONE]\n\n'
ENDLESS = 3600.0


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    choice = {'index': 0, 'delta': delta, 'finish_reason': finish}
    return b'data: %s\n\n' % json.dumps({'choices': [choice]}).encode()


HI = [chunk(content='h'), chunk('stop', content='i')]


@contextmanager
def streaming(steps: list[bytes | float], ends: bool = True) -> Iterator[RawServer]:
    """Sends pieces of an event stream; if it does not end as HTTP has it, the connection is closed."""
    pieces = [step if isinstance(step, float) else b'%x\r\n%s\r\n' % (len(step), step) for step in steps]
    with serving_raw(HEAD, *pieces, *([b'0\r\n\r\n'] if ends else []), stays_open=ends) as server:
        yield server


def answer_of(url: str, **settings: Any) -> Answer:
    model = ToolEvalOpenAI(
        'tiny', key=KEY, openai_api_base=url, backoff=0.001, **{'retry': 0, 'stream': True, 'timeout': 1500, **settings}
    )
    (answer,) = model.answers(prompts(1), 16)
    return answer


@pytest.mark.parametrize(
    ('steps', 'ends', 'settings', 'text', 'reason'),
    [
        pytest.param([*HI, DONE], True, {}, 'hi', None, id='right'),
        pytest.param([ALIVE, 0.4] * 6 + [*HI, DONE], True, {'idle_timeout': 2}, 'hi', None, id='comments'),
        pytest.param([HI[0], ENDLESS], True, {'idle_timeout': 1}, '', 'infra:timeout', id='idle'),
        pytest.param([ENDLESS], True, {'idle_timeout': 1}, '', 'infra:timeout', id='idle from the start'),
        pytest.param([ALIVE, 0.1] * 600, True, {'timeout': 1}, '', 'infra:timeout', id='too long'),
        pytest.param(HI, True, {}, 'hi', None, id='no [DONE]'),
        pytest.param([*HI, DONE, ENDLESS], True, {}, 'hi', None, id='[DONE], and the connection stays'),
        pytest.param([*HI, DONE], False, {}, 'hi', None, id='[DONE], and the connection breaks'),
        pytest.param(HI, False, {}, '', 'infra:connection', id='broken off'),
        pytest.param(HI[:1], True, {}, '', 'infra:server', id='no end'),
        pytest.param(
            [HI[0], b'data: {"error": {"message": "slow down", "code": 429}}\n\n', ENDLESS],
            True, {}, '', 'infra:rate_limit', id='an error in its middle',
        ),
        pytest.param([HI[0], b'data: {"choices\n', ENDLESS], True, {}, '', 'infra:bad_response', id='broken JSON'),
        pytest.param([b'data: ' + b'a' * 10**6] * 3, True, {}, '', 'infra:bad_response', id='too large'),
    ],
)  # fmt: skip
def test_a_stream(
    steps: list[bytes | float], ends: bool, settings: dict[str, Any], text: str, reason: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(http_client, 'MAX_STREAM_BYTES', 2 << 20)
    with streaming(steps, ends) as server:
        answer = answer_of(server.url, **settings)
        assert (answer.text, answer.reason) == (text, reason)
        (asked,) = server.asked
        assert (asked['stream'], asked['stream_options']) == (True, {'include_usage': True})


def test_a_server_that_ignores_stream_or_keeps_the_connection() -> None:
    with streaming([*HI, DONE, 0.1]) as server:
        model = ToolEvalOpenAI('tiny', key=KEY, openai_api_base=server.url, max_workers=1, stream=True)
        assert [answer.text for answer in model.answers(prompts(3), 16)] == ['hi'] * 3
        assert server.connections == 1
    with serving(script := Script()) as url:
        answer = answer_of(url)
    assert (answer.text, answer.finish_reason) == ('ready', 'stop')
    assert answer.usage is not None and answer.usage.prompt and len(script.asked) == 1


class RefusesOptions(Script):
    """A server that refuses ``stream_options``, as strict ones do."""

    def check(self, request: Request) -> None:
        if 'stream_options' in request:
            raise Refused(400, 'Unrecognized request argument supplied: stream_options')

    def complete(self, request: Request) -> Any:
        super().complete(request)
        return b''.join([*HI, DONE])


def test_a_server_that_refuses_stream_options_is_asked_without() -> None:
    script = RefusesOptions()
    with serving(script) as url, warnings() as lines:
        model = ToolEvalOpenAI('tiny', key=KEY, openai_api_base=url, max_workers=1, retry=0, stream=True)
        assert [answer.text for answer in model.answers(prompts(3), 16)] == ['hi'] * 3
    assert ['stream_options' in request for request in script.asked] == [True, False, False, False]
    assert all(request['stream'] for request in script.asked)
    assert len(lines) == 1 and 'refuses stream_options' in lines[0]


@pytest.mark.parametrize('named', ['', 'messages'])
def test_other_refusals_are_no_reason_to_ask_again(named: str) -> None:
    class Refuses(Script):
        def check(self, request: Request) -> None:
            raise Refused(400, f'wrong {named}')

    with serving(script := Refuses()) as url:
        assert answer_of(url).reason == 'infra:bad_request' and len(script.asked) == 1


def test_attribution_excludes_streams() -> None:
    fault = 'attribution: raw text is read from whole answers only: set stream=False, or attribution=False'
    with pytest.raises(ValueError, match=re.escape(fault)):
        ToolEvalOpenAI('tiny', key=KEY, stream=True, attribution=True)
    for kind, more in (('ToolEvalOpenAI', {}), ('ToolEvalServed', {'engine': {'command': ['{port}']}})):
        row = {'type': getattr(served_model, kind), 'path': 'tiny', 'stream': True, 'attribution': True, **more}
        assert [found.text for found in setting_faults([row], [])] == [fault]
        assert not setting_faults([row | {'attribution': False}], [])


@pytest.mark.parametrize('first', [True, False])
def test_a_run_continues_with_or_without_streams(canned_server: ModelServer, tmp_path: Path, first: bool) -> None:
    canned_server.reset('402@5-')
    runs = {
        stream: Run(tmp_path, make_rows(8), make_model(canned_server, stream=stream, max_workers=1))
        for stream in (True, False)
    }
    with pytest.raises(Exception, match='402'):
        runs[first].go()
    canned_server.reset()
    assert len(runs[not first].go()) == 8
    assert [asked['stream'] for asked in canned_server.stats()['asked']] == [not first] * 4
