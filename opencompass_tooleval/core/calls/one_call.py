"""Checks native tool calls, and reads the call of a step that requires exactly one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from json import dumps, loads
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer, strip_reasoning
from opencompass_tooleval.core.calls.tool_calls import ToolCall

METHOD = 'function_calling'
"""Name of native function calling in commands, configs and results."""

NO_CALL = 'call:none'
SEVERAL_CALLS = 'call:several'
UNKNOWN_TOOL = 'name:unknown_tool'
NOT_AN_OBJECT = 'args:not_an_object'
BREAKS_SCHEMA = 'call:schema'


@dataclass(frozen=True)
class OneCall:
    """The call in an answer that should make exactly one.

    Attributes:
        call: The first call; None if there is none.
        reason: The fault of the answer's calls, as ``call:code``; '' if there is exactly one call, of an offered tool,
            and its arguments are an object that is valid under the tool's schema.
    """

    call: ToolCall | None
    reason: str


def one_call(calls: Sequence[ToolCall], schemas: Mapping[str, Mapping[str, Any]]) -> OneCall:
    """Reads the calls of an answer that should make exactly one.

    Args:
        calls: The calls of the answer.
        schemas: The offered tools: name -> JSON Schema of the arguments.
    """
    if not calls:
        return OneCall(None, NO_CALL)
    return OneCall(calls[0], SEVERAL_CALLS if len(calls) > 1 else call_fault(calls[0], schemas))


def why_no_call(answer: Answer) -> str:
    """Returns why an answer has no call: a failure, unfinished thoughts, or just no call."""
    return answer.reason or strip_reasoning(answer.text).reason or NO_CALL


def call_fault(call: ToolCall, schemas: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the fault of a call, as ``call:code``; '' if it has none."""
    if call.name not in schemas:
        return UNKNOWN_TOOL
    if not isinstance(call.arguments, dict):
        return NOT_AN_OBJECT
    return '' if keeps_to(call.arguments, schemas[call.name]) else BREAKS_SCHEMA


def keeps_to(arguments: Any, schema: Mapping[str, Any]) -> bool:
    """Tests if arguments are valid under a JSON Schema of a benchmark or of a tool.

    Raises:
        Exception: jsonschema raises several kinds if the schema is invalid, or has a reference without a target.
            Nothing is fetched.
    """
    from jsonschema.exceptions import ValidationError  # takes 0.1 s, and only native calls need it

    try:
        _validator(dumps(schema, sort_keys=True)).validate(arguments)
    except (ValidationError, RecursionError):
        return False
    return True


@lru_cache(maxsize=4096)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator
    from referencing import Registry

    # By default a reference to a URL is fetched, and the schema may come from an untrusted server.
    return Draft202012Validator(loads(schema), registry=Registry())
