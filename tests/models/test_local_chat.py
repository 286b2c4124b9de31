"""Tools offered to local chat models: a real tiny model, chat templates of each format, and calls that come back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from opencompass.models import HuggingFacewithChatTemplate

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.messages import Message, messages_text, tool_messages
from opencompass_tooleval.core.calls.tool_calls import ToolCall, write_answer
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.calls.written.formats import choose_format
from opencompass_tooleval.core.scoring.result import TRUNCATED
from opencompass_tooleval.models.conversation import Conversation, ToolEvalConversationTemplate
from opencompass_tooleval.models.local_chat import ToolEvalHFChat, ToolEvalVLLMChat
from opencompass_tooleval.models.model_calls import REFUSED, ask, token_length
from opencompass_tooleval.models.rendered_tools import template_messages
from tests.models.tool_templates import HERMES, LLAMA, TEMPLATES, WITHOUT_ANSWERS, WITHOUT_TOOLS

CITY = {'type': 'object', 'properties': {'city': {'type': 'string'}}}
TOOLS = ToolSet([ToolSchema('Weather.of', 'the weather', CITY), ToolSchema('add', 'a sum', CITY)])
CALLS = (
    ToolCall('Weather.of', {'city': '临安 "old" town', 'days': 3, 'hours': [1, 2.5], 'more': {'wind': True}},
        'abc000001'),
    ToolCall('add', {}, 'abc000002'),
)  # fmt: skip
ROUNDS = (
    Message('system', 'Be brief.'),
    Message('user', 'How is it?'),
    Message('assistant', '', CALLS),
    Message('tool', 'sunny', call_id='abc000001'),
    Message('tool', '42', call_id='abc000002'),
)


def prompt(*messages: Message, tools: ToolSet | None = TOOLS) -> Conversation:
    """A prompt as the inferencer makes it of a row."""
    row = {'record_id': 'r', 'source': 'made_up', 'idx': 0, 'gold_answer': write_answer('', CALLS)}
    row['messages'] = messages_text(messages or (Message('user', 'How is it?'),))
    return ToolEvalConversationTemplate().generate_item(row if tools is None else {**row, 'tools': tools.to_text()})


@pytest.fixture(scope='module')
def loaded(tiny_model: Path) -> ToolEvalHFChat:
    """The tiny model, whose tokenizer gets a mark of calls as a special token, as Mistral's and Llama's have it."""
    model = ToolEvalHFChat(str(tiny_model))
    model.tokenizer.add_special_tokens(
        {'additional_special_tokens': ['<|im_start|>', '[TOOL_CALLS]', '<|python_tag|>']}
    )
    model.model.resize_token_embeddings(len(model.tokenizer))
    return model


@pytest.fixture
def chat(loaded: ToolEvalHFChat, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolEvalHFChat]:
    """The same, with the template of Hermes and as if nothing had been asked."""
    monkeypatch.setattr(loaded.tokenizer, 'chat_template', HERMES)
    monkeypatch.setattr(loaded, '_checked', set())
    monkeypatch.setattr(loaded, '_tool_parser', 'auto')
    monkeypatch.setattr(loaded, 'generation_kwargs', {})
    yield loaded


def rendered(model: Any, messages: Sequence[dict[str, Any]], **options: Any) -> str:
    """What a template makes of messages."""
    return str(model.tokenizer.apply_chat_template(list(messages), tokenize=False, **options))


def says(model: ToolEvalHFChat, *texts: str) -> None:
    """Has the model generate these texts, one per prompt of a batch, token by token."""
    end = [model.tokenizer.eos_token_id]
    scripts = [model.tokenizer.encode(text, add_special_tokens=False) + end for text in texts]
    begin: list[int] = []

    def allowed(place: int, tokens: Any) -> list[int]:
        if not begin:
            begin.append(len(tokens))
        done = len(tokens) - begin[0]
        return scripts[place][done : done + 1] or end

    model.generation_kwargs = {'prefix_allowed_tokens_fn': allowed}


@pytest.mark.parametrize('name', TEMPLATES)
def test_a_model_is_offered_tools_and_its_calls_come_back(chat: ToolEvalHFChat, name: str) -> None:
    chat.tokenizer.chat_template = TEMPLATES[name]
    assert choose_format(TEMPLATES[name]) == name.partition(' ')[0]
    called = template_messages(prompt(*ROUNDS[:3]))
    before = rendered(chat, called[:-1], add_generation_prompt=True)
    written = rendered(chat, called).removeprefix(before).removesuffix('<|im_end|>\n')
    says(chat, written, 'It is sunny.', 'no tools here')
    answers = ask(chat, [prompt(), prompt(*ROUNDS), prompt(tools=None)], 400)
    assert [answer.text for answer in answers] == ['', 'It is sunny.', 'no tools here']
    assert [(call.name, call.arguments) for call in answers[0].calls] == [(call.name, call.arguments) for call in CALLS]
    assert all(len(call.id) == 9 for call in answers[0].calls)
    assert [answer.calls for answer in answers[1:]] == [(), ()]
    assert [answer.finish_reason for answer in answers] == ['stop'] * 3


def test_the_model_sees_tools_calls_and_answers(chat: ToolEvalHFChat, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    encode = chat.tokenizer.batch_encode_plus

    def look(texts: list[str], **options: Any) -> Any:
        seen.extend(texts)
        return encode(texts, **options)

    monkeypatch.setattr(chat.tokenizer, 'batch_encode_plus', look)
    says(chat, 'ok', 'ok')
    prompts = [prompt(*ROUNDS), prompt(*ROUNDS[:2], tools=None)]
    usages = [answer.usage for answer in ask(chat, prompts, 8)]
    tokens = [len(chat.tokenizer.encode(text, add_special_tokens=False)) for text in seen]
    assert [usage.prompt for usage in usages if usage and usage.counted] == tokens
    offered = [json.loads(line) for line in seen[0].splitlines() if line.startswith('{"type": "function"')]
    assert offered == TOOLS.as_request()
    assert '{"name": "Weather_of", "arguments": {"city": "临安 \\"old\\" town"' in seen[0]
    turns = [text.removeprefix('<|im_start|>') for text in seen[0].split('<|im_end|>\n')]
    assert turns[-3:] == ['tool\nsunny', 'tool\n42', 'assistant\n']
    turns = [text.removeprefix('<|im_start|>') for text in seen[1].split('<|im_end|>\n')]
    assert turns == ['system\nBe brief.', 'user\nHow is it?', 'assistant\n']
    assert 'apply_chat_template' not in vars(chat.tokenizer)


def test_tools_count_against_the_context(chat: ToolEvalHFChat, monkeypatch: pytest.MonkeyPatch) -> None:
    many = ToolSet([ToolSchema(f'tool{number}', 'does something', CITY) for number in range(40)])
    assert token_length(chat, prompt(tools=many)) > token_length(chat, prompt()) + 400
    monkeypatch.setattr(chat, 'max_seq_len', token_length(chat, prompt()) + 10)
    says(chat, 'ok')
    answers = ask(chat, [prompt(tools=many), prompt()], 8)
    assert [answer.reason for answer in answers] == [TRUNCATED, None]


def test_an_answer_without_calls_is_the_text_and_broken_arguments_go_back_as_they_came(chat: ToolEvalHFChat) -> None:
    says(chat, 'It is sunny in Rome.', '{"name": "add", "parameters": {}}', 'Look: <tool_call>\n{"name": "add", "argu')
    plain, other, broken = ask(chat, [prompt()] * 3, 100)
    assert (plain.text, plain.calls) == ('It is sunny in Rome.', ())
    assert (other.text, other.calls) == ('{"name": "add", "parameters": {}}', ())
    assert broken.text == 'Look:'
    assert [(call.name, call.arguments) for call in broken.calls] == [('add', '{"name": "add", "argu')]
    back = (ROUNDS[1], Message('assistant', '', (ToolCall('add', '{"a": ', 'abc000001'),)))
    assert '"arguments": "{\\"a\\": "' in rendered(chat, template_messages(prompt(*back)))
    # Special tokens at the end are no content.
    chat.check_offered([prompt()])
    answer = chat.read_calls(Answer('Well <tool_call>{"name": "add"}</tool_call><|im_start|> <|im_start|>'), TOOLS)
    assert answer.text == 'Well' and len(answer.calls) == 1


def test_thoughts_that_the_prompt_opens_have_no_calls(chat: ToolEvalHFChat) -> None:
    begin = '<|im_start|>assistant\\n" }}{% endif %}'
    chat.tokenizer.chat_template = HERMES.removesuffix(begin) + begin.replace('" }}', '<think>\\n" }}')
    assert len(chat.tokenizer.chat_template) == len(HERMES + '<think>\\n')
    call = '<tool_call>{"name": "add"}</tool_call>'
    says(chat, f'Perhaps {call}', f'Perhaps {call}</think>{call}<|im_start|>')
    cut, called = ask(chat, [prompt()] * 2, 100)
    assert (cut.text, cut.calls) == (f'<think>Perhaps {call}', ())
    assert (called.text, len(called.calls)) == (f'<think>Perhaps {call}</think>', 1)


@pytest.mark.parametrize('member', ['reasoning_content', 'reasoning', 'thinking', ''])
def test_thoughts_go_back_in_the_member_that_the_template_reads(chat: ToolEvalHFChat, member: str) -> None:
    shown = '{{ "<think>" + (message.MEMBER or "") + "</think>" }}'.replace('MEMBER', member)
    chat.tokenizer.chat_template = HERMES.replace(
        '{% if message.tool_calls %}', '{% if message.tool_calls %}' + shown * bool(member)
    )
    says(chat, '<think>I add</think><tool_call>{"name": "add", "arguments": {}}</tool_call>')
    (answer,) = ask(chat, [prompt()], 100)
    again = prompt(*ROUNDS[:2], *tool_messages(answer, ['42']))
    assert ('<think>I add</think>' in rendered(chat, template_messages(again))) == bool(member)


@pytest.mark.parametrize(('template', 'messages', 'fault'), [
    (WITHOUT_TOOLS, ROUNDS[:2], 'leaves tools out: take the data set without -fc'),
    (WITHOUT_ANSWERS, ROUNDS, "leaves tools' answers out: take the data set without -fc"),
    ('{{ raise_exception("no tools, please") }}', ROUNDS[:2], 'refuses tools (no tools, please): take'),
    (HERMES.replace('<tool_call>', '<call>'), ROUNDS[:2], 'set tool_parser to one of mistral, minimax_m3, kimi_k3'),
], ids=['tools', 'answers', 'refusal', 'format'])  # fmt: skip
def test_a_template_that_cannot_is_known_before_anything_is_asked(
    chat: ToolEvalHFChat, template: str, messages: tuple[Message, ...], fault: str
) -> None:
    chat.tokenizer.chat_template = template
    with pytest.raises(ValueError, match='chat template') as caught:
        ask(chat, [prompt(*messages)], 8)
    assert fault in str(caught.value) and '\n' not in str(caught.value)


ONE_CALL = '{% if message.tool_calls | length > 1 %}{{ raise_exception("one call only") }}{% endif %}'


def test_a_round_that_a_template_refuses_is_that_sample_s_failure(chat: ToolEvalHFChat) -> None:
    """Llama's own takes one call per answer, and a model may make two: the other dialogues go on."""
    called = '{% if message.tool_calls %}'
    chat.tokenizer.chat_template = HERMES.replace(called, called + ONE_CALL)
    one = (*ROUNDS[:2], Message('assistant', '', CALLS[:1]), ROUNDS[3])
    says(chat, 'sunny', 'fine')
    answers = ask(chat, [prompt(*ROUNDS), prompt(*one), prompt()], 30)
    assert [(answer.text, answer.reason) for answer in answers] == [('', REFUSED), ('sunny', None), ('fine', None)]
    assert [answer.reason for answer in ask(chat, [prompt(*ROUNDS)], 30)] == [REFUSED]
    assert 'apply_chat_template' not in vars(chat.tokenizer)


