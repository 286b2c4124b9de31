"""ToolBench's loops with its published prompts: depth-first search (``dfsdt``) and ReAct (``toolbench_react``).

Every answer of the model is a node. ``Finish`` with an answer ends the search; a give-up makes it go back two nodes; at
the depth limit it goes back one. A thought, an action and an input each add one to the depth. A node has at most two
children; for the second child, the model is shown the actions of the first. ReAct is the same search with one child, so
it ends where the search would go back.

The order is that of the published runs: given their answers, these loops build the same tree
(``tests/agents/test_dfsdt_published.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from opencompass_tooleval.agents.loops import steps
from opencompass_tooleval.agents.loops.finish import FINISH, Finish, finish_call, read_finish
from opencompass_tooleval.agents.loops.prompts import GOLD_ANSWER
from opencompass_tooleval.agents.loops.steps import MAX_TEXT, answered_call, as_written, repeated_arguments, thought_of
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench import prompts
from opencompass_tooleval.agents.toolbench.names import RENAMED_TOOLS, standard_name
from opencompass_tooleval.core.calls.answer import Answer, clean, step_payloads, visible_text
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message, tool_messages
from opencompass_tooleval.core.calls.observation import ERROR, UNKNOWN_TOOL, Observation
from opencompass_tooleval.core.calls.one_call import SEVERAL_CALLS
from opencompass_tooleval.core.calls.sent import without_bound_thoughts
from opencompass_tooleval.core.calls.tool_calls import ToolCall, write_answer
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.calls.trajectory import (
    GAVE_UP,
    OVER_CONTEXT,
    TOO_MANY_CALLS,
    TOO_MANY_STEPS,
    AnsweredCall,
    Step,
    Trajectory,
)
from opencompass_tooleval.core.text.jsonable import clean_text
from opencompass_tooleval.environments.environment import Session

MAX_MODEL_CALLS = 200
CHILDREN = 2

TOOLBENCH, STABLETOOLBENCH = 'toolbench', 'stabletoolbench'
DEPTHS = {TOOLBENCH: 12, STABLETOOLBENCH: 50}
"""Runner -> its depth limit."""

_BACK_AFTER_GIVE_UP = 2
_ACTION_VALUE = 0.0
"""Value of a former candidate; always 0 in the published runs."""


@dataclass
class _Node:
    """The state of the task after all answers and calls on the path to this node.

    Attributes:
        index: Index of its step; -1 for the root.
        depth: Number of thoughts, actions and inputs on the path.
        messages: The conversation so far.
        calls: Its calls with their observations; empty if the answer was only a thought.
        written: Name and arguments of the first call, as the model wrote them.
        omitted_observations: Number of observations left out of the conversation because it is too long.
        children: The next nodes.
    """

    index: int
    depth: int
    messages: tuple[Message, ...]
    calls: tuple[AnsweredCall, ...] = ()
    written: tuple[str, str] = ('', '')
    omitted_observations: int = 0
    children: list[_Node] = field(default_factory=list)

    @property
    def calls_before(self) -> int:
        return sum(len(message.calls) for message in self.messages)


class DepthFirstSearch:
    """ToolBench's depth-first search without ranking (``DFS_woFilter_w2``).

    Args:
        max_model_calls: Maximum number of the model's answers per task; the last one is discarded, as published.
        children: Maximum number of children of a node.
        max_depth: Maximum number of thoughts, actions and inputs on the path to a node; a deeper node makes no
            request. The default is that of the runner.
        max_observation: Number of characters of an observation that the model sees.
        runner: The runner to follow. ``toolbench``: a depth of 12, and only the first call of an answer is made.
            In a name with dots, such as ``functions.Finish``, only the part after the last dot counts.
            ``stabletoolbench``: a depth of 50, and all calls are made; each adds two to the depth.

    Raises:
        ValueError: The runner does not exist, or a limit is below 1.
    """

    name = 'dfsdt'
    _renames_all = False

    def __init__(
        self,
        *,
        max_model_calls: int = MAX_MODEL_CALLS,
        children: int = CHILDREN,
        max_depth: int | None = None,
        max_observation: int = prompts.MAX_OBSERVATION,
        runner: str = TOOLBENCH,
    ) -> None:
        if runner not in DEPTHS:
            raise ValueError(f'runner is {runner!r}; it is one of {", ".join(DEPTHS)}')
        max_depth = DEPTHS[runner] if max_depth is None else max_depth
        if min(max_model_calls, children, max_depth, max_observation) < 1:
            raise ValueError('max_model_calls, children, max_depth and max_observation must be at least 1')
        self._max_model_calls = max_model_calls
        self._children = children
        self._max_depth = max_depth
        self._max_observation = min(max_observation, MAX_TEXT)
        self._runner = runner

    @property
    def settings(self) -> dict[str, Any]:
        """Options for the trajectory's settings."""
        return {
            'max_model_calls': self._max_model_calls,
            'children': self._children,
            'max_depth': self._max_depth,
            'max_observation': self._max_observation,
            'runner': self._runner,
            'prompts': 'published',
        }

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        """Runs a task; a step is one answer of the model.

        Args:
            task: The task.
            session: Answers its calls.
        """
        bounds = (self._max_observation, self._max_model_calls)
        search = _Search(task, session, *bounds, self._runner, self._renames_all)
        waiting = [_Node(-1, 0, first_messages(task))]
        while waiting:
            node = waiting[-1]
            if len(node.children) == self._children:
                waiting.pop()
                continue
            child, finish = yield from search.follow(node)
            if search.is_over:
                return self._end(search, search.last_give_up, stopped=TOO_MANY_CALLS)
            if child is None:
                waiting.pop()
            elif finish is not None and finish.stopped == GAVE_UP:
                # One of the two nodes to go back is the child, which is not in the list.
                del waiting[len(waiting) - (_BACK_AFTER_GIVE_UP - 1) :]
            elif finish is not None:
                return self._end(search, child, finish.final_answer, finish.stopped)
            elif child.depth < self._max_depth:
                waiting.append(child)
        return self._end(search, search.last_give_up, stopped=search.why_unanswered)

    def _end(self, search: _Search, node: _Node | None = None, final_answer: str = '', stopped: str = '') -> Trajectory:
        """Returns the trajectory; it ends in ``node``, by default in the last node."""
        index = node.index if node else search.last_index
        path: list[int] = []
        while index >= 0:
            path.append(index)
            index = search.steps[index].parent
        return Trajectory(
            self.name,
            tuple(search.steps),
            final_answer,
            stopped,
            tuple(reversed(path)),
            search.omitted_observations,
            self.settings,
        )


