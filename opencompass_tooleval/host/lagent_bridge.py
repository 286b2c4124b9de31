"""ReAct agents of lagent: any model of OpenCompass is their LLM, any of our tools their action, and many run at once.

lagent's loop, executor and actions do the work. What is put in its place here, because lagent 0.2 fails there:

* its LLM base class drops the contents of messages if it has no template, and stops at no stop word, so that a model
  may invent what a tool returns;
* its JSON parser lets an answer end the run (nesting, a bare number, 5,000 digits), and so does a name with two dots;
  a name that it does not know is lost;
* its reading of an answer takes quadratic time, and pairs the last name with the first arguments.

Import this module only where an agent is run: lagent is the extra ``agent``, and takes seconds to import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from opencompass_tooleval.core.agent import AgentCall, AgentRun, Reply, Tool
from opencompass_tooleval.core.answer import cut_at, strip_reasoning
from opencompass_tooleval.core.bounds import MAX_CHARS
from opencompass_tooleval.core.messages import Message, normalise
from opencompass_tooleval.core.reading import parse_enclosed
from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.host.conversation import Conversation
from opencompass_tooleval.host.model_calls import ask

try:
    from lagent.actions import ActionExecutor, BaseAction
    from lagent.actions.parser import BaseParser
    from lagent.agents.react import (
        CALL_PROTOCOL_CN,
        CALL_PROTOCOL_EN,
        FORCE_STOP_PROMPT_CN,
        FORCE_STOP_PROMPT_EN,
        ReAct,
        ReActProtocol,
    )
    from lagent.llms.base_llm import BaseModel
    from lagent.schema import ActionReturn, ActionStatusCode, ActionValidCode, AgentReturn
except ImportError as error:
    mend = "pip install 'opencompass-tooleval[agent]'"
    raise ImportError(f'ReAct runs on lagent, which cannot be imported ({error}). Mend it with: {mend}') from error

T = TypeVar('T')

FORCE_STOP = 'This was the last use of a tool. Give the final answer now.'


@dataclass
class ToolReturn(ActionReturn):
    """lagent's record of a call, and with it what our tool replied.

    Attributes:
        call: The call. ``type`` is the name that the model gave.
    """

    call: AgentCall | None = None


def _returned(name: str, arguments: Any, reply: Reply, valid: ActionValidCode) -> ToolReturn:
    fine = not reply.error
    return ToolReturn(
        args={'arguments': arguments},
        type=name,
        result=[{'type': 'text', 'content': reply.text}] if fine else None,
        errmsg=None if fine else reply.text,
        state=ActionStatusCode.SUCCESS if fine else ActionStatusCode.API_ERROR,
        valid=valid,
        call=AgentCall(name, arguments, reply),
    )


def _read(text: str) -> Any:
    """The object in ``text``, or ``text``: whether that will do is for the tool to say."""
    parsed = parse_enclosed(text, '{', '}')
    return parsed.value if parsed.ok else text


class ToolAction(BaseAction):
    """One of our tools as an action of lagent."""

    def __init__(self, tool: Tool) -> None:
        names = [parameter['name'] for parameter in tool.parameters]
        description = {'name': tool.name, 'description': tool.description}
        listed = {'parameters': [dict(parameter) for parameter in tool.parameters], 'required': names}
        super().__init__({**description, **listed}, BaseParser)
        self._tool = tool

    def __call__(self, inputs: str, name: str = 'run') -> ToolReturn:
        """Calls the tool. What it raises is a fault of ours and is raised; lagent would tell the model."""
        arguments = _read(inputs)
        return _returned(self.name, arguments, self._tool.call(arguments), ActionValidCode.OPEN)


class ToolExecutor(ActionExecutor):
    """Carries out what a model says, each distinct call once.

    Args:
        tools: The tools.
        unknown: Takes a name that is none of theirs and what was passed; says what is wrong.
    """

    def __init__(self, tools: Sequence[Tool], unknown: Callable[[str, Any], Reply]) -> None:
        super().__init__([ToolAction(tool) for tool in tools])
        self._unknown = unknown
        self._done: dict[tuple[str, str], ActionReturn] = {}

    def __call__(self, name: str, command: str) -> ActionReturn:
        """Calls the tool called ``name``; nothing else of an action can be named."""
        if (name, command) not in self._done:
            self._done[name, command] = self._call(name, command)
        return copy(self._done[name, command])  # the agent writes its thought on it

    def _call(self, name: str, command: str) -> ActionReturn:
        if self.is_valid(name) or name in (self.no_action.name, self.finish_action.name):
            return super().__call__(name, command)
        arguments = _read(command)
        return _returned(name, arguments, self._unknown(name, arguments), ActionValidCode.INVALID)


class OutsideExecutor(ActionExecutor):
    """For tools that answer outside: gives what calls are known to have returned, in order, then leaves the agent.

    Args:
        tools: What the system prompt's ``{tool_description}`` says.
        names: What its ``{action_names}`` says.
        calls: The calls that were carried out, in order.
    """

    def __init__(self, tools: Any, names: Sequence[str], calls: Sequence[AgentCall]) -> None:
        super().__init__([])
        self._tools = tools
        self._names = list(names)
        self._rest = iter(calls)

    def get_actions_info(self) -> Any:
        """The tools as they are shown."""
        return self._tools

    def action_names(self, only_enable: bool = True) -> list[str]:
        """Their names."""
        return self._names

    def __call__(self, name: str, command: str) -> ActionReturn:
        """What the call returned, whatever its name."""
        if name in (self.no_action.name, self.finish_action.name):
            return super().__call__(name, command)
        for call in self._rest:
            return _returned(call.name, call.arguments, call.reply, ActionValidCode.OPEN)
        raise _Called(name, _read(command))


class ToolReActProtocol(ReActProtocol):
    """lagent's format (Thought, Action, Action Input, Response, Final Answer), read in linear time.

    Args:
        call_protocol: The system prompt, with lagent's fields: ``{tool_description}``, ``{action_names}``,
            ``{thought}``, ``{action}``, ``{action_input}``, ``{response}``, ``{finish}``.
        stop_words: Where an answer ends, besides where a tool would have to speak.
        force_stop: What is said before the last answer.
    """

    def __init__(self, call_protocol: str, stop_words: Sequence[str] = (), force_stop: str = FORCE_STOP) -> None:
        super().__init__(call_protocol=call_protocol, force_stop=force_stop)
        self.stop_words = (f'\n{self.response["begin"]}', *stop_words)

    def parse(self, message: str, action_executor: ActionExecutor) -> tuple[str, str, str]:
        """Splits an answer in thought, name and arguments.

        As in lagent, a final answer goes before any action, and without either there is no action. An action without
        arguments is one that passes nothing.
        """
        thought = cut_at(message, (self.action['begin'], self.finish['begin'])).split(self.thought['begin'])[-1].strip()
        _, finished, answer = message.rpartition(self.finish['begin'])
        if finished:
            return thought, action_executor.finish_action.name, answer.strip()
        return self._parse_action(message, thought, action_executor)

    def _parse_action(self, message: str, thought: str, action_executor: ActionExecutor) -> tuple[str, str, str]:
        _, called, call = message.rpartition(self.action['begin'])
        name, _, arguments = call.partition(self.action_input['begin'])
        if not called:
            return thought, action_executor.no_action.name, ''
        return thought, name.strip().partition('\n')[0], arguments.strip()


class ActionProtocol(ToolReActProtocol):
    """The same format where one message says everything, and the end is an action like any other.

    Args:
        prompt: The message: instructions, tools and question.
        response: What a tool's words begin with.
        stop_words: As :class:`ToolReActProtocol`.
    """

    def __init__(self, prompt: str, response: str, stop_words: Sequence[str] = ()) -> None:
        super().__init__('')
        self.response = {'role': 'RESPONSE', 'begin': response, 'end': '\n'}
        self.stop_words = (f'\n{response}', *stop_words)
        self._prompt = prompt

    def format(
        self, chat_history: Any, inner_step: Any, action_executor: ActionExecutor, force_stop: bool = False
    ) -> list[dict[str, str]]:
        """The message, and what was said since."""
        return [{'role': 'user', 'content': self._prompt}, *inner_step[1:]]

    def parse(self, message: str, action_executor: ActionExecutor) -> tuple[str, str, str]:
        """Splits an answer in thought, name and arguments."""
        thought = cut_at(message, (self.action['begin'],)).split(self.thought['begin'])[-1].strip()
        return self._parse_action(message, thought, action_executor)


def lagent_protocol(is_chinese: bool = False) -> ToolReActProtocol:
    """The protocol with lagent's own texts, English or Chinese."""
    if is_chinese:
        return ToolReActProtocol(CALL_PROTOCOL_CN, force_stop=FORCE_STOP_PROMPT_CN)
    return ToolReActProtocol(CALL_PROTOCOL_EN, force_stop=FORCE_STOP_PROMPT_EN)


