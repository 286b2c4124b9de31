"""Answers of the server of ``test_kill_agents.py``: an agent that calls tools, and a simulator of their APIs."""

from __future__ import annotations

import json
import time
import zlib
from typing import Any

FINISH = 'Finish'


def answer(messages: list[dict[str, Any]], request: dict[str, Any]) -> Any:
    """The same to the same conversation, after a moment."""
    time.sleep(0.05)
    number = zlib.crc32(json.dumps(messages).encode())
    if str(messages[-1]['content']).startswith('API Documentation:'):
        # All can be read: what cannot is asked again each time, and the requests are counted one by one.
        response = json.dumps({'error': '', 'response': f'simulated {number}'})
        return response if number % 7 else f'```json\n{response}\n```'
    tools = {tool['function']['name']: tool['function']['parameters'] for tool in request['tools']}
    finish = tools.pop(FINISH, None)
    rounds = sum(message['role'] == 'assistant' for message in messages)
    if rounds < 2 + number % 3:
        names = sorted(tools)
        calls = [call(names[place % len(names)], tools, place) for place in (number, number // 7)[: 1 + number % 2]]
        return {'content': f'Thought {number}', 'calls': calls}
    if finish is None:
        return f'done after {rounds}'
    gives_up = {'return_type': 'give_up_and_restart'}
    ends = {'return_type': 'give_answer', 'final_answer': f'done after {rounds}'}
    return {'content': None, 'calls': [{'name': FINISH, 'arguments': ends if number % 2 else gives_up}]}


def call(name: str, tools: dict[str, Any], number: int) -> dict[str, Any]:
    """A call that fits the tool's schema, and that nobody has recorded."""
    values: dict[str, Any] = {'integer': number, 'number': number, 'boolean': True, 'array': [], 'object': {}}
    properties = tools[name].get('properties') or {}
    arguments = {key: values.get(schema.get('type'), f'value {number}') for key, schema in properties.items()}
    return {'name': name, 'arguments': arguments}