class ToolBenchReAct(DepthFirstSearch):
    """ToolBench's ReAct (``CoT@1``): one chain, at most 12 thoughts, actions and inputs.

    Args:
        max_depth: Maximum number of thoughts, actions and inputs; the default is that of the runner.
        max_observation: Number of characters of an observation that the model sees.
        runner: The runner to follow, as for :class:`DepthFirstSearch`.
    """

    name = 'toolbench_react'
    _renames_all = True

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        max_observation: int = prompts.MAX_OBSERVATION,
        runner: str = TOOLBENCH,
    ) -> None:
        super().__init__(children=1, max_depth=max_depth, max_observation=max_observation, runner=runner)
        self._max_model_calls = self._max_depth + 1  # no further limit: each answer adds at least one to the depth

    @property
    def settings(self) -> dict[str, Any]:
        """Options for the trajectory's settings."""
        return {
            'max_depth': self._max_depth,
            'max_observation': self._max_observation,
            'runner': self._runner,
            'prompts': 'published',
        }


class _Search:
    """The state of the search for one task.

    Attributes:
        steps: All steps, in order.
        omitted_observations: The largest number of observations left out of any conversation.
        last_give_up: The last node with a give-up.
        last_index: Index of the last step that counts; -1 for none.
        was_over_context: True if a conversation was too long even without its observations.
        is_over: True after the last permitted answer of the model.
    """

    def __init__(
        self, task: Task, session: Session, max_observation: int, max_model_calls: int, runner: str, renames_all: bool
    ) -> None:
        self.steps: list[Step] = []
        self.omitted_observations = 0
        self.last_give_up: _Node | None = None
        self.last_index = -1
        self.was_over_context = False
        self.is_over = False
        self._session = session
        self._max_observation = max_observation
        self._asks_left = max_model_calls
        self._takes_all = runner == STABLETOOLBENCH
        self._renames_all = renames_all
        self._names = [*(tool.name for tool in task.tools), FINISH.name]
        # ToolBench's model makes one call per answer; StableToolBench leaves the number to the server.
        offered = map(_with_empty_names, task.tools) if self._takes_all else task.tools
        self._tools = ToolSet((*offered, FINISH), parallel=None if self._takes_all else False)
        calls = [ToolCall(call.name, call.arguments) for call in task.oracle_calls]
        self._golds = [write_answer('', [call]) for call in (*calls, finish_call(GOLD_ANSWER))]

    @property
    def why_unanswered(self) -> str:
        """Returns the reason for the missing answer after all nodes were tried."""
        return GAVE_UP if self.last_give_up else OVER_CONTEXT if self.was_over_context else TOO_MANY_STEPS

    def follow(self, node: _Node) -> Dialogue[tuple[_Node | None, Finish | None]]:
        """Sends the request of a node, and makes the calls in the answer.

        Returns:
            The child, and its ``Finish`` if this ends the path; no child if the conversation is too long.
        """
        messages = (*node.messages, *map(_diversity_message, _former_candidates(node)))
        gold = self._golds[min(node.calls_before, len(self._golds) - 1)]
        answer, omitted_observations = reply = yield from steps.ask(
            ModelRequest(messages, gold, self._tools), node.omitted_observations
        )
        if len(messages) > len(node.messages):  # later requests lack the message about former candidates
            answer = replace(answer, sent=without_bound_thoughts(answer.sent))
        self.omitted_observations = max(self.omitted_observations, omitted_observations)
        self._asks_left -= 1
        self.is_over = not self._asks_left
        if reply.is_over_context:
            self.was_over_context = True
            return None, None
        stored = step_payloads(answer)
        text = as_written(clean(answer).text)
        if self.is_over:
            self.steps.append(Step(text, (), node.index, reason=TOO_MANY_CALLS, **stored))
            return None, None
        child = _Node(len(self.steps), node.depth, node.messages, omitted_observations=omitted_observations)
        node.children.append(child)
        finish = None
        if answer.calls:
            finish = yield from self._carry_out(answer, text, child)
        else:
            child.messages += tool_messages(Answer(text, sent=answer.sent), ())
        # An empty answer also counts as a thought; otherwise the search would try the same node forever.
        child.depth += 2 * len(child.calls) + (bool(text) or answer.has_content or not answer.calls)
        is_give_up = finish is not None and finish.stopped == GAVE_UP
        if is_give_up:
            self.last_give_up = child
        reason = finish.stopped if finish and finish.stopped else self._why_ignored(answer)
        self.steps.append(Step(text or thought_of(answer), child.calls, node.index, reason=reason, **stored))
        self.last_index = child.index
        return child, finish

    def _carry_out(self, answer: Answer, text: str, child: _Node) -> Dialogue[Finish | None]:
        """Makes the calls of an answer that count; returns the ``Finish`` if it ends the path.

        Calls after an answer to the user are not made. As published, calls after a give-up are made, and cancel it.
        """
        counted = answer.calls if self._takes_all else tuple(map(self._without_prefix, answer.calls[:1]))
        finish = None
        for call in counted:
            finish = None
            called = next((name for name in self._names if name.endswith(call.name)), None)
            if called == FINISH.name:
                finish = read_finish(call.arguments, call.name, call.written)
                answered = finish.call
            else:
                is_padded = called is None and call.name != call.name.strip()
                asked = self._session.ask(called or call.name, call.arguments)
                observation = _unknown(call.name) if is_padded else (yield from asked)
                answered = answered_call(call.name, call.arguments, observation, self._max_observation, call.written)
            child.calls += (answered,)
            if finish and finish.is_end and finish.stopped != GAVE_UP:
                break
        child.written = as_written(counted[0].name), as_written(counted[0].arguments_text)
        carried_out = counted[: len(child.calls)]
        calls = tuple(map(self._as_repeated, count(), carried_out, child.calls))
        shown = Answer(text, calls=calls, sent=answer.sent)
        observations = [call.observation for call in child.calls]
        child.messages += tool_messages(shown, observations, child.messages)
        return finish if finish and finish.is_end else None

    def _without_prefix(self, call: ToolCall) -> ToolCall:
        """Returns the call with only the part of its name after the last dot: ``functions.Finish`` is ``Finish``."""
        return call if call.name in self._names else replace(call, name=call.name.rpartition('.')[2])

    def _as_repeated(self, number: int, call: ToolCall, answered: AnsweredCall) -> ToolCall:
        """Returns a call as it is repeated in the conversation.

        StableToolBench's search renames an unknown function only if it is the first in its answer; it renames the
        others too, but in a message that it has already copied.
        """
        is_renamed = answered.fault == UNKNOWN_TOOL and (number == 0 or self._renames_all)
        name = prompts.INVALID_NAME if is_renamed else call.name
        return ToolCall(name, repeated_arguments(call.arguments), call.id)

    def _why_ignored(self, answer: Answer) -> str:
        """Returns why an answer, or some of its calls, had no effect."""
        if answer.calls:
            return SEVERAL_CALLS if len(answer.calls) > 1 and not self._takes_all else ''
        return visible_text(answer).reason or ''


