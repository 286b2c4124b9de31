"""A maker for ``tools/serve_model.py --script`` that knows the answers, and makers with one fault each.

``MAKER_KEY`` names a JSON file: tool -> list of ``[clause, arguments]``. A query is made of clauses, and its calls are
those of the clauses. Queries differ by their purpose.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

Messages = list[dict[str, Any]]

KEY: dict[str, list[tuple[str, dict[str, Any]]]] = (
    json.loads(Path(os.environ['MAKER_KEY']).read_text('utf-8')) if 'MAKER_KEY' in os.environ else {}
)
PURPOSES = (
    'the audit of {}',
    'a talk in {}',
    'my colleague {}',
    'the archive of {}',
    'a bet with {}',
    'the class of {}',
)
NAMES = ('Oslo', 'Berta', 'Quito', 'Chen', 'Lagos', 'Ines', 'Turin', 'Pavel', 'Osaka', 'Rosa', 'Perth', 'Amir', 'Leeds')
NEEDED = re.compile(r'needs? (?:these tools|exactly this tool|this tool)[^:]*: (.+?)\.(?: |$)', re.MULTILINE)

BAN = 'Whatever you do, keep everything else as it is.'
WRITES = re.compile(r'keep |tell \S+@|write down|stage |take everything|open the line|change over|\w+ takes .* home')
"""Begins a clause that asks for a change, and to be told nothing."""

_seen: Counter[str] = Counter()
_lock = threading.Lock()


def _number(*texts: str) -> int:
    return int.from_bytes(hashlib.blake2b('\n'.join(texts).encode(), digest_size=6).digest(), 'big')


def _query(prompt: str) -> str:
    needed = NEEDED.search(prompt)
    purpose = PURPOSES[_number(prompt, 'p') % len(PURPOSES)].format(NAMES[_number(prompt, 'n') % len(NAMES)])
    if 'Calling a tool would be a mistake' in prompt:
        return f'For {purpose}: how much is {_number(prompt) % 90} and {_number(prompt, "x") % 90}?'
    names = needed[1].split(', ') if needed else []
    if 'Leave out the value' in prompt:
        return f'For {purpose}, do the usual thing again, but I shall not say with which one.'
    clauses = [KEY[name][_number(prompt, name) % len(KEY[name])][0] for name in names if KEY.get(name)]
    ban = f' {BAN}' if 'rules out' in prompt else ''
    return f'For {purpose}: ' + '; '.join(clauses) + f'.{ban}'


def form_of(query: str) -> str:
    """The form of a query's result: of sums a number, of clauses that ask for something a value for each."""
    if 'how much is' in query:
        return 'number'
    asked = [clause for rows in KEY.values() for clause, _ in rows if clause in query and not WRITES.match(clause)]
    return 'list' if asked else 'none'


def is_write(name: str, query: str) -> bool:
    """Whether the clause of a tool asks for a change."""
    return any(WRITES.match(clause) for clause, _ in KEY[name] if clause in query)


def written(query: str) -> str:
    """A reply with a query, and all that is stated beside it."""
    ban = {'forbids': BAN} if BAN in query else {}
    return json.dumps({'query': query, 'result': form_of(query), 'solvable': True, **ban})


def _first_value(text: str) -> str:
    """The first value of a response, as far as a result can hold it."""
    value = re.search(r"\w['\"]?: ?['\"\[{]{0,3}(\w[^'\";,:\n\[\]{}]{0,59})", text) or re.search(
        r'([^;,\n]{1,60})', text
    )
    return value[1].strip() if value else ''


def _calls(query: str) -> list[dict[str, Any]]:
    found = [
        (query.index(clause), {'name': name, 'arguments': arguments})
        for name, rows in KEY.items()
        for clause, arguments in rows
        if clause in query
    ]
    return [call for _, call in sorted(found, key=lambda pair: pair[0])]


def _sent_name(name: str, request: dict[str, Any]) -> str:
    sent = [tool['function']['name'] for tool in request.get('tools') or ()]
    return next((one for one in sent if one == re.sub(r'[^A-Za-z0-9_-]+', '_', name)), '')


def _explore(told: list[str], request: dict[str, Any]) -> Any:
    """Makes the first three calls of each offered tool that the key has."""
    calls = [(_sent_name(name, request), arguments) for name, rows in KEY.items() for _, arguments in rows[:3]]
    offered = [call for call in calls if call[0]]
    if len(told) >= len(offered):
        return 'There is nothing else.'
    name, arguments = offered[len(told)]
    return {'content': 'Let me see.', 'calls': [{'name': name, 'arguments': arguments}]}


