"""Answers of the servers of ``test_spending.py``: a model, a simulator and a judge, with the usage of each answer."""

from __future__ import annotations

import json
import sys
import threading
import zlib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.kill_agents_script import call

ASKED, LOCK = set[str](), threading.Lock()
FINISH = 'Finish'


def is_first(messages: list[dict[str, Any]]) -> bool:
    """Whether a conversation comes for the first time."""
    text = json.dumps(messages)
    with LOCK:
        is_new = text not in ASKED
        ASKED.add(text)
    return is_new


def model(messages: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
    """Calls tools where there are some; a third of the answers do not say what of their prompts was cached."""
    number = zlib.crc32(json.dumps(messages).encode())
    usage = usage_of(number)
    rounds = sum(message['role'] == 'assistant' for message in messages)
    tools = {tool['function']['name']: tool['function']['parameters'] for tool in request.get('tools', ())}
    if not tools:
        return {'content': f'Answer {number}', 'usage': usage}
    if rounds == 1 and number % 2 == 0 and is_first(messages):
        raise ValueError('a request that is refused once')
    finish = tools.pop(FINISH, None)
    if rounds < 2:
        name = sorted(tools)[number % len(tools)]
        return {'content': f'Thought {number}', 'calls': [call(name, tools, number % 3)], 'usage': usage}
    ends = {'return_type': 'give_answer', 'final_answer': f'done {number}'}
    calls = [{'name': FINISH, 'arguments': ends}] if finish else []
    return {'content': f'done {number}', 'calls': calls, 'usage': usage}


def usage_of(number: int) -> dict[str, Any]:
    """Tokens; nothing of the cache where nothing was cached, as vLLM has it."""
    details = {'prompt_tokens_details': {'cached_tokens': 700}} if number % 3 else {}
    return {'prompt_tokens': 1000 + number % 100, 'completion_tokens': 10 + number % 7, **details}


def simulator(messages: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
    number = zlib.crc32(json.dumps(messages).encode())
    content = json.dumps({'error': '', 'response': f'simulated {number}'}) if number % 7 else 'I cannot say.'
    return {'content': content, 'usage': {'prompt_tokens': 300 + number % 10, 'completion_tokens': 20}}


def judge(messages: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
    """Some judgements cannot be read at first, and are asked for again."""
    number = zlib.crc32(json.dumps(messages).encode())
    status = ('Solved', 'Unsolved', 'Unsure')[number % 3]
    content = json.dumps({'content': 'So it is.', 'answer_status': status, 'task_status': 'Solvable'})
    content = 'I cannot say.' if number % 5 == 0 and is_first(messages) else content
    return {'content': content, 'usage': {'prompt_tokens': 500 + number % 10, 'completion_tokens': 30}}
