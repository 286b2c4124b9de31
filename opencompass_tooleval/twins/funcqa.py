"""Twins of FuncQA's questions: other numbers, and the answer that the tools compute from them."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.data import (
    PARAMETER,
    Calculation,
    call_tool,
    is_wrong_by_question,
    read_step,
)
from opencompass_tooleval.benchmarks.funcqa.scoring import TOLERANCE
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
_NEARLY_SAME = float(TOLERANCE / 2)
"""Maximum relative difference between a computed answer and its rounded form: half of the difference that scores
allow."""
_NEAREST = 'nearest integer'
_MOST_DECIMALS = 15
_FORM = 'a number stands in the question in another form'
_NO_ANSWER = 'its tool does not give the published answer'
_OTHER_ANSWER = 'its published answer is not what the question asks for'


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
    """

    steps: Sequence[Calculation]
    sources: Sequence[Sequence[int | None]]

    @classmethod
    def of(cls, steps: Sequence[Calculation]) -> _Chain:
        results: list[tuple[Number, ...]] = []
        sources = []
        for step in steps:
            sources.append(
                [next((i for i, known in enumerate(results) if number in known), None) for number in step.numbers]
            )
            exact = _computed(step.tool, step.numbers)
            results.append((step.result, *([] if exact is None else [exact])))
        return cls(steps, sources)

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
        return asked, results


def _rounded(exact: Number, decimals: int) -> Number:
    """Rounds an answer to as many decimals, or to more until it is within half the tolerance of the scores.

    For example, 0.003566 with 4 decimals is 0.003566, since 0.0036 counts as wrong beside it.
    """
    for count in range(decimals, _MOST_DECIMALS):
        rounded = round(exact, count) if count else round(exact)
        if abs(rounded - exact) <= _NEARLY_SAME * abs(exact):
            return rounded
    return exact


def _is_alike(
    old: tuple[list[list[Number]], list[Number]],
    new: tuple[list[list[Number]], list[Number]],
    stands: Mapping[Any, Any],
) -> bool:
    """Tests if new numbers and results are similar to the old ones, but the answer differs.

    The numbers of each step have the same order, and so have the answer and the numbers of the question: a divisor
    stays greater than the remainders that it leaves. Each result has the same sign, and is whole if the old one is.

    Args:
        old: Numbers and results of all steps.
        new: The new ones.
        stands: Number in the question -> new number.
    """
    pairs = list(zip(old[0], new[0], strict=True))
    results = list(zip(old[1], new[1], strict=True))
    return (
        all(_order(a) == _order(b) and len(set(a)) == len(set(b)) for a, b in pairs)
        and all((a > 0) == (b > 0) and (isinstance(b, int) or not isinstance(a, int)) for a, b in results)
        and results[-1][0] != results[-1][1]
        and (len(pairs) == 1 or _order([old[1][-1], *stands]) == _order([new[1][-1], *stands.values()]))
    )


def values(record_id: str, raw: Mapping[str, Any], rng: random.Random) -> Twin:
    """Replaces the numbers in a question that its tools get as arguments, and computes the new answer.

    Raises:
        LeftOutError: A number is in the question in another form, the tools do not give the published answer, this is
            not the answer to the question, or no similar numbers are found.
    """
    steps, question = [read_step(text) for text in raw.get('calculation') or [raw['func']]], raw['question']
    tokens: dict[Number, list[str]] = {}
    for token in _NUMBER.findall(question):
        tokens.setdefault(_value(token), []).append(token)
    published = str(raw['answer']).replace(',', '')
    if is_wrong_by_question(question):
        raise LeftOutError(_OTHER_ANSWER)
    chain, decimals, is_chain = _Chain.of(steps), len(published.partition('.')[2]), len(steps) > 1
    computed = chain.compute({})
    if any(step.minus for step in steps) or computed is None:
        raise LeftOutError(_NO_ANSWER)
    exact, is_nearest = computed[1][-1], _NEAREST in question
    if round(exact, decimals) != float(published) and abs(exact - float(published)) > _NEARLY_SAME * abs(exact):
        raise LeftOutError(_NO_ANSWER)
    if not decimals and not is_nearest and abs(exact - float(published)) > _NEARLY_SAME * abs(exact):
        raise LeftOutError(_OTHER_ANSWER)  # the number of digits of 3^108, which is 51.5 before it is rounded
    others = chain.others
    stands = [number for number in others if len(tokens.get(number, ())) == 1 and number not in _PI]
    constants = (*range(_LARGEST_CONSTANT + 1), *(_UNITS if is_chain else ()), *(_PI if 3.14 in tokens else ()))
    if not stands or any(number not in constants for number in others if number not in stands):
        raise LeftOutError(_FORM)
    if is_chain and (set(tokens) - {*stands, *_PI} or _sums(tokens) & {*others} - {*tokens}):
        raise LeftOutError(_FORM)
    for _ in range(_TRIES):
        drawn = {number: _drawn(tokens[number][0], rng) for number in stands}
        stood = {number: _value(token) for number, token in drawn.items()}
        if any(new != old and new in tokens for old, new in stood.items()):
            continue
        again = chain.compute(stood)
        if again is not None and _is_alike(computed, again, stood):
            new = Translation(values={tokens[number][0]: token for number, token in drawn.items()})
            asked, results = again
            results[-1] = round(results[-1]) if is_nearest else _rounded(results[-1], decimals)
            if abs(results[-1] - float(published)) <= float(TOLERANCE) * abs(results[-1]):
                continue  # the published answer would count as correct
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
