"""ToolEvalOpenAI against a real HTTP server that fails on demand (tools/serve_model.py)."""

from __future__ import annotations

import socket
from typing import Any

import openai
import pytest
from opencompass.utils.prompt import PromptList

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.host import api_model
from opencompass_tooleval.host.api_model import ToolEvalOpenAI
from tests.conftest import ModelServer

ANSWER = 'Answer: A'
TIMEOUT = 1.0
"""Seconds: less than a slow answer takes, and more than any other needs on a busy machine."""


def make_model(server: ModelServer, **arguments: Any) -> ToolEvalOpenAI:
    """A client of ``server`` with short pauses."""
    defaults = {'path': 'tiny', 'key': 'right', 'openai_api_base': server.url, 'backoff': 0.001, 'retry': 2}
    return ToolEvalOpenAI(**{**defaults, 'query_per_second': 1000, 'max_seq_len': 8192, **arguments})


def conversation(text: str) -> PromptList:
    """A conversation of one message."""
    return PromptList([{'role': 'HUMAN', 'prompt': text, 'content': text}])


def prompts(count: int) -> list[PromptList]:
    """Conversations that differ."""
    return [
        PromptList([{'role': 'HUMAN', 'prompt': f'question {i}', 'content': f'question {i}'}]) for i in range(count)
    ]


def reason(answer: str) -> str | None:
    """Why an answer is empty."""
    return answer.reason if isinstance(answer, Answer) else None


@pytest.mark.parametrize(
    'fault', ['429', '429@=0.01', '500', 'slow@=2.5', 'cut', 'html', 'notjson', 'nochoice', 'empty']
)
def test_a_passing_fault_is_retried_and_answered(canned_server: ModelServer, fault: str) -> None:
    kind, _, value = fault.partition('@')
    canned_server.reset(f'{kind}@1-2{value}')
    (answer,) = make_model(canned_server, timeout=TIMEOUT if fault.startswith('slow') else 60).generate(prompts(1), 16)
    assert answer == ANSWER
    assert reason(answer) is None
    assert [asked['fault'] for asked in canned_server.stats()['asked']] == [kind, kind, None]


@pytest.mark.parametrize(
    ('fault', 'expected', 'tries'),
    [
        ('429@all=0.001', {'infra:rate_limit'}, 3),
        ('500@all', {'infra:server'}, 3),
        ('slow@all=2.5', {'infra:timeout'}, 3),
        ('cut@all', {'infra:connection', 'infra:bad_response'}, 3),
        ('html@all', {'infra:bad_response'}, 3),
        ('notjson@all', {'infra:bad_response'}, 3),
        ('nochoice@all', {'infra:bad_response'}, 3),
        ('empty@all', {'infra:empty'}, 3),
        # what another try cannot mend is not tried again
        ('filter@all', {'infra:filter'}, 1),
        ('filter400@all', {'infra:filter'}, 1),
        ('length@all', {'infra:truncated'}, 1),
        ('bad@all', {'infra:bad_request'}, 1),
    ],
)
def test_a_lasting_fault_becomes_an_empty_answer_with_its_reason(
    canned_server: ModelServer, fault: str, expected: set[str], tries: int
) -> None:
    canned_server.reset(fault)
    (answer,) = make_model(canned_server, timeout=TIMEOUT if fault.startswith('slow') else 60).generate(prompts(1), 16)
    assert answer == ''
    assert reason(answer) in expected
    assert canned_server.stats()['requests'] == tries


def test_a_fault_costs_only_its_own_sample(canned_server: ModelServer) -> None:
    canned_server.reset('500@~question 3', 'filter@~question 5')
    answers = make_model(canned_server).generate(prompts(8), 16)
    assert [index for index, answer in enumerate(answers) if answer != ANSWER] == [3, 5]
    assert [reason(answers[index]) for index in (3, 5)] == ['infra:server', 'infra:filter']


def test_nobody_listens() -> None:
    with socket.create_server(('127.0.0.1', 0)) as taken:
        url = f'http://127.0.0.1:{taken.getsockname()[1]}/v1'
    model = ToolEvalOpenAI('tiny', key='right', openai_api_base=url, backoff=0.001, retry=1, max_seq_len=8192)
    (answer,) = model.generate(prompts(1), 16)
    assert (answer, reason(answer)) == ('', 'infra:connection')


def test_a_prompt_over_the_context_is_not_sent(canned_server: ModelServer) -> None:
    model = make_model(canned_server, max_seq_len=500)
    answers = model.generate([conversation('word ' * 900), conversation('short')], 16)
    assert [str(answer) for answer in answers] == ['', ANSWER]
    assert reason(answers[0]) == 'infra:truncated'
    assert canned_server.stats()['requests'] == 1


def test_a_wrong_key_ends_the_run_at_once(canned_server: ModelServer) -> None:
    with pytest.raises(openai.AuthenticationError):
        make_model(canned_server, key='wrong').generate(prompts(1), 16)
    assert canned_server.stats()['requests'] == 1


def test_a_wrong_model_name_ends_the_run_at_once(canned_server: ModelServer) -> None:
    with pytest.raises(openai.NotFoundError):
        make_model(canned_server, path='other').generate(prompts(1), 16)
    assert canned_server.stats()['requests'] == 1


def test_a_wrong_key_stops_the_batch(canned_server: ModelServer) -> None:
    """A thousand more requests with a key that is known to be wrong lock an account out."""
    with pytest.raises(openai.AuthenticationError):
        make_model(canned_server, key='wrong', max_workers=2).generate(prompts(40), 16)
    assert canned_server.stats()['requests'] < 40


def test_requests_overlap(canned_server: ModelServer) -> None:
    canned_server.reset(latency=0.2)
    answers = make_model(canned_server, max_workers=16).generate(prompts(16), 16)
    assert answers == [ANSWER] * 16
    # 16 but for a machine that takes longer than the 0.2 s to start the threads
    assert 8 <= canned_server.stats()['most_in_flight'] <= 16


def test_max_workers_is_kept_to(canned_server: ModelServer) -> None:
    canned_server.reset(latency=0.05)
    make_model(canned_server, max_workers=3).generate(prompts(12), 16)
    assert 1 < canned_server.stats()['most_in_flight'] <= 3


def test_retry_after_is_kept_to_and_bounded(canned_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(api_model.time, 'sleep', pauses.append)
    canned_server.reset('429@1=7', '429@2=86400', '500@3')
    (answer,) = make_model(canned_server, retry=3, query_per_second=10**6).generate(prompts(1), 16)
    assert answer == ANSWER
    assert pauses[:2] == [7.0, api_model.MAX_WAIT]
    assert len(pauses) == 3 and 0.002 <= pauses[2] <= 0.006  # no time named: 4 times the backoff, give or take half


def test_answers_keep_the_order_of_the_prompts(tiny_server: ModelServer) -> None:
    model = make_model(tiny_server, max_workers=8)
    together = model.generate(prompts(8), 16)
    assert together == [model.generate([prompt], 16)[0] for prompt in prompts(8)]
    assert len(set(together)) > 1
