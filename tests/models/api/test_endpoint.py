"""The first question to a server: whose address it is, and what its answer shows of the model."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from opencompass_tooleval.models.api.endpoint import Endpoint, FirstAnswer, Probed, check_reachable, first_answer
from opencompass_tooleval.models.api.wires import WIRES
from tests.models.api.scripted_server import KEY, Refused, Request, Script, serving
from tests.models.api.vendor_server import MessagesVendor, ResponsesVendor

VENDORS = {'chat': Script, 'responses': ResponsesVendor, 'messages': MessagesVendor}


class Thinks(Script):
    """Its answer is text, thoughts, or both, and has an end."""

    def __init__(self, content: str | None, thoughts: str, end: str) -> None:
        super().__init__()
        self.content, self.thoughts, self.end = content, thoughts, end

    def message(self, request: Request) -> dict[str, Any]:
        return {'content': self.content, 'reasoning_content': self.thoughts}

    def finish(self, message: dict[str, Any], is_cut: bool) -> str:
        return self.end


@pytest.mark.parametrize(
    ('content', 'thoughts', 'end', 'fault', 'thinks'),
    [
        (None, 'Let me see.', 'length', '', True),
        (None, 'Let me see.', 'stop', 'empty: the whole text is in reasoning_content', True),
        ('ready', 'Let me see.', 'stop', '', True),
        ('ready', '', 'length', '', False),
        (None, '', 'stop', '', False),
    ],
    ids=['long thoughts', 'swallowed', 'both', 'cut', 'empty'],
)
def test_thoughts_that_fill_the_first_answer_are_no_fault(
    content: str | None, thoughts: str, end: str, fault: str, thinks: bool
) -> None:
    """The limit of the run may be higher; but an answer that ended within its thoughts has lost its text."""
    with serving(Thinks(content, thoughts, end)) as url:
        answer = first_answer(url, 'tiny', KEY)
    assert (answer.fault.startswith(fault), bool(answer.fault), answer.thinks) == (True, bool(fault), thinks)


@pytest.mark.parametrize('wire', list(VENDORS))
def test_an_address_may_end_in_the_path_of_its_format(wire: str) -> None:
    with serving(VENDORS[wire]()) as url:
        for address in (url, f'{url}{WIRES[wire].path}'):
            with closing(Endpoint(address, 'tiny', KEY, wire=WIRES[wire])) as endpoint:
                assert endpoint.url == endpoint.shown == url
                assert endpoint.get('models')['data'] and endpoint.get('models', url=url)['data']
            assert first_answer(address, 'tiny', KEY, wire=wire).fault == ''


def test_the_right_address_is_named_once_and_only_where_there_is_an_api() -> None:
    with serving(Script()) as url:
        root = url.removesuffix('/v1')
        assert first_answer(root, 'tiny', KEY).fault == f'{root} has no API, {url} has one: use that URL'
        assert first_answer(root, 'tiny', 'wrong').fault
        elsewhere = first_answer(f'{root}/v2', 'tiny', KEY).fault
    assert elsewhere.startswith(f'{root}/v2: status 404') and 'use that URL' not in elsewhere


def test_an_address_that_does_not_answer_has_its_fix() -> None:
    with serving(Script()) as url:
        assert first_answer(url.replace('http:', 'https:'), 'tiny', KEY).fault.endswith(
            f'; {url} answers: use that URL'
        )
        without_api = f'https:{url.partition(":")[2].removesuffix("/v1")}/v2'
        assert 'use that URL' not in first_answer(without_api, 'tiny', KEY).fault
        with closing(Endpoint(url, 'tiny', KEY)) as endpoint:
            (found,) = check_reachable(Probed(endpoint))
            assert found.is_fine and found.text == f'{url} answers'
    fault = first_answer('http://127.0.0.1:9/v1', 'tiny', KEY).fault
    assert fault.endswith('nothing listens there: start the server, or correct host and port')


class Refuses(Script):
    """Refuses all questions with a status."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status

    def check(self, request: Request) -> None:
        raise Refused(self.status, 'no')


def test_a_busy_server_is_no_fault_and_others_have_their_fix() -> None:
    with serving(Refuses(503)) as url:
        assert first_answer(url, 'tiny', KEY) == FirstAnswer()
    with serving(Refuses(501)) as url:
        assert first_answer(url, 'tiny', KEY).fault.startswith(f'{url}: status 501')
    with serving(Refuses(400)) as url:
        assert 'put ' not in first_answer(url, 'tiny', KEY).fault
        assert '; put the right one into $OPENAI_API_KEY' in first_answer(url, 'tiny', 'wrong').fault
        assert '; put it into $OPENAI_API_KEY' in first_answer(url, 'tiny', '').fault


def test_a_server_of_another_format_is_named_with_its_option() -> None:
    with serving(MessagesVendor()) as url:
        fault = first_answer(url, 'tiny', KEY).fault
    assert fault == 'the server has no /chat/completions, and answers on /messages: take --wire messages'
