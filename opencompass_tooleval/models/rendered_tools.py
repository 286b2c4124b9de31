"""Renders conversations with tools by a chat template."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval.core.calls.messages import TOOL
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.models.conversation import Conversation

_ID = 'abc000001'
"""Nine letters and digits, since Mistral's templates accept no other id."""


def template_messages(prompt: Conversation) -> list[dict[str, Any]]:
    """Returns the messages in the format of transformers' chat templates.

    Differences from a request to a server: arguments are objects, a message with calls has the content '' (templates
    would write ``None``), and the result of a call names the tool.
    """
    messages: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for message in prompt.as_request():
        calls = [{**call, 'function': _with_object(call['function'])} for call in message.get('tool_calls', ())]
        names.update((call['id'], call['function']['name']) for call in calls)
        rendered = {**message, 'content': message['content'] or ''}
        if calls:
            rendered['tool_calls'] = calls
        if message['role'] == TOOL:
            rendered['name'] = names.get(message['tool_call_id'], '')
        messages.append(rendered)
    return messages


def _with_object(function: dict[str, str]) -> dict[str, Any]:
    """Parses a call's arguments as JSON; invalid arguments stay text, which the template writes."""
    try:
        return {**function, 'arguments': load_json(function['arguments'])}
    except ValueError:
        return dict(function)


def render(render_template: Any, prompt: Conversation, *args: Any, **kwargs: Any) -> Any:
    """Calls a tokenizer's ``apply_chat_template`` for a conversation, with its tools if there are any."""
    messages = template_messages(prompt)
    if prompt.tools is None:  # OpenCompass's wrappers drop empty turns, except after a turn of the same role
        befores = [None, *(message['role'] for message in messages)]
        pairs = zip(befores, messages, strict=False)
        messages = [message for before, message in pairs if message['content'] or message['role'] == before]
        return render_template(messages, *args, **kwargs)
    return render_template(messages, *args, tools=prompt.tools.as_request() or None, **kwargs)


def left_out(render_template: Any, tools: ToolSet, has_answers: bool) -> str:
    """Returns the part of a conversation with tools that a chat template leaves out; '' if it shows all.

    Args:
        render_template: ``apply_chat_template`` of a tokenizer.
        tools: The offered tools.
        has_answers: True to also check that the template shows tool results.
    """
    offered = tools.as_request()

    def text_of(answer: str, tools: Any) -> str:
        return str(render_template(_round(offered[0]['function']['name'], answer), tools=tools, tokenize=False))

    if text_of('', offered) == text_of('', None):
        return 'tools'
    if has_answers and text_of('first', offered) == text_of('second', offered):
        return "tools' answers"
    return ''


def generation_prompt(render_template: Any, tools: ToolSet, **options: Any) -> str:
    """Returns the rendered prompt of a question with tools, up to where the model's answer begins.

    Args:
        render_template: ``apply_chat_template`` of a tokenizer.
        tools: The offered tools.
        options: Additional arguments of the template.
    """
    messages = _round('', '')
    offered = tools.as_request()
    return str(render_template(messages, tools=offered, tokenize=False, add_generation_prompt=True, **options))


def _round(name: str, answer: str) -> list[dict[str, Any]]:
    """Returns a question; if ``answer`` is not empty, also a call of the tool and its result."""
    messages: list[dict[str, Any]] = [{'role': 'user', 'content': 'Call the tool.'}]
    if answer:
        call = {'id': _ID, 'type': 'function', 'function': {'name': name, 'arguments': {}}}
        messages.append({'role': 'assistant', 'content': '', 'tool_calls': [call]})
        messages.append({'role': TOOL, 'content': answer, 'tool_call_id': _ID, 'name': name})
    return messages
