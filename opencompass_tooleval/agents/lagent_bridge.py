"""lagent's ReAct: its prompts, its format and what it does with an answer, one round at a time.

lagent's agent asks its model and its tools synchronously. :class:`ReActConversation` does what one round of it does
between the two, so that an agent is a dialogue like any other. lagent builds the prompt, and says what a tool's
response and an answer without an action look like; ``tests/agents/test_lagent_bridge.py`` runs lagent's own agent
beside it. What is put in place of lagent's code, because lagent 0.2 fails there:

* its LLM base class stops at no stop word, so that a model may invent what a tool returns;
* its JSON parser lets an answer end the run (nesting, a bare number, 5,000 digits), and so does a name with two dots;
  a name that it does not know is lost;
* its reading of an answer takes quadratic time, and pairs the last name with the first arguments.

Import this module only where an agent is run: lagent is the extra ``agent``, and takes seconds to import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.answer import cut_at, strip_reasoning
from opencompass_tooleval.core.bounds import MAX_CHARS
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.reading import parse_enclosed

try:
    from lagent.actions import ActionExecutor
    from lagent.agents.react import (
        CALL_PROTOCOL_CN,
        CALL_PROTOCOL_EN,
        FORCE_STOP_PROMPT_CN,
        FORCE_STOP_PROMPT_EN,
        ReActProtocol,
    )
    from lagent.schema import ActionReturn
except ImportError as error:
    fix = "pip install 'opencompass-tooleval[agent]'"
    raise ImportError(f'ReAct runs on lagent, which cannot be imported ({error}). Fix it with: {fix}') from error

FORCE_STOP = 'This was the last use of a tool. Give the final answer now.'


class ShownTools(ActionExecutor):
    """The tools as lagent's prompt shows them; they answer elsewhere.

    Args:
        shown: Fills the system prompt's ``{tool_description}``.
        names: Fills its ``{action_names}``.
    """

    def __init__(self, shown: Any = (), names: Sequence[str] = ()) -> None:
        super().__init__([])
        self._shown = shown
        self._names = list(names)

    def get_actions_info(self) -> Any:
        """The tools as they are shown."""
        return self._shown

    def action_names(self, only_enable: bool = True) -> list[str]:
        """Their names."""
        return self._names


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


@dataclass(frozen=True)
class Action:
    """An answer as lagent's format reads it.

    Attributes:
        thought: What stands before the action.
        name: The tool's name, known or not, or lagent's name of a final answer; None without an action.
        text: The arguments as they are written, or the final answer.
        is_final: Whether it ends the task.
    """

    thought: str
    name: str | None
    text: str
    is_final: bool = False

    @property
    def arguments(self) -> Any:
        """The object in the text, or the text: whether that will do is for the tool to say."""
        parsed = parse_enclosed(self.text, '{', '}')
        return parsed.value if parsed.ok else self.text


class ReActConversation:
    """One task's conversation in lagent's format, round by round.

    Args:
        protocol: The format.
        tools: The tools.
        messages: Demonstrations, if any, and the question.
    """

    def __init__(self, protocol: ToolReActProtocol, tools: ShownTools, messages: Sequence[Message]) -> None:
        self._protocol = protocol
        self._tools = tools
        self._history = [{'role': message.role, 'content': message.content} for message in messages]

    def prompt(self, is_last: bool) -> tuple[Message, ...]:
        """The next request.

        Args:
            is_last: Whether no other follows: then the model is told to finish.
        """
        return _messages(self._protocol.format([], self._history, self._tools, force_stop=is_last))

    def read(self, answer: str) -> Action:
        """Reads the answer to the request: no thoughts of a reasoning model, and nothing from a stop word on."""
        said = cut_at(strip_reasoning(answer[:MAX_CHARS]).text, tuple(self._protocol.stop_words))
        self._history.append({'role': 'assistant', 'content': said})
        thought, name, text = self._protocol.parse(said, self._tools)
        if name == self._tools.no_action.name:
            self._add_response(self._tools.no_action(text))
            return Action(thought, None, text)
        return Action(thought, name, text, name == self._tools.finish_action.name)

    def add_response(self, text: str) -> None:
        """Adds what a tool returned."""
        self._add_response(ActionReturn(result=[{'type': 'text', 'content': text}]))

    def _add_response(self, returned: ActionReturn) -> None:
        self._history.append(self._protocol.format_response(returned))