def _unknown(name: str) -> Observation:
    """Returns ToolBench's answer to a name with blanks around it, which the environment would remove."""
    text = json.dumps({'error': f'No such function name: {clean_text(name)}', 'response': ''})
    return Observation(text, ERROR, UNKNOWN_TOOL)


def _with_empty_names(tool: ToolSchema) -> ToolSchema:
    """Returns a function of ToolBench as StableToolBench offers it: lists of parameters begin with an empty name."""
    groups = {group: ['', *tool.parameters[group]] for group in ('required', 'optional') if group in tool.parameters}
    return replace(tool, parameters={**tool.parameters, **groups}) if 'optional' in groups else tool


def first_messages(task: Task) -> tuple[Message, ...]:
    """Returns the beginning of every conversation."""
    listed = ''.join(f'{number}.{line}\n' for number, line in enumerate(_tool_lines(task), start=1))
    system = f'{prompts.SYSTEM}{prompts.TASK_DESCRIPTION}{listed}'
    return Message('system', system), Message('user', prompts.USER.format(task.query))


def _tool_lines(task: Task) -> Iterator[str]:
    """Yields ``name: description`` of each tool; a task may have several APIs of a tool.

    The tool is ``tool_name`` in the documentation; without documentation each API is a tool.
    """
    described: dict[str, str] = {}
    for api in task.tools:
        document = task.shown.get(api.name)
        shown = document if isinstance(document, dict) else {}
        name = shown.get('tool_name')
        if isinstance(name, str):
            description = shown.get('tool_description')
            described[_called(name, api.name)] = as_written(description) if isinstance(description, str) else ''
        else:
            described.setdefault(api.name, api.description)
    for name, description in described.items():
        line = description[: prompts.MAX_TOOL_DESCRIPTION].replace('\n', '').strip()
        yield f'{name}: {line or prompts.NO_DESCRIPTION}'


def _called(tool: str, api: str) -> str:
    """Returns a tool's name as in the names of its APIs, ``api_for_tool``, if they have this form."""
    standard = standard_name(RENAMED_TOOLS.get(tool, tool))
    return standard if api.endswith(f'_for_{standard}') else tool


def _former_candidates(node: _Node) -> Iterator[str]:
    """Yields the former candidates of a node for the diversity prompt; nothing without calls."""
    candidates = [child for child in map(_first_with_call, node.children) if child.calls]
    if not candidates:
        return
    rows = [
        {
            'name': child.written[0],
            'arguments': child.written[1],
            'function_output': child.calls[0].observation,
            'mento-carlo-action-value': _ACTION_VALUE,
        }
        for child in candidates
    ]
    former = f'{json.dumps(rows, indent=2)}\n'
    if node.calls and node.calls[-1].observation:
        former += prompts.FORMER_OBSERVATION.format(node.calls[-1].observation)
    yield former


def _first_with_call(node: _Node) -> _Node:
    """Returns the first node with a call from here on, or the last thought."""
    while not node.calls and node.children:
        node = node.children[0]
    return node


def _diversity_message(former: str) -> Message:
    before, after = prompts.DIVERSITY
    return Message('user', f'{before}{former}{after}')
