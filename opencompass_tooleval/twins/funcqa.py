"""Twins of FuncQA's questions: other numbers, and the answer that the tools compute from them."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.arithmetic import PARAMETER, call_tool
from opencompass_tooleval.benchmarks.funcqa.records import Calculation, read_step
from opencompass_tooleval.core.calls.observation import ERROR
from opencompass_tooleval.twins.translation import Translation
from opencompass_tooleval.twins.twin import LeftOutError, Twin
from opencompass_tooleval.twins.values import other_number

Number = int | float
_NUMBER = re.compile(r'(?<![\w.])\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,15})?(?!\w)|(?<![\w.,])\d{1,15}(?:\.\d{1,15})?(?!\w)')
_LARGEST_CONSTANT, _TRIES, _LARGEST = 10, 60, 1e15
_UNITS = (12, 24, 52, 60, 100, 180, 360, 365, 1000, 3600)
"""Numbers that a chain of steps may contain although the question does not: of hours, days and angles."""
_PI = (3.14, 3.1416, 3.14159)
_SAME, _NEARLY_SAME = 1e-9, 5e-4
"""Allowed differences between the computed and the published answer: absolute for one step; relative for several
steps, since their published results are rounded. The latter is half of the difference that scores allow."""
_FORM = 'a number stands in the question in another form'
_NO_ANSWER = 'its tool does not give the published answer'


def _value(token: str) -> Number:
    plain = token.replace(',', '')
    return float(plain) if '.' in plain else int(plain)


def _computed(tool: str, numbers: Sequence[Number]) -> float | None:
    """Returns the result of a tool; None for an error."""
    observation = call_tool(tool, {PARAMETER: list(numbers)}, rounded=False)
    if observation.source == ERROR or abs(value := float(observation.text)) > _LARGEST:
        return None
    return value


@dataclass(frozen=True)
class _Chain:
    """The steps of a question. Each number in a step is the result of an earlier step, or another number.

    Attributes:
        steps: The published steps.
        sources: For each number of each step, the step that gives it as its result; None for other numbers.
        decimals: Number of decimals of the published answer.
    """

    steps: Sequence[Calculation]
    sources: Sequence[Sequence[int | None]]
    decimals: int

    @classmethod
    def of(cls, steps: Sequence[Calculation], decimals: int) -> _Chain:
        results: list[tuple[Number, ...]] = []
        sources = []
        for step in steps:
            sources.append(
                [next((i for i, known in enumerate(results) if number in known), None) for number in step.numbers]
            )
            exact = _computed(step.tool, step.numbers)
            results.append((step.result, *([] if exact is None else [exact])))
        return cls(steps, sources, decimals)

    @property
    def others(self) -> list[Number]:
        """The distinct numbers that are not results of steps."""
        pairs = (zip(step.numbers, of, strict=True) for step, of in zip(self.steps, self.sources, strict=True))
        return list(dict.fromkeys(number for pair in pairs for number, source in pair if source is None))

    def compute(self, new: Mapping[Number, Number]) -> tuple[list[list[Number]], list[Number]] | None:
        """Computes the steps with other numbers; returns the numbers and results of all steps, or None for an error."""
        asked, results = list[list[Number]](), list[Number]()
        for step, of in zip(self.steps, self.sources, strict=True):
            numbers = [
                new.get(number, number) if source is None else results[source]
                for number, source in zip(step.numbers, of, strict=True)
            ]
            result = _computed(step.tool, numbers)
            if result is None:
                return None
            asked.append(numbers)
            results.append(int(result) if result.is_integer() else result)
        results[-1] = round(results[-1], self.decimals) if self.decimals else round(results[-1])
        return asked, results


def _is_alike(old: tuple[list[list[Number]], list[Number]], new: tuple[list[list[Number]], list[Number]]) -> bool:
    """Tests if new numbers and results are similar to the old ones, but the answer differs.

    The numbers of each step have the same order; each result has the same sign, and is whole if the old one is. The new
    answer has at least as many digits, with as many decimals: 0.19 as 0.2 would be too far from the result.
    """
    pairs = list(zip(old[0], new[0], strict=True))
    results = list(zip(old[1], new[1], strict=True))
    return (
        all(_order(a) == _order(b) and len(set(a)) == len(set(b)) for a, b in pairs)
        and all((a > 0) == (b > 0) and (isinstance(b, int) or not isinstance(a, int)) for a, b in results)
        and results[-1][0] != results[-1][1]
        and _digits(results[-1][0]) <= _digits(results[-1][1])
    )


def _digits(number: Number) -> int:
    return math.floor(math.log10(abs(number))) if number else 0


def values(record_id: str, raw: Mapping[str, Any], rng: random.Random) -> Twin:
    """Replaces the numbers in a question that its tools get as arguments, and computes the new answer.

    Raises:
        LeftOutError: A number is in the question in another form, the tools do not give the published answer, or no
            similar numbers are found.
    """
    steps, question = [read_step(text) for text in raw.get('calculation') or [raw['func']]], raw['question']
    tokens: dict[Number, list[str]] = {}
    for token in _NUMBER.findall(question):
        tokens.setdefault(_value(token), []).append(token)
    published = str(raw['answer']).replace(',', '')
    chain = _Chain.of(steps, len(published.partition('.')[2]))
    computed = chain.compute({})
    if any(step.minus for step in steps) or computed is None:
        raise LeftOutError(_NO_ANSWER)
    difference, is_chain = abs(computed[1][-1] - float(published)), len(steps) > 1
    if difference > (_NEARLY_SAME * abs(float(published)) if is_chain else _SAME):
        raise LeftOutError(_NO_ANSWER)
    others = chain.others
    stands = [number for number in others if len(tokens.get(number, ())) == 1 and number not in _PI]
    constants = (*range(_LARGEST_CONSTANT + 1), *(_UNITS if is_chain else ()), *(_PI if 3.14 in tokens else ()))
    if not stands or any(number not in constants for number in others if number not in stands):
        raise LeftOutError(_FORM)
    if is_chain and (set(tokens) - {*stands, *_PI} or _sums(tokens) & {*others} - {*tokens}):
        raise LeftOutError(_FORM)
    for _ in range(_TRIES):
        drawn = {number: _drawn(tokens[number][0], rng) for number in stands}
        again = chain.compute({number: _value(token) for number, token in drawn.items()})
        if again is not None and _is_alike(computed, again):
            new = Translation(values={tokens[number][0]: token for number, token in drawn.items()})
            asked, results = again
            shown = [
                f'<{step.tool[:-1]}>({", ".join(map(str, numbers))})={result}'
                for step, numbers, result in zip(steps, asked, results, strict=True)
            ]
            calculation = {'calculation': shown} if 'calculation' in raw else {'func': shown[0]}
            return Twin({**raw, 'question': new.text(question), 'answer': results[-1], **calculation}, new)
    raise LeftOutError('other numbers give no answer of the same kind')


def _sums(numbers: Mapping[Number, Any]) -> set[Number]:
    """Returns the sums and differences of any two numbers of a question: a small number may be one of them."""
    return {round(value, 9) for a in numbers for b in numbers for value in (a + b, abs(a - b)) if a != b}


def _drawn(token: str, rng: random.Random) -> str:
    """Returns another number of the same form; a single digit stays, since it may be an exponent."""
    if len(token) == 1:
        return token
    whole, point, decimals = token.partition('.')
    new = other_number(whole.replace(',', '') + point + decimals, rng)
    return f'{int(new.partition(".")[0]):,}{point}{new.partition(".")[2]}' if ',' in whole else new


def _order(numbers: Sequence[Number]) -> list[int]:
    return sorted(range(len(numbers)), key=numbers.__getitem__)
