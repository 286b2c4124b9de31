"""Counts the answers that show faults of a server's parser of native calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer, unfence, visible_text
from opencompass_tooleval.core.calls.one_call import METHOD, NO_CALL
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.calls.written.formats import NONE
from opencompass_tooleval.core.calls.written.reading import read_reference, written_format
from opencompass_tooleval.core.text.jsonable import MAX_CHARS

EVIDENCE = 'call_evidence'
"""Key of the counts in rows of predictions of dialogues, and in results."""
IN_TEXT, TYPED, AS_TEXT = 'in_text:', 'typed', 'as_text'
"""Names of counts. ``in_text:FORMAT``: answers with calls in their text. ``typed``: calls with an argument that by its
schema is no string. ``as_text``: those of them in which all such arguments are strings."""
LESS_THOUGHT = 'less_thought'
"""Name of the count of answers to requests without earlier thoughts, whose messages a loop has changed since."""
_STARTS, _ENDS = ('{', '[', '<', '```'), ('}', ']', ')', '>', '```')
"""Characters with which written calls begin and end."""
JSON = 'json'
"""Name of the format of calls that are plain JSON objects."""


def call_evidence(text: str, calls: Iterable[ToolCall], tools: ToolSet) -> Counter[str]:
    """Returns the counts that are not 0 for one answer.

    Args:
        text: Its text.
        calls: Its native calls.
        tools: The offered tools.
    """
    counts: Counter[str] = Counter()
    for call in (calls := list(calls)):
        if is_text := _are_texts(call, tools.schemas.get(tools.sent_name(call.name), {})):
            counts.update({TYPED: 1, AS_TEXT: int(all(is_text))})
    if not calls and (name := format_in_text(text, tools)):
        counts[f'{IN_TEXT}{name}'] += 1
    return +counts


def _are_texts(call: ToolCall, schema: Mapping[str, Any]) -> list[bool]:
    """Returns, for each argument that by its schema is no string, whether it is one."""
    properties = schema.get('properties')
    if not isinstance(properties, Mapping) or not isinstance(call.arguments, dict):
        return []
    parts = ((properties.get(name), value) for name, value in call.arguments.items())
    typed = ((part.get('type'), value) for part, value in parts if isinstance(part, Mapping))
    return [
        isinstance(value, str) for kind, value in typed if kind in ('integer', 'number', 'boolean', 'array', 'object')
    ]


def format_in_text(text: str, tools: ToolSet) -> str:
    """Returns the format of calls of offered tools in the text of an answer; '' if the text has none."""
    return _in_text(text, tools)[0]


def _in_text(text: str, tools: ToolSet) -> tuple[str, tuple[ToolCall, ...]]:
    if len(text) > MAX_CHARS or not tools.tools:
        return '', ()
    if (name := written_format(text, tools)) != NONE:
        return name, read_reference(text, name, tools).calls
    calls = read_reference(unfence(visible_text(Answer(text)).text), 'llama3_json', tools).calls
    are_calls = calls and all(call.name in tools.schemas and isinstance(call.arguments, dict) for call in calls)
    return (JSON, calls) if are_calls else ('', ())


def without_call_in_text(trajectory: Trajectory, tools: Iterable[ToolSchema]) -> Trajectory:
    """Returns a trajectory of native calls without its final answer if that ends with a call the server did not read.

    An answer that only quotes earlier calls is kept.
    """
    answer = visible_text(Answer(trajectory.final_answer)).text.strip()
    if trajectory.loop != METHOD or not answer.endswith(_ENDS):
        return trajectory
    calls = _in_text(trajectory.final_answer, ToolSet(tuple(tools)))[1]
    made = [(call.name, call.arguments) for step in trajectory.steps for call in step.calls]
    if all((call.name, call.arguments) in made for call in calls) and not (calls and answer.startswith(_STARTS)):
        return trajectory
    return replace(trajectory, final_answer='', stopped=NO_CALL)
