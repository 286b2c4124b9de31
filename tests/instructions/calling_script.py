"""A model for ``tools/serve_model.py --script`` that calls natively: right about most demo records, wrong about some.

What it does with each record is in :data:`PLANS`, by which the tests know the exact scores.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.data import TABLE as FUNCQA
from opencompass_tooleval.benchmarks.funcqa.data import load_records as load_questions
from opencompass_tooleval.benchmarks.restbench.data import TABLE as RESTBENCH
from opencompass_tooleval.benchmarks.restbench.data import gold_calls, load_records, offered_tools, open_toolbox
from opencompass_tooleval.benchmarks.toolbench import prompts as apis
from opencompass_tooleval.benchmarks.toolbench.prompts import make_requests, open_tools
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet

DEMO = Path(__file__).resolve().parents[2] / 'opencompass_tooleval' / 'demo'
DATA = {'G2': 'G2_category.json', 'G3': 'G3_instruction.json'}

Call = dict[str, Any]
Step = list[Call]

THOUGHTS = '<think>a call</think>'

PLANS = {
    'tmdb/1': 'one_by_one',
    'tmdb/2': 'no_call',
    'tmdb/3': 'unknown_name',
    'tmdb/4': 'not_json',
    'spotify/0': 'breaks_schema',
    'spotify/1': 'without_end',
    'spotify/2': 'one_by_one',
    'spotify/3': 'first_only',
    'G2/201': 'one_by_one',
    'G2/202': 'not_json',
    'G2/203': 'unknown_name',
    'G3/301': 'no_call',
    'G3/302': 'breaks_schema',
    'one_hop/1': 'no_call',
    'one_hop/2': 'unknown_name',
    'one_hop/3': 'not_json',
    'one_hop/4': 'breaks_schema',
    'one_hop/5': 'without_end',
    'one_hop/6': 'twice',
}
"""Record -> what is done; all other records have their gold calls in one answer, FuncQA's one by one."""


def _calls(step: Step, name: str) -> list[Step]:
    first, *rest_of = step
    changed = {
        'no_call': [],
        'one_by_one': [[call] for call in step],
        'first_only': [[first]],
        'twice': [[first, first]],
        'without_end': [[call] for call in step] + [[first]] * 200,
        'unknown_name': [[{**first, 'name': 'make_tea'}, *step]],
        'not_json': [[{**first, 'arguments': '{"a": '}, *rest_of]],
        'breaks_schema': [[{**call, 'arguments': _broken(call['arguments'])} for call in step]],
    }
    return changed.get(name, [step])


def _broken(arguments: dict[str, Any]) -> dict[str, Any]:
    """Numbers as words; without any, none of what is required."""
    return {'input': ['many']} if 'input' in arguments else {}


def _golds() -> dict[str, tuple[str, list[Step]]]:
    golds = {}
    for service in RESTBENCH:
        tools = open_toolbox(DEMO / 'restbench' / service.document, None, 'function_calling')
        records, _ = load_records(DEMO / 'restbench' / service.file, service.name, tools.inventory)
        sent = offered_tools(tools.functions)
        for record in records:
            step = [_call(sent, call) for call in gold_calls(record, tools.functions)]
            golds[record.query] = (f'{service.name}/{record.id}', [step])
    for name, file in DATA.items():
        shown = open_tools(DEMO / 'toolbench' / file, name)
        for request in make_requests(shown):
            sent = apis.offered_tools(request, shown.data.tools)
            step = [_call(sent, call) for call in request.gold_calls]
            golds[request.query] = (f'{name}/{request.id}', [step])
    for subset in FUNCQA:
        for question in load_questions(DEMO / 'funcqa' / subset.file, subset.name):
            steps = [[{'name': step.tool, 'arguments': {'input': [*step.numbers]}}] for step in question.steps]
            golds[question.question] = (f'{subset.name}/{question.id}', steps)
    return golds


def _call(tools: ToolSet, call: Any) -> Call:
    return {'name': tools.sent_name(call.name), 'arguments': call.arguments}


_GOLDS = _golds()


def calls(messages: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
    """The next round about the request; without a call what the last tool said, or that there is nothing to call."""
    (asked,) = (message['content'] for message in messages if message['role'] == 'user')
    record, steps = _GOLDS[asked]
    name = PLANS.get(record)
    rounds = _calls(steps[0], name) if name else steps
    said = [message for message in messages if message['role'] == 'assistant']
    _check(messages, request)
    if len(said) < len(rounds):
        return {'content': THOUGHTS, 'calls': rounds[len(said)]}
    last = messages[-1]['content'] if said else 'nothing'
    return {'content': f'<think>done</think>Answer: {last}'}


def _check(messages: list[dict[str, Any]], request: dict[str, Any]) -> None:
    """What servers insist on: every call of an answer is replied to, in order, and arguments are text."""
    waiting: list[str] = []
    for message in messages:
        if message['role'] == 'tool':
            assert message['tool_call_id'] == waiting.pop(0), messages
        else:
            assert not waiting, messages
        made = message.get('tool_calls', [])
        assert all(isinstance(call['function']['arguments'], str) for call in made)
        assert message['role'] != 'assistant' or message['content'] == THOUGHTS, 'thoughts go back as they came'
        waiting += [call['id'] for call in made]
    assert not waiting, messages
    offered = [tool['function'] for tool in request['tools']]
    ToolSet([ToolSchema(tool['name'], tool['description'], tool['parameters']) for tool in offered])
    assert json.dumps(offered)
