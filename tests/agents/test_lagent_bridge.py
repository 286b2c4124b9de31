"""ReAct in lagent's format: as lagent's own agent does it, and wrong and hostile answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.text.reading import parse_enclosed

pytest.importorskip('lagent', reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
from lagent.actions import ActionExecutor, BaseAction
from lagent.actions.parser import BaseParser
from lagent.agents.react import CALL_PROTOCOL_CN, FORCE_STOP_PROMPT_CN, ReAct, ReActProtocol
from lagent.llms.base_llm import BaseModel as LagentModel
from lagent.schema import ActionReturn

from opencompass_tooleval.agents.loops.lagent_bridge import (
    ReActConversation,
    ShownTools,
    ToolReActProtocol,
    lagent_protocol,
)
from tests.forked import run_python
from tests.run_alone import run_alone

SYSTEM = 'Tools: {tool_description} Names: {action_names} {thought} {action} {action_input} {response} {finish}'
PARAMETERS = [{'name': 'input', 'type': 'List'}]
DESCRIPTION = {'name': 'total', 'description': 'adds', 'parameters': PARAMETERS, 'required': ['input']}


@dataclass(frozen=True)
class Said:
    text: str
    error: str = ''


def total(arguments: Any) -> Said:
    """A tool."""
    numbers = arguments.get('input') if isinstance(arguments, dict) else None
    if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
        return Said('pass whole numbers', 'args:not_numbers')
    return Said(str(sum(numbers)))


def unknown(name: str, arguments: Any) -> Said:
    return Said(f'no tool is called {name}', 'name:unknown_tool')


@dataclass(frozen=True)
class Called:
    name: str
    arguments: Any
    reply: Said


@dataclass(frozen=True)
class AgentRun:
    calls: tuple[Called, ...]
    answer: str | None


def dialogue(question: str = 'q', steps: int = 20) -> Dialogue[AgentRun]:
    rounds = ReActConversation(
        ToolReActProtocol(SYSTEM), ShownTools([DESCRIPTION], ['total']), [Message('user', question)]
    )
    made: list[Called] = []
    for step in range(steps):
        action = rounds.read((yield ModelRequest(rounds.prompt(step == steps - 1))).text)
        if action.is_final:
            return AgentRun(tuple(made), action.text)
        if action.name is not None:
            said = total(action.arguments) if action.name == 'total' else unknown(action.name, action.arguments)
            made.append(Called(action.name, action.arguments, said))
            rounds.add_response(said.text)
    return AgentRun(tuple(made), None)


def call(name: str, arguments: str) -> str:
    return f'Thought: so\nAction: {name}\nAction Input: {arguments}'


def finish(answer: str) -> str:
    return f'Thought: done\nFinal Answer: {answer}'


def calls(run: AgentRun) -> list[tuple[Any, ...]]:
    return [(item.name, item.arguments, item.reply.text, item.reply.error) for item in run.calls]


@pytest.mark.parametrize('text', ['one and two', '[1, 2]', '{"input": [1,', '', '{"input": ["1"]}'])
def test_bad_arguments_reach_the_tool_as_they_are(text: str) -> None:
    run = run_alone(dialogue(), [call('total', text), finish('1')])
    ((name, arguments, said, error),) = calls(run)
    assert (name, said, error) == ('total', 'pass whole numbers', 'args:not_numbers')
    assert arguments == (text.strip() if '"1"' not in text else {'input': ['1']})


NOTHING = ('total', '', 'pass whole numbers', 'args:not_numbers')


@pytest.mark.parametrize(
    ('answer', 'made'),
    [
        ('Action: total', NOTHING),
        ('Action:\ntotal\n', NOTHING),
        (call('total', '```json\n{"input":\n [1, 2]}\n```\nThat is it.'), ('total', {'input': [1, 2]}, '3', '')),
    ],
)
def test_arguments_are_read_without_what_is_around_them(answer: str, made: tuple[Any, ...]) -> None:
    assert calls(run_alone(dialogue(), [answer, finish('1')])) == [made]


HOSTILE = {
    'code': call('total', "__import__('os').system('touch {marker}')"),
    'power': call('total', '{{"input": [9**9**9**9]}}'),
    'code as name': call("__import__('os').system('touch {marker}')", '{{}}'),
    'attribute': call('total.__class__.__init__', '{{"name": "run"}}'),
    'a megabyte of arguments': call('total', '{{"input": [' + '1,' * 500_000 + '1]}}'),
    'deep': call('total', '[' * 100_000),
    'many digits': call('total', '{{"input": [' + '9' * 100_000 + ']}}'),
    'hexadecimal': call('total', '{{"input": [0x' + 'f' * 100_000 + ']}}'),
    'many inputs': 'Action: total\n' + 'Action Input:' * 70_000,
    'many responses': '\nResponse:' * 100_000,
    'not a number': call('total', '{{"input": [NaN, Infinity]}}'),
    'surrogate': call('total\udc80', '{{"input": ["\udc80"]}}'),
    'template': call('total', '{{"input": "{{tool_description}} %s {{0.__class__}}"}}'),
}


@pytest.mark.parametrize('kind', HOSTILE)
def test_hostile_answers(kind: str, tmp_path: Path) -> None:
    marker = tmp_path / 'executed'
    answer = HOSTILE[kind].replace('{marker}', str(marker)).replace('{{', '{').replace('}}', '}')
    run = run_alone(dialogue(steps=4), [answer] * 3 + [finish('1')])
    assert run.answer == '1'
    assert all(item.reply.error for item in run.calls)
    assert not marker.exists()


class Total(BaseAction):
    """The tool as an action of lagent."""

    def __init__(self) -> None:
        super().__init__(DESCRIPTION, BaseParser)

    def run(self, input: str) -> ActionReturn:
        said = total(parse_enclosed(input, '{', '}').value)
        return ActionReturn(type='total', result=[{'type': 'text', 'content': said.text}])


class LagentScripted(LagentModel):
    """Given answers; keeps what it is asked."""

    def __init__(self, answers: list[str]) -> None:
        super().__init__('')
        self.answers = iter(answers)
        self.asked: list[list[tuple[str, str]]] = []

    def chat(self, inputs: list[dict[str, str]], **kwargs: Any) -> str:
        self.asked.append([(message['role'], message['content']) for message in inputs])
        return next(self.answers)


@pytest.mark.parametrize('is_chinese', [False, True])
@pytest.mark.parametrize('steps', [3, 6])
def test_lagents_own_agent_asks_and_ends_the_same(steps: int, is_chinese: bool) -> None:
    """But for the role of a tool's words, which chat templates refuse."""
    right, wrong, again = (call('total', f'{{"input": {numbers}}}') for numbers in ('[1, 2]', '["1"]', '[3, 3]'))
    answers = [right, 'I do not know', wrong, again, finish('6')]
    model, executor = LagentScripted(answers), ActionExecutor([Total()])
    chinese = {'call_protocol': CALL_PROTOCOL_CN, 'force_stop': FORCE_STOP_PROMPT_CN} if is_chinese else {}
    run = ReAct(model, executor, ReActProtocol(**chinese), max_turn=steps).chat('1 + 2 + 3?')

    tools = ShownTools(executor.get_actions_info(), executor.action_names())
    rounds = ReActConversation(lagent_protocol(is_chinese), tools, [Message('user', '1 + 2 + 3?')])
    asked, final = [], 'Sorry that I cannot answer your question.'
    for step, answer in zip(range(steps), answers, strict=False):
        asked.append([(message.role, message.content) for message in rounds.prompt(step == steps - 1)])
        action = rounds.read(answer)
        if action.is_final:
            final = action.text
        elif action.name:
            rounds.add_response(total(action.arguments).text)
    renamed = [
        [('user' if place and role == 'system' else role, text) for place, (role, text) in enumerate(messages)]
        for messages in model.asked
    ]
    assert (asked, final) == (renamed, run.response.strip())
    assert len(asked) == min(steps, 5)


def test_without_lagent_the_fix_is_named() -> None:
    code = (
        'import sys\n'
        "bridge = 'opencompass_tooleval.agents.loops.lagent_bridge'\n"
        "for name in [name for name in sys.modules if name == bridge or name.partition('.')[0] == 'lagent']:\n"
        '    del sys.modules[name]\n'
        "sys.modules['lagent'] = None\n"
        '__import__(bridge)\n'
    )
    done = run_python('-c', code)
    assert done.returncode == 1
    assert "Fix it with: pip install 'opencompass-tooleval[agent]'" in done.stderr.splitlines()[-1]
    assert 'ImportError: ReAct needs lagent, which cannot be imported' in done.stderr
