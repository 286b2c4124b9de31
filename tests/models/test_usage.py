"""Usage of answers: reported by a server, counted for a local model, in predictions and in results with prices."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mmengine.config import ConfigDict
from opencompass.models import HuggingFacewithChatTemplate, OpenAISDK

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import ToolCall, calls_text
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import summary_of
from opencompass_tooleval.judging.judge import judge_settings, settings_hash
from opencompass_tooleval.models import openai_model as api_model
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.models.model_calls import ask, prompt_length, token_length
from opencompass_tooleval.models.model_config import build_model
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.work_dir.prompt_tokens import count_prompts, counter_of
from tests.conftest import ModelServer
from tests.models.test_wrappers import make_conversation

PRICES = {'input': 2.0, 'output': 8.0}


def test_tokens_are_those_of_the_server_or_counted_with_the_tokenizer(
    tiny_model: Path, tiny_server: ModelServer
) -> None:
    model = HuggingFacewithChatTemplate(str(tiny_model), max_seq_len=4096)
    prompt = make_conversation()
    (answer,) = ask(model, [prompt], 6)
    usage = answer.usage
    assert usage is not None and usage.counted and usage.seconds is None
    assert usage.prompt == token_length(model, prompt) > 20
    assert usage.completion == len(model.tokenizer.encode(answer.text, add_special_tokens=False)) > 0
    client = ToolEvalOpenAI(path='tiny', key='none', openai_api_base=tiny_server.url, max_seq_len=8192, retry=0)
    (answer,) = ask(client, [make_conversation()], 6)
    assert answer.usage is not None and not answer.usage.counted
    assert answer.usage.prompt and answer.usage.completion and answer.usage.seconds is not None
    (answer,) = ask(OracleModel(), [make_conversation()], 6)
    assert answer.usage is None


def test_a_server_that_says_nothing_is_counted(
    tiny_server: ModelServer, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {
        'openai_api_base': tiny_server.url,
        'tokenizer_path': str(tiny_model),
        'max_seq_len': 8192,
    }
    sdk = OpenAISDK(path='tiny', key='none', retry=1, **settings)
    (answer,) = ask(sdk, [make_conversation()], 6)  # OpenCompass's own drops what the server says
    assert answer.usage is not None and answer.usage.counted and answer.usage.prompt
    partly = Answer('a b c', usage=Usage(prompt=5, seconds=0.1))
    client = ToolEvalOpenAI(path='m', key='none', openai_api_base=tiny_server.url, tokenizer_path=str(tiny_model))
    monkeypatch.setattr(client, 'answers', lambda *arguments, **options: [partly, Answer('', 'infra:timeout')])
    answered, failed = ask(client, [make_conversation()] * 2, 6)
    assert answered.usage is not None and failed.usage is None
    tokens = len(client.tokenizer.encode('a b c', add_special_tokens=False))
    counter = f'tokenizer {tiny_model.name}'
    assert answered.usage == Usage(5, tokens, counted=True, seconds=0.1, first_prompt=5, counter=counter)


def test_prices_are_checked_are_no_argument_of_a_class_and_no_other_judge() -> None:
    api: dict[str, Any] = {'path': 'm', 'key': 'none', 'openai_api_base': 'http://127.0.0.1:9/v1'}
    assert isinstance(build_model(ConfigDict(type=OracleModel, abbr='m', prices=PRICES)), OracleModel)
    assert ToolEvalOpenAI(**api, prices=PRICES).path == 'm'
    faulty: list[dict[str, Any]] = [{'prompt': 1}, {'input': 1, 'output': 'a lot'}]
    for prices in faulty:
        with pytest.raises(ValueError, match='should be dict'):
            build_model(ConfigDict(type=OracleModel, prices=prices))
        with pytest.raises(ValueError, match='should be dict'):
            ToolEvalOpenAI(**api, prices=prices)
    judge = {'type': 'x.ToolEvalOpenAI', 'path': 'gpt-4', 'temperature': 0}
    assert settings_hash(judge) == settings_hash({**judge, 'prices': PRICES})
    assert 'prices' not in judge_settings({**judge, 'prices': PRICES})


def test_tries_of_what_failed_are_counted_and_an_empty_reply_is_paid_for(canned_server: ModelServer) -> None:
    canned_server.reset('500@1-3')
    model = ToolEvalOpenAI(path='tiny', key='right', openai_api_base=canned_server.url, retry=2, backoff=0.01)
    (failed,) = ask(model, [make_conversation()], 6)
    assert (failed.reason, failed.usage) == ('infra:server', Usage(requests=3))
    answers = {'all': 1, 'reported': 0, 'counted': 0, 'unknown': 1}
    assert summary_of([failed.usage]) == {'answers': answers, 'requests': 3}
    canned_server.reset('empty@1', '500@2')
    model = ToolEvalOpenAI(path='tiny', key='right', openai_api_base=canned_server.url, retry=2, backoff=0.01)
    (answer,) = ask(model, [make_conversation()], 6)
    received = canned_server.stats()['tokens']
    assert received['replies'] == 2 and answer.usage is not None
    usage = answer.usage
    assert (usage.prompt, usage.completion, usage.requests) == (received['prompt'], received['completion'], 3)
    assert usage.first_prompt == received['prompt'] - 1 and not usage.counted  # the empty one has a prompt of one word


def test_a_request_that_nobody_received_is_none(canned_server: ModelServer) -> None:
    settings: dict[str, Any] = {'path': 'tiny', 'key': 'right', 'retry': 1, 'backoff': 0.01}
    (answer,) = ask(ToolEvalOpenAI(openai_api_base='http://127.0.0.1:9/v1', **settings), [make_conversation()], 6)
    assert (answer.reason, answer.usage) == ('infra:connection', None)
    canned_server.reset('cut@all')
    settings['openai_api_base'] = canned_server.url
    (answer,) = ask(ToolEvalOpenAI(**settings), [make_conversation()], 6)
    assert answer.usage == Usage(requests=canned_server.stats()['requests']) and answer.usage.requests == 2
    (too_long,) = ask(ToolEvalOpenAI(max_seq_len=9, **settings), [make_conversation()], 6)
    assert (too_long.reason, too_long.usage) == ('infra:truncated', None)


@pytest.mark.parametrize('tokenizer', [True, False])
def test_there_is_one_estimate(
    canned_server: ModelServer, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, tokenizer: bool
) -> None:
    """The result's count, the plan's and the summary's are of the same texts, with tools and calls."""
    path = str(tiny_model) if tokenizer else None
    model = ToolEvalOpenAI(path='m', key='right', openai_api_base=canned_server.url, tokenizer_path=path)
    call = ToolCall('search', {'q': 'cats'})
    said = Answer('answer, 北京'), Answer('a', calls=(call,))
    monkeypatch.setattr(model, 'answers', lambda *arguments, **options: list(said))
    prompt = make_conversation()
    prompt.tools = ToolSet([ToolSchema('search', 'finds things', {'type': 'object', 'properties': {}})])
    answer, called = ask(model, [prompt] * 2, 6)
    counter = counter_of({'tokenizer_path': path})
    row = {'origin_prompt': prompt.as_request(), 'tools': prompt.tools.as_request()}
    assert answer.usage is not None and answer.usage.counter == counter.name
    assert answer.usage.prompt == answer.usage.first_prompt == count_prompts([row], counter)
    assert answer.usage.completion == sum(counter.count(['answer, 北京']))
    assert called.usage is not None and called.usage.completion == sum(counter.count(['a' + calls_text([call])]))
    assert prompt_length(model, prompt) > prompt_length(model, make_conversation()) > 3


def test_seconds_are_those_of_the_exchange_without_the_wait_for_its_turn(
    canned_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def wait_for_a_turn() -> None:
        clock[0] += 1000

    model = ToolEvalOpenAI(path='tiny', key='right', openai_api_base=canned_server.url, max_seq_len=8192, retry=0)
    monkeypatch.setattr(model, 'acquire', wait_for_a_turn)
    monkeypatch.setattr(api_model, 'time', SimpleNamespace(monotonic=lambda: clock[0]))
    (answer,) = ask(model, [make_conversation()], 6)
    assert answer.usage is not None and answer.usage.seconds == 0.0
