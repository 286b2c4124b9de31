"""The loop ``react``: T-Eval's text protocol (Thought, Action, Action Input, Response), run by lagent's ReAct agent.

The system prompt is lagent's own English one, as T-Eval's authors ran it, and so is what is said before the last
answer. ``Final Answer:`` or the action ``FinishAction`` ends a task. What is ours where lagent fails is listed in
:mod:`opencompass_tooleval.host.lagent_bridge`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.agents import context, prompts
from opencompass_tooleval.agents.steps import MAX_TEXT, Chain, answered_call, bounded_value
from opencompass_tooleval.agents.task import Task
from opencompass_tooleval.agents.trajectory import NO_ROOM, NOT_FINISHED, TOO_MANY_STEPS, AnsweredCall, Trajectory
from opencompass_tooleval.core.answer import EMPTY, Answer, spoken
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.environments.environment import Session

NO_ACTION = 'format:no_match'
"""An answer that has neither an action nor a final answer."""

NO_ARGUMENTS = '{}'
"""What a model may pass to ``FinishAction``, as T-Eval's gold steps do: it finishes, and tells the user nothing."""


@dataclass(frozen=True)
class _Told:
    """What an agent of lagent is told of a call."""

    text: str
    error: str


class _NoRoomError(Exception):
    """What is asked is too long though no observation is left in it."""


class ReAct:
    """ReAct in text.

    Tools are shown by what :attr:`~opencompass_tooleval.agents.task.Task.shown` says of them, else by their schema, as
    a list of Python literals, which is how lagent and T-Eval show them. The oracle model makes one of
    :attr:`~opencompass_tooleval.agents.task.Task.oracle_calls` per answer, without a thought, and then ends with
    :data:`~opencompass_tooleval.agents.prompts.GOLD_ANSWER`, a sentence of ours.

    An answer without an action is told to follow the format, as lagent does, until the steps are used up; if the last
    was one, the task ends with ``finish:missing``, else with ``limit:steps``.

    Args:
        max_steps: Answers of the model per task at most; before the last it is told to finish.
        max_observation: Characters of an observation that the model sees.

    Raises:
        ImportError: lagent is absent.
        ValueError: A bound is no positive number.
    """

    def __init__(self, *, max_steps: int = 20, max_observation: int = MAX_TEXT) -> None:
        if min(max_steps, max_observation) < 1:
            raise ValueError('max_steps and max_observation are 1 at least')
        from opencompass_tooleval.host.lagent_bridge import lagent_protocol  # the extra `agent`

        self._protocol = lagent_protocol()
        self._max_steps = max_steps
        self._max_observation = min(max_observation, MAX_TEXT)

    @property
    def settings(self) -> dict[str, Any]:
        """What a trajectory says of the options."""
        return {'max_steps': self._max_steps, 'max_observation': self._max_observation, 'prompts': 'lagent'}

    def run(self, task: Task, session: Session) -> Rounds[Trajectory]:
        """Carries out a task; a step is one answer of the model.

        Args:
            task: The task.
            session: What answers its calls.
        """
        from opencompass_tooleval.host.lagent_bridge import react_rounds_with_tools

        chain = Chain('react', self.settings)
        golds = react_golds(task)
        responses = self._protocol.response['begin']
        question = Message('user', task.query)

        def is_observation(message: Message) -> bool:
            return message.role == 'user' and message.content.startswith(responses) and message != question

        def ask_model(messages: tuple[Message, ...]) -> Rounds[str]:
            turn = Turn(messages, golds[min(len(chain.steps), len(golds) - 1)])
            reply = yield from context.ask(turn, chain.left_out, is_observation, f'{responses}{context.LEFT_OUT}\n')
            chain.left_out = reply.left_out
            if reply.has_no_room:
                raise _NoRoomError
            self._add(chain, reply.answer)
            return reply.answer

        def call_tool(name: str, arguments: Any) -> Rounds[_Told]:
            observation = yield from session.ask(name, arguments)
            call = answered_call(name, arguments, observation, self._max_observation)
            chain.add_call(call)
            return _Told(call.observation, call.fault)

        try:
            run = yield from react_rounds_with_tools(
                str(shown_tools(task)),
                [tool.name for tool in task.tools],
                ask_model,
                call_tool,
                self._protocol,
                [question],
                self._max_steps,
            )
        except _NoRoomError:
            return chain.end(stopped=NO_ROOM)
        if run.answer is not None:
            return chain.end('' if run.answer == NO_ARGUMENTS else run.answer)
        return chain.end(stopped=TOO_MANY_STEPS if chain.steps[-1].calls else NOT_FINISHED)

    def _add(self, chain: Chain, answer: Answer) -> None:
        from opencompass_tooleval.host.lagent_bridge import OutsideExecutor, read_part

        executor = OutsideExecutor([], [], [])
        part = read_part(answer, self._protocol.stop_words)
        thought, name, arguments = self._protocol.parse(part, executor)
        if name == executor.no_action.name:
            chain.add(answer, reason=spoken(answer).reason or NO_ACTION)
        elif name == executor.finish_action.name:
            finish = AnsweredCall(name, bounded_value(arguments), '')
            chain.add(answer, [finish], EMPTY if arguments in ('', NO_ARGUMENTS) else '', thought)
        else:
            chain.add(answer, text=thought)


def shown_tools(task: Task) -> list[dict[str, Any]]:
    """What the system prompt says of the tools, an object each, under the names that are called."""
    listed = []
    for tool in task.tools:
        plain = {'description': tool.description, 'parameters': tool.parameters}
        document = task.shown.get(tool.name)
        shown = document if isinstance(document, dict) else plain
        listed.append({'name': tool.name, **{key: value for key, value in shown.items() if key != 'name'}})
    return listed


def react_golds(task: Task) -> list[str]:
    """What a perfect model says in each round."""
    calls = [
        f'Action: {call.name}\nAction Input: {json.dumps(call.arguments, ensure_ascii=False)}'
        for call in task.oracle_calls
    ]
    return [*calls, f'Final Answer: {prompts.GOLD_ANSWER}']
