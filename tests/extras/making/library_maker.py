"""A maker for the library's server that knows nothing but what it is shown, for ``tools/serve_model.py --script``.

It writes of values that the prompt shows, and invents them where it shows none. It explores with values that answers
had under the names of parameters. ``MAKER_LOG`` names a file that gets all prompts.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from tests.extras.making.library_server import PARAMETERS
from tests.extras.making.maker_script import NAMES, NEEDED, PURPOSES, Messages, _first_value, _number

CLAUSES = {
    'list_authors': 'name all that write here',
    'find_books': 'look up what is there by {author}',
    'open_book': 'read the entry of {isbn}',
    'shelf_keeper': 'find out who looks after {shelf}',
    'lend_book': 'hand {isbn} to {reader}',
    'opening_hours': 'say when it is open on {day}',
}
WRITES = 'lend_book'
INVENTED = {'author': 'Smith', 'isbn': '978-0000', 'shelf': 'A1', 'reader': 'Ann', 'day': 'Sunday'}
FOUND = '(the first one found)'
DEPENDENCY = re.compile(r'^(\w+) takes what \w+ returns as its parameter "(\w+)"', re.MULTILINE)
SHOWN = re.compile(r'^(\w+) (\{.*\}) returns:$', re.MULTILINE)
LOG = os.environ.get('MAKER_LOG')


def _query(prompt: str) -> str:
    needed = NEEDED.search(prompt)
    names = [name for name in needed[1].split(', ') if name in CLAUSES] if needed else []
    found, shown = set(DEPENDENCY.findall(prompt)), SHOWN.findall(prompt)
    clauses = []
    for name in names:
        known = [json.loads(arguments) for tool, arguments in shown if tool == name]
        drawn = {**INVENTED, **_in_text(prompt), **(known[_number(prompt, name) % len(known)] if known else {})}
        values = {one: FOUND if (name, one) in found else drawn[one] for one in PARAMETERS[name]}
        clauses.append(CLAUSES[name].format(**values))
    return f'For {_purpose(prompt)}: {"; ".join(clauses)}.'


def _in_text(prompt: str) -> dict[str, str]:
    """Values that stand in the prompt under the name of a parameter, as in the beginning of a file."""
    found = {one: re.findall(rf'"{one}": "([^"]+)"', prompt) for one in INVENTED}
    return {one: values[_number(prompt, one) % len(values)] for one, values in found.items() if values}


def _purpose(prompt: str) -> str:
    return PURPOSES[_number(prompt, 'p') % len(PURPOSES)].format(NAMES[_number(prompt, 'n') % len(NAMES)])


def _written(query: str) -> str:
    asks = any(name != WRITES for name, _ in _calls(query))
    return json.dumps({'query': query, 'result': 'list' if asks else 'none', 'solvable': True})


def _calls(query: str) -> list[tuple[str, dict[str, str]]]:
    patterns = {
        name: re.escape(clause).replace(r'\{', '(?P<').replace(r'\}', '>[^;]+?)') for name, clause in CLAUSES.items()
    }
    matches = [(name, re.search(rf'{pattern}(?=[;.]( |$)|$)', query)) for name, pattern in patterns.items()]
    found = [(match.start(), name, match.groupdict()) for name, match in matches if match]
    return [(name, arguments) for _, name, arguments in sorted(found, key=lambda row: row[0])]


def _first(parameter: str, told: list[str]) -> str:
    """The first value that answers have under the name of a parameter, the last answer first."""
    for text in reversed(told):
        match = re.search(rf'"{parameter}": "([^"]+)"', text)
        if match:
            return match[1]
    listed = [text for text in told if parameter == 'author' and text.startswith('["')]
    return str(json.loads(listed[-1])[0]) if listed else INVENTED[parameter]


def _explore(told: list[str]) -> list[tuple[str, dict[str, str]]]:
    """Lists, then looks up what was listed, then what that returned; each tool twice at most."""
    authors = next((json.loads(text) for text in told if text.startswith('["')), ['Smith', 'Jones'])
    isbns = [isbn for text in told for isbn in re.findall(r'"isbn": "([^"]+)"', text)] or [INVENTED['isbn']]
    shelves = [shelf for text in told for shelf in re.findall(r'"shelf": "([^"]+)"', text)] or [INVENTED['shelf']]
    lent = {'isbn': isbns[0], 'reader': 'Eve'}
    return [
        ('list_authors', {}),
        *(('find_books', {'author': author}) for author in authors[:3]),
        ('lend_book', lent),
        *(('open_book', {'isbn': isbn}) for isbn in list(dict.fromkeys(isbns))[:3]),
        *(('shelf_keeper', {'shelf': shelf}) for shelf in list(dict.fromkeys(shelves))[:2]),
        ('opening_hours', {'day': 'Monday'}),
        ('now', {}),
    ]


def right(messages: Messages, request: dict[str, Any]) -> Any:
    """Answers every role from what it is shown."""
    prompt = messages[0]['content']
    if LOG:
        with Path(LOG).open('a', encoding='utf-8') as log:
            log.write(json.dumps([message['content'] for message in messages]) + '\n')
    if prompt.startswith('You write requests'):
        return _written(_query(prompt))
    if prompt.startswith(('Rewrite this request', 'Improve this request')):
        query = re.search(r'^Request: (.*)$', prompt, re.MULTILINE)
        assert query is not None
        return _written(query[1])
    if prompt.startswith('You plan'):
        return json.dumps({'steps': ['Do it.', 'Answer.']})
    if prompt.startswith('You review'):
        is_done = 'there is no such thing' not in prompt
        return json.dumps({'accept': is_done, 'why': 'all is there' if is_done else 'it does not exist'})
    told = [message['content'] for message in messages if message['role'] == 'tool']
    query = messages[1]['content'].partition('\n\n')[0]
    offered = {tool['function']['name'] for tool in request.get('tools') or ()}
    planned = _explore(told) if query.startswith('Find out what exists') else _calls(query)
    planned = [call for call in planned if call[0] in offered]
    failed = sum('temporarily unavailable' in text for text in told)
    if len(told) - failed >= len(planned):
        good = [text for text in told if 'temporarily unavailable' not in text]
        reads = [text for (name, _), text in zip(planned, good, strict=False) if name != WRITES]
        asked = f'\nResult: {"; ".join(map(_first_value, reads))}' if reads else ''
        return f'All that I know: {" | ".join(good)}{asked}' if good else 'Nothing to do.'
    name, arguments = planned[len(told) - failed]
    filled = {one: _first(one, told) if value == FOUND else value for one, value in arguments.items()}
    return {'content': 'Next.', 'calls': [{'name': name, 'arguments': filled}]}


def learns(messages: Messages, request: dict[str, Any]) -> Any:
    """Writes of what does not exist until it is told why that failed."""
    prompt = messages[0]['content']
    answer = right(messages, request)
    if not prompt.startswith('You write requests') or 'it was of no use' in prompt:
        return answer
    return _written(f'For {_purpose(prompt)}: {CLAUSES["open_book"].format(isbn="978-none")}.')
