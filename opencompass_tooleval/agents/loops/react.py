"""The loop ``react``: T-Eval's text protocol (Thought, Action, Action Input, Response), with lagent's ReAct agent.

The system prompt, and the message before the last answer, are lagent's: English as T-Eval's authors used them, or
Chinese for a Chinese task. ``Final Answer:`` or the action ``FinishAction`` ends a task.
:mod:`opencompass_tooleval.agents.loops.lagent_bridge` lists the parts of lagent that are replaced.

With ``prompts='toolbench'`` the prompt is ToolBench's for models without native calls, and the action ``Finish`` ends a
task. The list of tools, and ``Observation:`` before a tool's response, are ours: the published text has neither.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from opencompass_tooleval.agents.loops import steps
from opencompass_tooleval.agents.loops.finish import FINISH, Finish, finish_call, read_finish
from opencompass_tooleval.agents.loops.steps import MAX_TEXT, Chain, answered_call, bounded_value
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.prompts import MAX_OBSERVATION, REACT_TEXT
from opencompass_tooleval.core.calls.answer import EMPTY, visible_text
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.trajectory import (
    NOT_FINISHED,
    OVER_CONTEXT,
    TOO_MANY_STEPS,
    AnsweredCall,
    Trajectory,
)
from opencompass_tooleval.environments.environment import Session

if TYPE_CHECKING:
    from opencompass_tooleval.agents.loops.lagent_bridge import ToolReActProtocol

LAGENT, TOOLBENCH = 'lagent', 'toolbench'
PROMPTS = (LAGENT, TOOLBENCH)
"""Sources of the prompts: lagent, in the language of the task, or ToolBench, in English."""

NO_ACTION = 'format:no_match'
"""Reason for an answer with neither an action nor a final answer."""

NO_ARGUMENTS = '{}'
"""Arguments of ``FinishAction`` in T-Eval's gold steps: they end the task without an answer to the user."""


