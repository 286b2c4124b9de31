"""A conversation in a format that all OpenCompass model wrappers accept."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_PROMPT_TEMPLATES
from opencompass.utils.prompt import PromptList

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.messages import TOOL, Message, normalise, prompt_digest, read_messages
from opencompass_tooleval.core.calls.sent import NULL_CONTENT, once, with_sent
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSet

TOOLS = 'tools'
"""Column with the natively offered tools, from :meth:`ToolSet.to_text`."""

ASKED_WITH = 'asked_with'
"""Column that identifies the texts of a row that a dialogue shows in addition to the messages, such as tools."""

_ROLES = {'system': 'SYSTEM', 'user': 'HUMAN', 'assistant': 'BOT', TOOL: 'TOOL'}


_NO_ENTRY: Mapping[str, Any] = {'record_id': '', 'source': '', 'idx': 0, 'gold_answer': ''}


class Conversation(PromptList):
    """Messages with role SYSTEM, HUMAN or BOT, and the text both as ``prompt`` and as ``content``.

    HF, vLLM and lmdeploy wrappers read ``prompt``. OpenCompass's parser leaves a list unchanged if its items have
    ``content``, so the system message stays one message.

    Attributes:
        record_id: Id of the record in its data file.
        source: Name of the dataset, such as ``plan_json_v2``.
        position: Index of the record in the dataset.
        gold_answer: A perfect answer, for the oracle model only. It is not part of the messages.
        asked: Identifies the prompt, from :meth:`ToolEvalConversationTemplate.asked`; None if built otherwise.
        tools: The tools that the model may call natively; None if it may call none.
    """

    record_id: str
    source: str
    position: int
    gold_answer: str
    asked: str | None = None
    tools: ToolSet | None = None
    _messages: tuple[Message, ...] = ()

    @classmethod
    def of(cls, messages: list[Message], entry: Mapping[str, Any], tools: ToolSet | None = None) -> Conversation:
        """Returns a conversation of normalised messages, the columns of a row, and natively offered tools."""
        conversation = cls(
            {'role': _ROLES[message.role], 'prompt': message.content, 'content': message.content}
            for message in messages
        )
        conversation.record_id = entry['record_id']
        conversation.source = entry['source']
        conversation.position = entry['idx']
        conversation.gold_answer = entry['gold_answer']
        conversation.tools = tools
        conversation._messages = tuple(messages)
        return conversation

    @classmethod
    def of_prompt(cls, prompt: Any) -> Conversation:
        """Returns a conversation of OpenCompass's prompt: a text, or a list of turns."""
        turns = [{'role': 'HUMAN', 'prompt': prompt}] if isinstance(prompt, str) else prompt
        roles = {shown: role for role, shown in _ROLES.items()}
        texts = ((roles.get(turn['role'], turn['role']), turn.get('prompt', turn.get('content'))) for turn in turns)
        return cls.of([Message(role, str(text)) for role, text in texts], _NO_ENTRY)

    def __deepcopy__(self, memo: Any) -> Conversation:
        """Returns a copy with copied turns, but the same texts: OpenCompass copies every prompt."""
        copied = type(self)(dict(turn) for turn in self)
        copied.__dict__.update(vars(self))
        return copied

    def messages(self) -> list[Message]:
        """Returns the messages; the inverse of :meth:`of`."""
        return list(self._messages)

    def with_system(self, text: str) -> Conversation:
        """Returns the conversation with a system prompt, placed before the dataset's in the same message."""
        first, *rest = self._messages
        if first.role == 'system':
            text = f'{text}\n\n{first.content}'
        else:
            rest = [first, *rest]
        messages = [_system_message(text), *rest]
        other = Conversation.of(messages, _NO_ENTRY, self.tools)
        other.__dict__.update({**vars(self), '_messages': tuple(messages)})
        return other

    def as_request(self) -> list[dict[str, Any]]:
        """Returns the ``messages`` of a chat completion, with native calls and tool results."""
        return [self._requested(message) for message in self._messages]

    def request_text(self, without: Collection[str] = ()) -> str:
        """Returns the JSON of :meth:`as_request`; a message without native calls is encoded once for all rounds.

        Args:
            without: Members that the server sends but refuses to receive.
        """
        texts = (
            json.dumps(self._requested(message, without)) if message.is_native else message.text
            for message in self._messages
        )
        return f'[{", ".join(texts)}]'

    def shown_texts(self, without: Collection[str] = ()) -> list[str]:
        """Returns the texts that use up the context: contents, native messages as JSON, and tools as JSON.

        Args:
            without: As in :meth:`request_text`. Thoughts that several members repeat occur once.
        """
        tools = [json.dumps(self.tools.as_request(), ensure_ascii=False)] if self.tools and self.tools.tools else []
        return tools + [
            json.dumps(once(self._requested(message, without)), ensure_ascii=False)
            if message.is_native
            else message.content
            for message in self._messages
        ]

    def _requested(self, message: Message, without: Collection[str] = ()) -> dict[str, Any]:
        requested: dict[str, Any] = {'role': message.role, 'content': message.content}
        if message.calls:
            # In OpenAI's format the content is null if there are calls without text.
            requested['content'] = message.content or ('' if NULL_CONTENT in without else None)
            requested['tool_calls'] = [
                {'id': call.id, 'type': 'function', 'function': self.requested_call(call)} for call in message.calls
            ]
        requested |= {'tool_call_id': message.call_id} if message.call_id else {}
        return with_sent(requested, message.sent, without)

    def requested_call(self, call: ToolCall) -> dict[str, str]:
        """Returns name and arguments (as text) of a call, as servers get them."""
        arguments = call.arguments if isinstance(call.arguments, str) else _arguments_text(call.arguments)
        return {'name': self.tools.sent_name(call.name) if self.tools else call.name, 'arguments': arguments}

    def with_original_names(self, answer: Answer) -> Answer:
        """Returns the answer with the original names of tools in its calls, instead of the sent names."""
        tools = self.tools
        if tools is None or not answer.calls:
            return answer
        return replace(answer, calls=tuple(replace(call, name=tools.original_name(call.name)) for call in answer.calls))


