"""Writes rows of T-Eval's data files, which :mod:`~opencompass_tooleval.benchmarks.teval.records` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.benchmarks.teval.protocol import Protocol
from opencompass_tooleval.benchmarks.teval.records import FINISH, Step, find_subset, parse_record
from opencompass_tooleval.benchmarks.teval.scoring import read_answer, score_answer
from opencompass_tooleval.benchmarks.teval.step_prompts import (
    APIS_AS_PAIRS,
    INSTRUCT_REQUEST,
    INSTRUCT_SYSTEM,
    INSTRUCT_TEMPLATES,
    NEXT_STEP,
    REVIEW_CASE,
    STEP_TEXT,
    SYSTEM,
)
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.errors import Fault
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.judging.judge_item import fill

Row = dict[str, Any]

PLANS = ('plan_json', 'plan_str')
NEXT_STEPS = ('reason_str', 'retrieve_str', 'understand_str', 'reason_retrieve_understand_json')
REVIEW = 'review_str'

_STRICT = Protocol('v2', 'strict')


@dataclass(frozen=True)
class Request:
    """Values that all rows of a task share.

    Attributes:
        query: The user's request.
        apis: Name -> API description, in the order of the prompts.
        language: ``EN`` or ``ZH``, of the prompts.
    """

    query: str
    apis: Mapping[str, Mapping[str, Any]]
    language: str


@dataclass(frozen=True)
class DoneStep:
    """A call that was made.

    Attributes:
        thought: Why; in review the goal of the call.
        name: The API.
        args: JSON values.
        response: What came back.
    """

    thought: str
    name: str
    args: Mapping[str, Any]
    response: str


def plan_row(request: Request, subset: str, calls: Sequence[tuple[str, Any]], prev: Sequence[Sequence[int]]) -> Row:
    """Writes a row of ``plan_json`` or ``plan_str``.

    Args:
        request: The request.
        subset: The subset.
        calls: Name and arguments of each call, without the finish.
        prev: For each call, the places of those before it that it builds on; scoring does not use them.
    """
    steps = [
        {'id': index, 'prev': list(before), 'name': name, 'args': args}
        for index, ((name, args), before) in enumerate(zip(calls, prev, strict=True))
    ]
    finish = {'id': len(steps), 'prev': [len(steps) - 1] if steps else [], 'name': FINISH, 'args': {}}
    names = list(request.apis)
    if any(one != other and one.startswith(other) for one in names for other in names):
        # The official reading takes the name that is listed first of two that begin at one place of a line.
        names.sort(key=len, reverse=True)
    return {
        'meta': {'prompt_type': find_subset(subset).format, 'API_list': names},
        'ground_truth': [*steps, finish],
        'origin_prompt': [_system(request, subset), _message('user', request.query)],
    }


def instruct_row(request: Request, name: str, args: Mapping[str, Any], answer_format: str, turn: int) -> Row:
    """Writes a row of ``instruct``.

    Args:
        request: The request; only its APIs and its language count.
        name: The API to call.
        args: The arguments.
        answer_format: ``json`` or ``string``.
        turn: Number of the call among all, which decides how it is to be written down.
    """
    templates = INSTRUCT_TEMPLATES[answer_format]
    template = templates[turn % len(templates)]
    apis = _json_lines([request.apis[name]])
    written = (f'{key} = {json.dumps(value, ensure_ascii=False)}' for key, value in args.items())
    asked = fill(INSTRUCT_REQUEST[request.language], name=name, parameters='\n'.join(written))
    return {
        'template': template,
        'meta_data': {'response_format': answer_format},
        'ground_truth': {'action': name, 'args': args},
        'origin_prompt': [
            _message('system', fill(INSTRUCT_SYSTEM[answer_format, request.language], apis=apis, **template)),
            _message('user', asked),
        ],
    }


def next_step_row(request: Request, subset: str, before: Sequence[DoneStep], step: DoneStep) -> Row:
    """Writes a row of one of ``NEXT_STEPS``.

    Args:
        request: The request.
        subset: The subset.
        before: The steps so far.
        step: The gold; its response is not used.
    """
    language, as_json = request.language, subset.endswith('json')
    messages = [_system(request, subset), _message('user', request.query)]
    for done in before:
        messages += [_message('assistant', _written(done, language, as_json)), _message('function', done.response)]
    if (subset, language) in NEXT_STEP:
        messages.append(_message('user', fill(NEXT_STEP[subset, language], thought=step.thought, name=step.name)))
    return {
        'template': '',
        'meta_data': {'response_format': find_subset(subset).format},
        'ground_truth': {'thought': step.thought, 'name': step.name, 'args': step.args},
        'origin_prompt': messages,
    }


def review_row(language: str, step: DoneStep, choice: str, why: str = '') -> Row:
    """Writes a row of ``review_str``.

    Args:
        language: ``EN`` or ``ZH``.
        step: The call; its thought is the goal.
        choice: The right choice, ``A`` to ``E``.
        why: The gold thought; scoring does not use it.
    """
    case = fill(
        REVIEW_CASE[language], goal=step.thought, name=step.name, args=str(dict(step.args)), response=step.response
    )
    return {
        'template': '',
        'meta_data': {'response_format': 'str'},
        'ground_truth': {'answer': choice, 'thought': why},
        'origin_prompt': [_message('system', SYSTEM[REVIEW, language]), _message('user', case)],
    }


def reaches_full_marks(name: str, row: Mapping[str, Any], subset: str) -> bool:
    """Tests if a row can be read, and if its own gold answer is right in all metrics of strict scoring.

    Plans are compared by the names of their steps: how near their arguments have to be is up to an encoder.
    """
    try:
        record = parse_record(name, to_jsonable(dict(row)), find_subset(subset))
    except Fault:
        return False
    answer = Answer(gold_answer(record))
    if record.subset.kind == 'plan':
        steps = read_answer(record, answer, _STRICT).value or ()
        return _names(steps) == _names(cast(tuple[Step, ...], record.gold))
    return all(value == 1 for value in score_answer(record, answer, _STRICT).values.values() if value is not None)


def _names(steps: Sequence[Step]) -> list[str]:
    return [step.name for step in steps if step.name != FINISH]


def _written(step: DoneStep, language: str, as_json: bool) -> str:
    if as_json:
        return json.dumps({'thought': step.thought, 'name': step.name, 'args': step.args}, ensure_ascii=False)
    return fill(STEP_TEXT[language], thought=step.thought, name=step.name, args=str(dict(step.args)))


def _system(request: Request, subset: str) -> dict[str, str]:
    as_pairs = (subset, request.language) in APIS_AS_PAIRS
    apis = request.apis
    described = str([[name, dict(api)] for name, api in apis.items()]) if as_pairs else _json_lines([*apis.values()])
    return _message('system', fill(SYSTEM[subset, request.language], apis=described))


def _json_lines(apis: Sequence[Mapping[str, Any]]) -> str:
    return '\n'.join(json.dumps(api, ensure_ascii=False) for api in apis)


def _message(role: str, content: str) -> dict[str, str]:
    return {'role': role, 'content': content}
