"""What is wrong with native calls of tools, and the one call that a step asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from json import dumps, loads
from typing import Any

from opencompass_tooleval.core.answer import Answer, strip_reasoning
from opencompass_tooleval.core.tool_calls import ToolCall

METHOD = 'function_calling'
"""How commands, configs and results name it."""

NO_CALL = 'call:none'
SEVERAL_CALLS = 'call:several'
UNKNOWN_NAME = 'call:unknown_name'
NOT_JSON = 'call:not_json'
BREAKS_SCHEMA = 'call:schema'


@dataclass(frozen=True)
class OneCall:
    """The call of an answer that should make one.

    Attributes:
        call: The first; None if there is none.
        reason: What is wrong with the answer's calls, as ``call:code``; '' if there is exactly one, of a tool that was
            offered, whose arguments are an object and keep to its schema.
    """

    call: ToolCall | None
    reason: str


def one_call(calls: Sequence[ToolCall], schemas: Mapping[str, Mapping[str, Any]]) -> OneCall:
    """Reads calls where one is asked for.

    Args:
        calls: Of the answer.
        schemas: The tools that were offered: name -> JSON Schema of the arguments.
    """
    if not calls:
        return OneCall(None, NO_CALL)
    return OneCall(calls[0], SEVERAL_CALLS if len(calls) > 1 else call_fault(calls[0], schemas))


def why_no_call(answer: Answer) -> str:
    """Why an answer calls nothing: it failed, its thoughts never end, or it just has no call."""
    return answer.reason or strip_reasoning(answer.text).reason or NO_CALL


def call_fault(call: ToolCall, schemas: Mapping[str, Mapping[str, Any]]) -> str:
    """What is wrong with a call, as ``call:code``; '' if nothing is."""
    if call.name not in schemas:
        return UNKNOWN_NAME
    if not isinstance(call.arguments, dict):
        return NOT_JSON
    return '' if keeps_to(call.arguments, schemas[call.name]) else BREAKS_SCHEMA


def keeps_to(arguments: Any, schema: Mapping[str, Any]) -> bool:
    """Whether arguments keep to a JSON Schema, which is the benchmark's, not the model's."""
    from jsonschema.exceptions import ValidationError  # 0.1 s, for those who score native calls only

    try:
        _validator(dumps(schema, sort_keys=True)).validate(arguments)
    except (ValidationError, RecursionError):
        return False
    return True


@lru_cache(maxsize=4096)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(loads(schema))
