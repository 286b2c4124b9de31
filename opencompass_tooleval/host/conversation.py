"""A conversation in the one shape that every model wrapper of OpenCompass takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_PROMPT_TEMPLATES
from opencompass.utils.prompt import PromptList

from opencompass_tooleval.core.messages import Message, normalise, prompt_digest

_ROLES = {'system': 'SYSTEM', 'user': 'HUMAN', 'assistant': 'BOT'}


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
    """

    record_id: str
    source: str
    position: int
    gold_answer: str
    asked: str | None = None

    @classmethod
    def of(cls, messages: list[Message], entry: Mapping[str, Any]) -> Conversation:
        """Builds one from normalised messages and the columns of a data set's row."""
        conversation = cls(
            {'role': _ROLES[message.role], 'prompt': message.content, 'content': message.content}
            for message in messages
        )
        conversation.record_id = entry['record_id']
        conversation.source = entry['source']
        conversation.position = entry['idx']
        conversation.gold_answer = entry['gold_answer']
        return conversation

    def messages(self) -> list[Message]:
        """The inverse of :meth:`of`."""
        names = {role: name for name, role in _ROLES.items()}
        return [Message(names[item['role']], item['content']) for item in self]


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
        self._column = template.strip('{}')
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
        messages = [Message(**message) for message in json.loads(entry[self._column])]
        conversation = Conversation.of(normalise(messages, self._role_map, self._merge), entry)
        conversation.asked = self.asked(entry[self._column])
        return conversation

    def asked(self, text: str) -> str:
        """32 hex digits that stand for the prompt made of a column's text: another text or role gives others."""
        return prompt_digest(text, self._role_map['function'], self._role_map['system'])

    def asked_of(self, rows: Dataset) -> list[str]:
        """The same for every row of a data set."""
        return [self.asked(text) for text in rows[self._column]]
