"""ToolEvalOpenAI against a real HTTP server that fails on demand (tools/serve_model.py)."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from typing import Any

import pytest
from opencompass.utils.prompt import PromptList

from opencompass_tooleval.core.text.redaction import EXCERPT_CHARS
from opencompass_tooleval.models import openai_model as api_model
from opencompass_tooleval.models.api.outage import Outage
from opencompass_tooleval.models.model_calls import AskingEndedError
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.models.settings import setting_faults, unused_settings
from opencompass_tooleval.work_dir.run_context import in_context
from tests.conftest import ModelServer, start_server

ANSWER = 'Answer: A'


def make_model(server: ModelServer, **arguments: Any) -> ToolEvalOpenAI:
    """A client of ``server`` with short pauses."""
    defaults = {'path': 'tiny', 'key': 'right', 'openai_api_base': server.url, 'backoff': 0.001, 'retry': 2}
    return ToolEvalOpenAI(**{**defaults, 'query_per_second': 1000, 'max_seq_len': 8192, **arguments})


def prompts(count: int) -> list[PromptList]:
    return [
        PromptList([{'role': 'HUMAN', 'prompt': f'question {i}', 'content': f'question {i}'}]) for i in range(count)
    ]


SERVER, BAD = 'infra:server', 'infra:bad_response'


@pytest.mark.parametrize(('fault', 'reason'), [
    ('429@=nan', 'infra:rate_limit'), ('500', SERVER), ('409', SERVER), ('425', SERVER), ('streamcut', SERVER),
    ('408', 'infra:timeout'), ('cut', 'infra:connection'), ('html', BAD), ('empty', 'infra:empty'),
])  # fmt: skip
def test_a_passing_fault_is_retried_and_answered(canned_server: ModelServer, fault: str, reason: str) -> None:
    """One that lasts becomes an empty answer with its reason."""
    kind, _, value = fault.partition('@')
    canned_server.reset(f'{kind}@1-2{value}', f'{kind}@4-{value}')
    model = make_model(canned_server)
    (answer,) = model.answers(prompts(1), 16)
    assert (answer.text, answer.reason) == (ANSWER, None)
    assert [asked['fault'] for asked in canned_server.stats()['asked']] == [kind, kind, None]
    (answer,) = model.answers(prompts(1), 16)
    assert answer.text == '' and (answer.reason == reason or (kind == 'cut' and answer.reason == BAD))
    assert canned_server.stats()['requests'] == 6


def test_a_slow_server_is_asked_again(canned_server: ModelServer) -> None:
    canned_server.reset('slow@1=3600')
    model = make_model(canned_server, timeout=1, retry=9)  # on a busy machine a right answer may take longer, too
    assert model.generate(prompts(1), 16) == [ANSWER]
    canned_server.reset('drip@1=0.1', 'slow@2=3600')
    (answer,) = make_model(canned_server, timeout=0.5, retry=1).answers(prompts(1), 16)
    assert (answer.text, answer.reason, canned_server.stats()['requests']) == ('', 'infra:timeout', 2)


@pytest.mark.parametrize(('fault', 'reason'), [
    ('filter@all', 'infra:filter'), ('filter400@all', 'infra:filter'), ('length@all', 'infra:truncated'),
    ('413@all', 'infra:truncated'), ('bad@all', 'infra:bad_request'),
    ('bad@all=request (9 tokens) exceeds the available context size (8 tokens)', 'infra:truncated'),
])  # fmt: skip
def test_what_another_try_cannot_fix_is_not_tried_again(canned_server: ModelServer, fault: str, reason: str) -> None:
    canned_server.reset(fault)
    (answer,) = make_model(canned_server).answers(prompts(1), 16)
    assert (answer.text, answer.reason, canned_server.stats()['requests']) == ('', reason, 1)


def test_what_a_sample_costs_others(canned_server: ModelServer) -> None:
    canned_server.reset('500@~question 3', 'filter@~question 5')
    answers = make_model(canned_server).answers(prompts(8), 16)
    assert [index for index, answer in enumerate(answers) if answer.text != ANSWER] == [3, 5]
    assert [answers[index].reason for index in (3, 5)] == ['infra:server', 'infra:filter']
    canned_server.reset('402@4-')
    with pytest.raises(AskingEndedError) as ended:
        make_model(canned_server, max_workers=1).answers(prompts(6), 16)
    assert [None if one is None else one.text for one in ended.value.answers] == [ANSWER] * 3 + [None] * 3


@pytest.mark.parametrize(('kind', 'settings', 'words'), [
    ('401', {}, 'status 401'), ('402', {}, 'status 402: .*Insufficient Balance'), ('403', {}, 'status 403'),
    ('404', {}, 'status 404'), ('quota', {}, 'status 429 .status 402.: .*exceeded your current quota'),
    ('', {'key': 'wrong'}, 'status 401: .*Incorrect API key'), ('', {'path': 'other'}, 'status 404: .*does not exist'),
])  # fmt: skip
def test_what_a_person_must_fix_ends_the_run_at_once(
    canned_server: ModelServer, kind: str, settings: dict[str, str], words: str
) -> None:
    canned_server.reset(*([f'{kind}@all'] if kind else []))
    model = make_model(canned_server, **settings)
    with pytest.raises(AskingEndedError, match=words):
        model.answers(prompts(1), 16)
    with pytest.raises(AskingEndedError):
        model.answers(prompts(4), 16)  # the next data set of the task
    assert canned_server.stats()['requests'] == 1


def test_a_wrong_key_stops_the_batch_and_is_not_shown(
    canned_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand more requests with a key that is known to be wrong lock an account out."""
    with pytest.raises(AskingEndedError):
        make_model(canned_server, key='wrong', max_workers=2).answers(prompts(40), 16)
    assert canned_server.stats()['requests'] < 40
    monkeypatch.setenv('SOME_API_KEY', 'Incorrect API key')
    with pytest.raises(AskingEndedError, match=r'\[key\] provided'):
        make_model(canned_server, key='wrong').answers(prompts(1), 16)


