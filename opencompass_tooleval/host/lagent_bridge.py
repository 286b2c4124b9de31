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
    from lagent.agents.react import ReAct, ReActProtocol
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


class ToolReActProtocol(ReActProtocol):
    """lagent's format (Thought, Action, Action Input, Response, Final Answer), read in linear time.

    Args:
        call_protocol: The system prompt, with lagent's fields: ``{tool_description}``, ``{action_names}``,
            ``{thought}``, ``{action}``, ``{action_input}``, ``{response}``, ``{finish}``.
        stop_words: Where an answer ends, besides where a tool would have to speak.
    """

    def __init__(self, call_protocol: str, stop_words: Sequence[str] = ()) -> None:
        super().__init__(call_protocol=call_protocol, force_stop=FORCE_STOP)
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
        _, called, call = message.rpartition(self.action['begin'])
        name, _, arguments = call.partition(self.action_input['begin'])
        if not called:
            return thought, action_executor.no_action.name, ''
        return thought, name.strip().partition('\n')[0], arguments.strip()


class _ChatLLM(BaseModel):
    """An LLM that takes messages as they are, and whose answers end at a stop word."""

    def __init__(self, path: str, stop_words: Sequence[str]) -> None:
        super().__init__(path, stop_words=list(stop_words))

    def say(self, messages: tuple[Message, ...]) -> str:
        """Answers one conversation."""
        raise NotImplementedError

    def chat(self, inputs: Sequence[Mapping[str, str]], **gen_params: Any) -> str:
        """Answers one conversation of lagent's."""
        # lagent's tools speak as the system, a role that chat templates know at the beginning only.
        roles = [item['role'] for item in inputs]
        roles[1:] = ['user' if role == 'system' else role for role in roles[1:]]
        messages = tuple(Message(role, item['content']) for role, item in zip(roles, inputs, strict=True))
        answer = strip_reasoning(self.say(messages)[:MAX_CHARS])
        return cut_at(answer, tuple(self.gen_params['stop_words']))


class OpenCompassLLM(_ChatLLM):
    """Any model of OpenCompass as an LLM of lagent, for one conversation at a time.

    For agents of your own; our data sets run many agents at once, and ask for all of them together.

    Args:
        model: The model.
        max_out_len: Tokens per answer at most.
        stop_words: Where an answer ends.
    """

    def __init__(self, model: Any, max_out_len: int, stop_words: Sequence[str] = ()) -> None:
        super().__init__(str(getattr(model, 'path', '')), stop_words)
        self._model = model
        self._max_out_len = max_out_len

    def say(self, messages: tuple[Message, ...]) -> str:
        """Asks the model.

        Raises:
            RuntimeError: It gave no answer, through no fault of its own.
        """
        entry = {'record_id': '', 'source': '', 'idx': 0, 'gold_answer': ''}
        (answer,) = ask(self._model, [Conversation.of(normalise(messages, {}), entry)], self._max_out_len)
        if answer.reason:
            raise RuntimeError(f'the model gave no answer: {answer.reason}')
        return answer


class _Asked(BaseException):
    """Leaves an agent where it asks. No :class:`Exception`: agents may catch those."""

    def __init__(self, messages: tuple[Message, ...]) -> None:
        self.messages = messages


class _KnownLLM(_ChatLLM):
    """Gives the answers that are known, in order, and then leaves the agent."""

    def __init__(self, answers: Sequence[str], stop_words: Sequence[str]) -> None:
        super().__init__('', stop_words)
        self._rest = iter(answers)

    def say(self, messages: tuple[Message, ...]) -> str:
        for answer in self._rest:
            return answer
        raise _Asked(messages)


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
    answers: list[str] = []
    while True:
        try:
            return run(_KnownLLM(answers, stop_words))
        except _Asked as asked:
            messages = asked.messages
        gold = golds[min(len(answers), len(golds) - 1)] if golds else ''
        answers.append((yield Turn(messages, gold)))


def react(
    llm: BaseModel, executor: ToolExecutor, protocol: ToolReActProtocol, messages: Sequence[Message], max_steps: int
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
