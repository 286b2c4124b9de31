"""A conversation with tools as a chat template takes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from opencompass_tooleval.core.json_object import load_json
from opencompass_tooleval.core.messages import TOOL
from opencompass_tooleval.host.conversation import Conversation


def template_messages(prompt: Conversation) -> list[dict[str, Any]]:
    """The messages as the templates of transformers have them.

    Unlike in a request to a server arguments are objects, a message of calls has '' beside them (templates would write
    ``None``), and the answer to a call names the tool.
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
    """A call whose arguments are an object; broken ones stay text, and the template writes them as such."""
    try:
        return {**function, 'arguments': load_json(function['arguments'])}
    except ValueError:
        return dict(function)


def render(render_template: Any, prompt: Conversation, *args: Any, **kwargs: Any) -> Any:
    """What ``apply_chat_template`` of a tokenizer makes of a conversation with tools."""
    return render_template(template_messages(prompt), *args, tools=_offered(prompt), **kwargs)


def _offered(prompt: Conversation) -> list[dict[str, Any]] | None:
    return (prompt.tools.as_request() if prompt.tools else None) or None


def why_not_rendered(render_template: Any, prompts: Sequence[Conversation]) -> str:
    """What of conversations with tools a chat template leaves out; ''.

    Args:
        render_template: ``apply_chat_template`` of a tokenizer.
        prompts: Conversations, of which one with tools and one with a tool's answer are tried.
    """

    def text_of(messages: Sequence[dict[str, Any]], tools: Any) -> str:
        return str(render_template(list(messages), tools=tools, tokenize=False))

    offering = next((prompt for prompt in prompts if _offered(prompt)), None)
    if offering is not None:
        messages = template_messages(offering)
        if text_of(messages, _offered(offering)) == text_of(messages, None):
            return 'tools'
    answered = next((prompt for prompt in prompts if any(message.call_id for message in prompt.messages())), None)
    if answered is not None:
        messages = template_messages(answered)
        last = max(place for place, message in enumerate(messages) if message['role'] == TOOL)
        other = [*messages[:last], {**messages[last], 'content': json.dumps('another')}, *messages[last + 1 :]]
        if text_of(messages, _offered(answered)) == text_of(other, _offered(answered)):
            return "tools' answers"
    return ''