def test_errors_are_logged_cut_and_without_keys(logged: list[str]) -> None:
    server = start_server('--canned', 'Answer: A', '--key', 'sk-right-key')
    try:
        server.reset('echo@1', 'html@2-')
        for _ in range(2):
            make_model(server, key='sk-right-key', retry=0).answers(prompts(1), 16)
    finally:
        server.stop()
    echoed, page = logged
    assert 'status 400: cannot read Bearer [key] xxx' in echoed
    assert 'right' not in echoed
    assert len(echoed) < EXCERPT_CHARS + 200
    assert 'bytes of text/html' in page and '<html><body>502 Bad Gateway' in page


def test_a_server_that_is_gone_is_waited_for(
    canned_server: ModelServer, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    """It is back after the third look; no sample has lost a try of its own since it was taken for gone."""
    model = make_model(canned_server, max_workers=2, retry=3, backoff=0.01)
    waits: list[str] = []
    looks: list[Any] = []
    model.set_address(f'http://127.0.0.1:{_free_port()}/v1')

    def look(self: Any, *arguments: Any) -> float:
        looks.append(arguments)
        if len(looks) == 3:
            model.set_address(canned_server.url)
        return 0.01

    monkeypatch.setattr(type(model.outage), '_next_pause', look)
    with in_context(report_wait=waits.append):
        assert model.generate(prompts(6), 16) == [ANSWER] * 6
    assert len(looks) == 3
    assert waits == ['']
    assert any(': reached again after ' in line for line in logged)
    refused = sum('no connection to 127.0.0.1:' in line for line in logged)
    assert 4 + 2 <= refused <= 4 + 2 + 1  # twice what is in flight, two looks, and what was in flight beside the fourth


def test_a_server_that_stays_away_ends_the_task(logged: list[str]) -> None:
    url = f'http://127.0.0.1:{_free_port()}/v1'
    model = ToolEvalOpenAI(
        'tiny', key='right', openai_api_base=url, backoff=0.01, retry=4, max_workers=2, patience=0.5, max_seq_len=8192
    )
    waits: list[str] = []
    message = r'not reached for 0 s \(patience\): no connection to 127.*\(refused\).* run again with -r'
    with in_context(report_wait=waits.append), pytest.raises(AskingEndedError, match=message):
        model.answers(prompts(50), 16)
    assert waits[0] == f'{url} has not been reached for 0 s, waiting up to 0 s'
    assert len(logged) < 40
    with pytest.raises(AskingEndedError, match='not reached'):
        model.answers(prompts(1), 16)


def test_each_outage_begins_with_the_shortest_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def pause(stop: asyncio.Event, seconds: float) -> bool:
        pauses.append(seconds)
        return False

    async def go_away_twice() -> None:
        gone = Outage('server', 1, 3600, 2.0, logging.getLogger())
        for _ in range(2):
            for _ in range(3):
                assert await gone.missed('refused')
                await gone.wait(asyncio.Event())
            gone.reached()

    monkeypatch.setattr('opencompass_tooleval.models.api.outage.sleep_unless', pause)
    asyncio.run(go_away_twice())
    assert pauses == [2.0, 4.0, 8.0] * 2


def _free_port() -> int:
    with socket.create_server(('127.0.0.1', 0)) as taken:
        return int(taken.getsockname()[1])


def test_retry_after_is_kept_to_and_bounded(
    canned_server: ModelServer, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    pauses: list[float] = []

    async def sleep_unless(stop: asyncio.Event, seconds: float) -> bool:
        pauses.append(seconds)
        return False

    monkeypatch.setattr(api_model, 'sleep_unless', sleep_unless)
    canned_server.reset('429@1=7', '429@2=86400', '429@3=1e308', '500@4')
    (answer,) = make_model(canned_server, retry=4, patience=100).answers(prompts(1), 16)
    assert answer.text == ANSWER
    assert pauses[:3] == [7.0, 93.0, 0.0]  # a question waits for as long as there is patience, and no longer
    assert len(pauses) == 4 and 0.004 <= pauses[3] <= 0.012  # no time named: 8 times the backoff, give or take half
    assert [line.partition(': ')[2] for line in logged if 'patience' in line] == [
        'Retry-After asks for 8.64e+04 s, waiting 93 s (patience)',
        'Retry-After asks for 1e+308 s, waiting 0 s (patience)',
    ]


OPENAI = 'https://api.openai.com/v1'


@pytest.mark.parametrize(('settings', 'sent'), [
    ({'path': '/nfs/demo1/Qwen'}, {'max_tokens': 8, 'temperature': 0.0}),
    ({'path': 'marco-o1'}, {'max_tokens': 8, 'temperature': 0.0}),
    ({'path': 'o3', 'openai_api_base': 'https://api.openai.com.evil/v1'}, {'max_tokens': 8, 'temperature': 0.0}),
    ({'path': 'o3', 'openai_api_base': OPENAI}, {'max_completion_tokens': 8}),
    ({'path': 'gpt-5-mini', 'openai_api_base': OPENAI, 'temperature': 0}, {'max_completion_tokens': 8}),
    ({'path': 'gpt-4o', 'openai_api_base': OPENAI}, {'max_tokens': 8, 'temperature': 0.0}),
    ({'path': 'gpt-5-chat-latest', 'openai_api_base': OPENAI}, {'max_tokens': 8, 'temperature': 0.0}),
    (
        {'token_limit_key': 'max_completion_tokens', 'openai_extra_kwargs': {'temperature': None, 'top_p': 1}},
        {'max_completion_tokens': 8, 'top_p': 1},
    ),
    ({'extra_body': {'max_tokens': None}}, {'temperature': 0.0}),
])  # fmt: skip
def test_settings_of_requests_follow_the_config_and_never_a_part_of_the_name(
    canned_server: ModelServer, settings: dict[str, Any], sent: dict[str, Any]
) -> None:
    model = make_model(canned_server, **settings)
    members = json.loads(model._request_body('Hello', 8, 0.0 if model.temperature is None else model.temperature))
    assert {name: value for name, value in members.items() if name not in ('model', 'messages')} == sent


@pytest.mark.parametrize(('settings', 'fault'), [
    ({'openai_extra_kwargs': {'max_completion_tokens': 600}}, 'leave max_completion_tokens out: requests get it from'),
    ({'openai_extra_kwargs': {'temperature': None}, 'temperature': 0.7}, 'temperature=0.7 is not sent, since openai'),
    ({'path': 'o3', 'openai_api_base': OPENAI, 'temperature': 0.7}, "temperature=0.7 is not sent, since OpenAI's"),
])  # fmt: skip
def test_settings_that_have_no_effect_are_faults_of_plan_and_run(
    canned_server: ModelServer, settings: dict[str, Any], fault: str
) -> None:
    cfg = {'type': ToolEvalOpenAI, 'abbr': 'm', 'path': 'm', **settings}
    assert [found.text[: len(fault)] for found in setting_faults([cfg], [])] == [fault]
    with pytest.raises(ValueError, match=fault):
        make_model(canned_server, **settings)


@pytest.mark.parametrize('key', ['right', 'ENV'])
def test_a_line_break_at_the_end_of_a_key_is_left_out_with_a_note(
    canned_server: ModelServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'right\r\n')
    model = make_model(canned_server, key=key if key == 'ENV' else 'right\n')
    assert model.generate(prompts(1), 16) == [ANSWER]
    cfg = {'type': ToolEvalOpenAI, 'abbr': 'm', 'path': 'm', 'key': key if key == 'ENV' else 'right\n'}
    (note,) = map(str, unused_settings({'models': [cfg]}))
    assert note.startswith(f'm: the key{" in $OPENAI_API_KEY" * (key == "ENV")} begins or ends with')
    with pytest.raises(ValueError, match='a header cannot have'):
        make_model(canned_server, key='ri\nght')


def test_members_of_the_users_body_stand_once_and_have_priority(canned_server: ModelServer) -> None:
    mine = [{'role': 'user', 'content': 'mine'}]
    model = make_model(canned_server, openai_extra_kwargs={'messages': mine, 'top_p': 0.5})
    members = json.loads(model._request_body('Hello', 8, 0.0), object_pairs_hook=list)
    assert len(members) == len(dict(members)) and dict(members)['top_p'] == 0.5
    assert json.loads(model._request_body('Hello', 8, 0.0))['messages'] == mine
