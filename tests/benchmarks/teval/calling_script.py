"""Answers of a server that calls tools to T-Eval's demo requests: see tools/serve_model.py."""

from __future__ import annotations

import json
from typing import Any


def _call(request: dict[str, Any]) -> dict[str, Any]:
    """The call that the user writes down: ``Call NAME with the parameters as follows:`` and a line per argument."""
    first, *lines = request['messages'][-1]['content'].splitlines()
    name = first.split()[1].replace('.', '_')
    assert name in [tool['function']['name'] for tool in request['tools']], name
    return {'name': name, 'arguments': {key: json.loads(value) for key, value in (line.split(' = ') for line in lines)}}


def right(messages: list[dict[str, Any]], request: dict[str, Any]) -> Any:
    """The call; without tools, words."""
    if 'tools' not in request:
        return 'I would call something.'
    assert request['tool_choice'] == 'auto' and request['parallel_tool_calls'] is False
    return {'content': 'As you say.', 'calls': [_call(request)]}


def clumsy(messages: list[dict[str, Any]], request: dict[str, Any]) -> Any:
    """Goes wrong in another way by the tool that is asked for; all that is not named here goes right."""
    if 'tools' not in request:
        return 'I would call something.'
    call = _call(request)
    match call['name']:
        case 'MuseumGuide_list_open':
            return f'<tool_call>{json.dumps(call)}</tool_call>'
        case 'MuseumGuide_find_exhibits':
            return {'content': None, 'calls': [call, call]}
        case 'TicketDesk_buy_tickets':
            return {'content': None, 'calls': [{**call, 'name': 'buy'}]}
        case 'CityTransit_find_route':
            return {'content': None, 'calls': [{**call, 'arguments': '{"start": "Gent'}]}
        case 'RailInfo_search_trains':
            return {'content': None, 'calls': [{**call, 'arguments': {**call['arguments'], 'origin': 7}}]}
        case _:
            return {'content': '', 'calls': [call]}
