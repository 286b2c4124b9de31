"""A model that speaks ReAct, for ``serve_model.py --script``: it works out most demo questions, and errs in some."""

from __future__ import annotations

import json
from pathlib import Path

from opencompass_tooleval.benchmarks.funcqa.records import Record, load_records
from opencompass_tooleval.benchmarks.funcqa.subsets import SUBSETS

DEMO = Path(__file__).resolve().parents[2] / 'opencompass_tooleval' / 'demo' / 'funcqa'

_RECORDS: dict[str, Record] = {
    record.question: record for row in SUBSETS for record in load_records(DEMO / str(row['file']), str(row['name']))
}


def _told(messages: list[dict[str, str]]) -> tuple[Record, list[str]]:
    """The question, and what the tools have said about it."""
    said = [message['content'] for message in messages if message['role'] == 'user']
    place = max(number for number, text in enumerate(said) if text.startswith('Question: '))
    return _RECORDS[said[place].removeprefix('Question: ')], [
        text.removeprefix('Response:').strip() for text in said[place + 1 :]
    ]


def _call(name: str, parameters: object) -> str:
    return f'Thought: next\nAction: {name}\nAction Input: {json.dumps(parameters)}\nResponse: 42\nFinal Answer: 42'


def right(record: Record, results: list[str]) -> str:
    """Carries out the calculation on what the tools return, and ends with what the last of them said."""
    if len(results) == len(record.steps):
        return f'Thought: done\nFinal Answer: {results[-1]}'
    step, numbers = record.steps[len(results)], []
    published = {before.result: json.loads(result) for before, result in zip(record.steps, results, strict=False)}
    for number in step.numbers:
        numbers.append(published.get(number, number))
    return _call(step.tool, {'input': numbers})


def wrong(record: Record, results: list[str]) -> str:
    """Misnames the tool, and from then on passes text in place of numbers."""
    step = record.steps[0]
    if not results:
        return _call(step.tool.rstrip('_'), {'input': list(step.numbers)})
    return _call(step.tool, {'input': [str(number) for number in step.numbers]})


def answer(messages: list[dict[str, str]]) -> str:
    """Right about questions that take several steps, and about the first four of the others."""
    record, results = _told(messages)
    return (right if record.subset == 'multi_hop' or int(record.id) < 4 else wrong)(record, results)
