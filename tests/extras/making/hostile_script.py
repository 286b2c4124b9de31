"""A maker for ``tools/serve_model.py --script`` that writes right queries, and solves half of them wrongly.

``hostile`` makes the mistake that :func:`mistake` says, the same in each attempt; ``MISTAKES`` names the kinds that it
may make, all without it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from tests.extras.making import maker_script
from tests.extras.making.maker_script import KEY, Messages, right

ROLES = ('You write', 'You plan', 'You review', 'Rewrite this', 'Improve this')
WRONG_TOOL = {'first_book': 'first_film', 'first_film': 'first_book', 'copies': 'shelf', 'shelf': 'copies'}
SEEN = ('invented', 'wrong_tool', 'further_tool', 'no_call', 'asks_back', 'no_result', 'failing_call')
"""Mistakes that are seen even where all attempts of all models make them."""
UNSEEN = ('left_out', 'other_order', 'other_value', 'other_argument', 'number')
"""Mistakes that only a model that does not make them, the reviewer or a person sees."""
MISTAKES = tuple(os.environ.get('MISTAKES', '').split()) or (*SEEN, *UNSEEN)


def truth(query: str, answers: dict[str, str]) -> tuple[list[Any], list[str]]:
    """The right calls of a query, and the values of its result; ``answers`` are those of all calls."""
    calls = maker_script._calls(query)
    values = [
        maker_script._first_value(answers[json.dumps([call['name'], call['arguments']])])
        for call in calls
        if not maker_script.is_write(call['name'], query)
    ]
    return [(call['name'], call['arguments']) for call in calls], values


def mistake(query: str) -> str:
    """The mistake in the solutions of a query; ``''`` for none."""
    number = maker_script._number(query, 'mistake')
    kinds = [kind for kind in MISTAKES if _applies(kind, query)]
    return kinds[number // 2 % len(kinds)] if kinds and number % 2 else ''


def _applies(kind: str, query: str) -> bool:
    if maker_script.form_of(query) != 'list':
        return False
    names = [call['name'] for call in maker_script._calls(query)]
    asked = [name for name in names if name != 'lend']
    applies = {
        'wrong_tool': asked[0] in WRONG_TOOL and WRONG_TOOL[asked[0]] not in names,
        'further_tool': 'remove' not in names,
        'left_out': len(asked) > 1,
        'other_order': len(set(asked)) > 1,
        'other_value': 'first_book' in asked,
        'number': 'copies' in asked,
    }
    return applies.get(kind, True)


def hostile(messages: Messages, request: dict[str, Any]) -> Any:
    """Answers as the right maker does, but for the mistake."""
    answer = right(messages, request)
    if messages[0]['content'].startswith(ROLES):
        return answer
    query = messages[1]['content'].partition('\n\n')[0]
    kind = mistake(query)
    calls = [call for message in messages for call in message.get('tool_calls') or ()]
    if isinstance(answer, dict):
        return _wrong_call(kind, query, answer)
    if kind == 'further_tool' and not any(call['function']['name'] == 'remove' for call in calls):
        return {'content': '', 'calls': [{'name': 'remove', 'arguments': {'title': 'Ubik'}}]}
    return _wrong_answer(kind, messages, answer) if kind else answer


def _wrong_call(kind: str, query: str, answer: dict[str, Any]) -> Any:
    call = answer['calls'][0]
    rows = [arguments for _, arguments in KEY[call['name']]]
    if kind == 'no_call':
        return 'I remember it.\nResult: Kindred'
    if kind == 'wrong_tool':
        call['name'] = WRONG_TOOL.get(call['name'], call['name'])
    elif kind == 'failing_call':
        call['arguments'] = {'no_such_argument': 1}
    elif kind == 'other_argument':
        call['arguments'] = rows[(rows.index(call['arguments']) + 1) % len(rows)]
    return answer


def _wrong_answer(kind: str, messages: Messages, answer: str) -> str:
    told, _, result = answer.partition('\nResult: ')
    values = result.split('; ')
    observations = [message['content'] for message in messages if message['role'] == 'tool']
    if kind == 'invented':
        values[-1] = 'Zanzibar'
    elif kind == 'asks_back':
        values = ['Which one do you mean?']
    elif kind == 'no_result':
        return told
    elif kind == 'left_out':
        values = values[:-1]
    elif kind == 'other_order':
        values = values[::-1]
    elif kind == 'other_value':
        second = dict(re.findall(r'"first": "([^"]+)", "second": "([^"]+)"', '\n'.join(observations)))
        values = [second.get(value, value) for value in values]
    elif kind == 'number':
        values = [str(int(value) + 1) if value.isdigit() else value for value in values]
    return f'{told}\nResult: {"; ".join(values)}'
