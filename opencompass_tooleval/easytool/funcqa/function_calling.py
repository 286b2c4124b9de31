"""FuncQA with its tools offered natively: rounds of calls and results, until an answer calls nothing."""

from __future__ import annotations

from opencompass_tooleval.core.answer import Answer, as_answer, strip_reasoning
from opencompass_tooleval.core.function_calling import METHOD
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.core.tool_calls import ToolCall, calls_text, write_answer
from opencompass_tooleval.core.tool_messages import tool_messages
from opencompass_tooleval.core.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.easytool.funcqa import trajectory
from opencompass_tooleval.easytool.funcqa.arithmetic import PARAMETER, TOOL_NAMES, call_tool
from opencompass_tooleval.easytool.funcqa.dialogue import Options, gold_answer, gold_parameters
from opencompass_tooleval.easytool.funcqa.prompts import FUNCTION_CALLING
from opencompass_tooleval.easytool.funcqa.react_prompts import CALLING_FORMS
from opencompass_tooleval.easytool.funcqa.records import Record
from opencompass_tooleval.easytool.funcqa.trajectory import Trajectory

PARAMETERS = {
    'type': 'object',
    'properties': {PARAMETER: {'type': 'array', 'items': {'type': 'number'}}},
    'required': [PARAMETER],
}
"""Of every tool: one list of numbers."""

TOOLS = ToolSet([ToolSchema(name, CALLING_FORMS[name], PARAMETERS) for name in TOOL_NAMES])
"""The 13 tools with their calling forms, which is all the documentation that the published data has."""


def function_calling(record: Record, options: Options) -> Rounds[Trajectory]:
    """Runs the method; a step is one answer of the model, and all calls of an answer are carried out.

    Args:
        record: The question.
        options: Of these, ``max_steps``, ``max_calls`` and ``rounded``.
    """
    messages: tuple[Message, ...] = (Message('system', FUNCTION_CALLING), Message('user', record.question))
    asked, golds = record.question, function_calling_golds(record)
    calls: list[trajectory.ToolCall] = []
    rounds: list[dict[str, str]] = []
    final, stopped = '', trajectory.TOO_MANY_STEPS
    for step in range(options.max_steps):
        answer = as_answer((yield Turn(messages, golds[min(step, len(golds) - 1)], TOOLS)))
        rounds.append({'asked': asked, 'answer': _as_text(answer)})
        if not answer.calls:
            final, stopped = str(strip_reasoning(answer)), ''
            break
        if len(calls) + len(answer.calls) > options.max_calls:
            break
        results = [call_tool(call.name, call.arguments, options.rounded) for call in answer.calls]
        replies = [result.text for result in results]
        messages += tool_messages(answer, replies, len(calls))
        asked = '\n'.join(replies)
        made = zip(answer.calls, results, strict=True)
        calls += [trajectory.ToolCall.of(call.name, call.arguments, result) for call, result in made]
    settings = {'max_steps': options.max_steps, 'max_calls': options.max_calls, 'rounded': options.rounded}
    return Trajectory(METHOD, tuple(calls), final, tuple(rounds), stopped, settings)


def function_calling_golds(record: Record) -> list[str]:
    """What a perfect model answers in each round: the steps of the published calculation, then the answer."""
    calls = [write_answer('', [ToolCall(step.tool, gold_parameters(step))]) for step in record.steps]
    return [*calls, write_answer(gold_answer(record))]


def _as_text(answer: Answer) -> str:
    """What was said and called, for the record."""
    return '\n'.join(filter(None, (str(answer), calls_text(answer.calls))))
