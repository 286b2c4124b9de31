"""The function with which a model ends a task of ToolBench: ``Finish``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.agents.steps import MAX_TEXT, bounded_value
from opencompass_tooleval.agents.trajectory import GAVE_UP, AnsweredCall
from opencompass_tooleval.core.jsonable import bounded_text
from opencompass_tooleval.core.reading import parse_enclosed
from opencompass_tooleval.core.tool_calls import ToolCall
from opencompass_tooleval.core.tool_set import ToolSchema

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
"""As published with ToolBench."""


@dataclass(frozen=True)
class Finish:
    """What a call of ``Finish`` says.

    Attributes:
        call: The call, for the step; its source is ``''``. Its observation is that of ToolBench's server where it ends
            something, and an error where it does not.
        is_end: Whether it answers or gives up.
        final_answer: What the user is told.
        stopped: ``finish:gave_up``, or ``''``.
    """

    call: AnsweredCall
    is_end: bool
    final_answer: str = ''
    stopped: str = ''


def read_finish(arguments: Any) -> Finish:
    """Reads the arguments of ``Finish``, whatever they are: an object, or its text.

    Without ``return_type``, with another value, or with an answer to give and none given, it ends nothing.
    """
    passed = parse_enclosed(arguments, '{', '}').value if isinstance(arguments, str) else arguments
    passed = passed if isinstance(passed, dict) else {}
    return_type, final_answer = passed.get('return_type'), bounded_text(passed.get('final_answer'), MAX_TEXT)
    if return_type == GIVE_UP:
        return Finish(_call(arguments, response='chose to give up and restart'), True, stopped=GAVE_UP)
    if return_type == GIVE_ANSWER and final_answer:
        return Finish(_call(arguments, response='successfully giving the final answer.'), True, final_answer)
    if return_type is None:
        return Finish(_call(arguments, error='must have "return_type"'), False)
    if return_type == GIVE_ANSWER:
        return Finish(_call(arguments, error='must have "final_answer"'), False)
    return Finish(_call(arguments, error='"return_type" is not a valid choice'), False)


def _call(arguments: Any, error: str = '', response: str = '') -> AnsweredCall:
    # Of its own the server writes {"response":"..."}, as the published runs have it; its errors are in none of them.
    text = json.dumps({'error': error} if error else {'response': response}, separators=(',', ':'))
    return AnsweredCall(FINISH.name, bounded_value(arguments), text, whole_chars=len(text))


def finish_call(final_answer: str) -> ToolCall:
    """The call that gives an answer."""
    return ToolCall(FINISH.name, {'return_type': GIVE_ANSWER, 'final_answer': final_answer})
