"""StableToolBench's server: its names in the cache, check of calls, messages to simulators and parsing of replies.

Messages and responses are formatted as the server does in Python: ``str`` of objects in a message, ``json.dumps`` with
ASCII escapes in a response, which agents see cut at 1,024 characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.calls.answer import strip_reasoning
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, clean_text, to_jsonable
from opencompass_tooleval.environments.bank import RecordedCall

MAX_EXAMPLES = 5
MAX_EXAMPLE_CHARS = 2_048
"""Maximum total length of all examples."""

UNREADABLE_INPUT = json.dumps({'error': 'Tool input parse error...\n', 'response': ''})
"""Response to a call whose arguments are not JSON; the only check before the cache and the simulator."""

NO_RESPONSE = json.dumps({'error': 'Failed to generate fake response', 'response': ''})
"""Response if the simulator gives none."""

_KEY = 'toolbench_key'
_BETWEEN_WORDS = re.compile(r'[ ,/]')
_MECHANISM = 'mechanism_of_the_api'
_THOUGHT_START = re.compile(rf'"{_MECHANISM}"\s*:\s*"')
_THOUGHT_END = re.compile(r'",\s*"error"\s*:\s*"')
_ERROR_END = re.compile(r'",\s*"response"\s*:\s*"')
_PLAIN = re.compile(r'"error":\s*"([^"]*)",\s*"response":\s*"')


def standard_name(text: str) -> str:
    """Standardizes a name: ``Cricket Live-Data`` -> ``cricket_live_data``; keeps only Latin and Chinese letters."""
    letters: list[str] = []
    for letter in text:
        written = letter if (letter.isascii() and letter.isalnum()) or letter == '^' or '一' <= letter <= '龥' else '_'
        if written != '_' or letters[-1:] != ['_']:
            letters.append(written)
    name = ''.join(letters).lower().strip('_')
    return f'get_{name}' if name[:1].isdigit() else name


def standard_category(text: str) -> str:
    """Standardizes a category: ``News, Media`` -> ``News_Media``."""
    return _BETWEEN_WORDS.sub('_', text).replace('__', '_')


def simulator_message(document: Any, examples: Sequence[RecordedCall], name: str, arguments: Any) -> str:
    """Builds the user message to a general model, from the documentation, up to five cached calls, and the input.

    Args:
        document: The API's documentation. ToolBench's documentation (with ``api_name``) is reduced to name and
            description, as published; other documentation is shown in full.
        examples: Recorded calls of the API, in the cache's order. The last ones are dropped until the rest fits.
        name: Name of the API, if the documentation is not ToolBench's.
        arguments: The input.
    """
    shown = _mapping(document)
    is_toolbench = 'api_name' in shown
    api = {'name': shown['api_name'], 'description': shown.get('api_description')} if is_toolbench else shown
    documented = {'tool_description': shown.get('tool_description') or '', 'api_info': [api or {'name': name}]}
    cached = [(str(to_jsonable(call.arguments)), _stored(call)) for call in examples[:MAX_EXAMPLES]]
    while len(cached) > 1 and len(str(cached)) > MAX_EXAMPLE_CHARS:
        cached.pop()
    return _bounded(
        f'API Documentation:{documented}\nAPI Examples:{str(cached)[:MAX_EXAMPLE_CHARS]}\n'
        f'API Input:{to_jsonable(arguments)}\n'
    )


def mirrorapi_message(document: Any, examples: Sequence[RecordedCall], name: str, arguments: Any) -> str | None:
    """Builds the user message to MirrorAPI, the same for both system prompts.

    Args:
        document: The API's documentation. Documentation in other formats is converted to ToolBench's, with the
            parameters of a JSON Schema.
        examples: Not used.
        name: Name of the API, if the documentation lacks it.
        arguments: The input.

    Returns:
        The message; None if the input is not an object, where the published code raises.
    """
    if not isinstance(arguments, Mapping):
        return None
    shown = _mapping(document)
    documented = {
        'api_name': shown.get('api_name') or shown.get('name') or name,
        'api_description': shown.get('api_description') or shown.get('description') or '',
        'required_parameters': _parameters(shown, is_required=True),
        'optional_parameters': _parameters(shown, is_required=False),
        'tool_description': shown.get('tool_description') or '',
        'tool_name': standard_name(str(shown.get('tool_name') or name.partition('.')[0])),
        'tool_category': standard_category(str(shown.get('category_name') or '')),
    }
    passed = {name: value for name, value in arguments.items() if name != _KEY}
    return _bounded(f'API doc:\n{documented}\n\nRequest:\n{to_jsonable(passed)}')


def read_simulated(reply: str) -> str | None:
    """Parses a general model's reply: a JSON object, alone or in a fence; returns None for anything else."""
    text = strip_reasoning(reply).text
    if '```json' in text:
        text = text.replace('```json', '').replace('```', '').strip()
    value = _json(text)
    if not isinstance(value, dict) or not value.keys() & {'error', 'response'}:
        return None
    return _response(value if 'error' in value else {'error': '', **value})


