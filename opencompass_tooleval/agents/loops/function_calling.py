"""The loop ``function_calling``: tools are offered natively, and all calls in an answer are made in order.

``stop_on`` says what ends a task:

* ``text``: an answer without a call is the final answer (T-Eval, UltraTool).
* ``tool``: ToolBench's function ``Finish`` is offered beside the tools, and gives the answer or gives up.

A reminder follows an answer that neither calls a tool nor ends the task (no text; with ``tool``, no call). The second
such answer in a row ends the task with ``finish:missing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opencompass_tooleval.agents.loops import prompts, steps
from opencompass_tooleval.agents.loops.finish import FINISH, Finish, finish_call, read_finish
from opencompass_tooleval.agents.loops.steps import MAX_TEXT, Chain, answered_call, repeated_arguments
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.prompts import MAX_OBSERVATION
from opencompass_tooleval.core.calls.answer import Answer, visible_text
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message, tool_messages
from opencompass_tooleval.core.calls.one_call import METHOD, NO_CALL, SEVERAL_CALLS
from opencompass_tooleval.core.calls.tool_calls import ToolCall, write_answer
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.calls.trajectory import (
    NOT_FINISHED,
    OVER_CONTEXT,
    TOO_MANY_CALLS,
    TOO_MANY_STEPS,
    AnsweredCall,
    Trajectory,
)
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.environments.environment import Session

BY_TEXT, BY_TOOL = 'text', 'tool'
ENDS = (BY_TEXT, BY_TOOL)
"""The ways to end a task."""


class FunctionCalling:
    """Function calling.

    The oracle model makes one of ``oracle_calls`` per answer, and then ends with
    :attr:`~opencompass_tooleval.agents.tasks.task.Task.gold_answer`.

    Args:
        max_steps: Maximum number of the model's answers per task.
        max_calls: Maximum number of calls per task; further calls in an answer are not made.
        max_observation: Number of characters of an observation that the model sees; default 20,000, and ToolBench's
            1,024 with ``stop_on='tool'``.
        stop_on: ``text``: an answer without a call ends the task; ``tool``: a call of ``Finish`` does. Calls after
            ``Finish`` in the same answer are not made.
        parallel: True asks the server for several calls per answer, False for one; None leaves it to the server. With
            False only the first call of an answer is made, since such chat templates accept only one call.

    Raises:
        ValueError: ``stop_on`` is unknown, or a limit is below 1.
    """

    systems = prompts.FUNCTION_CALLING
    """Language -> system prompt, if an answer without a call ends the task."""

    reminds = True
    """True if a reminder follows an empty answer; False if an empty answer ends the task."""

    splits_answers = True
    """True to make the first calls of an answer that has too many; False to make no call of it."""

    def __init__(
        self,
        *,
        max_steps: int = 20,
        max_calls: int = 100,
        max_observation: int | None = None,
        stop_on: str = BY_TEXT,
        parallel: bool | None = None,
    ) -> None:
        if stop_on not in ENDS:
            raise ValueError(f'stop_on is {stop_on!r}; it is one of {", ".join(ENDS)}')
        if max_observation is None:
            max_observation = MAX_OBSERVATION if stop_on == BY_TOOL else MAX_TEXT
        if min(max_steps, max_calls, max_observation) < 1:
            raise ValueError('max_steps, max_calls and max_observation must be at least 1')
        self._max_steps = max_steps
        self._max_calls = max_calls
        self._max_observation = min(max_observation, MAX_TEXT)
        self._stop_on = stop_on
        self._parallel = parallel

    @property
    def settings(self) -> dict[str, Any]:
        """Options for the trajectory's settings."""
        return {
            'max_steps': self._max_steps,
            'max_calls': self._max_calls,
            'max_observation': self._max_observation,
            'stop_on': self._stop_on,
            'parallel': self._parallel,
            'prompts': 'tooleval',
        }

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        """Runs a task; a step is one answer of the model.

        Args:
            task: The task.
            session: Answers its calls.
        """
        tools = ToolSet((*task.tools, FINISH) if self._stop_on == BY_TOOL else task.tools, self._parallel)
        conversation, golds = self._beginning(task), self._golds(task)
        chain = Chain(METHOD, self.settings)
        was_reminded = False
        calls_left = self._max_calls
        for number in range(self._max_steps):
            request = ModelRequest(conversation, golds[min(number, len(golds) - 1)], tools)
            reply = yield from steps.ask(request, chain.omitted_observations)
            answer, chain.omitted_observations = reply
            if reply.is_over_context:
                return chain.end(stopped=OVER_CONTEXT)
            if answer.calls:
                counted = answer.calls[:1] if self._parallel is False else answer.calls
                if len(counted) > calls_left and not self.splits_answers:
                    calls_left = 0
                carried_out, finish = yield from self._carry_out(counted, session, calls_left)
                ignored = SEVERAL_CALLS if len(counted) < len(answer.calls) else ''
                chain.add(answer, carried_out, ignored if carried_out else TOO_MANY_CALLS)
                if finish:
                    return chain.end(finish.final_answer, finish.stopped)
                if len(carried_out) < len(counted):
                    return chain.end(stopped=TOO_MANY_CALLS)
                conversation += self._continuation(answer, carried_out, conversation)
                calls_left -= sum(bool(call.source) for call in carried_out)
                was_reminded = False
                continue
            visible = visible_text(answer)
            if self._stop_on == BY_TEXT and not (visible.reason and self.reminds):
                chain.add(answer, reason=visible.reason or '')
                return chain.end(visible.text)
            chain.add(answer, reason=visible.reason or NO_CALL)
            if was_reminded:
                return chain.end(stopped=NOT_FINISHED)
            conversation += self._reminder(Answer(visible.text, sent=answer.sent), task.language)
            was_reminded = True
        return chain.end(stopped=TOO_MANY_STEPS)

    def _carry_out(
        self, calls: Sequence[ToolCall], session: Session, calls_left: int
    ) -> Dialogue[tuple[list[AnsweredCall], Finish | None]]:
        """Makes at most ``calls_left`` tool calls; returns them, and the ``Finish`` that ends the task, if any."""
        carried_out: list[AnsweredCall] = []
        for call in calls:
            if self._stop_on == BY_TOOL and call.name.strip() == FINISH.name:
                finish = read_finish(call.arguments, written=call.written)
                carried_out.append(finish.call)
                if finish.is_end:
                    return carried_out, finish
                continue
            if not calls_left:
                break
            calls_left -= 1
            observation = yield from session.ask(call.name, call.arguments)
            carried_out.append(
                answered_call(call.name, call.arguments, observation, self._max_observation, call.written)
            )
        return carried_out, None

    def _beginning(self, task: Task) -> tuple[Message, ...]:
        systems = prompts.FUNCTION_CALLING_FINISH if self._stop_on == BY_TOOL else self.systems
        return Message('system', systems[task.language]), Message('user', task.query)

    def _continuation(
        self, answer: Answer, carried_out: list[AnsweredCall], earlier: tuple[Message, ...]
    ) -> tuple[Message, ...]:
        """Returns the answer with the calls that were made, and their observations, for the conversation."""
        pairs = zip(answer.calls, carried_out, strict=False)
        calls = tuple(ToolCall(call.name, repeated_arguments(call.arguments), call.id) for call, _ in pairs)
        shown = Answer(bounded_text(visible_text(answer).text, MAX_TEXT), calls=calls, sent=answer.sent)
        return tool_messages(shown, [call.observation for call in carried_out], earlier)

    def _reminder(self, answer: Answer, language: str) -> tuple[Message, ...]:
        reminders = prompts.GO_ON_FINISH if self._stop_on == BY_TOOL else prompts.GO_ON
        shown = replace(answer, text=bounded_text(answer.text, MAX_TEXT))
        return *tool_messages(shown, ()), Message('user', reminders[language])

    def _golds(self, task: Task) -> list[str]:
        calls = [write_answer('', [ToolCall(call.name, call.arguments)]) for call in task.oracle_calls]
        if self._stop_on == BY_TOOL:
            return [*calls, write_answer('', [finish_call(task.gold_answer)])]
        return [*calls, write_answer(task.gold_answer)]