@lru_cache(maxsize=1024)
def _system_message(text: str) -> Message:
    """Returns a system message, encoded once for all requests."""
    return Message('system', text)


def _arguments_text(arguments: Any) -> str:
    """Returns JSON without escapes of non-ASCII letters, since some servers show this text to the model."""
    return json.dumps(arguments, ensure_ascii=False).encode('utf-8', 'replace').decode('utf-8')


@ICL_PROMPT_TEMPLATES.register_module()
class ToolEvalConversationTemplate:
    """Converts a dataset's column of messages (a JSON list of role and content) to a :class:`Conversation`.

    Args:
        template: Name of the column in braces, such as ``'{messages}'``. OpenCompass's partitioners read this key.
        function_role: The role of a tool's output: ``user`` (default), ``system`` or ``assistant``.
        system_role: The role of the system prompt. ``user`` is the T-Eval authors' setting for most open models, and
            keeps a separate turn for every message. Otherwise adjacent messages of one role are merged.
    """

    prompt_type = 'meta'
    ice_token = None

    def __init__(self, template: str = '{messages}', function_role: str = 'user', system_role: str = 'system') -> None:
        self.template = template
        self.column = template.strip('{}')
        self._role_map = {'function': function_role, 'tool': function_role, 'system': system_role}
        self._merge = system_role != 'user'

    def generate_item(
        self,
        entry: Mapping[str, Any],
        output_field: str | None = None,
        output_field_replace_token: str = '',
        ice_field_replace_token: str = '',
    ) -> Conversation:
        """Returns the prompt of one row. OpenCompass passes the other arguments, which are ignored."""
        messages, tools = read_messages(entry[self.column]), entry.get(TOOLS)
        offered = None if tools is None else ToolSet.of_text(tools)
        conversation = Conversation.of(normalise(messages, self._role_map, self._merge), entry, offered)
        conversation.asked = self.asked(entry[self.column], tools, entry.get(ASKED_WITH))
        return conversation

    def asked(self, text: str, tools: str | None = None, more: str | None = None) -> str:
        """Returns 32 hex digits that identify a prompt by its column's text, roles and tools.

        Args:
            text: Text of the column.
            tools: Text of the column :data:`TOOLS`, if it exists.
            more: Text of the column :data:`ASKED_WITH`, if it exists.
        """
        return prompt_digest(text + (tools or '') + (more or ''), self._role_map['function'], self._role_map['system'])

    def asked_of(self, rows: Dataset) -> list[str]:
        """Returns :meth:`asked` for every row of a dataset."""
        more = (rows[name] if name in rows.column_names else [None] * len(rows) for name in (TOOLS, ASKED_WITH))
        return [self.asked(*row) for row in zip(rows[self.column], *more, strict=True)]