def read_mirrorapi(reply: str) -> str | None:
    """Parses MirrorAPI's reply, which is often not JSON; returns None without a response.

    The prompts show ``"response": "{"status":0}"``, and replies follow them. A reply that is not JSON is split at its
    keys: the error ends at the response, and the response at the end of the text, closing marks included.
    """
    value = _json(reply)
    if value is None:
        value = _by_marks(reply[:MAX_CHARS])
    if not isinstance(value, dict) or not {'error', 'response'} <= value.keys():
        return None
    if not value['error'] and not value['response']:
        return None
    return _response({'error': value['error'], 'response': value['response']})


def _by_marks(text: str) -> dict[str, str] | None:
    if _MECHANISM not in text:
        found = _PLAIN.search(text)
        return {'error': found[1], 'response': text[found.end() :]} if found else None
    # Three searches, each starting at the end of the one before: one pattern with two lazy parts would take quadratic
    # time on '"mechanism_of_the_api": "' repeated.
    position = 0
    ends = []
    for mark in (_THOUGHT_START, _THOUGHT_END, _ERROR_END):
        found = mark.search(text, position)
        if found is None:
            return None
        ends.append(found)
        position = found.end()
    return {'error': text[ends[1].end() : ends[2].start()], 'response': text[position:]}


def _json(text: str) -> Any:
    """Returns the value of a JSON text; None if it is too long, too deep, not JSON, or ``null``."""
    try:
        return load_json(text, bounded=True) if len(text) <= MAX_CHARS else None
    except ValueError:
        return None


def _response(value: Mapping[str, Any]) -> str | None:
    text = json.dumps(to_jsonable(value))
    return text if len(text) <= MAX_CHARS else None


def _stored(call: RecordedCall) -> Any:
    """Returns the cached response of a call: an object, or the text if this is not an object."""
    value = _json(call.response)
    return to_jsonable(value) if isinstance(value, dict) else call.response


def _mapping(value: Any) -> dict[str, Any]:
    shown = to_jsonable(value)
    return shown if isinstance(shown, dict) else {}


def _parameters(document: Mapping[str, Any], is_required: bool) -> list[Any]:
    """Returns required or optional parameters with ToolBench's ``name``, ``type``, ``description``, ``default``."""
    documented = document.get('required_parameters' if is_required else 'optional_parameters')
    if isinstance(documented, list):
        return documented
    schema = _mapping(document.get('parameters') or document.get('arguments'))
    properties, required = _mapping(schema.get('properties')), schema.get('required')
    names = required if isinstance(required, list) else []
    return [
        {
            'name': name,
            'type': str(property_schema.get('type') or '').upper(),
            'description': property_schema.get('description') or '',
            'default': property_schema.get('default', property_schema.get('example_value', '')),
        }
        for name, property_schema in properties.items()
        if isinstance(property_schema, dict) and (name in names) == is_required
    ]


def _bounded(message: str) -> str:
    return clean_text(message[:MAX_CHARS])
