"""ToolBench's own loops, with its published prompts: depth-first search (``dfsdt``) and ReAct (``toolbench_react``).

Every answer of the model is a node. From a node with ``Finish`` the search goes back: it ends at an answer, goes back
two nodes after a give-up, and one at the limit of depth, where a node's thought, action and input count apart. A node
is followed by two children at most; for the second the model is shown what the first did. ReAct is the same with one
child, so that nothing is left where it goes back.

The order is that of the published runs: given their answers, ours come to the same tree
(``tests/agents/test_dfsdt_published.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.agents import context
from opencompass_tooleval.agents import toolbench_prompts as prompts
from opencompass_tooleval.agents.finish import FINISH, Finish, finish_call, read_finish
from opencompass_tooleval.agents.prompts import GOLD_ANSWER
from opencompass_tooleval.agents.steps import MAX_TEXT, answered_call, repeated_arguments, thought_of
from opencompass_tooleval.agents.task import Task
from opencompass_tooleval.agents.toolbench_names import RENAMED_TOOLS, standard_name
from opencompass_tooleval.agents.trajectory import (
    GAVE_UP,
    NO_ROOM,
    TOO_MANY_CALLS,
    TOO_MANY_STEPS,
    AnsweredCall,
    Step,
    Trajectory,
)
from opencompass_tooleval.core.answer import Answer, spoken
from opencompass_tooleval.core.function_calling import SEVERAL_CALLS
from opencompass_tooleval.core.jsonable import bounded_text
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.core.tool_calls import ToolCall, write_answer
from opencompass_tooleval.core.tool_messages import tool_messages
from opencompass_tooleval.core.tool_set import ToolSet
from opencompass_tooleval.environments.environment import Session
from opencompass_tooleval.environments.observation import UNKNOWN_TOOL

MAX_MODEL_CALLS = 200
MAX_DEPTH = 12
CHILDREN = 2

_BACK_AFTER_GIVE_UP = 2
_ACTION_VALUE = 0.0
"""Of a former candidate: in all that is published it is this."""


@dataclass
class _Node:
    """A state of the task: what was said and done on the way to it.

    Attributes:
        place: Of its step; -1 for the beginning.
        depth: Thoughts, actions and inputs on the way.
        messages: The conversation so far.
        call: What was called, and what came of it; None where the answer was a thought alone.
        left_out: Observations that are left out of the conversation, since it is too long.
        children: What was done from here.
    """

    place: int
    depth: int
    messages: tuple[Message, ...]
    call: AnsweredCall | None = None
    left_out: int = 0
    children: list[_Node] = field(default_factory=list)

    @property
    def calls_before(self) -> int:
        return sum(len(message.calls) for message in self.messages)


class DepthFirstSearch:
    """ToolBench's depth-first search without ranking (``DFS_woFilter_w2``).

    Args:
        max_model_calls: Answers of the model per task at most.
        children: Nodes that follow a node at most.
        max_depth: Thoughts, actions and inputs on the way to a node at most; from a deeper one nothing is asked.
        max_observation: Characters of an observation that the model sees.

    Raises:
        ValueError: A bound is no positive number.
    """

    name = 'dfsdt'

    def __init__(
        self,
        *,
        max_model_calls: int = MAX_MODEL_CALLS,
        children: int = CHILDREN,
        max_depth: int = MAX_DEPTH,
        max_observation: int = prompts.MAX_OBSERVATION,
    ) -> None:
        if min(max_model_calls, children, max_depth, max_observation) < 1:
            raise ValueError('max_model_calls, children, max_depth and max_observation are 1 at least')
        self._max_model_calls = max_model_calls
        self._children = children
        self._max_depth = max_depth
        self._max_observation = min(max_observation, MAX_TEXT)

    @property
    def settings(self) -> dict[str, Any]:
        """What a trajectory says of the options."""
        return {
            'max_model_calls': self._max_model_calls,
            'children': self._children,
            'max_depth': self._max_depth,
            'max_observation': self._max_observation,
            'prompts': 'published',
        }

    def run(self, task: Task, session: Session) -> Rounds[Trajectory]:
        """Carries out a task; a step is one answer of the model.

        Args:
            task: The task.
            session: What answers its calls.
        """
        search = _Search(task, session, self._max_observation)
        asked = 0
        waiting = [_Node(-1, 0, first_messages(task))]
        while waiting:
            node = waiting[-1]
            if len(node.children) == self._children:
                waiting.pop()
                continue
            if asked == self._max_model_calls:
                return self._end(search, stopped=TOO_MANY_CALLS)
            asked += 1
            child, finish = yield from search.follow(node)
            if child is None:
                waiting.pop()
            elif finish is not None and not finish.stopped:
                return self._end(search, child, finish.final_answer)
            elif finish is not None:
                # The child is one of those that it goes back from.
                del waiting[len(waiting) - (_BACK_AFTER_GIVE_UP - 1) :]
            elif child.depth < self._max_depth:
                waiting.append(child)
        return self._end(search, search.last_give_up, stopped=search.why_unanswered)

    def _end(self, search: _Search, node: _Node | None = None, final_answer: str = '', stopped: str = '') -> Trajectory:
        """The trajectory; it ends in ``node``, or in the last that there is."""
        place = node.place if node else len(search.steps) - 1
        path: list[int] = []
        while place >= 0:
            path.append(place)
            place = search.steps[place].parent
        return Trajectory(
            self.name,
            tuple(search.steps),
            final_answer,
            stopped,
            tuple(reversed(path)),
            search.left_out,
            self.settings,
        )


class ToolBenchReAct(DepthFirstSearch):
    """ToolBench's ReAct (``CoT@1``): one chain, at most 12 thoughts, actions and inputs.

    Args:
        max_depth: As :class:`DepthFirstSearch`.
        max_observation: As there.
    """

    name = 'toolbench_react'

    def __init__(self, *, max_depth: int = MAX_DEPTH, max_observation: int = prompts.MAX_OBSERVATION) -> None:
        super().__init__(
            max_model_calls=max(max_depth, 1), children=1, max_depth=max_depth, max_observation=max_observation
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What a trajectory says of the options."""
        return {
            'max_depth': self._max_depth,
            'max_observation': self._max_observation,
            'prompts': 'published',
        }


