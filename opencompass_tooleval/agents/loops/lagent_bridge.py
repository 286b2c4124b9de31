"""lagent's ReAct as a dialogue: lagent's prompts, format and treatment of an answer, one round at a time.

lagent's agent calls its model and its tools synchronously. :class:`ReActConversation` runs the code between these
calls, so that an agent is a dialogue like any other. lagent builds the prompt, and formats a tool's response and the
response to an answer without an action; ``tests/agents/test_lagent_bridge.py`` compares it with lagent's own agent.
Where lagent 0.2 fails, this module replaces its code:

* its LLM base class ignores stop words, so a model may invent a tool's response;
* its JSON parser lets some answers end the run (nesting, a bare number, 5,000 digits), as does a name with two dots;
  the name of an unknown tool is lost;
* its parser of answers takes quadratic time, and pairs the last name with the first arguments.

Import this module only to run an agent: lagent belongs to the extra ``agent``, and takes seconds to import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.calls.answer import cut_at, strip_reasoning
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.core.text.reading import parse_enclosed

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
    raise ImportError(f'ReAct needs lagent, which cannot be imported ({error}). Fix it with: {fix}') from error

FORCE_STOP = 'This was the last use of a tool. Give the final answer now.'


class ShownTools(ActionExecutor):
    """The tools in lagent's prompt; the environment answers their calls.

    Args:
        shown: Fills the system prompt's ``{tool_description}``.
        names: Fills its ``{action_names}``.
    """

    def __init__(self, shown: Any = (), names: Sequence[str] = ()) -> None:
        super().__init__([])
        self._shown = shown
        self._names = list(names)

    def get_actions_info(self) -> Any:
        """Returns the shown tools."""
        return self._shown

    def action_names(self, only_enable: bool = True) -> list[str]:
        """Returns the names of the shown tools."""
        return self._names


class ToolReActProtocol(ReActProtocol):
    """lagent's format (Thought, Action, Action Input, Response, Final Answer), parsed in linear time.

    Args:
        call_protocol: The system prompt, with lagent's fields: ``{tool_description}``, ``{action_names}``,
            ``{thought}``, ``{action}``, ``{action_input}``, ``{response}``, ``{finish}``.
        stop_words: Texts that end an answer, besides the start of a tool's response.
        force_stop: The message before the last answer.
    """

    def __init__(self, call_protocol: str, stop_words: Sequence[str] = (), force_stop: str = FORCE_STOP) -> None:
        super().__init__(call_protocol=call_protocol, force_stop=force_stop)
        self.stop_words = (f'\n{self.response["begin"]}', *stop_words)

    def parse(self, message: str, action_executor: ActionExecutor) -> tuple[str, str, str]:
        """Splits an answer into thought, name and arguments.

        As in lagent, a final answer has priority over any action, and an answer with neither has no action. An action
        without arguments passes an empty text.
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
    """The same format in a single message; finishing is an action like any other.

    Args:
        prompt: The message: instructions, tools and question.
        response: The beginning of a tool's response.
        stop_words: Texts that end an answer.
    """

    def __init__(self, prompt: str, response: str, stop_words: Sequence[str] = ()) -> None:
        super().__init__('')
        self.response = {'role': 'RESPONSE', 'begin': response, 'end': '\n'}
        self.stop_words = (f'\n{response}', *stop_words)
        self._prompt = prompt

    def format(
        self, chat_history: Any, inner_step: Any, action_executor: ActionExecutor, force_stop: bool = False
    ) -> list[dict[str, str]]:
        """Returns the message and the rounds so far."""
        return [{'role': 'user', 'content': self._prompt}, *inner_step[1:]]

    def parse(self, message: str, action_executor: ActionExecutor) -> tuple[str, str, str]:
        """Splits an answer into thought, name and arguments."""
        thought = cut_at(message, (self.action['begin'],)).split(self.thought['begin'])[-1].strip()
        return self._parse_action(message, thought, action_executor)


def lagent_protocol(is_chinese: bool = False) -> ToolReActProtocol:
    """Creates the protocol with lagent's own texts, English or Chinese."""
    if is_chinese:
        return ToolReActProtocol(CALL_PROTOCOL_CN, force_stop=FORCE_STOP_PROMPT_CN)
    return ToolReActProtocol(CALL_PROTOCOL_EN, force_stop=FORCE_STOP_PROMPT_EN)


def _messages(inputs: Sequence[Mapping[str, str]]) -> tuple[Message, ...]:
    # lagent sends tools' responses as system messages, but chat templates allow these only at the beginning.
    roles = [item['role'] for item in inputs]
    roles[1:] = ['user' if role == 'system' else role for role in roles[1:]]
    return tuple(Message(role, item['content']) for role, item in zip(roles, inputs, strict=True))


@dataclass(frozen=True)
class Action:
    """An answer read in lagent's format.

    Attributes:
        thought: The text before the action.
        name: The tool's name, even an unknown one, or lagent's name for a final answer; None without an action.
        text: The arguments as they are written, or the final answer.
        is_final: True if the action ends the task.
    """

    thought: str
    name: str | None
    text: str
    is_final: bool = False

    @property
    def arguments(self) -> Any:
        """The object in the text; without one the text itself, which the tool may reject."""
        parsed = parse_enclosed(self.text, '{', '}')
        return parsed.value if parsed.ok else self.text


class ReActConversation:
    """A task's conversation in lagent's format, round by round.

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
        """Returns the next request.

        Args:
            is_last: True for the last request, in which the model is told to finish.
        """
        return _messages(self._protocol.format([], self._history, self._tools, force_stop=is_last))

    def read(self, answer: str) -> Action:
        """Parses the answer up to the first stop word, without a reasoning model's thoughts."""
        visible = cut_at(strip_reasoning(answer[:MAX_CHARS]).text, tuple(self._protocol.stop_words))
        self._history.append({'role': 'assistant', 'content': visible})
        thought, name, text = self._protocol.parse(visible, self._tools)
        if name == self._tools.no_action.name:
            self._add_response(self._tools.no_action(text))
            return Action(thought, None, text)
        return Action(thought, name, text, name == self._tools.finish_action.name)

    def add_response(self, text: str) -> None:
        """Adds a tool's response."""
        self._add_response(ActionReturn(result=[{'type': 'text', 'content': text}]))

    def _add_response(self, returned: ActionReturn) -> None:
        self._history.append(self._protocol.format_response(returned))