def test_a_parser_may_be_named_and_must_be_known(chat: ToolEvalHFChat) -> None:
    chat._tool_parser = 'llama3_json'
    says(chat, '{"name": "add", "parameters": {}}')
    assert [call.name for call in ask(chat, [prompt()], 60)[0].calls] == ['add']
    with pytest.raises(ValueError, match="tool_parser is 'xml'; there are auto, mistral"):
        ToolEvalHFChat('path', tool_parser='xml')


def test_calls_of_another_format_are_reported_once(chat: ToolEvalHFChat, caplog: pytest.LogCaptureFixture) -> None:
    chat._tool_parser = 'deepseek_v32'
    says(chat, *('<｜DSML｜ calls>\n<｜DSML｜ invoke name="add">\n</｜DSML｜ invoke>\n</｜DSML｜ calls>',) * 2)
    chat.logger.addHandler(caplog.handler)
    try:
        assert [answer.calls for answer in ask(chat, [prompt(), prompt()], 60)] == [(), ()]
    finally:
        chat.logger.removeHandler(caplog.handler)
    (warning,) = (row.getMessage() for row in caplog.records if 'tool_parser' in row.getMessage())
    assert warning.endswith("set tool_parser='deepseek_v41'")


def test_what_cannot_offer_tools_says_so_and_answers_the_same_without(
    chat: ToolEvalHFChat, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat, 'fastchat_template', 'vicuna')
    with pytest.raises(ValueError, match='fastchat_template has no place for tools'):
        ask(chat, [prompt()], 8)
    wrapper = HuggingFacewithChatTemplate(str(tiny_model))
    with pytest.raises(ValueError, match=r'cannot offer tools natively: take .*ToolEvalHFChat'):
        ask(wrapper, [prompt()], 8)
    prompts = [prompt(*ROUNDS[:2], tools=None), prompt(tools=None)]
    answers = ask(ToolEvalHFChat(str(tiny_model)), prompts, 24)
    assert answers == ask(wrapper, prompts, 24)
    assert all(answer.text for answer in answers)


