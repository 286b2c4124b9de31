"""A model for ``tools/serve_model.py --script`` that makes instructions without faults."""

from __future__ import annotations

import json
import re
from typing import Any

Messages = list[dict[str, str]]

SAMPLES = {'number': 3, 'integer': 3, 'boolean': True, 'list': [4, 2], 'array': []}
CUE = re.compile(r"One scenario for '(.*)' of '(.*)' is:$")


def _description(documentation: str) -> str:
    raw: dict[str, Any] = json.loads(documentation)
    apis = raw.get('api_list', raw.get('functions', []))
    names = [api.get('api_name', api.get('name')) for api in apis]
    listed = ''.join(f"\n{number}. '{name}' is to do {name}." for number, name in enumerate(names, start=1))
    if listed:
        return f'This tool can help.\nThis tool has {len(names)} multiple built-in functions:{listed}'
    return f'Helps with {" ".join(re.findall("[A-Za-z]+", documentation)[:40])}.'


def _example(function: str, listed: str) -> dict[str, Any]:
    groups: dict[str, list[dict[str, Any]]] = json.loads(listed)
    values = {one['name']: SAMPLES.get(one.get('type', '').lower(), 'x') for one in groups['required_parameters']}
    if function.startswith('GET /'):
        path = re.sub(r'\{(\w+)\}', lambda match: str(values.pop(match[1])), function)
        query = '&'.join(f'{name}={value}' for name, value in values.items())
        values = {'input': f'{path}?{query}' if query else path}
    return {'Scenario': f'if you want to use {function}', 'Parameters': values}


def right(messages: Messages) -> str:
    *_, asked = messages[0]['content'].split('\n\n')
    *_, before, last = asked.split('\n')
    cue = CUE.match(last)
    return json.dumps(_example(cue[1], before)) if cue else _description(before)
