"""FuncQA's 13 tools as published, with their rounding, but with limits on size and work.

Each takes one list, ``{"input": [...]}``, computes with Python's integers and floats, and returns text. If the
published function raises for an input, the tool returns a named error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from opencompass_tooleval.core.calls.observation import ERROR, FUNCTION, WRONG_ARGUMENTS, Observation
from opencompass_tooleval.core.calls.observation import UNKNOWN_TOOL as UNKNOWN
from opencompass_tooleval.core.calls.one_call import NOT_AN_OBJECT, UNKNOWN_TOOL
from opencompass_tooleval.core.text.bounds import MAX_BITS, is_huge_power

MISSING = 'args:missing'
NOT_A_LIST = 'args:not_a_list'
NOT_A_NUMBER = 'args:not_a_number'
COUNT = 'args:count'
DOMAIN = 'args:domain'
TOO_LARGE = 'args:too_large'
TOO_MUCH_WORK = 'args:too_much_work'

PARAMETER = 'input'
DECIMALS = 2

_MAX_WORK_BITS = 1_000_000
"""Maximum number of bits in the work of a binomial or permutation, checked before it is computed."""

_SHOWN_DECIMALS = 10
"""Number of decimals in which the published rounding counts zeros."""


def refused(error: str, text: str = '') -> Observation:
    """Creates the observation of a failed call.

    Args:
        error: ``name:...`` or ``args:...``.
        text: Describes the error for the model.
    """
    return Observation(text, ERROR, UNKNOWN if error == UNKNOWN_TOOL else WRONG_ARGUMENTS, error)


class _Fault(ValueError):
    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


Number = int | float
_Tool = Callable[[Sequence[Any]], Number]


def _need(values: Sequence[Any], count: int) -> None:
    if len(values) < count:
        raise _Fault(COUNT, f'"{PARAMETER}" holds at least {count} of them, not {len(values)}')


def _real(value: Any) -> Number:
    """Returns a number; booleans count as numbers, as in Python."""
    if isinstance(value, float):
        return value
    if not isinstance(value, int):
        raise _Fault(NOT_A_NUMBER, f'"{PARAMETER}" holds numbers only')
    if value.bit_length() > MAX_BITS:
        raise _Fault(TOO_LARGE, 'a number is too large')
    return int(value)


def _whole(value: Any) -> int:
    number = _real(value)
    if isinstance(number, float):
        raise _Fault(DOMAIN, 'the numbers are whole ones, written without a point')
    return number


def _bounded(value: Any) -> Number:
    if isinstance(value, complex):
        raise _Fault(DOMAIN, 'a negative number has no such power')
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise _Fault(TOO_MUCH_WORK, 'the result is too large to be worked out')
    return value  # type: ignore[no-any-return]


def _fold(step: Callable[[Any, Any], Any], read: Callable[[Any], Number] = _real) -> _Tool:
    """Folds a list from left to right, with a limit after each step; returns a single number unchanged."""

    def work(values: Sequence[Any]) -> Number:
        _need(values, 1)
        numbers: Iterable[Number] = map(read if len(values) > 1 else _real, values)
        return reduce(lambda left, right: _bounded(step(left, right)), numbers)

    return work


def _add(values: Sequence[Any]) -> Number:
    # Not sum(): since Python 3.12 it adds floats more exactly than the published runs did.
    return _fold(operator.add)([0, *values])


def _power(base: Number, exponent: Number) -> Any:
    if is_huge_power(base, exponent):
        raise _Fault(TOO_MUCH_WORK, 'the power is too large to be worked out')
    return base**exponent


def _sqrt(values: Sequence[Any]) -> Number:
    _need(values, 1)
    return math.sqrt(_real(values[0]))


def _ln(values: Sequence[Any]) -> Number:
    _need(values, 1)
    return math.log(_real(values[0]))


def _log(values: Sequence[Any]) -> Number:
    _need(values, 1)
    if len(values) > 2:
        raise _Fault(COUNT, f'"{PARAMETER}" holds a number, or a number and a base')
    numbers = [_real(value) for value in values]
    return math.log10(numbers[0]) if len(numbers) == 1 else math.log(*numbers)


def _choose(values: Sequence[Any]) -> int:
    _need(values, 2)
    options, items = _whole(values[0]), _whole(values[1])
    # Choosing 999,998 out of a million needs only the work of choosing 2.
    _check_work(options, min(items, options - items))
    return math.comb(options, items)


def _permutate(values: Sequence[Any]) -> int:
    _need(values, 2)
    options = _whole(values[0])
    items = options if values[1] is None else _whole(values[1])
    _check_work(options, items)
    return math.perm(options, items)


def _check_work(options: int, items: int) -> None:
    if 0 < items <= options and items * options.bit_length() > _MAX_WORK_BITS:
        raise _Fault(TOO_MUCH_WORK, 'the result is too large to be worked out')


def _lcm(left: int, right: int) -> int:
    return left * right // math.gcd(left, right)


def _remainder(values: Sequence[Any]) -> Number:
    _need(values, 2)
    return _real(values[0]) % _real(values[1])


_TOOLS: dict[str, _Tool] = {
    'add_': _add,
    'subtract_': _fold(operator.sub),
    'multiply_': _fold(operator.mul),
    'divide_': _fold(operator.truediv),
    'power_': _fold(_power),
    'sqrt_': _sqrt,
    'log_': _log,
    'ln_': _ln,
    'lcm_': _fold(_lcm, _whole),
    'gcd_': _fold(math.gcd, _whole),
    'remainder_': _remainder,
    'choose_': _choose,
    'permutate_': _permutate,
}

TOOL_NAMES: tuple[str, ...] = tuple(_TOOLS)
"""Names of the tools, in published order."""


def call_tool(name: Any, parameters: Any, rounded: bool = True) -> Observation:
    """Calls a tool, with limits; never raises.

    Tools work from left to right: ``power_`` of 2, 3, 2 is 64. The second number of ``log_`` is the base.
    ``remainder_`` has the sign of the divisor. Numbers that a tool ignores (``sqrt_`` of 9, 2) may have any value.

    Args:
        name: One of :data:`TOOL_NAMES`.
        parameters: ``{"input": [numbers]}``. Other keys are ignored; a key such as ``Input`` is used if ``input``
            fails, as published.
        rounded: True to round the result as published; see :func:`result_text`.

    Returns:
        The result, or an ``error``: ``name:unknown_tool``, or for parameters ``args:not_an_object``, ``args:missing``
        (no ``input``), ``args:not_a_list``, ``args:not_a_number``, ``args:count``, ``args:domain`` (undefined, such as
        the root of a negative number), ``args:too_large`` (beyond a float, 1.8e308) and ``args:too_much_work`` (more
        than 10,000 bits on the way, where the published functions continue, perhaps forever).
    """
    if not isinstance(name, str) or name not in _TOOLS:
        return refused(UNKNOWN_TOOL, f'Error: there is no such tool; the tools are {", ".join(TOOL_NAMES)}')
    fault = _Fault(NOT_AN_OBJECT, f'parameters are an object such as {{"{PARAMETER}": [1, 2]}}')
    for reading in _readings(parameters):
        try:
            value = _call(_TOOLS[name], reading)
            return Observation(result_text(value) if rounded else plain(_finite(value)), FUNCTION)
        except _Fault as raised:
            fault = raised
        except ZeroDivisionError:
            fault = _Fault(DOMAIN, 'division by zero')
        except OverflowError:
            fault = _Fault(TOO_LARGE, 'the result is too large')
        except ValueError:
            fault = _Fault(DOMAIN, 'there is no such number')
    return refused(fault.error, f'Error: {name}: {fault}')


def _readings(parameters: Any) -> list[Mapping[Any, Any]]:
    if not isinstance(parameters, dict):
        return []
    if not all(isinstance(key, str) for key in parameters):
        return [parameters]
    # The published run also replaces '-' by '_' in the keys, which never gives 'input'.
    lowered = {key.lower(): value for key, value in parameters.items()}
    return [parameters] if lowered == parameters else [parameters, lowered]


def _call(tool: _Tool, parameters: Mapping[Any, Any]) -> Number:
    if PARAMETER not in parameters:
        raise _Fault(MISSING, f'the parameter "{PARAMETER}" is missing')
    values = parameters[PARAMETER]
    if not isinstance(values, (list, tuple)):
        raise _Fault(NOT_A_LIST, f'"{PARAMETER}" is a list of numbers')
    return tool(values)


def _finite(value: Number) -> Number:
    if math.isnan(value):  # raises OverflowError for an integer beyond a float
        raise _Fault(DOMAIN, 'there is no such number')
    if math.isinf(value):
        raise _Fault(TOO_LARGE, 'the result is too large')
    return value


def round_as_tools(value: Number) -> Number:
    """Rounds as the published functions do.

    Numbers from 0 to 0.1 are rounded to two significant digits (0.0567 to 0.057), all other numbers, including negative
    ones, to two decimals (-0.0045 to -0.0). Zeros are counted in the first ten decimals.
    """
    if isinstance(value, int):
        return value
    before, _, after = f'{value:.{_SHOWN_DECIMALS}f}'.partition('.')
    zeros = len(after) - len(after.lstrip('0'))
    return round(value, DECIMALS + zeros if before == '0' else DECIMALS)


def result_text(value: Number) -> str:
    """Formats a result as the published functions do.

    Raises:
        OverflowError: The result is beyond a float.
        ValueError: The result is not a finite number.
    """
    mantissa, mark, exponent = str(round_as_tools(_finite(value))).partition('e')
    if '.' in mantissa:
        # A bug of the published functions: they strip final zeros before they parse the exponent, so that 1.5e+20
        # becomes 150. 1e+20, without a point, is correct.
        exponent = exponent.rstrip('0')
    return _decimal(mantissa + mark + exponent)


def plain(value: Number) -> str:
    """Formats a finite number in decimals, without an exponent and final zeros."""
    return _decimal(repr(value))


def _decimal(text: str) -> str:
    decimals = format(Decimal(text), 'f')
    return decimals.rstrip('0').rstrip('.') if '.' in decimals else decimals
