"""Dialogues with auxiliary models beside the one under test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from opencompass_tooleval.catalogue.labels import explained, words_of_reason
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import other_rows
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.model_calls import AskingEndedError
from opencompass_tooleval.models.model_config import AuxiliaryModel
from opencompass_tooleval.models.request_queue import Arrivals, BatchQueue, ConcurrentQueue, RequestQueues
from tests.inferencers.test_dialogue_inferencer import Run
from tests.models.test_dialogue_runner import Echo
from tests.models.test_request_queue import Gate
from tests.stored import stored_in

SIMULATOR = 'simulator'


def user(text: str) -> tuple[Message, ...]:
    return (Message('user', text),)


class Simulating(Echo):
    """A simulator that keeps what it is asked, and costs something."""

    batches_of_all: ClassVar[list[list[str]]] = []
    fails_on: ClassVar[Callable[[str], str | None]] = lambda text: None

    def __init__(self, path: str = 'sim') -> None:
        super().__init__(type(self).fails_on)
        self.batches = self.batches_of_all

    def answers(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[Answer]:
        usage = Usage(prompt=7, completion=max_out_len)
        answers = super().answers(inputs, max_out_len)
        return [one if one.reason else Answer(f'sim{one.text}', usage=usage) for one in answers]


@pytest.fixture(autouse=True)
def simulating(monkeypatch: pytest.MonkeyPatch) -> type[Simulating]:
    """The class, of which nothing was asked yet."""
    monkeypatch.setattr(Simulating, 'batches_of_all', [])
    return Simulating


def others(**cfg: Any) -> dict[str, AuxiliaryModel]:
    return {SIMULATOR: AuxiliaryModel({'type': Simulating, 'path': 'sim', **cfg})}


def agent(name: str, calls: int = 2, shared: str = '') -> Dialogue[list[str]]:
    """Asks the model, then the simulator, and so on."""
    heard: list[str] = []
    for number in range(calls):
        heard.append((yield ModelRequest(user(f'{name}{number}'))).text)
        heard.append((yield ModelRequest(user(shared or f'call {name}{number}'), model=SIMULATOR)).text)
    return heard


def test_what_others_say_is_not_the_models() -> None:
    model = Echo()
    runner = DialogueRunner(model, None, 10, others=others(max_out_len=33))
    outcomes = runner.run({'a': agent('a'), 'b': agent('b', 1)})
    assert outcomes['a'].value == ['<a0>', 'sim<call a0>', '<a1>', 'sim<call a1>']
    assert [answer.text for answer in outcomes['a'].answers] == ['<a0>', '<a1>']
    usages = [answer.usage for answer in outcomes['a'].answers]
    assert len(usages) == 2 and Usage(7, 33) not in usages
    assert model.batches == [['a0', 'b0'], ['a1']]
    assert runner.calls == 3 and runner.other_calls == {SIMULATOR: 3}
    assert runner.other_usages == {SIMULATOR: [Usage(7, 33)] * 3}
    with pytest.raises(ValueError, match=r"dialogue a calls the model 'simulator'.*\(it defines: none\)"):
        DialogueRunner(Echo(), None, 10).run({'a': agent('a')})


PRICES = {'input': 1.0, 'output': 2.0}
ASKED = {'role': SIMULATOR, 'model': 'sim', 'prices': PRICES, 'usages': [Usage(7, 4096).to_payload()]}


def test_what_others_cost_is_the_dialogues_that_asked(simulating: type[Simulating], tmp_path: Path) -> None:
    """Once, though several wait for the same answer; also after a kill, where a simulator's file has the answer."""
    dialogues = {name: agent(name, 1, shared='the same') for name in 'abc'}
    outcomes = DialogueRunner(Echo(), stored_in(tmp_path), 10, others=others(prices=PRICES)).run(dialogues)
    assert [outcome.others for outcome in outcomes.values()] == [[ASKED], [], []]
    again = {name: agent(name, 1, shared='the same') for name in 'bc'} | {'a': keeping_agent('a', {})}
    resumed = DialogueRunner(Echo(), stored_in(tmp_path), 10, others=others(path='new')).run(again)
    assert resumed['a'].others[0] == ASKED and resumed['b'].others[0]['model'] == 'new'
    assert other_rows([{'auxiliary_models': resumed['a'].others}])[0]['cost']['total'] == pytest.approx(
        (7 + 2 * 4096) / 1e6
    )


