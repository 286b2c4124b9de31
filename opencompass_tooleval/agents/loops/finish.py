"""``Finish``: the function with which a model ends a task of ToolBench."""

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
"""A call of ``Finish`` that stops the published run."""

_RETURN_TYPE, _FINAL_ANSWER = 'return_type', 'final_answer'


@dataclass(frozen=True)
class Finish:
    """Content of a call of ``Finish``.

    Attributes:
        call: The call, for the step; its source is ``''``. Its observation is that of ToolBench's runner.
        is_end: True if it answers, gives up, or cannot be made.
        final_answer: The answer to the user; may be empty.
        stopped: ``finish:gave_up``, :data:`UNREADABLE`, or ``''``.
    """

    call: AnsweredCall
    is_end: bool
    final_answer: str = ''
    stopped: str = ''

    @property
    def is_answer(self) -> bool:
        """True if it gives an answer."""
        return self.is_end and not self.stopped


def read_finish(arguments: Any, name: str = FINISH.name, written: str | None = None) -> Finish:
    """Reads the arguments of ``Finish`` as ToolBench's runner does: an object, or its text.

    Text is read as JSON with control characters. Other text is searched for ``"return_type": "`` and
    ``"final_answer": "``, so that an answer with bare quotes, or one that is truncated, counts. An empty answer counts
    too. Without ``return_type``, with another value of it, or with ``give_answer`` without an answer, the call is no
    end. JSON that is no object stops the published run, and so does a called name that is only an ending of
    ``Finish``, such as ``ish``: both end it here without an answer.

    Args:
        arguments: Arguments of the call.
        name: The name that the model gave.
        written: The arguments as the model wrote them, if known; they are read instead.
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
    """Reads ``Finish`` from a text that is no JSON; the published search requires one blank after each colon."""
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
    """Returns the text for the user in a final answer of ToolBench's files: the answer passed to ``Finish``, or itself.

    Files of methods without ``Finish`` have the answer itself, which may be JSON.
    """
    finish = read_finish(final_answer)
    return finish.final_answer if finish.is_answer else final_answer


def finish_call(final_answer: str) -> ToolCall:
    """Returns the call that gives an answer."""
    return ToolCall(FINISH.name, {'return_type': GIVE_ANSWER, 'final_answer': final_answer})
