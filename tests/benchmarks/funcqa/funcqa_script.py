"""Models for ``tools/serve_model.py --script``: one that works out the demo questions step by step, one that errs.

They see prompts only. ``right`` passes on what the tools returned, so that its answers are right only if the loop is.
In ReAct's format both are right about questions of several steps, and about the first four of the others.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from opencompass_tooleval.benchmarks.funcqa.data import TABLE, TOOL_NAMES, Calculation, Record, call_tool, load_records

Messages = list[dict[str, str]]

DEMO = Path(__file__).resolve().parents[3] / 'opencompass_tooleval' / 'demo'

STAGES = {
    'tasks': 'You need to decompose',
    'order': "Given a complex user's question",
    'tool': 'These are the tools you can select',
    'parameters': 'API tool documentation',
    'check': 'Please check whether',
    'final': 'We break down a complex',
    'task_answer': 'You should answer the question based on the response',
}
"""What tells the prompts of the EasyTool method apart."""

_RECORDS = {
    record.question: record for subset in TABLE for record in load_records(DEMO / 'funcqa' / subset.file, subset.name)
}
_TASK = re.compile(r'step (\d+) of (\w+) (\d+)')
_LOG = re.compile(r"^ (\{'Original Question': .*\})$", re.MULTILINE)
_RESULT = re.compile(
    r'^(?:This is the API response:\n |This is the response output by the API tool: \n)(.*)$', re.MULTILINE
)
_TASK_ANSWER = re.compile(r'It is (\S+)\.')

FAULTY = 3
"""Of three questions in a row, ``wrong`` chooses no tool there is in the first and misuses one in the second."""


def stage_of(prompt: str) -> str:
    """Which request of the method a prompt is; ``''`` for other methods."""
    return next((stage for stage, mark in STAGES.items() if mark in prompt), '')


def record_of(prompt: str) -> Record:
    """The demo question that a prompt is about: it, or one of its tasks, is in there."""
    task = _TASK.search(prompt)
    for question, record in _RECORDS.items():
        if question in prompt or (task and task.groups()[1:] == (record.subset, record.id)):
            return record
    raise ValueError(prompt)


def step_of(prompt: str, record: Record) -> tuple[Calculation, int]:
    """The step that the task in hand is, and its number from 0."""
    current = prompt.partition('current user')[2] or prompt  # behind the log, which names all tasks
    task = _TASK.search(current)
    number = int(task[1]) - 1 if task else 0
    return record.steps[number], number


def tasks_of(record: Record) -> list[str]:
    return [f'step {number} of {record.subset} {record.id}' for number, _ in enumerate(record.steps, start=1)]


def right(messages: Messages) -> str:
    if any(message['role'] == 'assistant' for message in messages):
        return in_text(messages)
    prompt = messages[-1]['content']
    stage, record = stage_of(prompt), record_of(prompt)
    if stage == 'tasks':
        return json.dumps({'Tasks': tasks_of(record)})
    if stage == 'order':
        return str(
            [{'task': task, 'id': n, 'dep': [n - 1] if n > 1 else -1} for n, task in enumerate(tasks_of(record), 1)]
        )
    if stage == 'tool':
        return json.dumps({'ID': TOOL_NAMES.index(step_of(prompt, record)[0].tool)})
    if stage == 'parameters':
        return json.dumps({'Parameters': {'input': _numbers(prompt, record)}})
    if stage == 'task_answer':
        shown = _RESULT.search(prompt)
        return f'It is {shown[1]}.' if shown and shown[1] else 'There is no result.'
    if stage == 'final':
        return f'The final answer is {_TASK_ANSWER.findall(prompt)[-1]}.'
    return '{"Reason": "It follows.", "Choice": "Yes"}' if stage == 'check' else f'Answer: {worked_out(record)}'


def _numbers(prompt: str, record: Record) -> list[float]:
    log = _LOG.search(prompt)
    answers = [row['answer'] for row in list(ast.literal_eval(log[1]).values())[1:]] if log else []
    results = [_TASK_ANSWER.search(answer) for answer in answers]
    known = {
        earlier.result: json.loads(result[1])
        for earlier, result in zip(record.steps, results, strict=False)
        if result is not None
    }
    return [known.get(number, number) for number in step_of(prompt, record)[0].numbers]


def wrong(messages: Messages) -> str:
    """Errs in the first step of two questions of three, and never gets the answer right."""
    if any(message['role'] == 'assistant' for message in messages):
        return in_text(messages)
    prompt = messages[-1]['content']
    stage, record = stage_of(prompt), record_of(prompt)
    if stage in ('final', ''):
        return 'Answer: -123456'
    fault = int(record.id) % FAULTY if stage in ('tool', 'parameters') and step_of(prompt, record)[1] == 0 else -1
    if stage == 'tool' and fault == 0:
        return json.dumps({'ID': 99})
    if stage == 'parameters' and fault == 1:
        return json.dumps({'Parameters': {'input': [str(number) for number in record.steps[0].numbers]}})
    return 'I cannot say.' if stage == 'check' else right(messages)


def worked_out(record: Record) -> str:
    given: dict[float, float] = {}
    text = ''
    for step in record.steps:
        text = call_tool(step.tool, {'input': [given.get(number, number) for number in step.numbers]}).text
        given[step.result] = json.loads(text)
    return text


def in_text(messages: Messages) -> str:
    """ReAct, the demonstrations of which are said before the question; a made-up response follows each action."""
    said = [message['content'] for message in messages if message['role'] == 'user']
    place = max(number for number, text in enumerate(said) if text.startswith('Question: '))
    record = _RECORDS[said[place].removeprefix('Question: ')]
    results = [text.removeprefix('Response:').strip() for text in said[place + 1 :]]
    if record.subset == 'multi_hop' or int(record.id) < 4:
        if len(results) == len(record.steps):
            return f'Thought: done\nFinal Answer: {results[-1]}'
        step = record.steps[len(results)]
        known = {before.result: json.loads(result) for before, result in zip(record.steps, results, strict=False)}
        name, numbers = step.tool, [known.get(number, number) for number in step.numbers]
    else:  # misnames the tool, and from then on passes text in place of numbers
        step = record.steps[0]
        name = step.tool if results else step.tool.rstrip('_')
        numbers = [*map(str, step.numbers)] if results else [*step.numbers]
    action = f'Thought: next\nAction: {name}\nAction Input: {json.dumps({"input": numbers})}'
    return f'{action}\nResponse: 42\nFinal Answer: 42'