def test_what_others_cost_in_vain_is_counted(
    simulating: type[Simulating], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    failed = Answer('', 'infra:timeout', usage=Usage(requests=3))
    monkeypatch.setattr(simulating, 'answers', lambda self, inputs, max_out_len, **kwargs: [failed for _ in inputs])
    for times in (1, 2):
        outcome = DialogueRunner(Echo(), stored_in(tmp_path), 10, others=others()).run({'a': agent('a')})['a']
        assert outcome.infra == 'infra:simulator:timeout' and outcome.usage is None
        assert outcome.others == [{'role': SIMULATOR, 'model': 'sim', 'usages': [{'requests': 3}]}] * times


def test_a_failure_says_whose_it_is(monkeypatch: pytest.MonkeyPatch, simulating: type[Simulating]) -> None:
    monkeypatch.setattr(simulating, 'fails_on', lambda text: 'infra:timeout' if text == 'call a1' else None)
    outcomes = DialogueRunner(Echo(), None, 10, others=others()).run({'a': agent('a'), 'b': agent('b')})
    assert outcomes['a'].value is None and outcomes['a'].infra == 'infra:simulator:timeout'
    assert outcomes['b'].value and outcomes['b'].infra is None
    words = ('simulator: timeout', 'of the simulator: no answer: the server did not reply in time')
    assert words_of_reason('infra:simulator:timeout') == words
    assert explained(['infra:simulator:timeout']) and not explained(['infra:simulator:odd'])


def test_a_question_is_asked_once_but_for_its_key(simulating: type[Simulating], tmp_path: Path) -> None:
    dialogues = {name: agent(name, shared='the same') for name in 'abc'}
    outcomes = DialogueRunner(Echo(), stored_in(tmp_path), 10, others=others()).run(dialogues)
    assert [len(outcome.value or ()) for outcome in outcomes.values()] == [4, 4, 4]
    assert simulating.batches_of_all == [['the same'], ['the same']]
    again = Echo()
    DialogueRunner(again, stored_in(tmp_path), 10, others=others()).run(
        {name: agent(name, shared='the same') for name in 'abc'}
    )
    assert again.batches == [] and len(simulating.batches_of_all) == 2

    def asking(key: str) -> Dialogue[str]:
        return (yield ModelRequest(user('again'), model=SIMULATOR, key=key)).text

    runner = DialogueRunner(Echo(), None, 10, others=others())
    runner.run({name: asking(key) for name, key in {'a': 'x', 'b': 'y', 'c': 'x'}.items()})
    assert runner.other_calls == {SIMULATOR: 2}


def keeping_agent(name: str, kept: dict[str, str]) -> Dialogue[list[str]]:
    """Asks a simulator only what is not kept, as agents do."""
    heard: list[str] = []
    for number in range(3):
        heard.append((yield ModelRequest(user(f'{name}{number}, {heard[-1:]}'))).text)
        for call in (f'{name}x{number}', f'{name}y{number}'):
            if call not in kept:
                kept[call] = (yield ModelRequest(user(call), model=SIMULATOR)).text
            heard.append(kept[call])
    return heard


def test_questions_to_the_model_under_test_have_the_digests_that_they_had() -> None:
    messages = (Message('system', 'Sei nützlich'), Message('user', 'Wetter in 北京?'))
    tools = ToolSet([ToolSchema('Weather.of', 'the weather', {'type': 'object', 'properties': {}})])
    assert ModelRequest(messages).digest == 'e0a448f9d7738c2cc4172b7ea3834f98'
    assert ModelRequest(messages, tools=tools, may_be_too_long=True).digest == 'ad7aef13a085c6f6b127c2d62f84f165'
    assert len({ModelRequest(messages, model=name).digest for name in ('', 'simulator', '裁判')}) == 3


# Too long


def shortening(length: int, may_be: bool = True) -> Dialogue[str]:
    """Asks for less until it is answered."""
    while True:
        answer = yield ModelRequest(user('x' * length), may_be_too_long=may_be)
        if answer.reason != 'infra:truncated':
            return answer.text
        length -= 1


def too_long(text: str) -> str | None:
    return 'infra:truncated' if len(text) > 3 else None


def test_what_is_too_long_is_the_dialogues_to_answer(tmp_path: Path) -> None:
    model = Echo(too_long)
    outcome = DialogueRunner(model, stored_in(tmp_path), 10).run({'a': shortening(6)})['a']
    assert outcome.value == '<xxx>' and outcome.infra is None
    assert model.batches == [['xxxxxx'], ['xxxxx'], ['xxxx'], ['xxx']]
    assert [answer.text for answer in outcome.answers] == ['<xxx>']
    again = Echo(too_long)
    assert DialogueRunner(again, stored_in(tmp_path), 10).run({'a': shortening(6)})['a'].value == '<xxx>'
    assert again.batches == []
    other = Echo()  # it is asked where the dialogue does not answer it
    assert (
        DialogueRunner(other, stored_in(tmp_path), 10).run({'a': shortening(6, may_be=False)})['a'].value == '<xxxxxx>'
    )
    outcome = DialogueRunner(Echo(too_long), None, 10).run({'a': shortening(6, may_be=False)})['a']
    assert outcome.infra == 'infra:truncated', 'otherwise it ends the dialogue'
    outcome = DialogueRunner(Echo(lambda text: 'infra:server'), None, 10).run({'a': shortening(6)})['a']
    assert outcome.infra == 'infra:server', 'as another failure does'


def test_a_failure_may_be_the_dialogues_to_answer(tmp_path: Path) -> None:
    def persistent() -> Dialogue[str]:
        reply = yield ModelRequest(user('first'), may_fail=True)
        return ((yield ModelRequest(user('second'))) if reply.reason == 'infra:timeout' else reply).text

    model = Echo(lambda text: 'infra:timeout' if text == 'first' else None)
    outcome = DialogueRunner(model, stored_in(tmp_path), 10).run({'a': persistent()})['a']
    assert (outcome.value, outcome.infra, model.batches) == ('<second>', None, [['first'], ['second']])
    assert [answer.text for answer in outcome.answers] == ['<second>']
    again = Echo()  # no failure is kept as an answer
    assert DialogueRunner(again, stored_in(tmp_path), 10).run({'a': persistent()})['a'].value == '<first>'
    assert again.batches == [['first']]


# Several queues


def in_batches(model: Echo, size: int = 2) -> Callable[[Arrivals[Any]], BatchQueue[Any]]:
    return lambda arrivals: BatchQueue(model, 10, size)


def conversation(text: str) -> Any:
    return Conversation.of(list(user(text)), {'record_id': text, 'source': '', 'idx': 0, 'gold_answer': ''})


def submit(queues: RequestQueues[str], name: str, *texts: str) -> None:
    for text in texts:
        queues.submit(name, text, conversation(text))


def test_a_batch_is_asked_while_others_are_in_flight() -> None:
    """The concurrent answer comes only after the batch was asked: waiting for it first would never end."""
    batch_is_asked = Gate()
    model = Echo(lambda text: batch_is_asked.open())

    async def answer(prompt: Any, stop: asyncio.Event) -> Answer:
        await batch_is_asked.passed()
        return Answer('late')

    openers = {'slow': lambda arrivals: ConcurrentQueue(answer, 2, arrivals), 'batch': in_batches(model)}
    with RequestQueues[str](openers) as queues:
        submit(queues, 'slow', 's')
        submit(queues, 'batch', 'b0', 'b1', 'b2')
        taken = [queues.results() for _ in range(3)]
        assert sorted(key for some in taken for key, _ in some) == ['b0', 'b1', 'b2', 's']
        assert [key for key, _ in taken[0]] == ['b0', 'b1']
        assert queues.results() == []
        submit(queues, 'slow', 'again')
        assert queues.results() == [('again', Answer('late'))]


class Ending(Echo):
    """Is gone at its first question."""

    def answers(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[Answer]:
        raise AskingEndedError('gone', [None] * len(inputs))


def test_the_end_of_one_is_the_end_of_all_after_what_was_answered() -> None:
    has_left = Gate()

    async def answer(prompt: Any, stop: asyncio.Event) -> Answer | None:
        has_left.open()
        await stop.wait()
        return Answer('in flight')

    openers = {'slow': lambda arrivals: ConcurrentQueue(answer, 1, arrivals), 'batch': in_batches(Ending())}
    with RequestQueues[str](openers) as queues:
        submit(queues, 'slow', 's0', 's1')
        has_left.wait()
        submit(queues, 'batch', 'b')
        assert queues.results() == [('s0', Answer('in flight'))]  # s1 has not left
        submit(queues, 'batch', 'more')
        with pytest.raises(AskingEndedError, match='gone'):
            queues.results()


# The inferencer


class Agents:
    """Dialogues with a simulator, for odd rows."""

    def __init__(self, cfg: Mapping[str, Any]) -> None:
        self.models = {SIMULATOR: cfg}

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[str]:
        answer = yield ModelRequest(user(row['record']))
        if int(row['record_id'][1:]) % 2:
            answer = yield ModelRequest(user(f'call {row["record_id"]}'), model=SIMULATOR)
        return answer.text


class Unbuilt(Echo):
    """A model that is never asked."""

    def __init__(self, path: str) -> None:
        raise AssertionError('it is built')


class NoOdd(Agents):
    """As they are, for rows that ask no simulator."""

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[str]:
        return super().__call__({**row, 'record_id': 'r0'})


def test_a_model_is_built_if_asked_and_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulating: type[Simulating]
) -> None:
    assert len(Run(tmp_path, dialogues={'type': NoOdd, 'cfg': {'type': Unbuilt, 'path': 'sim'}}).go()) == 8
    dialogues = {'type': Agents, 'cfg': {'type': Simulating, 'path': 'sim'}}
    assert Run(tmp_path / 'asked', dialogues=dialogues).go()[1]['prediction'] == 'sim<call r1>'
    assert simulating.batches_of_all == [['call r1', 'call r3', 'call r5', 'call r7']]
    monkeypatch.setenv('WORLD_SIZE', '2')
    with pytest.raises(ValueError, match=r'\(simulator\) run in one process.*num_procs=1'):
        Run(tmp_path, dialogues=dialogues).go()
