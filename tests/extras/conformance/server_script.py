"""Scripts for ``tools/serve_model.py``: a server that answers every request right, and some with faults of servers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import opencompass_tooleval.extras.conformance.files as conformance
from opencompass_tooleval.extras.conformance.prompts import build_messages
from opencompass_tooleval.extras.conformance.records import Record, load_records

Message = dict[str, Any]


@cache
def _records() -> dict[str, Record]:
    """Text of all messages -> request."""
    folder = Path(conformance.__file__).parent
    return {'\n'.join(one.content for one in build_messages(record)): record for record in load_records(folder)}


def _record(messages: list[Message], request: dict[str, Any]) -> Record:
    record = _records()['\n'.join(message['content'] or '' for message in messages)]
    offered = [tool['function']['name'] for tool in request.get('tools', [])]
    assert offered == [tool.name for tool in record.tools], offered
    assert request.get('tool_choice') == (record.choice or 'auto' if offered else None), record.id
    return record


def right(messages: list[Message], request: dict[str, Any]) -> dict[str, Any]:
    record = _record(messages, request)
    calls = [{'name': call.name, 'arguments': call.arguments} for call in record.calls]
    return {'content': f'Result: {record.result}' if record.form else None, 'calls': calls}


def loses_calls(messages: list[Message], request: dict[str, Any]) -> dict[str, Any]:
    """Keeps the first call of several, as some parsers do."""
    answer = right(messages, request)
    return {**answer, 'calls': answer['calls'][:1]}


def drops_system(messages: list[Message], request: dict[str, Any]) -> dict[str, Any]:
    """Does not know the system text where tools are offered, and takes a required call for a wish."""
    record = _record(messages, request)
    if (record.kind == 'system_text' and record.tools) or record.choice:
        return {'content': 'I do not know.'}
    return right(messages, request)
