"""Made tasks -> rows of T-Eval's step files: instruct, plan, and the next thought, call and arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.teval.records import FINISH
from opencompass_tooleval.benchmarks.teval.step_prompts import (
    APIS_AS_PAIRS,
    INSTRUCT_REQUEST,
    INSTRUCT_SYSTEM,
    INSTRUCT_TEMPLATES,
    NEXT_STEP,
    STEP_TEXT,
    SYSTEM,
)
from opencompass_tooleval.judging.judge_item import fill
from opencompass_tooleval.making.gold_path import PathCall, gold_path, has_one_path
from opencompass_tooleval.making.made_task import MadeTask
from opencompass_tooleval.making.tool_formats import teval_tools

Row = dict[str, Any]
Api = Mapping[str, Any]

PLANS = ('plan_json', 'plan_str')
STEPS = ('reason_str', 'retrieve_str', 'understand_str', 'reason_retrieve_understand_json')


def step_rows(made: Sequence[MadeTask], language: str) -> dict[str, dict[str, Row]]:
    """Makes the rows of all subsets but review.

    Args:
        made: The tasks; those without one possible path (:func:`~opencompass_tooleval.making.gold_path.has_one_path`)
            are left out.
        language: ``EN`` or ``ZH``: of the tasks to take, and of the prompts.

    Returns:
        Subset -> id -> row. A next step needs the observations of all steps before it, and its own thought: the steps
        of a task end where one is not known.
    """
    subsets: dict[str, dict[str, Row]] = {'instruct': {}, **{name: {} for name in (*PLANS, *STEPS)}}
    taken = [one for one in made if one.task.language == language and has_one_path(one)]
    for one in taken:
        apis = teval_tools(one.task)
        for name in PLANS:
            subsets[name][one.task.id] = _plan(one, name, apis)
        path = gold_path(one)
        for number, call in enumerate(path, 1):
            for answer_format in INSTRUCT_TEMPLATES:
                turn = len(subsets['instruct']) // len(INSTRUCT_TEMPLATES)
                row_id = f'{one.task.id}_{number}_{answer_format}'
                subsets['instruct'][row_id] = _instruct(call, apis[call.name], answer_format, language, turn)
        for number in range(1, _known_steps(path) + 1):
            for name in STEPS:
                subsets[name][f'{one.task.id}_{number}'] = _next_step(one, path[:number], name, apis)
    return subsets


def plan_steps(made: MadeTask) -> list[Row]:
    """Makes the gold plan: the gold calls, and the finish.

    ``prev`` are the calls that have to come before (the goal's order); where no order is known, the call before.
    """
    gold, order = made.task.gold or (), made.goal.order
    steps = [
        {
            'id': place,
            'prev': [first for first, second in order if second == place] if order else [place - 1] if place else [],
            'name': call.name,
            'args': call.arguments,
        }
        for place, call in enumerate(gold)
    ]
    finish = {'id': len(gold), 'prev': [len(gold) - 1] if gold else [], 'name': FINISH, 'args': {}}
    return [*steps, finish]


def _plan(made: MadeTask, subset: str, apis: Mapping[str, Api]) -> Row:
    names = list(apis)
    if any(one != other and one.startswith(other) for one in names for other in names):
        # The official reading takes the name that is listed first of two that begin at one place of a line.
        names.sort(key=len, reverse=True)
    return {
        'meta': {'prompt_type': subset.removeprefix('plan_'), 'API_list': names},
        'ground_truth': plan_steps(made),
        'origin_prompt': [_system(subset, made.task.language, apis), _message('user', made.task.query)],
    }


def _known_steps(path: Sequence[PathCall]) -> int:
    """How many calls are known with their thoughts and with all observations before them."""
    for place, call in enumerate(path):
        if not call.purpose or (place and path[place - 1].solved is None):
            return place
    return len(path)


def _next_step(made: MadeTask, path: Sequence[PathCall], subset: str, apis: Mapping[str, Api]) -> Row:
    language, call = made.task.language, path[-1]
    messages = [_system(subset, language, apis), _message('user', made.task.query)]
    for earlier in path[:-1]:
        assert earlier.solved is not None
        messages.append(_message('assistant', _written(earlier, subset, language)))
        messages.append(_message('function', earlier.solved.observation))
    if (subset, language) in NEXT_STEP:
        messages.append(_message('user', fill(NEXT_STEP[subset, language], thought=call.purpose, name=call.name)))
    return {
        'template': '',
        'meta_data': {'response_format': 'json' if subset.endswith('json') else 'str'},
        'ground_truth': {'thought': call.purpose, 'name': call.name, 'args': call.arguments},
        'origin_prompt': messages,
    }


def _written(call: PathCall, subset: str, language: str) -> str:
    if subset.endswith('json'):
        step = {'thought': call.purpose, 'name': call.name, 'args': call.arguments}
        return json.dumps(step, ensure_ascii=False)
    return fill(STEP_TEXT[language], thought=call.purpose, name=call.name, args=str(dict(call.arguments)))


def _instruct(call: PathCall, api: Api, answer_format: str, language: str, turn: int) -> Row:
    templates = INSTRUCT_TEMPLATES[answer_format]
    template = templates[turn % len(templates)]
    system = fill(INSTRUCT_SYSTEM[answer_format, language], apis=_json_lines([api]), **template)
    written = (f'{name} = {json.dumps(value, ensure_ascii=False)}' for name, value in call.arguments.items())
    request = fill(INSTRUCT_REQUEST[language], name=call.name, parameters='\n'.join(written))
    return {
        'template': template,
        'meta_data': {'response_format': answer_format},
        'ground_truth': {'action': call.name, 'args': call.arguments},
        'origin_prompt': [_message('system', system), _message('user', request)],
    }


def _system(subset: str, language: str, apis: Mapping[str, Api]) -> dict[str, str]:
    as_pairs = (subset, language) in APIS_AS_PAIRS
    described = str([[name, dict(api)] for name, api in apis.items()]) if as_pairs else _json_lines(list(apis.values()))
    return _message('system', fill(SYSTEM[subset, language], apis=described))


def _json_lines(apis: Sequence[Api]) -> str:
    return '\n'.join(json.dumps(api, ensure_ascii=False) for api in apis)


def _message(role: str, content: str) -> dict[str, str]:
    return {'role': role, 'content': content}


def missing_thoughts(made: Sequence[MadeTask]) -> Iterator[str]:
    """Yields the ids of tasks some of whose calls are in no file of next steps, for want of a thought."""
    for one in made:
        if has_one_path(one):
            path = gold_path(one)
            if _known_steps(path) < len(path):
                yield one.task.id