class _Search:
    """What has been done for one task.

    Attributes:
        steps: All of it, in order.
        left_out: Observations left out of one conversation at most.
        last_give_up: Where the model gave up last.
        had_no_room: Whether a conversation was too long with no observation left.
    """

    def __init__(self, task: Task, session: Session, max_observation: int) -> None:
        self.steps: list[Step] = []
        self.left_out = 0
        self.last_give_up: _Node | None = None
        self.had_no_room = False
        self._session = session
        self._max_observation = max_observation
        # One call an answer, as ToolBench's model makes.
        self._tools = ToolSet((*task.tools, FINISH), parallel=False)
        calls = [ToolCall(call.name, call.arguments) for call in task.oracle_calls]
        self._golds = [write_answer('', [call]) for call in (*calls, finish_call(GOLD_ANSWER))]

    @property
    def why_unanswered(self) -> str:
        """Why all nodes are tried, and none has an answer."""
        return GAVE_UP if self.last_give_up else NO_ROOM if self.had_no_room else TOO_MANY_STEPS

    def follow(self, node: _Node) -> Rounds[tuple[_Node | None, Finish | None]]:
        """Asks what to do in a node, and does it.

        Returns:
            The child, and its ``Finish`` where that is an end; no child where the conversation is too long.
        """
        messages = (*node.messages, *map(_diversity_message, _former_candidates(node)))
        gold = self._golds[min(node.calls_before, len(self._golds) - 1)]
        answer, left_out = reply = yield from context.ask(Turn(messages, gold, self._tools), node.left_out)
        self.left_out = max(self.left_out, left_out)
        if reply.has_no_room:
            self.had_no_room = True
            return None, None
        child = _Node(len(self.steps), node.depth, node.messages, left_out=left_out)
        node.children.append(child)
        thought = spoken(answer)
        text = bounded_text(thought, MAX_TEXT)
        finish = None
        if answer.calls:
            finish = yield from self._carry_out(answer, text, child)
            child.depth += 2
        else:
            child.messages += (Message('assistant', text),)
        # An answer without anything is a thought as well, or else the same node would be asked for ever.
        child.depth += bool(text) or not answer.calls
        is_give_up = finish is not None and bool(finish.stopped)
        if is_give_up:
            self.last_give_up = child
        reason = GAVE_UP if is_give_up else _why_ignored(answer, thought)
        usage = answer.usage.to_payload() if answer.usage else None
        calls = (child.call,) if child.call else ()
        self.steps.append(Step(thought_of(answer), calls, node.place, reason=reason, usage=usage))
        return child, finish

    def _carry_out(self, answer: Answer, text: str, child: _Node) -> Rounds[Finish | None]:
        """Carries out the first call of an answer; returns the ``Finish`` that is an end."""
        call = answer.calls[0]
        if call.name.strip() == FINISH.name:
            finish = read_finish(call.arguments)
            child.call = finish.call
        else:
            finish = None
            observation = yield from self._session.ask(call.name, call.arguments)
            child.call = answered_call(call.name, call.arguments, observation, self._max_observation)
        name = prompts.INVALID_NAME if child.call.fault == UNKNOWN_TOOL else call.name
        shown = Answer(text, calls=(ToolCall(name, repeated_arguments(call.arguments), call.id),))
        child.messages += tool_messages(shown, [child.call.observation], child.calls_before)
        return finish if finish and finish.is_end else None


