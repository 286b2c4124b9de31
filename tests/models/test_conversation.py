"""models/conversation: the format that OpenCompass's model wrappers accept."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from opencompass.registry import ICL_PROMPT_TEMPLATES
from opencompass.utils.prompt import PromptList

from opencompass_tooleval.models.conversation import Conversation, ToolEvalConversationTemplate

MESSAGES = [
    {'role': 'system', 'content': 's'},
    {'role': 'user', 'content': 'a'},
    {'role': 'user', 'content': 'b'},
    {'role': 'assistant', 'content': ''},
    {'role': 'function', 'content': 'f'},
    {'role': 'assistant', 'content': 'c\u2028'},
    {'role': 'tool', 'content': 't'},
]


def entry() -> dict[str, Any]:
    row = {'record_id': 'r1', 'source': 'plan_json_v2', 'idx': 4, 'gold_answer': 'secret gold'}
    return {**row, 'messages': json.dumps(MESSAGES)}


@pytest.mark.parametrize(('roles', 'expected'), [
    pytest.param({}, [('SYSTEM', 's'), ('HUMAN', 'a\nb\nf'), ('BOT', 'c\u2028'), ('HUMAN', 't')],
        id='function as user'),
    pytest.param({'function_role': 'system'},
        [('SYSTEM', 's'), ('HUMAN', 'a\nb'), ('SYSTEM', 'f'), ('BOT', 'c\u2028'), ('SYSTEM', 't')],
        id='function as system'),
    pytest.param({'function_role': 'assistant'}, [('SYSTEM', 's'), ('HUMAN', 'a\nb'), ('BOT', 'f\nc\u2028\nt')],
        id='function as assistant'),
    pytest.param({'system_role': 'user'},
        [('HUMAN', 's'), ('HUMAN', 'a'), ('HUMAN', 'b'), ('HUMAN', 'f'), ('BOT', 'c\u2028'), ('HUMAN', 't')],
        id='system as user: every message is a turn'),
])  # fmt: skip
def test_roles(roles: dict[str, str], expected: list[tuple[str, str]]) -> None:
    conversation = ToolEvalConversationTemplate(**roles).generate_item(entry())
    assert list(conversation) == [{'role': role, 'prompt': text, 'content': text} for role, text in expected]


def test_attributes() -> None:
    template = ICL_PROMPT_TEMPLATES.build({'type': 'ToolEvalConversationTemplate', 'template': '{messages}'})
    assert type(template) is ToolEvalConversationTemplate and template.prompt_type == 'meta'
    conversation = template.generate_item(entry())
    assert isinstance(conversation, PromptList)
    assert (conversation.record_id, conversation.source) == ('r1', 'plan_json_v2')
    assert (conversation.position, conversation.gold_answer) == (4, 'secret gold')
    assert 'secret' not in json.dumps(conversation)
    copy = deepcopy(conversation)
    assert type(copy) is Conversation and copy == conversation and copy[0] is not conversation[0]
    assert vars(copy) == vars(conversation)


def test_another_column() -> None:
    row = {**entry(), 'messages': '[]', 'mine': json.dumps([{'role': 'user', 'content': 'x'}])}
    assert [item['content'] for item in ToolEvalConversationTemplate('{mine}').generate_item(row)] == ['x']
