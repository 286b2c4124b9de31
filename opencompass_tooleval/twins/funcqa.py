"""Twins of FuncQA's one-hop questions: other numbers, and the answer that the tool then gives."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.arithmetic import PARAMETER, call_tool
from opencompass_tooleval.benchmarks.funcqa.records import read_step
from opencompass_tooleval.core.calls.observation import ERROR
from opencompass_tooleval.twins.translation import Translation
from opencompass_tooleval.twins.twin import LeftOutError, Twin
from opencompass_tooleval.twins.values import other_number

Number = int | float
_NUMBER = re.compile(r'(?<![\w.])\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,15})?(?!\w)|(?<![\w.,])\d{1,15}(?:\.\d{1,15})?(?!\w)')
_LARGEST_CONSTANT, _TRIES, _LARGEST = 10, 60, 1e15


def _value(token: str) -> Number:
    plain = token.replace(',', '')
    return float(plain) if '.' in plain else int(plain)


def _computed(tool: str, numbers: Sequence[Number], decimals: int) -> Number | None:
    """Returns the result of a tool with as many decimals as the published answer; None for an error."""
    observation = call_tool(tool, {PARAMETER: list(numbers)}, rounded=False)
    if observation.source == ERROR:
        return None
    value = float(observation.text)
    if abs(value) > _LARGEST:
        return None
    return round(value, decimals) if decimals else round(value)


def values(record_id: str, raw: Mapping[str, Any], rng: random.Random) -> Twin:
    """Replaces the numbers of a question that its tool gets, and computes the answer again.

    Raises:
        LeftOutError: A number stands in the question in another form, or its tool does not give the published answer.
    """
    step, question = read_step(raw['func']), raw['question']
    tokens: dict[Number, list[str]] = {}
    for token in _NUMBER.findall(question):
        tokens.setdefault(_value(token), []).append(token)
    published = str(raw['answer']).replace(',', '')
    decimals = len(published.partition('.')[2])
    computed = _computed(step.tool, step.numbers, decimals)
    if step.minus or computed is None or abs(computed - float(published)) > 10.0**-9:
        raise LeftOutError('its tool does not give the published answer')
    stands = [number for number in dict.fromkeys(step.numbers) if len(tokens.get(number, ())) == 1]
    absent = [number for number in step.numbers if number not in stands]
    if not stands or any(not isinstance(number, int) or number > _LARGEST_CONSTANT for number in absent):
        raise LeftOutError('a number stands in the question in another form')
    for _ in range(_TRIES):
        drawn = {number: _drawn(tokens[number][0], rng) for number in stands}
        numbers = [_value(drawn[number]) if number in drawn else number for number in step.numbers]
        result = _computed(step.tool, numbers, decimals)
        is_alike = _order(numbers) == _order(step.numbers) and len(set(numbers)) == len(set(step.numbers))
        if result is not None and is_alike and result != computed and (result > 0) == (computed > 0):
            new = Translation(values={tokens[number][0]: token for number, token in drawn.items()})
            shown = ', '.join(map(str, numbers))
            twin = {'question': new.text(question), 'answer': result, 'func': f'<{step.tool[:-1]}>({shown})={result}'}
            return Twin({**raw, **twin}, new)
    raise LeftOutError('other numbers give no answer of the same kind')


def _drawn(token: str, rng: random.Random) -> str:
    """Returns another number of the same form; a whole number of one digit stays, such as an exponent."""
    if len(token) == 1:
        return token
    whole, point, decimals = token.partition('.')
    new = other_number(whole.replace(',', '') + point + decimals, rng)
    return f'{int(new.partition(".")[0]):,}{point}{new.partition(".")[2]}' if ',' in whole else new


def _order(numbers: Sequence[Number]) -> list[int]:
    return sorted(range(len(numbers)), key=numbers.__getitem__)