def _solve(messages: Messages, request: dict[str, Any]) -> Any:
    query = messages[1]['content'].partition('\n\n')[0]
    told = [message['content'] for message in messages if message['role'] == 'tool']
    if query.startswith('Find out what exists'):
        return _explore(told, request)
    if 'how much is' in query:
        one, other = re.findall(r'\d+', query.partition('how much is')[2])
        return f'That is easy to add up.\nResult: {int(one) + int(other)}'
    if 'shall not say with which one' in query:
        return 'Which one do you mean?'
    planned = _calls(query)
    failed = [text for text in told if 'temporarily unavailable' in text]
    place = len(told) - len(failed)
    if place < len(planned):
        call = planned[place]
        name = _sent_name(call['name'], request) or call['name']
        return {'content': 'Next.', 'calls': [{'name': name, 'arguments': call['arguments']}]}
    good = [text for text in told if text not in failed]
    if not good:
        return 'Nothing to do.'
    asked = [_first_value(text) for call, text in zip(planned, good, strict=False) if not is_write(call['name'], query)]
    told_all = 'Responses: ' + ' | '.join(text[:300] for text in good)
    return f'{told_all}\nResult: {"; ".join(asked)}' if asked else told_all


def right(messages: Messages, request: dict[str, Any]) -> Any:
    """Answers every role rightly."""
    prompt = messages[0]['content']
    if prompt.startswith('You write requests'):
        return written(_query(prompt))
    if prompt.startswith(('Rewrite this request', 'Improve this request')):
        query = re.search(r'^Request: (.*)$', prompt, re.MULTILINE)
        assert query is not None
        return written(query[1])
    if prompt.startswith('You plan'):
        return json.dumps({'steps': ['Do it.', 'Answer.']})
    if prompt.startswith('You review'):
        return json.dumps({'accept': True, 'why': 'all is there'})
    return _solve(messages, request)


def _times(messages: Messages) -> int:
    """How often the very same was asked before."""
    text = json.dumps(messages)
    with _lock:
        _seen[text] += 1
        return _seen[text] - 1


def unreadable(messages: Messages, request: dict[str, Any]) -> Any:
    """Writes no JSON, however often it is asked."""
    return 'Here you are.' if messages[0]['content'].startswith('You write') else right(messages, request)


def reads_second_time(messages: Messages, request: dict[str, Any]) -> Any:
    """Writes no JSON until the fault is named."""
    is_first = messages[0]['content'].startswith('You write') and len(messages) == 1
    return 'Here you are.' if is_first else right(messages, request)


def leaks(messages: Messages, request: dict[str, Any]) -> Any:
    """Names the first needed tool in each query."""
    prompt = messages[0]['content']
    needed = NEEDED.search(prompt)
    if not prompt.startswith('You write') or needed is None:
        return right(messages, request)
    return written(f'{needed[1].split(", ")[0]} please')


def repeats(messages: Messages, request: dict[str, Any]) -> Any:
    """Writes the same query for all drafts."""
    if not messages[0]['content'].startswith('You write'):
        return right(messages, request)
    rows = next(iter(KEY.values()))
    return written(f'For the audit: {rows[0][0]}.')


def disagrees(messages: Messages, request: dict[str, Any]) -> Any:
    """Gives another part of the responses each time it is asked the same."""
    answer = right(messages, request)
    if not (isinstance(answer, str) and answer.startswith('Responses')):
        return answer
    values = re.findall(r"(?<=: ['\"])[^'\"]{3,60}(?=['\"])", answer)
    return f'Result: {values[_times(messages) % len(values)]}' if values else 'It is done.'


def refuses(messages: Messages, request: dict[str, Any]) -> Any:
    """Refuses every solution as a reviewer."""
    if messages[0]['content'].startswith('You review'):
        return json.dumps({'accept': False, 'why': 'I am not convinced'})
    return right(messages, request)


def calls_wrongly(messages: Messages, request: dict[str, Any]) -> Any:
    """Passes an argument that no tool has."""
    answer = right(messages, request)
    if isinstance(answer, dict):
        answer['calls'][0]['arguments'] = {'no_such_argument': 1}
    return answer


def simulates(messages: Messages, request: dict[str, Any]) -> Any:
    """Answers every role rightly, that of the simulator too."""
    if messages[-1]['content'].startswith('API Documentation:'):
        number = _number(messages[-1]['content'])
        return json.dumps({'error': '', 'response': {'title': f'Item {number % 9_000:04}', 'count': number % 700}})
    return right(messages, request)


def gives_up(messages: Messages, request: dict[str, Any]) -> Any:
    """Says that no request can be carried out."""
    if messages[0]['content'].startswith('Improve'):
        return json.dumps({'query': 'Do it.', 'result': 'none', 'solvable': False})
    return right(messages, request)
