"""Formats gold answers as a model would write them. T-Eval's prompts themselves are in its data."""

from __future__ import annotations

import json
from typing import cast

from opencompass_tooleval.benchmarks.teval.records import CallGold, InstructGold, PlannedCall, Record, ReviewGold

INSTRUCT_SYSTEM = {
    'EN': 'Call the tool just as the user says, with exactly the arguments that the user gives.',
    'ZH': '请按照用户的要求调用工具，参数必须与用户给出的完全一致。',
}
NEXT_CALL_SYSTEM = {
    'EN': 'You fulfil a request by calling tools, one at a time. Each time, first write down in a sentence or two what '
    'you think and why you make the next call, then make exactly one call. Once the request is fulfilled, call '
    'FinishAction.',
    'ZH': '你通过调用工具来完成用户的请求，每次只调用一个工具。每次请先用一两句话写下你的思考以及为什么进行下一次调用，'
    '然后只进行一次调用。请求完成之后，请调用 FinishAction。',
}
FINISH_DESCRIPTION = {'EN': 'Ends the work: the request is fulfilled.', 'ZH': '请求已经完成，结束任务。'}
"""Description of the finish tool; the data's own system prompt would request written calls."""

PLAN_LINE = 'Use {name} with {args}'


def _instruct(record: Record) -> str:
    gold, template = cast(InstructGold, record.gold), record.template
    if record.format == 'json':
        return json.dumps({template['thought']: '', template['action']: gold.action, template['args']: gold.args})
    return (
        f'{template["thought_start"]}{template["thought_end"]}'
        f'{template["action_start"]}{gold.action}{template["action_end"]}'
        f'{template["args_start"]}{gold.args}{template["args_end"]}'
    )


def _plan(record: Record) -> str:
    steps = cast(tuple[PlannedCall, ...], record.gold)
    if record.format == 'json':
        return json.dumps([{'id': step.id, 'name': step.name, 'args': step.args} for step in steps])
    named = [step for step in steps if step.name in record.apis]
    lines = (PLAN_LINE.format(name=step.name, args=step.args) for step in named)
    return '\n'.join(line.replace('. ', ', ').replace('\n', ' ') for line in lines)


def gold_answer(record: Record) -> str:
    """Returns the gold answer in the format that the prompt requests; the oracle model answers with it."""
    if record.subset.kind == 'instruct':
        return _instruct(record)
    if record.subset.kind == 'plan':
        return _plan(record)
    if record.subset.kind == 'review':
        return f'Answer: {cast(ReviewGold, record.gold).answer}'
    gold = cast(CallGold, record.gold)
    if record.subset.kind == 'call':
        return json.dumps({'thought': gold.thought, 'name': gold.name, 'args': gold.args})
    return {'reason': gold.thought, 'retrieve': gold.name, 'understand': str(gold.args)}[record.subset.kind]
