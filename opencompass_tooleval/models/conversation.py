"""A conversation in the one shape that every model wrapper of OpenCompass takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_PROMPT_TEMPLATES
from opencompass.utils.prompt import PromptList

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.messages import TOOL, Message, normalise, prompt_digest, read_messages
from opencompass_tooleval.core.tool_calls import ToolCall
from opencompass_tooleval.core.tool_set import ToolSet

TOOLS = 'tools'
"""Column of the tools that are offered natively, as :meth:`ToolSet.to_text` writes them."""

ASKED_WITH = 'asked_with'
"""Column of what stands for all that a dialogue will show of a row beside its messages, such as tools."""

_ROLES = {'system': 'SYSTEM', 'user': 'HUMAN', 'assistant': 'BOT', TOOL: 'TOOL'}


class Conversation(PromptList):
    """Messages with role SYSTEM, HUMAN or BOT and the text both as ``prompt`` and as ``content``.

    HF, vLLM and lmdeploy wrappers read ``prompt``, and the parser leaves a list whose items have ``content`` alone, so
    that the system message stays one.

    Attributes:
        record_id: Id of the record in its data file.
        source: Name of the data set, such as ``plan_json_v2``.
        position: Index of the record in the data set.
        gold_answer: What a perfect model would say, for the oracle model only; it is in none of the messages.
        asked: What stands for the prompt, from :meth:`ToolEvalConversationTemplate.asked`; None if made otherwise.
        tools: What the model may call natively; None for nothing.
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
        """Builds one from normalised messages, the columns of a data set's row, and tools that are offered natively."""
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

    def messages(self) -> list[Message]:
        """The inverse of :meth:`of`."""
        return list(self._messages)

    def as_request(self) -> list[dict[str, Any]]:
        """The messages as ``messages`` of a chat completion, native calls and their answers among them."""
        return [self._requested(message) for message in self._messages]

    def _requested(self, message: Message) -> dict[str, Any]:
        requested: dict[str, Any] = {'role': message.role, 'content': message.content}
        if message.calls:
            # OpenAI's own form: null beside calls where nothing was said.
            requested['content'] = message.content or None
            requested['tool_calls'] = [
                {'id': call.id, 'type': 'function', 'function': self._requested_call(call)} for call in message.calls
            ]
        return {**requested, 'tool_call_id': message.call_id} if message.call_id else requested

    def _requested_call(self, call: ToolCall) -> dict[str, str]:
        arguments = call.arguments if isinstance(call.arguments, str) else _arguments_text(call.arguments)
        return {'name': self.tools.sent_name(call.name) if self.tools else call.name, 'arguments': arguments}

    def with_original_names(self, answer: Answer) -> Answer:
        """The answer with the tools' own names in its calls, in place of those that were sent."""
        if self.tools is None or not answer.calls:
            return answer
        return replace(
            answer, calls=tuple(replace(call, name=self.tools.original_name(call.name)) for call in answer.calls)
        )


def _arguments_text(arguments: Any) -> str:
    """JSON with letters of any script as they are: some servers show models this very text."""
    return json.dumps(arguments, ensure_ascii=False).encode('utf-8', 'replace').decode('utf-8')


@ICL_PROMPT_TEMPLATES.register_module()
class ToolEvalConversationTemplate:
    """Turns a data set's column of messages (a JSON list of role and content) into a :class:`Conversation`.

    Args:
        template: The column in braces, such as ``'{messages}'``. OpenCompass's partitioners read this key.
        function_role: The role that takes a tool's output: ``user`` (default), ``system`` or ``assistant``.
        system_role: The role of the system prompt; ``user`` is the T-Eval authors' setting for most open models, in
            which every message is a turn of its own. Otherwise neighbours of one role are merged.
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
        """Builds the prompt of one row; the other arguments are OpenCompass's, and nothing is to be replaced here."""
        messages, tools = read_messages(entry[self.column]), entry.get(TOOLS)
        offered = None if tools is None else ToolSet.of_text(tools)
        conversation = Conversation.of(normalise(messages, self._role_map, self._merge), entry, offered)
        conversation.asked = self.asked(entry[self.column], tools, entry.get(ASKED_WITH))
        return conversation

    def asked(self, text: str, tools: str | None = None, more: str | None = None) -> str:
        """32 hex digits that stand for the prompt made of a column's text: another text, role or tool gives others.

        Args:
            text: Of the column.
            tools: Of the column :data:`TOOLS`, if there is one.
            more: Of the column :data:`ASKED_WITH`, if there is one.
        """
        return prompt_digest(text + (tools or '') + (more or ''), self._role_map['function'], self._role_map['system'])

    def asked_of(self, rows: Dataset) -> list[str]:
        """The same for every row of a data set."""
        more = (rows[name] if name in rows.column_names else [None] * len(rows) for name in (TOOLS, ASKED_WITH))
        return [self.asked(*row) for row in zip(rows[self.column], *more, strict=True)]