def first_messages(task: Task) -> tuple[Message, ...]:
    """What every conversation begins with."""
    listed = ''.join(f'{number}.{line}\n' for number, line in enumerate(_tool_lines(task), start=1))
    system = f'{prompts.SYSTEM}{prompts.TASK_DESCRIPTION}{listed}'
    return Message('system', system), Message('user', prompts.USER.format(task.query))


def _tool_lines(task: Task) -> Iterator[str]:
    """``name: description`` of each tool, of which a task may have several APIs.

    What is a tool stands in the documentation as ``tool_name``; without documentation each API is one.
    """
    described: dict[str, str] = {}
    for api in task.tools:
        document = task.shown.get(api.name)
        shown = document if isinstance(document, dict) else {}
        name = shown.get('tool_name')
        if isinstance(name, str):
            described.setdefault(_called(name, api.name), bounded_text(shown.get('tool_description'), MAX_TEXT))
        else:
            described.setdefault(api.name, api.description)
    for name, description in described.items():
        yield f'{name}: {description[: prompts.MAX_TOOL_DESCRIPTION]}'


def _called(tool: str, api: str) -> str:
    """A tool as the names of its APIs have it, ``api_for_tool``, where they do."""
    standard = standard_name(RENAMED_TOOLS.get(tool, tool))
    return standard if api.endswith(f'_for_{standard}') else tool


def _why_ignored(answer: Answer, thought: Answer) -> str:
    """Why nothing came of an answer, or not of all its calls."""
    if answer.calls:
        return SEVERAL_CALLS if len(answer.calls) > 1 else ''
    return thought.reason or ''


def _former_candidates(node: _Node) -> Iterator[str]:
    """What was done from a node, as the diversity prompt shows it; nothing if nothing was called."""
    candidates = [call for call in map(_first_call, node.children) if call]
    if not candidates:
        return
    rows = [
        {
            'name': call.name,
            'arguments': _as_text(call.arguments),
            'function_output': call.observation,
            'mento-carlo-action-value': _ACTION_VALUE,
        }
        for call in candidates
    ]
    former = f'{json.dumps(rows, indent=2)}\n'
    if node.call:
        former += prompts.FORMER_OBSERVATION.format(node.call.observation)
    yield former


def _first_call(node: _Node) -> AnsweredCall | None:
    """The call of a node; of a thought alone the first one that follows it."""
    while node.call is None and node.children:
        node = node.children[0]
    return node.call


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, indent=2, ensure_ascii=False)


def _diversity_message(former: str) -> Message:
    before, after = prompts.DIVERSITY
    return Message('user', f'{before}{former}{after}')
