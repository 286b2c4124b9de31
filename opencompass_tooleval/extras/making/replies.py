"""Reads the replies of the models that make tasks and rewrite descriptions.

Replies are hostile: nothing is evaluated, everything is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.agents.tasks.goal import FORBIDDEN, MISSING_PARAMETER
from opencompass_tooleval.core.calls.answer import strip_reasoning
from opencompass_tooleval.core.calls.tool_set import MAX_DESCRIPTION, ToolSchema
from opencompass_tooleval.core.calls.trajectory import asks_back
from opencompass_tooleval.core.scoring.typed_result import FORMS, NONE
from opencompass_tooleval.core.text.bounds import MAX_CHARS, beyond_bounds
from opencompass_tooleval.core.text.jsonable import clean_text
from opencompass_tooleval.core.text.reading import json_values
from opencompass_tooleval.extras.making.facts import leaked_names
from opencompass_tooleval.extras.making.wording import rules_out
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
NO_FORM = 'reply:no_form'
NO_QUERY = 'reply:no_query'
TOO_LONG = 'reply:too_long'
LEAK = 'query:leak'
UNCHECKED = 'query:unchecked'
NO_BAN = 'query:no_ban'
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


@dataclass(frozen=True)
class Query:
    """A query as a model writes it.

    Attributes:
        text: The query.
        form: Form of its result, one of :data:`~opencompass_tooleval.core.scoring.typed_result.FORMS`.
        is_solvable: Whether the refining model says that the tools can do it.
    """

    text: str
    form: str
    is_solvable: bool = True


def read_query(reply: str, tools: Sequence[ToolSchema], kind: str, form: str = '') -> Query | list[Fault]:
    """Reads a query and the form of its result.

    A query that names a tool or a parameter is a fault, and so is a question without a result.

    Args:
        reply: The reply.
        tools: The offered tools.
        kind: Kind of the task; of ``missing_parameter`` the form is ``none``, since the agent has to ask.
        form: The form where the reply states none.
    """
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
    stated = NONE if kind == MISSING_PARAMETER else str(read.get('result', form)).strip().casefold()
    if stated not in FORMS:
        return [Fault(NO_FORM, f'"result" has to be one of {", ".join(FORMS)}.')]
    if stated == NONE and kind != MISSING_PARAMETER and asks_back(query):
        return [Fault(UNCHECKED, 'The query asks a question, so that "result" cannot be none.')]
    return Query(query, stated, read.get('solvable') is not False)


def read_refined(reply: str, tools: Sequence[ToolSchema], kind: str, form: str) -> Query | list[Fault]:
    """Reads a refined query; where its kind is ``forbidden``, the reply has to cite the words of the ban.

    Args:
        reply: The reply; without a form, that of ``form``; solvable if it does not deny that.
        tools: The offered tools.
        kind: Kind of the task.
        form: The form of the result before.
    """
    query, read = read_query(reply, tools, kind, form), read_object(reply, 'query')
    if isinstance(query, Query) and isinstance(read, dict) and kind == FORBIDDEN:
        cited = read.get('forbids')
        if not isinstance(cited, str) or not rules_out(query.text, cited):
            return [Fault(NO_BAN, 'As "forbids", cite the words of the query that rule something out; it needs some.')]
    return query


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