def _messages(inputs: Sequence[Mapping[str, str]]) -> tuple[Message, ...]:
    # lagent's tools speak as the system, a role that chat templates know at the beginning only.
    roles = [item['role'] for item in inputs]
    roles[1:] = ['user' if role == 'system' else role for role in roles[1:]]
    return tuple(Message(role, item['content']) for role, item in zip(roles, inputs, strict=True))


def read_part(answer: str, stop_words: Sequence[str]) -> str:
    """What an agent reads of an answer: no thoughts of a reasoning model, and nothing from a stop word on."""
    return cut_at(strip_reasoning(answer[:MAX_CHARS]), tuple(stop_words))


class OpenCompassLLM(BaseModel):
    """Any model of OpenCompass as an LLM of lagent, for one conversation at a time.

    It takes messages as they are, and its answers end at a stop word.

    For agents of your own; our data sets run many agents at once, and ask for all of them together.

    Args:
        model: The model.
        max_out_len: Tokens per answer at most.
        stop_words: Where an answer ends.
    """

    def __init__(self, model: Any, max_out_len: int, stop_words: Sequence[str] = ()) -> None:
        super().__init__(str(getattr(model, 'path', '')), stop_words=list(stop_words))
        self._model = model
        self._max_out_len = max_out_len

    def chat(self, inputs: Sequence[Mapping[str, str]], **gen_params: Any) -> str:
        """Answers one conversation of lagent's.

        Raises:
            RuntimeError: The model gave no answer, through no fault of its own.
        """
        entry = {'record_id': '', 'source': '', 'idx': 0, 'gold_answer': ''}
        conversation = Conversation.of(normalise(_messages(inputs), {}), entry)
        (answer,) = ask(self._model, [conversation], self._max_out_len)
        if answer.reason:
            raise RuntimeError(f'the model gave no answer: {answer.reason}')
        return read_part(answer, self.gen_params['stop_words'])


