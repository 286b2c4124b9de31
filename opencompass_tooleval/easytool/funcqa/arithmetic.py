"""FuncQA's 13 tools: exact where numbers are rational, bounded whatever a model passes.

Each takes one list of numbers, ``{"input": [...]}``. A float stands for the decimal that it is written as, so that
0.1 + 0.2 is 0.3. Results are normalised as the published descriptions say (EasyTool, Table 10, and the data).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

from opencompass_tooleval.core.parse import MAX_BITS

UNKNOWN_NAME = 'tool:unknown_name'
NOT_AN_OBJECT = 'args:not_an_object'
MISSING = 'args:missing'
UNKNOWN = 'args:unknown'
NOT_A_LIST = 'args:not_a_list'
NOT_A_NUMBER = 'args:not_a_number'
COUNT = 'args:count'
DOMAIN = 'args:domain'
TOO_LARGE = 'args:too_large'

PARAMETER = 'input'
MAX_NUMBERS = 1_000
DECIMALS = 2

_MAX_WORK_BITS = 1_000_000
"""Of a binomial or a number of arrangements before it is worked out. Those within ``MAX_BITS`` need far less."""


@dataclass(frozen=True)
class ToolResult:
    """What a call gave.

    Attributes:
        value: The number; None if the call failed.
        text: What the model is told: the number in plain decimals, or what is wrong.
        error: ``''``, or ``tool:...`` or ``args:...``.
    """

    value: int | float | None
    text: str
    error: str = ''


class _Fault(ValueError):
    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


Numbers = Sequence[Fraction]


@dataclass(frozen=True)
class _Tool:
    work: Callable[[Numbers], Fraction | int | float]
    least: int
    most: int = MAX_NUMBERS
    whole: bool = False


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _bounded(value: Fraction) -> Fraction:
    if _bits(value) > MAX_BITS:
        raise _Fault(TOO_LARGE, 'the result is too large')
    return value


def _fold(step: Callable[[Fraction, Fraction], Fraction]) -> Callable[[Numbers], Fraction]:
    """Left to right, bounded after each step."""
    return lambda numbers: reduce(lambda left, right: _bounded(step(left, right)), numbers)


def _divide(left: Fraction, right: Fraction) -> Fraction:
    if not right:
        raise _Fault(DOMAIN, 'division by zero')
    return left / right


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if base < 0 and exponent.denominator > 1:
        raise _Fault(DOMAIN, 'a negative number has no such power')
    if base == 0 and exponent < 0:
        raise _Fault(DOMAIN, 'division by zero')
    if exponent.denominator == 1 and _is_small(base, exponent.numerator):
        return base**exponent.numerator
    return _rational(float(base) ** float(exponent))


def _is_small(base: Fraction, exponent: int) -> bool:
    """Whether a power takes no effort; it is so if its value is within ``MAX_BITS``."""
    return _bits(base) * abs(exponent) <= 2 * MAX_BITS


def _sqrt(numbers: Numbers) -> Fraction | float:
    (number,) = numbers
    if number < 0:
        raise _Fault(DOMAIN, 'a negative number has no square root')
    root = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
    return root if root * root == number else math.sqrt(number)


def _ln(number: Fraction) -> float:
    if number <= 0:
        raise _Fault(DOMAIN, 'only positive numbers have a logarithm')
    return math.log(number.numerator if number.denominator == 1 else number)  # whole ones may exceed a float


def _log(numbers: Numbers) -> Fraction | float:
    number, base = numbers if len(numbers) == 2 else (numbers[0], Fraction(10))
    if base == 1:
        raise _Fault(DOMAIN, 'the base of a logarithm is not 1')
    value = _ln(number) / _ln(base)
    exact = round(value)
    return Fraction(exact) if _is_small(base, exact) and base**exact == number else value  # log_ of 125, 5 is 3


def _choose(numbers: Numbers) -> int:
    options, items = _items(numbers)
    items = min(items, options - items) if items <= options else items
    return math.comb(options, _affordable(options, items))


def _permutate(numbers: Numbers) -> int:
    options, items = _items(numbers)
    return math.perm(options, _affordable(options, items))


def _items(numbers: Numbers) -> tuple[int, int]:
    options, items = (number.numerator for number in numbers)
    if options < 0 or items < 0:
        raise _Fault(DOMAIN, 'numbers of things are not negative')
    return options, items


def _affordable(options: int, items: int) -> int:
    if items <= options and items * options.bit_length() > _MAX_WORK_BITS:
        raise _Fault(TOO_LARGE, 'the result is too large')
    return items


def _remainder(numbers: Numbers) -> Fraction:
    number, divisor = numbers
    if not divisor:
        raise _Fault(DOMAIN, 'division by zero')
    return number % divisor


def _lcm(left: Fraction, right: Fraction) -> Fraction:
    return Fraction(math.lcm(left.numerator, right.numerator))


def _gcd(left: Fraction, right: Fraction) -> Fraction:
    return Fraction(math.gcd(left.numerator, right.numerator))


_TOOLS: dict[str, _Tool] = {
    'add_': _Tool(sum, 1),
    'subtract_': _Tool(_fold(lambda left, right: left - right), 2),
    'multiply_': _Tool(_fold(lambda left, right: left * right), 1),
    'divide_': _Tool(_fold(_divide), 2),
    'power_': _Tool(_fold(_power), 2),
    'sqrt_': _Tool(_sqrt, 1, 1),
    'log_': _Tool(_log, 1, 2),
    'ln_': _Tool(lambda numbers: _ln(numbers[0]), 1, 1),
    'lcm_': _Tool(lambda numbers: _fold(_lcm)([abs(number) for number in numbers]), 1, whole=True),
    'gcd_': _Tool(lambda numbers: _fold(_gcd)([abs(number) for number in numbers]), 1, whole=True),
    'remainder_': _Tool(_remainder, 2, 2),
    'choose_': _Tool(_choose, 2, 2, whole=True),
    'permutate_': _Tool(_permutate, 2, 2, whole=True),
}

TOOL_NAMES: tuple[str, ...] = tuple(_TOOLS)
"""In the published order."""


def call_tool(name: Any, parameters: Any, rounded: bool = True) -> ToolResult:
    """Calls a tool; whatever a model may pass, it returns soon and raises nothing.

    Several numbers are taken from left to right: ``power_`` of 2, 3, 2 is 64, and the second number of ``log_`` is
    the base. ``remainder_`` has the sign of the divisor.

    Args:
        name: One of :data:`TOOL_NAMES`.
        parameters: ``{"input": [numbers]}``. Text, booleans, NaN and infinities are no numbers here.
        rounded: Normalise the result as published; see :func:`normalise`.

    Returns:
        The result, or an ``error``: ``tool:unknown_name``, or for arguments ``args:not_an_object``, ``args:missing``
        (no ``input``), ``args:unknown`` (other parameters), ``args:not_a_list``, ``args:not_a_number``,
        ``args:count``, ``args:domain`` (no such number, such as the root of a negative one) and ``args:too_large``
        (more than 10,000 bits).
    """
    if not isinstance(name, str) or name not in _TOOLS:
        return ToolResult(None, f'Error: there is no such tool; the tools are {", ".join(TOOL_NAMES)}', UNKNOWN_NAME)
    try:
        numbers = _read(parameters, _TOOLS[name])
        value = _number(_TOOLS[name].work(numbers), rounded)
    except _Fault as fault:
        return ToolResult(None, f'Error: {name}: {fault}', fault.error)
    except ArithmeticError:  # beyond what a float can hold
        return ToolResult(None, f'Error: {name}: the result is too large', TOO_LARGE)
    return ToolResult(value, plain(value))


def _read(parameters: Any, tool: _Tool) -> list[Fraction]:
    if not isinstance(parameters, dict):
        raise _Fault(NOT_AN_OBJECT, f'parameters are an object such as {{"{PARAMETER}": [1, 2]}}')
    if PARAMETER not in parameters:
        raise _Fault(MISSING, f'the parameter "{PARAMETER}" is missing')
    if len(parameters) > 1:
        raise _Fault(UNKNOWN, f'the only parameter is "{PARAMETER}"')
    values = parameters[PARAMETER]
    if not isinstance(values, list):
        raise _Fault(NOT_A_LIST, f'"{PARAMETER}" is a list of numbers')
    if not tool.least <= len(values) <= tool.most:
        wanted = f'{tool.least}' if tool.least == tool.most else f'{tool.least} to {tool.most}'
        raise _Fault(COUNT, f'"{PARAMETER}" holds {wanted} numbers, not {len(values)}')
    numbers = [_rational(value) for value in values]
    if tool.whole and any(number.denominator != 1 for number in numbers):
        raise _Fault(DOMAIN, 'the numbers are whole ones')
    return numbers


def _rational(value: Any) -> Fraction:
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(repr(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return _bounded(Fraction(value))
    raise _Fault(NOT_A_NUMBER, f'"{PARAMETER}" holds numbers only')


def _number(result: Fraction | int | float, rounded: bool) -> int | float:
    exact = _rational(result) if isinstance(result, float) else _bounded(Fraction(result))
    if rounded:
        exact = normalise(exact)
    return exact.numerator if exact.denominator == 1 else float(exact)


def normalise(value: Fraction) -> Fraction:
    """Rounds as the published descriptions say.

    Two decimals; below 1 with zeros after the point, those zeros and two more digits (0.004471 is 0.0045). Ties go to
    the even digit, as Python's ``round`` has it.
    """
    size = abs(value)
    # 10**zeros < 1 / size in whole numbers, at once: one over a number of 3,000 digits has as many zeros.
    zeros = len(str((size.denominator - 1) // size.numerator)) - 1 if 0 < size < 1 else 0
    return round(value, DECIMALS + zeros)


def plain(value: int | float) -> str:
    """A finite number in decimals, with neither an exponent nor zeros at the end."""
    text = format(Decimal(repr(value)), 'f')
    return text.rstrip('0').rstrip('.') if '.' in text else text
