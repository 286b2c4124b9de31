"""ReAct in lagent's format: as lagent's own agent does it, right, wrong and hostile answers, batches, interruption."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opencompass.models.base import BaseModel

from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.text.reading import parse_enclosed
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.work_dir.journal import Journal

pytest.importorskip('lagent', reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
from lagent.actions import ActionExecutor, BaseAction
from lagent.actions.parser import BaseParser
from lagent.agents.react import CALL_PROTOCOL_CN, FORCE_STOP_PROMPT_CN, ReAct, ReActProtocol
from lagent.llms.base_llm import BaseModel as LagentModel
from lagent.schema import ActionReturn

from opencompass_tooleval.agents.loops.lagent_bridge import (
    FORCE_STOP,
    ReActConversation,
    ShownTools,
    ToolReActProtocol,
    lagent_protocol,
)
from tests.forked import run_python
from tests.growth import in_linear_time
from tests.run_alone import run_alone

SYSTEM = 'Tools: {tool_description} Names: {action_names} {thought} {action} {action_input} {response} {finish}'
DESCRIPTION = {
    'name': 'total',
    'description': 'adds',
    'parameters': [{'name': 'input', 'type': 'List'}],
    'required': ['input'],
}


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


class Scripted(BaseModel):
    """Answers by what it was asked, and keeps the batches: the last messages."""

    is_api = True

    def __init__(self, reply: Callable[[list[dict[str, str]]], Answer | str]) -> None:
        super().__init__(path='scripted', tokenizer_only=True, max_seq_len=100_000)
        self.reply = reply
        self.batches: list[list[str]] = []

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        return prompt_template

    def get_token_len(self, prompt: str) -> int:
        return len(str(prompt).split())

    def answers(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[Answer]:
        self.batches.append([conversation[-1]['prompt'] for conversation in inputs])
        return [as_answer(self.reply(conversation)) for conversation in inputs]


def adds_one_by_one(conversation: list[dict[str, str]]) -> str:
    """Adds 1 as often as the question says, then gives the sum."""
    wanted = int(re.search(r'count to (\d+)', conversation[1]['prompt']).group(1))  # type: ignore[union-attr]
    last = re.fullmatch(r'Response:(\d+)\n', conversation[-1]['prompt'])
    have = int(last.group(1)) if last else 0
    return finish(str(have)) if have == wanted else call('total', f'{{"input": [{have}, 1]}}')


def test_right_answers_make_the_right_trajectory() -> None:
    asked = dialogue('1 + 2 + 3?')
    first = next(asked)
    system, question = first.messages
    assert (system.role, question) == ('system', Message('user', '1 + 2 + 3?'))
    assert "'name': 'total', 'description': 'adds'" in system.content
    assert "Names: ['total'] Thought: Action: Action Input: Response: Final Answer:" in system.content
    second = asked.send(as_answer(call('total', '{"input": [1, 2]}')))
    assert second.messages[2:] == (
        Message('assistant', call('total', '{"input": [1, 2]}')),
        Message('user', 'Response:3\n'),
    )
    asked.send(as_answer(call('total', '{"input": [3, 3]}')))
    with pytest.raises(StopIteration) as end:
        asked.send(as_answer(finish('6')))
    run = end.value.value
    assert calls(run) == [('total', {'input': [1, 2]}, '3', ''), ('total', {'input': [3, 3]}, '6', '')]
    assert run.answer == '6'


@pytest.mark.parametrize('name', ['nothing', 'total.__init__', 'total.run', 'a.b.c', 'Total', "__import__('os')"])
def test_unknown_names_are_kept_and_told(name: str) -> None:
    asked = dialogue()
    next(asked)
    told = asked.send(as_answer(call(name, '{"input": [1]}'))).messages[-1]
    assert told == Message('user', f'Response:no tool is called {name}\n')
    with pytest.raises(StopIteration) as end:
        asked.send(as_answer(finish('1')))
    assert calls(end.value.value) == [(name, {'input': [1]}, f'no tool is called {name}', 'name:unknown_tool')]


@pytest.mark.parametrize('text', ['5', 'one and two', '[1, 2]', '{"input": [1,', '{', '', '{"input": ["1"]}', '\n\n'])
def test_bad_arguments_reach_the_tool_as_they_are(text: str) -> None:
    run = run_alone(dialogue(), [call('total', text), finish('1')])
    ((name, arguments, said, error),) = calls(run)
    assert (name, said, error) == ('total', 'pass whole numbers', 'args:not_numbers')
    assert arguments == (text.strip() if '"1"' not in text else {'input': ['1']})


@pytest.mark.parametrize('answer', ['Action: total', 'Action: total\nAction Input:', 'Action:\ntotal\n'])
def test_an_action_without_arguments_passes_nothing(answer: str) -> None:
    run = run_alone(dialogue(), [answer, finish('1')])
    assert calls(run) == [('total', '', 'pass whole numbers', 'args:not_numbers')]


def test_arguments_are_read_without_what_is_around_them() -> None:
    run = run_alone(dialogue(), [call('total', '```json\n{"input":\n [1, 2]}\n```\nThat is it.'), finish('3')])
    assert calls(run) == [('total', {'input': [1, 2]}, '3', '')]


def test_a_model_cannot_say_what_a_tool_returned() -> None:
    invented = f'{call("total", "{}")}\nResponse:42\n{finish("42")}'
    asked = dialogue()
    next(asked)
    request = asked.send(as_answer(invented))
    assert request.messages[2:] == (
        Message('assistant', call('total', '{}')),
        Message('user', 'Response:pass whole numbers\n'),
    )


@pytest.mark.parametrize('answer', ['', 'I do not know', 'Action Input: {"input": [1]}', '<think>hm'])
def test_answers_out_of_format_are_told_and_are_no_calls(answer: str) -> None:
    asked = dialogue()
    next(asked)
    assert asked.send(as_answer(answer)).messages[-1] == Message('user', 'Response:Please follow the format\n')
    with pytest.raises(StopIteration) as end:
        asked.send(Answer(f'<think>{call("total", "{}")}</think>{finish("1")}'))
    assert (end.value.value.calls, end.value.value.answer) == ((), '1')


def test_a_model_that_never_finishes_is_stopped() -> None:
    asked = dialogue()
    requests = [next(asked)]
    with pytest.raises(StopIteration) as end:
        for number in range(100):
            requests.append(asked.send(as_answer(call('total', f'{{"input": [{number}]}}'))))
    assert len(requests) == 20
    assert [FORCE_STOP in request.messages[-1].content for request in requests] == [False] * 19 + [True]
    assert all(message.role in ('user', 'assistant') for message in requests[-1].messages[1:])
    assert len(end.value.value.calls) == 20
    assert end.value.value.answer is None


HOSTILE = {
    'code': call('total', "__import__('os').system('touch {marker}')"),
    'code in a list': call('total', "{{'input': [__import__('os').system('touch {marker}')]}}"),
    'power': call('total', '{{"input": [9**9**9**9]}}'),
    'code as name': call("__import__('os').system('touch {marker}')", '{{}}'),
    'attribute': call('total.__class__.__init__', '{{"name": "run"}}'),
    'ten megabytes': 'x' * 10_000_000,
    'ten megabytes of arguments': call('total', '{{"input": [' + '1,' * 5_000_000 + '1]}}'),
    'deep': call('total', '[' * 100_000),
    'deep object': call('total', '{{"input": ' * 30_000),
    'many digits': call('total', '{{"input": [' + '9' * 100_000 + ']}}'),
    'hexadecimal': call('total', '{{"input": [0x' + 'f' * 100_000 + ']}}'),
    'many actions': 'Action:' * 1_400_000,
    'many inputs': 'Action: total\n' + 'Action Input:' * 700_000,
    'many responses': '\nResponse:' * 1_000_000,
    'not a number': call('total', '{{"input": [NaN, Infinity]}}'),
    'surrogate': call('total\udc80', '{{"input": ["\udc80"]}}'),
    'template': call('total', '{{"input": "{{tool_description}} %s {{0.__class__}}"}}'),
}


@pytest.mark.parametrize('kind', HOSTILE)
def test_hostile_answers(kind: str, tmp_path: Path) -> None:
    marker = tmp_path / 'executed'
    answer = HOSTILE[kind].replace('{marker}', str(marker)).replace('{{', '{').replace('}}', '}')
    run = in_linear_time(lambda text: run_alone(dialogue(steps=4), [text, text, text, finish('1')]), answer)
    assert run.answer == '1'
    assert all(item.reply.error for item in run.calls)
    assert not marker.exists()


def questions(count: int) -> dict[str, Dialogue[AgentRun]]:
    return {f'q{number}': dialogue(f'count to {1 + number % 5}') for number in range(count)}


def test_questions_advance_together() -> None:
    model = Scripted(adds_one_by_one)
    outcomes = DialogueRunner(model, None, 100).run(questions(60))
    assert [len(batch) for batch in model.batches] == [60, 60, 48, 36, 24, 12]
    for number, outcome in enumerate(outcomes.values()):
        assert outcome.value is not None
        assert outcome.value.answer == str(1 + number % 5)
        assert len(outcome.value.calls) == 1 + number % 5


def test_an_interrupted_run_asks_nothing_twice(tmp_path: Path) -> None:
    def killed(conversation: list[dict[str, str]]) -> str:
        if len(conversation) == 6:
            raise KeyboardInterrupt
        return adds_one_by_one(conversation)

    journal = Journal(tmp_path / 'journal.jsonl')
    first, second, whole = Scripted(killed), Scripted(adds_one_by_one), Scripted(adds_one_by_one)
    with pytest.raises(KeyboardInterrupt):
        DialogueRunner(first, journal, 100, batch_size=10).run(questions(25))
    outcomes = DialogueRunner(second, journal, 100, batch_size=10).run(questions(25))
    assert outcomes == DialogueRunner(whole, None, 100, batch_size=10).run(questions(25))
    asked = sum(map(len, first.batches[:-1])) + sum(map(len, second.batches))
    assert asked == sum(map(len, whole.batches)) == 100
    assert sum(map(len, second.batches)) == 50


def test_a_question_without_an_answer_does_not_hold_up_the_others() -> None:
    def fails(conversation: list[dict[str, str]]) -> Answer | str:
        return Answer('', 'infra:timeout') if 'to 3' in conversation[1]['prompt'] else adds_one_by_one(conversation)

    outcomes = DialogueRunner(Scripted(fails), None, 100).run(questions(5))
    assert [outcome.infra for outcome in outcomes.values()] == [None, None, 'infra:timeout', None, None]
    assert outcomes['q4'].value is not None


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
    answers = [
        call('total', '{"input": [1, 2]}'),
        'I do not know',
        call('total', '{"input": ["1"]}'),
        call('total', '{"input": [3, 3]}'),
        finish('6'),
    ]
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