class _Asked(BaseException):
    """Leaves an agent where it asks. No :class:`Exception`: agents may catch those."""

    def __init__(self, messages: tuple[Message, ...]) -> None:
        self.messages = messages


class _KnownLLM(BaseModel):
    """Gives what is read of the answers that are known, in order, and then leaves the agent."""

    def __init__(self, parts: Sequence[str], stop_words: Sequence[str]) -> None:
        super().__init__('', stop_words=list(stop_words))
        self._rest = iter(parts)

    def chat(self, inputs: Sequence[Mapping[str, str]], **gen_params: Any) -> str:
        for part in self._rest:
            return part
        raise _Asked(_messages(inputs))


class _Called(BaseException):
    """Leaves an agent where it calls a tool that answers outside."""

    def __init__(self, name: str, arguments: Any) -> None:
        self.name = name
        self.arguments = arguments


def as_rounds(run: Callable[[BaseModel], T], stop_words: Sequence[str] = (), golds: Sequence[str] = ()) -> Rounds[T]:
    """Makes a dialogue of an agent that runs to its end, so that many of them advance together.

    Where the agent asks, it is left; once there is an answer, it runs again from the beginning on all that were given.
    So there is no thread to wait for or to end, and what is interrupted comes back the same way. With 20 rounds an
    agent is run 21 times; reading 20 answers and calling no tool twice, that is nothing beside one call of a model.

    Args:
        run: Runs an agent on an LLM. What it asks must follow from the answers that it had.
        stop_words: Where an answer ends.
        golds: What a perfect model would say, by round; the last stands for all later ones.
    """
    rounds = iter(range(len(golds)))

    def ask_model(messages: tuple[Message, ...]) -> Rounds[str]:
        return (yield Turn(messages, golds[next(rounds, -1)] if golds else ''))

    def call_tool(name: str, arguments: Any) -> Rounds[Reply]:
        raise ValueError(f'the tool {name!r} answers outside of this agent')

    return (yield from as_rounds_with_tools(lambda llm, _: run(llm), ask_model, call_tool, stop_words))


