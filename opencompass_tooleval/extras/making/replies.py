"""Reads the replies of the models that make tasks and rewrite descriptions.

Replies are hostile: nothing is evaluated, everything is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencompass_tooleval.core.calls.answer import strip_reasoning
from opencompass_tooleval.core.calls.tool_set import MAX_DESCRIPTION, ToolSchema
from opencompass_tooleval.core.text.bounds import MAX_CHARS, beyond_bounds
from opencompass_tooleval.core.text.jsonable import clean_text
from opencompass_tooleval.core.text.reading import json_values
from opencompass_tooleval.extras.making.facts import leaked_names
from opencompass_tooleval.instructions.reply import EMPTY, NOT_TEXT
from opencompass_tooleval.instructions.reply import TOO_LONG as LONG_DESCRIPTION
from opencompass_tooleval.instructions.validate import Fault
from opencompass_tooleval.instructions.validate_description import check_description
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc

MAX_QUERY = 2_000
MAX_STEPS = 20
_MAX_STEP = 500
_TRIES = 32

NO_JSON = 'reply:no_json'
NO_QUERY = 'reply:no_query'
TOO_LONG = 'reply:too_long'
LEAK = 'query:leak'
NOT_SOLVABLE = 'query:not_solvable'
NO_STEPS = 'reply:no_steps'
NO_VERDICT = 'reply:no_verdict'


def read_object(reply: str, key: str) -> dict[str, Any] | Fault:
    """Reads the first JSON object of a reply that has a key; thoughts of a reasoning model are left out."""
    text = strip_reasoning(reply).text
    if len(text) > MAX_CHARS:
        return Fault(TOO_LONG, 'The reply is too long.')
    for value in json_values(text, '{', _TRIES):
        if isinstance(value, dict) and key in value and not beyond_bounds(value):
            return value
    return Fault(NO_JSON, f'The reply holds no JSON object with "{key}".')


def read_query(reply: str, tools: Sequence[ToolSchema]) -> str | list[Fault]:
    """Reads a query; one that names a tool or a parameter is a fault."""
    read = read_object(reply, 'query')
    if isinstance(read, Fault):
        return [read]
    query = clean_text(read['query']).strip() if isinstance(read['query'], str) else ''
    if not any(letter.isalnum() for letter in query):  # '...' is a copy of the form
        return [Fault(NO_QUERY, 'The query is empty.')]
    if len(query) > MAX_QUERY:
        return [Fault(TOO_LONG, f'The query has more than {MAX_QUERY} characters.')]
    leaks = leaked_names(query, tools)
    if leaks:
        return [Fault(LEAK, f'The query must not contain the technical names {", ".join(leaks[:5])}.')]
    return query


def read_refined(reply: str, tools: Sequence[ToolSchema]) -> tuple[str, bool] | list[Fault]:
    """Reads a refined query, and whether it is solvable; a reply that does not say so means that it is."""
    query = read_query(reply, tools)
    if isinstance(query, list):
        return query
    read = read_object(reply, 'query')
    return query, not (isinstance(read, dict) and read.get('solvable') is False)


def read_plan(reply: str) -> tuple[str, ...] | list[Fault]:
    """Reads the steps of a plan."""
    read = read_object(reply, 'steps')
    if isinstance(read, Fault):
        return [read]
    steps = read['steps'] if isinstance(read['steps'], list) else []
    written = [step for step in steps if isinstance(step, str) and any(letter.isalnum() for letter in step)]
    texts = tuple(clean_text(step).strip()[:_MAX_STEP] for step in written)
    if not texts or len(texts) > MAX_STEPS:
        return [Fault(NO_STEPS, f'"steps" has to be a list of 1 to {MAX_STEPS} sentences.')]
    return texts


def read_verdict(reply: str) -> tuple[bool, str] | list[Fault]:
    """Reads a reviewer's verdict: whether it accepts, and why."""
    read = read_object(reply, 'accept')
    if isinstance(read, Fault):
        return [read]
    if not isinstance(read['accept'], bool):
        return [Fault(NO_VERDICT, '"accept" has to be true or false.')]
    return read['accept'], clean_text(str(read.get('why', '')))[:_MAX_STEP]


def longest_description(name: str) -> int:
    """Returns the most characters of a tool's description that servers accept, beside its name."""
    return MAX_DESCRIPTION - len(f'{name}: ')


def read_new_description(reply: str, doc: ToolDoc) -> str | list[Fault]:
    """Reads the rewritten description of a tool; a reply that changes anything else is a fault.

    Args:
        reply: The reply.
        doc: The tool's documentation, whose words the description has to share.
    """
    read = read_object(reply, 'description')
    if isinstance(read, Fault):
        return [read]
    value, most = read['description'], longest_description(doc.name)
    if len(read) > 1 or not isinstance(value, str):
        return [Fault(NOT_TEXT, 'The object must hold the text "description" alone: all else of the tool stays.')]
    text = clean_text(value).strip()
    if not text:
        return [Fault(EMPTY, 'The description is empty.')]
    if len(text) > most:
        return [Fault(LONG_DESCRIPTION, f'The description is longer than {most} characters.')]
    return check_description(doc, text) or text
