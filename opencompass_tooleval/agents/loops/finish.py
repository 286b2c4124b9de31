"""``Finish``: the function that a model calls to end a ToolBench task."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.agents.loops.steps import MAX_TEXT, bounded_value, bounded_written
from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS, ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import GAVE_UP, AnsweredCall
from opencompass_tooleval.core.text.jsonable import bounded_text

GIVE_ANSWER = 'give_answer'
GIVE_UP = 'give_up_and_restart'

FINISH = ToolSchema(
    'Finish',
    'If you believe that you have obtained a result that can answer the task, please call this function to provide the '
    'final answer. Alternatively, if you recognize that you are unable to proceed with the task in the current state, '
    'call this function to restart. Remember: you must ALWAYS call this function at the end of your attempt, and the '
    'only part that will be shown to the user is the final answer, so it should contain sufficient information.',
    {
        'type': 'object',
        'properties': {
            'return_type': {'type': 'string', 'enum': [GIVE_ANSWER, GIVE_UP]},
            'final_answer': {
                'type': 'string',
                'description': 'The final answer you want to give the user. You should have this field if '
                '"return_type"=="give_answer"',
            },
        },
        'required': ['return_type'],
    },
)
"""The published function."""

UNREADABLE = 'finish:unreadable'
"""Reason of a ``Finish`` call on which the published run stops."""

_RETURN_TYPE, _FINAL_ANSWER = 'return_type', 'final_answer'


@dataclass(frozen=True)
class Finish:
    """Content of a call of ``Finish``.

    Attributes:
        call: The call, for the step; its source is ``''``. Its observation is the text of ToolBench's runner.
        is_end: True if the call gives an answer, gives up, or stops the run.
        final_answer: The answer to the user; may be empty.
        stopped: ``finish:gave_up``, :data:`UNREADABLE`, or ``''``.
    """

    call: AnsweredCall
    is_end: bool
    final_answer: str = ''
    stopped: str = ''

    @property
    def is_answer(self) -> bool:
        """True if the call gives an answer."""
        return self.is_end and not self.stopped


def read_finish(arguments: Any, name: str = FINISH.name, written: str | None = None) -> Finish:
    """Parses the arguments of ``Finish``, an object or its text, as ToolBench's runner does.

    Text is parsed as JSON, with control characters allowed. If this fails, it is searched for ``"return_type": "``
    and ``"final_answer": "``, so that an answer with bare quotes, or a truncated one, counts. An empty answer counts
    too. The call does not end the task if ``return_type`` is missing or unknown, or if ``give_answer`` has no answer.
    The published run stops at JSON that is not an object, and at a name that only ends ``Finish``, such as ``ish``:
    here both end the task without an answer.

    Args:
        arguments: Arguments of the call.
        name: The name that the model gave.
        written: The arguments as the model wrote them, if known; parsed in place of ``arguments``.
    """
    passed = _passed(arguments if written is None else written)

    def answered(observation: str) -> AnsweredCall:
        text = bounded_written(written)
        return AnsweredCall(
            FINISH.name, bounded_value(arguments), observation, observation_chars=len(observation), written=text
        )

    if not isinstance(passed, dict) or name != FINISH.name:
        call = AnsweredCall(bounded_text(name, MAX_NAME_CHARS), bounded_value(arguments), '')
        return Finish(call, True, stopped=UNREADABLE)
    if _RETURN_TYPE not in passed:
        return Finish(answered('{error:"must have "return_type""}'), False)
    if passed[_RETURN_TYPE] == GIVE_UP:
        return Finish(answered('{"response":"chose to give up and restart"}'), True, stopped=GAVE_UP)
    if passed[_RETURN_TYPE] != GIVE_ANSWER:
        return Finish(answered('{error:""return_type" is not a valid choice"}'), False)
    if _FINAL_ANSWER not in passed:
        return Finish(answered('{error:"must have "final_answer""}'), False)
    final_answer = bounded_text(passed[_FINAL_ANSWER], MAX_TEXT)
    return Finish(answered('{"response":"successfully giving the final answer."}'), True, final_answer)


def _passed(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return _searched(arguments)


def _searched(text: str) -> dict[str, str]:
    """Searches a text that is not JSON for ``Finish``'s arguments; as published, one blank follows each colon."""
    found = {}
    _, is_there, behind = text.partition(f'"{_RETURN_TYPE}": "')
    if is_there:
        known = (value for value in (GIVE_ANSWER, GIVE_UP) if f'"{_RETURN_TYPE}": "{value}"' in text)
        found[_RETURN_TYPE] = next(known, behind)
    _, is_there, behind = text.partition(f'"{_FINAL_ANSWER}": "')
    if is_there:
        closed = behind.rstrip(' \t\r\n,}]')
        found[_FINAL_ANSWER] = closed[:-1] if closed.endswith('"') else behind  # else it is truncated
    return found


def told_user(final_answer: str) -> str:
    """Returns the text for the user from a final answer in ToolBench's files.

    The answer is that passed to ``Finish``. Methods without ``Finish`` store the text itself, which may be JSON.
    """
    finish = read_finish(final_answer)
    return finish.final_answer if finish.is_answer else final_answer


def finish_call(final_answer: str) -> ToolCall:
    """Returns the call that gives an answer."""
    return ToolCall(FINISH.name, {'return_type': GIVE_ANSWER, 'final_answer': final_answer})