def test_vllm_keeps_special_tokens_where_calls_may_come(
    loaded: ToolEvalHFChat, monkeypatch: pytest.MonkeyPatch, tiny_model: Path
) -> None:
    """vLLM drops them unless told otherwise; its engine does not run here: a stand-in shows what it got."""
    wrapper = 'opencompass.models.vllm_with_tf_above_v4_33'
    sampled: list[dict[str, Any]] = []
    texts: list[str] = []

    class Engine:
        def __init__(self, path: str, **options: Any) -> None:
            monkeypatch.setattr(loaded.tokenizer, 'chat_template', LLAMA)

        def get_tokenizer(self) -> Any:
            return loaded.tokenizer

        def generate(self, messages: list[dict[str, Any]], sampling: dict[str, Any]) -> list[Any]:
            sampled.append(sampling)
            texts.extend(message['prompt'] for message in messages)
            output = SimpleNamespace(text='<|python_tag|>{"name": "Weather_of", "parameters": {"city": "Rome"}}')
            return [SimpleNamespace(prompt='', outputs=[output]) for _ in messages]

    monkeypatch.setattr(f'{wrapper}.LLM', Engine)
    monkeypatch.setattr(f'{wrapper}.SamplingParams', dict, raising=False)
    monkeypatch.setattr(
        ToolEvalVLLMChat, '_load_model', lambda self, path, options: setattr(self, 'model', Engine(path))
    )
    model = ToolEvalVLLMChat(str(tiny_model), max_seq_len=8192)
    (answer,) = ask(model, [prompt()], 32)
    assert [(call.name, call.arguments) for call in answer.calls] == [('Weather.of', {'city': 'Rome'})]
    ask(model, [prompt(tools=None)], 32)
    assert [sampling.get('skip_special_tokens') for sampling in sampled] == [False, None]
    assert '"name": "Weather_of"' in texts[0] and 'Weather_of' not in texts[1]