def as_rounds_with_tools(
    run: Callable[[BaseModel, Sequence[AgentCall]], T],
    ask_model: Callable[[tuple[Message, ...]], Rounds[str]],
    call_tool: Callable[[str, Any], Rounds[Reply]],
    stop_words: Sequence[str] = (),
) -> Rounds[T]:
    """As :func:`as_rounds`; where the agent calls a tool it is left, too, and no call is made twice.

    So a tool may have a state, and may ask a model itself.

    Args:
        run: Runs an agent on an LLM and an :class:`OutsideExecutor` with the calls that it is given.
        ask_model: Asks the model.
        call_tool: Carries out a call: name and arguments.
        stop_words: Where an answer ends.
    """
    parts: list[str] = []
    calls: list[AgentCall] = []
    while True:
        called = None
        try:
            return run(_KnownLLM(parts, stop_words), calls)
        except _Asked as left:
            messages = left.messages
        except _Called as left:
            called = left.name, left.arguments
        if called is None:
            parts.append(read_part((yield from ask_model(messages)), stop_words))
        else:
            calls.append(AgentCall(*called, (yield from call_tool(*called))))


def react(
    llm: BaseModel, executor: ActionExecutor, protocol: ToolReActProtocol, messages: Sequence[Message], max_steps: int
) -> AgentRun:
    """Runs lagent's ReAct agent on one question.

    Args:
        llm: Its LLM, with the ``stop_words`` of the protocol.
        executor: The tools.
        protocol: The prompt.
        messages: Demonstrations, if any, and the question.
        max_steps: Answers of the LLM at most; before the last, it is told to finish.
    """
    agent = ReAct(llm, executor, protocol, max_turn=max_steps)
    done: AgentReturn = agent.chat([{'role': message.role, 'content': message.content} for message in messages])
    finished = bool(done.actions) and done.actions[-1].type == executor.finish_action.name
    calls = tuple(action.call for action in done.actions if isinstance(action, ToolReturn) and action.call)
    return AgentRun(calls, done.response if finished else None)


def react_rounds_with_tools(
    shown: Any,
    names: Sequence[str],
    ask_model: Callable[[tuple[Message, ...]], Rounds[str]],
    call_tool: Callable[[str, Any], Rounds[Reply]],
    protocol: ToolReActProtocol,
    messages: Sequence[Message],
    max_steps: int,
) -> Rounds[AgentRun]:
    """lagent's ReAct agent on one question, as a dialogue, with tools that answer outside.

    Args:
        shown: The tools, as :class:`OutsideExecutor`.
        names: As there.
        ask_model: As :func:`as_rounds_with_tools`.
        call_tool: As there.
        protocol: The prompt.
        messages: As :func:`react`.
        max_steps: As :func:`react`.
    """

    def run(llm: BaseModel, calls: Sequence[AgentCall]) -> AgentRun:
        return react(llm, OutsideExecutor(shown, names, calls), protocol, messages, max_steps)

    return as_rounds_with_tools(run, ask_model, call_tool, protocol.stop_words)


def react_rounds(
    tools: Sequence[Tool],
    unknown: Callable[[str, Any], Reply],
    call_protocol: str,
    messages: Sequence[Message],
    max_steps: int,
    golds: Sequence[str] = (),
    stop_words: Sequence[str] = (),
) -> Rounds[AgentRun]:
    """lagent's ReAct agent on one question, as a dialogue.

    Args:
        tools: As :class:`ToolExecutor`.
        unknown: As :class:`ToolExecutor`.
        call_protocol: As :class:`ToolReActProtocol`.
        messages: As :func:`react`.
        max_steps: As :func:`react`.
        golds: As :func:`as_rounds`.
        stop_words: As :class:`ToolReActProtocol`.
    """
    executor, protocol = ToolExecutor(tools, unknown), ToolReActProtocol(call_protocol, stop_words)
    run = partial(react, executor=executor, protocol=protocol, messages=messages, max_steps=max_steps)
    return as_rounds(run, protocol.stop_words, golds)
