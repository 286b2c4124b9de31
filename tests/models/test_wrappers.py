"""A conversation through OpenCompass's own model wrappers: HF chat, HF base and OpenAI-compatible ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from opencompass.models import HuggingFaceBaseModel, HuggingFacewithChatTemplate, OpenAI, OpenAISDK

from opencompass_tooleval.benchmarks.teval.data import TABLE, file_stem
from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalDataset
from opencompass_tooleval.models.conversation import Conversation, ToolEvalConversationTemplate
from opencompass_tooleval.models.model_calls import adapt_model, ask, token_length
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tests.conftest import ModelServer

MESSAGES = [
    {'role': 'system', 'content': 'You have tools.\n'},
    {'role': 'user', 'content': 'What is the weather in 临安?'},
    {'role': 'assistant', 'content': '{"name": "SkyReport.get"}'},
    {'role': 'function', 'content': '{"sky": "clear"}'},
    {'role': 'user', 'content': 'Go on.'},
]
MERGED = [*MESSAGES[:3], {'role': 'user', 'content': '{"sky": "clear"}\nGo on.'}]


def make_conversation(messages: list[dict[str, str]] = MESSAGES, **template: Any) -> Conversation:
    """A conversation as the inferencer makes it from a row."""
    row = {'record_id': 'r7', 'source': 'stub_v2', 'idx': 7, 'gold_answer': 'the gold answer'}
    return ToolEvalConversationTemplate('{messages}', **template).generate_item(
        {**row, 'messages': json.dumps(messages)}
    )


def demo_conversations(stem: str) -> list[Conversation]:
    """The conversations of one demo file."""
    rows = ToolEvalTEvalDataset.load('tooleval:demo/teval/EN', stem, encoder='offline')
    template = ToolEvalConversationTemplate('{messages}')
    return [template.generate_item({**row, 'idx': index}) for index, row in enumerate(rows)]


@pytest.fixture(scope='module')
def chat(tiny_model: Path) -> HuggingFacewithChatTemplate:
    """The tiny model behind OpenCompass's chat wrapper."""
    model = HuggingFacewithChatTemplate(str(tiny_model))
    adapt_model(model)  # as each run does
    return model


@pytest.fixture(scope='module')
def base(tiny_model: Path) -> HuggingFaceBaseModel:
    """The tiny model behind OpenCompass's wrapper for base models."""
    model = HuggingFaceBaseModel(str(tiny_model))
    adapt_model(model)
    return model


def rendered(model: Any, conversations: list[Conversation], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The very strings that a wrapper gives to its tokenizer."""
    seen: list[str] = []
    encode = model.tokenizer.batch_encode_plus

    def spy(texts: list[str], **kwargs: Any) -> Any:
        seen.extend(texts)
        return encode(texts, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(model.tokenizer, 'batch_encode_plus', spy)
        ask(model, conversations, 1)
    return seen


def sent(model: OpenAI, conversation: Conversation) -> list[dict[str, str]]:
    """The messages that an API wrapper sends, as they arrive at the server."""
    (request,) = model.generate_from_template([conversation], max_out_len=8)
    return cast(list[dict[str, str]], json.loads(request)['messages'])


def test_chat_wrapper_with_the_system_prompt_as_user(
    chat: HuggingFacewithChatTemplate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The authors' template gives every message a turn: ``user`` twice in the beginning, and twice in the end."""
    apart = [{**message, 'role': 'assistant' if message['role'] == 'assistant' else 'user'} for message in MESSAGES]
    expected = chat.tokenizer.apply_chat_template(apart, add_generation_prompt=True, tokenize=False)
    assert expected.startswith('<|im_start|>user\nYou have tools.\n<|im_end|>\n<|im_start|>user\nWhat is')
    assert expected.count('<|im_start|>user') == 4
    conversations = [make_conversation(), make_conversation(system_role='user')]
    plain = chat.tokenizer.apply_chat_template(MERGED, add_generation_prompt=True, tokenize=False)
    assert rendered(chat, conversations, monkeypatch) == [plain, expected]
    count = len(chat.tokenizer(expected, add_special_tokens=False)['input_ids'])
    assert token_length(chat, conversations[1]) == count != token_length(chat, conversations[0])
    assert 'apply_chat_template' not in vars(chat.tokenizer)


def test_a_chat_template_that_takes_no_two_user_turns_is_named(
    chat: HuggingFacewithChatTemplate, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = (
        "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}{{ m['content'] }}{% endfor %}"
    )
    monkeypatch.setattr(chat.tokenizer, 'chat_template', refusing)
    with pytest.raises(ValueError, match=r'two turns of one role \(roles must alternate\): leave out system_role'):
        ask(chat, [make_conversation(system_role='user')], 1)
    assert len(ask(chat, [make_conversation(MESSAGES[1:])], 1)) == 1


def test_base_wrapper_sees_every_message_and_no_marks(
    base: HuggingFaceBaseModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for messages, template in ((MERGED, dict[str, Any]()), (MESSAGES, {'system_role': 'user'})):
        expected = '\n'.join(message['content'] for message in messages)
        assert rendered(base, [make_conversation(**template)], monkeypatch) == [expected]


@pytest.mark.parametrize('wrapper', [OpenAISDK, ToolEvalOpenAI])
def test_api_wrappers_send_the_merged_messages(
    wrapper: type[OpenAI], tiny_model: Path, echo_server: ModelServer
) -> None:
    settings: dict[str, Any] = {'query_per_second': 100, 'tokenizer_path': str(tiny_model), 'temperature': 0}
    model = wrapper(path='tiny', key='none', openai_api_base=echo_server.url, max_seq_len=8192, **settings)
    assert sent(model, make_conversation()) == MERGED
    roles = [message['role'] for message in sent(model, make_conversation(system_role='user'))]
    assert roles == ['user', 'user', 'assistant', 'user', 'user']
    # None is downloaded.
    model = ToolEvalOpenAI(path='gpt-4', key='none', openai_api_base=echo_server.url)
    assert model.tokenizer is None
    model.path = 'tiny'  # as the server has it
    assert sent(model, make_conversation()) == MERGED


# The prompts of the others name an API or a letter that is also the gold.
@pytest.mark.parametrize(
    'subset', [subset for subset in TABLE if subset.kind not in ('retrieve', 'review')], ids=lambda it: it.name
)
def test_no_demo_prompt_contains_its_gold_answer(subset: Any) -> None:
    for conversation in demo_conversations(file_stem(subset.name, 'v2', 'EN')):
        prompt = ''.join(item['content'] for item in conversation)
        assert prompt and conversation.gold_answer and conversation.gold_answer not in prompt
