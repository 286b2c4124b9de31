"""ToolBench's published searches, replayed: with the published answers our search builds the same tree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.dfsdt import DepthFirstSearch
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.answers import to_toolbench
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import make_call
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.environments.bank import RecordedCall
from opencompass_tooleval.environments.environment import Environment, Session
from tests.agents.support import bank_of, talk
from tests.agents.test_toolbench_answers import EXAMPLE, comparable
from tests.agents.test_toolbench_published_runs import noted

pytestmark = pytest.mark.skipif(not EXAMPLE.is_dir(), reason='no published search of ToolBench at hand')
QUERIES = {'588': 30, '608': 4, '1073': 4}
DESCRIPTIONS = {
    'theclique': 'API for TheClique company',
    'keyword_analysis': 'Get main keywords for query, similar queries and related domains for query.',
    'kick_com_api_kick_api': 'Detailed Kick.com API. Streamers, categories, chats, users and more.',
}


@dataclass
class Answered:
    order: int
    parent: int
    text: str
    name: str = ''
    arguments: str = ''
    observation: str = ''

    @property
    def answer(self) -> Answer:
        return Answer(self.text, calls=(make_call(self.name, self.arguments),) if self.name else ())


def answers_of(root: dict[str, Any]) -> list[Answered]:
    """The answers in the order in which they came: a thought, an action and its input are nodes of their own."""
    answers: list[Answered] = []
    waiting: list[tuple[dict[str, Any], int, str, str]] = [(child, 0, '', '') for child in root['children']]
    while waiting:
        node, parent, text, name = waiting.pop()
        kind, order, words = node['node_type'], node['expand_num'], node['description']
        text, name = (words, name) if kind == 'Thought' else (text, words) if kind == 'Action' else (text, name)
        if order:
            is_input = kind == 'Action Input'
            observation = node.get('observation', '')
            answers.append(Answered(order, parent, text, name, words if is_input else '', observation))
            text, name = '', ''
        waiting += [(child, order or parent, text, name) for child in node['children']]
    return sorted(answers, key=lambda answer: answer.order)


def tool_of(function: str) -> str:
    return next(tool for tool in DESCRIPTIONS if function.endswith(f'_for_{tool}'))


def published(query: str) -> tuple[list[Answered], dict[str, Any], Task]:
    raw = json.loads((EXAMPLE / f'answer_dfs_{query}.json').read_text())
    generation = raw['answer_generation']
    tools = tuple(ToolSchema(**function) for function in generation['function'][:-1])
    documents = {
        tool.name: {'tool_name': tool_of(tool.name), 'tool_description': DESCRIPTIONS[tool_of(tool.name)]}
        for tool in tools
    }
    task = Task(query, 'toolbench', generation['query'], tools, documents=documents)
    return answers_of(raw['tree']['tree']), generation, task


def session_of(folder: Path, task: Task, answers: list[Answered]) -> Session:
    calls = [
        RecordedCall('run', task.id, answer.name, json.loads(answer.arguments), answer.observation)
        for answer in answers
        if answer.name and answer.name != 'Finish'
    ]
    return Environment(bank_of(folder, calls)).begin(task.id, task.schemas)


def as_asked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the published run asked, without its answer: of the messages that no longer count only the last."""
    *before, _ = messages
    kept = [message for place, message in enumerate(before) if message.get('valid', True) or place == len(before) - 1]
    rows = []
    for message in kept:
        row = {'content': '', **{key: value for key, value in message.items() if key != 'valid'}}
        if 'function_call' in row:
            call = row['function_call']
            row['function_call'] = {**call, 'arguments': json.loads(call['arguments'])}
        rows.append(row)
    return rows


@pytest.mark.official('ToolBench', 'trees of the published searches')
@pytest.mark.parametrize('query', QUERIES)
def test_the_same_answers_lead_to_the_same_tree(query: str, tmp_path: Path) -> None:
    answers, generation, task = published(query)
    assert len(answers) == generation['query_count'] == QUERIES[query]
    session = session_of(tmp_path, task, answers)
    trajectory, requests = talk(DepthFirstSearch(), lambda _, number: answers[number].answer, task, session)

    assert len(requests) == len(answers)
    assert [step.parent for step in trajectory.steps] == [answer.parent - 1 for answer in answers]
    assert [step.text for step in trajectory.steps] == [answer.text for answer in answers]
    calls = [(call.name, call.arguments, call.observation) for step in trajectory.steps for call in step.calls]
    assert calls == [(a.name, json.loads(a.arguments), a.observation) for a in answers if a.name]
    assert trajectory.final_answer == json.loads(generation['final_answer'])['final_answer']
    assert (trajectory.stopped, trajectory.path[-1]) == ('', len(answers) - 1)

    asked = [noted(requests[place]) for place in trajectory.path]
    expected = [as_asked(messages) for messages in generation['train_messages']]
    assert asked == expected

    file = EXAMPLE / 'model_predictions_converted__virtual_chatgpt_dfs__G1_instruction.json'
    assert comparable(to_toolbench(task, trajectory)) == comparable(json.loads(file.read_text())[query])
