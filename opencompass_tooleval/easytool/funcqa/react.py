"""The method ReAct (Yao et al., 2023) on FuncQA's tools (EasyTool, Section 5.3), whatever library runs the agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from opencompass_tooleval.core.agent import AgentRun, Tool
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.rounds import Rounds
from opencompass_tooleval.easytool.funcqa import react_prompts as prompts
from opencompass_tooleval.easytool.funcqa.arithmetic import PARAMETER, TOOL_NAMES, ToolResult, call_tool, plain
from opencompass_tooleval.easytool.funcqa.dialogue import Options, gold_parameters
from opencompass_tooleval.easytool.funcqa.records import Record
from opencompass_tooleval.easytool.funcqa.trajectory import TOO_MANY_STEPS, ToolCall, Trajectory

Agent = Callable[..., Rounds[AgentRun]]
"""Runs an agent on ``tools``, ``unknown`` (takes a name that is none of theirs, and arguments), ``call_protocol`` (the
system prompt), ``messages``, ``max_steps``, ``golds`` and ``stop_words``;
:func:`~opencompass_tooleval.host.lagent_bridge.react_rounds` is one."""


def react(record: Record, options: Options, agent: Agent) -> Rounds[Trajectory]:
    """Runs the method; a step is one answer of the model.

    Args:
        record: The question.
        options: Of these, ``max_steps`` and ``rounded``.
        agent: What runs it.
    """
    dialogue = agent(
        tools=react_tools(options.rounded),
        unknown=partial(call_tool, rounded=options.rounded),
        call_protocol=prompts.SYSTEM,
        messages=react_messages(record.question),
        max_steps=options.max_steps,
        golds=react_golds(record),
        stop_words=prompts.STOP_WORDS,
    )
    rounds: list[dict[str, str]] = []
    run = yield from _kept(dialogue, rounds)
    return Trajectory(
        'react',
        calls=tuple(ToolCall.of(call.name, call.arguments, call.reply) for call in run.calls),
        answer='' if run.answer is None else f'Answer: {run.answer}',
        rounds=tuple(rounds),
        stopped=TOO_MANY_STEPS if run.answer is None else '',
        settings={'max_steps': options.max_steps, 'rounded': options.rounded},
    )


def react_tools(rounded: bool) -> list[Tool]:
    """The 13 tools with their calling forms, which is all the documentation that the published data has."""

    def tool(name: str) -> Tool:
        def call(parameters: Any) -> ToolResult:
            return call_tool(name, parameters, rounded)

        return Tool(name, prompts.CALLING_FORMS[name], ({'name': PARAMETER, 'type': 'List'},), call)

    return [tool(name) for name in TOOL_NAMES]


def react_messages(question: str) -> list[Message]:
    """The demonstrations and the question."""
    shown = [Message(role, content) for role, content in prompts.DEMONSTRATIONS]
    return [*shown, Message('user', prompts.QUESTION.format(question=question))]


def react_golds(record: Record) -> list[str]:
    """What a perfect model says in each round: the steps of the published calculation, then the answer."""
    calls = [
        prompts.CALL.format(thought='the next step', name=step.tool, parameters=json.dumps(gold_parameters(step)))
        for step in record.steps
    ]
    return [*calls, prompts.FINISH.format(thought='all steps are done', answer=plain(record.answer))]


def _kept(dialogue: Rounds[AgentRun], rounds: list[dict[str, str]]) -> Rounds[AgentRun]:
    """The same dialogue; what was said is added to ``rounds``."""
    turn = next(dialogue)
    while True:
        answer = yield turn
        rounds.append({'asked': turn.messages[-1].content, 'answer': str(answer)})
        try:
            turn = dialogue.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
