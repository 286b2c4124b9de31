"""T-Eval's prompts lie in its data; here is how a gold answer is written as a model would."""

from __future__ import annotations

import json
from typing import cast

from opencompass_tooleval.teval.records import CallGold, InstructGold, Record, ReviewGold, Step

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
    steps = cast(tuple[Step, ...], record.gold)
    if record.format == 'json':
        return json.dumps([{'id': step.id, 'name': step.name, 'args': step.args} for step in steps])
    named = [step for step in steps if step.name in record.apis]
    lines = (PLAN_LINE.format(name=step.name, args=step.args) for step in named)
    return '\n'.join(line.replace('. ', ', ').replace('\n', ' ') for line in lines)


def gold_answer(record: Record) -> str:
    """Writes the gold answer in the format that the prompt asks for: what the oracle model says."""
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
