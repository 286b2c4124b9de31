"""Agents of lagent: right, wrong and hostile answers, batches, interruption, and one at a time on a plain model."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opencompass.models.base import BaseModel

from opencompass_tooleval.core.agent import AgentRun, Tool
from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.host.rounds_runner import RoundsRunner
from opencompass_tooleval.sweep.journal import Journal

pytest.importorskip('lagent', reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
from opencompass_tooleval.host import lagent_bridge
from opencompass_tooleval.host.lagent_bridge import (
    FORCE_STOP,
    OpenCompassLLM,
    ToolExecutor,
    ToolReActProtocol,
    react,
    react_rounds,
)
from tests.rounds import run_alone

SYSTEM = 'Tools: {tool_description} Names: {action_names} {thought} {action} {action_input} {response} {finish}'
PARAMETERS = ({'name': 'input', 'type': 'List'},)


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
    return Said(f'no tool is called {name}', 'tool:unknown_name')


def tools(call: Callable[[Any], Any] = total) -> list[Tool]:
    return [Tool('total', 'adds', PARAMETERS, call)]


def dialogue(question: str = 'q', steps: int = 20, golds: tuple[str, ...] = (), **given: Any) -> Rounds[AgentRun]:
    return react_rounds(given.get('tools', tools()), unknown, SYSTEM, [Message('user', question)], steps, golds)


def call(name: str, arguments: str) -> str:
    return f'Thought: so\nAction: {name}\nAction Input: {arguments}'


def finish(answer: str) -> str:
    return f'Thought: done\nFinal Answer: {answer}'


def calls(run: AgentRun) -> list[tuple[Any, ...]]:
    return [(item.name, item.arguments, item.reply.text, item.reply.error) for item in run.calls]


class Scripted(BaseModel):
    """Answers by what it was asked, and keeps the batches: the last messages."""

    is_api = True

    def __init__(self, reply: Callable[[list[dict[str, str]]], str]) -> None:
        super().__init__(path='scripted', tokenizer_only=True, max_seq_len=100_000)
        self.reply = reply
        self.batches: list[list[str]] = []

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        return prompt_template

    def get_token_len(self, prompt: str) -> int:
        return len(str(prompt).split())

    def generate(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[str]:
        self.batches.append([conversation[-1]['prompt'] for conversation in inputs])
        return [self.reply(conversation) for conversation in inputs]


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
    second = asked.send(call('total', '{"input": [1, 2]}'))
    assert second.messages[2:] == (
        Message('assistant', call('total', '{"input": [1, 2]}')),
        Message('user', 'Response:3\n'),
    )
    asked.send(call('total', '{"input": [3, 3]}'))
    with pytest.raises(StopIteration) as end:
        asked.send(finish('6'))
    run = end.value.value
    assert calls(run) == [('total', {'input': [1, 2]}, '3', ''), ('total', {'input': [3, 3]}, '6', '')]
    assert run.answer == '6'


def test_gold_answers_are_given_by_round() -> None:
    asked = dialogue(golds=('first', 'last'))
    golds = [next(asked).gold, asked.send('x').gold, asked.send('y').gold]
    assert golds == ['first', 'last', 'last']
    assert next(dialogue()).gold == ''


@pytest.mark.parametrize('name', ['nothing', 'total.__init__', 'total.run', 'a.b.c', 'Total', "__import__('os')"])
def test_unknown_names_are_kept_and_told(name: str) -> None:
    asked = dialogue()
    next(asked)
    told = asked.send(call(name, '{"input": [1]}')).messages[-1]
    assert told == Message('user', f'Response:no tool is called {name}\n')
    with pytest.raises(StopIteration) as end:
        asked.send(finish('1'))
    assert calls(end.value.value) == [(name, {'input': [1]}, f'no tool is called {name}', 'tool:unknown_name')]


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
    turn = asked.send(invented)
    assert turn.messages[2:] == (
        Message('assistant', call('total', '{}')),
        Message('user', 'Response:pass whole numbers\n'),
    )


@pytest.mark.parametrize('answer', ['', 'I do not know', 'Action Input: {"input": [1]}', '<think>hm'])
def test_answers_out_of_format_are_told_and_are_no_calls(answer: str) -> None:
    asked = dialogue()
    next(asked)
    assert asked.send(answer).messages[-1] == Message('user', 'Response:Please follow the format\n')
    with pytest.raises(StopIteration) as end:
        asked.send(f'<think>{call("total", "{}")}</think>{finish("1")}')
    assert (end.value.value.calls, end.value.value.answer) == ((), '1')


def test_a_model_that_never_finishes_is_stopped() -> None:
    asked = dialogue()
    turns = [next(asked)]
    with pytest.raises(StopIteration) as end:
        for number in range(100):
            turns.append(asked.send(call('total', f'{{"input": [{number}]}}')))
    assert len(turns) == 20
    assert [FORCE_STOP in turn.messages[-1].content for turn in turns] == [False] * 19 + [True]
    assert all(message.role in ('user', 'assistant') for message in turns[-1].messages[1:])
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
    start = time.process_time()
    run = run_alone(dialogue(steps=4), [answer, answer, answer, finish('1')])
    assert time.process_time() - start < 1
    assert run.answer == '1'
    assert all(item.reply.error for item in run.calls)
    assert not marker.exists()


def test_a_fault_of_ours_is_raised() -> None:
    def broken(arguments: Any) -> Said:
        raise ZeroDivisionError('broken tool')

    asked = dialogue(tools=tools(broken))
    next(asked)
    with pytest.raises(ZeroDivisionError, match='broken tool'):
        asked.send(call('total', '{}'))


def test_each_call_is_made_once() -> None:
    made = []

    def counted(arguments: Any) -> Said:
        made.append(arguments)
        return total(arguments)

    answers = [call('total', f'{{"input": [{number}]}}') for number in range(6)]
    run = run_alone(dialogue(tools=tools(counted)), [*answers, finish('15')])
    assert made == [{'input': [number]} for number in range(6)] == [item.arguments for item in run.calls]


def test_nothing_is_left_of_a_dialogue_that_is_closed() -> None:
    before = threading.enumerate()
    going = [dialogue(str(number)) for number in range(20)]
    for asked in going:
        next(asked)
        asked.send(call('total', '{"input": [1]}'))
        asked.close()
        with pytest.raises(StopIteration):
            next(asked)
    assert threading.enumerate() == before


def questions(count: int) -> dict[str, Rounds[AgentRun]]:
    return {f'q{number}': dialogue(f'count to {1 + number % 5}') for number in range(count)}


def test_questions_advance_together() -> None:
    model = Scripted(adds_one_by_one)
    outcomes = RoundsRunner(model, None, 100).run(questions(60))
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
        RoundsRunner(first, journal, 100, batch_size=10).run(questions(25))
    outcomes = RoundsRunner(second, journal, 100, batch_size=10).run(questions(25))
    assert outcomes == RoundsRunner(whole, None, 100, batch_size=10).run(questions(25))
    asked = sum(map(len, first.batches[:-1])) + sum(map(len, second.batches))
    assert asked == sum(map(len, whole.batches)) == 100
    assert sum(map(len, second.batches)) == 50


def test_a_question_without_an_answer_does_not_hold_up_the_others() -> None:
    def fails(conversation: list[dict[str, str]]) -> str:
        return Answer('', 'infra:timeout') if 'to 3' in conversation[1]['prompt'] else adds_one_by_one(conversation)

    outcomes = RoundsRunner(Scripted(fails), None, 100).run(questions(5))
    assert [outcome.infra for outcome in outcomes.values()] == [None, None, 'infra:timeout', None, None]
    assert outcomes['q4'].value is not None


def test_one_at_a_time_and_together_are_the_same() -> None:
    together = RoundsRunner(Scripted(adds_one_by_one), None, 100).run({'q': dialogue('count to 3')})
    protocol = ToolReActProtocol(SYSTEM)
    llm = OpenCompassLLM(Scripted(adds_one_by_one), 100, protocol.stop_words)
    alone = react(llm, ToolExecutor(tools(), unknown), protocol, [Message('user', 'count to 3')], 20)
    assert together['q'].value == alone
    assert alone.answer == '3'


def test_a_plain_model_without_an_answer_is_an_error() -> None:
    llm = OpenCompassLLM(Scripted(lambda conversation: Answer('', 'infra:server')), 100)
    with pytest.raises(RuntimeError, match='infra:server'):
        llm.chat([{'role': 'user', 'content': 'q'}])


def test_any_agent_can_be_a_dialogue() -> None:
    def asks_twice(llm: Any) -> str:
        try:
            first = llm.chat([{'role': 'user', 'content': 'one'}])
            return str(llm.chat([{'role': 'user', 'content': first}]))
        except Exception:  # as agents may do
            return 'caught'

    asked = lagent_bridge.as_rounds(asks_twice)
    assert next(asked) == Turn((Message('user', 'one'),))
    assert asked.send('two') == Turn((Message('user', 'two'),))
    with pytest.raises(StopIteration) as end:
        asked.send('three')
    assert end.value.value == 'three'


def test_without_lagent_the_mend_is_named() -> None:
    code = "import sys; sys.modules['lagent'] = None; import opencompass_tooleval.host.lagent_bridge"
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Mend it with: pip install 'opencompass-tooleval[agent]'" in done.stderr.splitlines()[-1]
    assert 'ImportError: ReAct runs on lagent, which cannot be imported' in done.stderr
