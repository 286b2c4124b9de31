"""Answers of the models of the tutorials: ``serve_model.py --name large --script tests/tutorial_script.py:large``.

``large`` knows the gold answers of the demo records, and makes the gold calls of the demo tasks; ``small`` knows two of
three, and stops an agent's task one call before its end. Any other request is an error.
"""

from __future__ import annotations

import ast
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import opencompass_tooleval
from opencompass_tooleval.benchmarks.teval.data import load_samples
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer

DEMO = Path(opencompass_tooleval.__file__).resolve().parent / 'demo'
TASKS = DEMO / 'agents' / 'teval' / 'EN' / 'plan_json_v1.json'
END = 'That is done.'
RETURNS = {'name': 'count_orders', 'arguments': {'customer': 'Okafor', 'status': 'returned'}}
SHOP = (RETURNS, {'name': 'set_status', 'arguments': {'order': 42, 'status': 'returned'}}, RETURNS)
"""Calls for the task on tools of one's own."""


def _key(messages: list[dict[str, Any]]) -> str:
    """A conversation as letters alone: neighbouring messages of one role may have been merged."""
    return ''.join(''.join(str(message['content']).split()) for message in messages)


@cache
def _answers() -> dict[str, str]:
    """Conversation -> gold answer, of all demo records of T-Eval."""
    answers = {}
    for file in sorted(DEMO.glob('teval/*/*.json')):
        samples = load_samples(file, file.stem.partition('_v2')[0])
        gold = {sample.record.id: gold_answer(sample.record) for sample in samples}
        for name, row in json.loads(file.read_text(encoding='utf-8')).items():
            messages = row['origin_prompt']
            answers[_key(ast.literal_eval(messages) if isinstance(messages, str) else messages)] = gold[name]
    return answers


@cache
def _plans() -> dict[str, list[dict[str, Any]]]:
    """Request -> gold calls, of the demo tasks of agents."""
    plans = {}
    for row in json.loads(TASKS.read_text(encoding='utf-8')).values():
        steps = row['ground_truth']
        steps = ast.literal_eval(steps) if isinstance(steps, str) else steps
        prompt = row['origin_prompt']
        prompt = ast.literal_eval(prompt) if isinstance(prompt, str) else prompt
        plans[prompt[-1]['content']] = [step for step in steps if step['name'] != 'FinishAction']
    return plans


def _next_call(messages: list[dict[str, Any]], is_large: bool) -> dict[str, Any] | str:
    """The gold call after those that were made, or the end."""
    if any('Order 42 came back' in str(message['content']) for message in messages):
        made = sum(message['role'] == 'assistant' for message in messages)
        return {'content': '', 'calls': [SHOP[made]]} if made < len(SHOP) else 'Done.\n\nResult: **2**'
    (plan,) = [steps for query, steps in _plans().items() if any(query in str(row['content']) for row in messages)]
    plan = plan if is_large else plan[:-1]
    made = sum(message['role'] == 'assistant' for message in messages)
    if made >= len(plan):
        return END
    name = plan[made]['name'].replace('.', '_')
    return {'content': '', 'calls': [{'name': name, 'arguments': plan[made]['args']}]}


def _answer(messages: list[dict[str, Any]], request: dict[str, Any], is_large: bool) -> dict[str, Any] | str:
    if request.get('tools'):
        return _next_call(messages, is_large)
    key = _key(messages)
    is_known = is_large or hashlib.sha256(key.encode()).digest()[0] % 3
    return _answers().get(key, 'Yes.') if is_known else 'I do not know.'


def large(messages: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any] | str:
    return _answer(messages, request, is_large=True)


def small(messages: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any] | str:
    return _answer(messages, request, is_large=False)
