"""Models for ``tools/serve_model.py --script``: one that works out the demo questions step by step, one that errs.

They see prompts only. ``right`` passes on what the tools returned, so that its answers are right only if the loop is.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from opencompass_tooleval.easytool.funcqa.arithmetic import call_tool, plain
from opencompass_tooleval.easytool.funcqa.records import TABLE, Record, load_records

Messages = list[dict[str, str]]

DEMO = Path(__file__).resolve().parents[3] / 'opencompass_tooleval' / 'demo'

_RECORDS = {
    record.question: record for subset in TABLE for record in load_records(DEMO / 'funcqa' / subset.file, subset.name)
}
_LINE = re.compile(r'^Question: (.*)$', re.MULTILINE)
_DONE = re.compile(r'^\d+\. .* = (\S+)$', re.MULTILINE)
_TASK = re.compile(r'^Current subtask: step (\d+)$', re.MULTILINE)

FAULTY = 3
"""Of three questions in a row, ``wrong`` misnames a tool in the first and misuses one in the second."""


def record_of(messages: Messages) -> Record:
    """The demo question that a prompt asks."""
    asked = _LINE.search(messages[-1]['content'])
    assert asked is not None, messages
    return _RECORDS[asked[1]]


def right(messages: Messages) -> str:
    """Does each step right."""
    prompt, record = messages[-1]['content'], record_of(messages)
    results = [json.loads(result) for result in _DONE.findall(prompt)]
    task = _TASK.search(prompt)
    if '"Tasks"' in prompt:
        return 'Sure.\n```json\n' + json.dumps({'Tasks': [f'step {n}' for n in range(len(record.steps))]}) + '\n```'
    if task is None:
        return f'The result is clear.\nAnswer: {results[-1] if results else worked_out(record)}'
    step = record.steps[int(task[1])]
    if '"Tool"' in prompt:
        return json.dumps({'Tool': step.tool})
    known = {earlier.result: result for earlier, result in zip(record.steps, results, strict=False)}
    return json.dumps({'Parameters': {'input': [known.get(number, number) for number in step.numbers]}})


def wrong(messages: Messages) -> str:
    """Errs once in two questions of three, in the first step, and never gets the answer right."""
    prompt, record = messages[-1]['content'], record_of(messages)
    task = _TASK.search(prompt)
    fault = int(record.id) % FAULTY if task and task[1] == '0' and 'in vain' not in prompt else -1
    if '"Tool"' in prompt and fault == 0:
        return json.dumps({'Tool': f'{record.steps[0].tool}of_numbers'})
    if '"Parameters"' in prompt and fault == 1:
        return json.dumps({'Parameters': {'input': [str(number) for number in record.steps[0].numbers]}})
    return right(messages) if '"T' in prompt or '"Parameters"' in prompt else 'Answer: -123456'


def worked_out(record: Record) -> str:
    """The answer without being asked to use tools."""
    given: dict[float, float] = {}
    for step in record.steps:
        value = call_tool(step.tool, {'input': [given.get(number, number) for number in step.numbers]}).value
        assert value is not None
        given[step.result] = value
    return plain(value)