class ReAct:
    """ReAct in text.

    The prompt describes each tool by :attr:`~opencompass_tooleval.agents.tasks.task.Task.shown`, or else by its schema,
    in a list of Python literals, as in lagent and T-Eval. The oracle model makes one call per answer
    (:attr:`~opencompass_tooleval.agents.tasks.task.Task.oracle_calls`), without a thought, and then ends with
    :attr:`~opencompass_tooleval.agents.tasks.task.Task.gold_answer`.

    As in lagent, a reminder of the format follows an answer without an action. After the last step the task ends with
    ``finish:missing`` if the last answer had no action, else with ``limit:steps``.

    Args:
        max_steps: Maximum number of the model's answers per task; lagent's prompts tell the model to finish before the
            last one.
        max_observation: Number of characters of an observation that the model sees; default 20,000, and ToolBench's
            1,024 with ``prompts='toolbench'``.
        prompts: One of :data:`PROMPTS`.

    Raises:
        ImportError: lagent is not installed.
        ValueError: A limit is below 1, or the prompts do not exist.
    """

    def __init__(self, *, max_steps: int = 20, max_observation: int | None = None, prompts: str = LAGENT) -> None:
        if prompts not in PROMPTS:
            raise ValueError(f'prompts is {prompts!r}; it is one of {", ".join(PROMPTS)}')
        if max_observation is None:
            max_observation = MAX_OBSERVATION if prompts == TOOLBENCH else MAX_TEXT
        if min(max_steps, max_observation) < 1:
            raise ValueError('max_steps and max_observation must be at least 1')
        import opencompass_tooleval.agents.loops.lagent_bridge  # noqa: F401 (fails here without the extra `agent`)

        self._prompts = prompts
        self._max_steps = max_steps
        self._max_observation = min(max_observation, MAX_TEXT)

    @property
    def settings(self) -> dict[str, Any]:
        """Options for the trajectory's settings."""
        return {'max_steps': self._max_steps, 'max_observation': self._max_observation, 'prompts': self._prompts}

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        """Runs a task; a step is one answer of the model.

        Args:
            task: The task.
            session: Answers its calls.
        """
        from opencompass_tooleval.agents.loops.lagent_bridge import ReActConversation, ShownTools

        chain = Chain('react', self.settings)
        protocol, beginning = self._protocol(task), self._beginning(task)
        tools = ShownTools(str(shown_tools(task)), [tool.name for tool in task.tools])
        rounds = ReActConversation(protocol, tools, beginning)
        golds = self._golds(task)
        responses = protocol.response['begin']

        def is_observation(message: Message) -> bool:
            return message.role == 'user' and message.content.startswith(responses) and message not in beginning

        for step in range(self._max_steps):
            request = ModelRequest(rounds.prompt(step == self._max_steps - 1), golds[min(step, len(golds) - 1)])
            reply = yield from steps.ask(
                request, chain.omitted_observations, is_observation, f'{responses}{steps.LEFT_OUT}\n'
            )
            answer, chain.omitted_observations = reply
            if reply.is_over_context:
                return chain.end(stopped=OVER_CONTEXT)
            action = rounds.read(answer.text)
            if action.name is None:
                chain.add(answer, reason=visible_text(answer).reason or NO_ACTION)
            elif action.is_final:
                is_empty = action.text in ('', NO_ARGUMENTS)
                final = AnsweredCall(action.name, bounded_value(action.text), '')
                chain.add(answer, [final], EMPTY if is_empty else '', action.thought)
                return chain.end('' if is_empty else action.text)
            else:
                call, finish = yield from self._carry_out(action.name, action.arguments, session)
                chain.add(answer, [call], text=action.thought)
                if finish:
                    return chain.end(finish.final_answer, finish.stopped)
                rounds.add_response(call.observation)
        return chain.end(stopped=TOO_MANY_STEPS if chain.steps[-1].calls else NOT_FINISHED)

    def _carry_out(self, name: str, arguments: Any, session: Session) -> Dialogue[tuple[AnsweredCall, Finish | None]]:
        """Makes a call; returns it, and its ``Finish`` if the call ends the task."""
        if self._prompts == TOOLBENCH and name == FINISH.name:
            finish = read_finish(arguments)
            return finish.call, finish if finish.is_end else None
        observation = yield from session.ask(name, arguments)
        return answered_call(name, arguments, observation, self._max_observation), None

    def _beginning(self, task: Task) -> list[Message]:
        """Returns the messages before the first answer, without the system prompt."""
        return [Message('user', task.query)]

    def _golds(self, task: Task) -> list[str]:
        return react_golds(task, self._prompts)

    def _protocol(self, task: Task) -> ToolReActProtocol:
        from opencompass_tooleval.agents.loops.lagent_bridge import ActionProtocol, lagent_protocol

        if self._prompts != TOOLBENCH:
            return lagent_protocol(is_chinese=task.language == 'ZH')
        tools = [*shown_tools(task), asdict(FINISH)]
        prompt = REACT_TEXT.format(func_str=tools, func_list=[tool['name'] for tool in tools], question=task.query)
        return ActionProtocol(prompt, 'Observation: ', ('End Action',))


def shown_tools(task: Task) -> list[dict[str, Any]]:
    """Returns an object per tool for the system prompt, with the names used in calls."""
    listed = []
    for tool in task.tools:
        plain = {'description': tool.description, 'parameters': tool.parameters}
        document = task.shown.get(tool.name)
        shown = document if isinstance(document, dict) else plain
        listed.append({'name': tool.name, **{key: value for key, value in shown.items() if key != 'name'}})
    return listed


def react_golds(task: Task, style: str = LAGENT) -> list[str]:
    """Returns the oracle model's answer of each round, in one of :data:`PROMPTS`."""
    calls = [_action(call.name, call.arguments) for call in task.oracle_calls]
    finish = finish_call(task.gold_answer)
    end = _action(finish.name, finish.arguments) if style == TOOLBENCH else f'Final Answer: {task.gold_answer}'
    return [*calls, end]


def _action(name: str, arguments: Any) -> str:
    return f'Action: {name}\nAction Input: {json.dumps(arguments, ensure_ascii=False)}'
