"""FuncQA's data: its 13 tools, the errors in its published answers, and its files as typed records.

The tools are as published, with their rounding, but with limits on size and work. Each takes one list, ``{"input":
[...]}``, computes with Python's integers and floats, and returns text. If the published function raises for an input,
the tool returns a named error.

A file is a JSON list of ``question``, ``answer`` (a number, or a text with a number) and the calculation: one step in
``func`` (one-hop), or several in ``calculation`` (multi-hop), such as ``<power>(0.89, 8)=0.3936``. The id of a row is
its number, from 0. Errors in published answers and calculations were each checked by hand against the question.

Fixed by ``gold='repaired'``:

* ``arithmetic``: the answer does not follow from its own calculation.
* ``rounded``: the answer follows, but its rounding is more than 0.1% away from the exact number.
* ``question``: the calculation does not fit the question: other numbers, a missing condition or a missing last step.

Listed only:

* ``calculation``: the answer is correct, but the calculation is not.
* ``doubtful``: the question can be read in several ways, or in none.

According to their calculations, these answers would be wrong: 3724 = lcm(38, 49, 17) and 18 = gcd(144, 126, 112) in
one-hop, and 47 = gcd(564, 987, 987) in multi-hop. But the questions say 28, 108 and 611, and the model sees the
questions: these answers are correct, and stay.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import partial, reduce
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.tables import SUBSETS
from opencompass_tooleval.catalogue.benchmark import (
    BenchmarkFiles,
    ConfiguredDataset,
    Content,
    DataFiles,
    find_benchmark,
)
from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.observation import ERROR, FUNCTION, WRONG_ARGUMENTS, Observation
from opencompass_tooleval.core.calls.observation import UNKNOWN_TOOL as UNKNOWN
from opencompass_tooleval.core.calls.one_call import NOT_AN_OBJECT, UNKNOWN_TOOL
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.core.text.jsonable import MAX_BITS, is_huge_power
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from opencompass_tooleval.work_dir.data_files import read_list

# Tools

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


def _power(base: Number, exponent: Number) -> Any:
    if is_huge_power(base, exponent):
        raise _Fault(TOO_MUCH_WORK, 'the power is too large to be worked out')
    return base**exponent


def _first(values: Sequence[Any]) -> Number:
    _need(values, 1)
    return _real(values[0])


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


def _remainder(values: Sequence[Any]) -> Number:
    _need(values, 2)
    return _real(values[0]) % _real(values[1])


_TOOLS: dict[str, _Tool] = {
    # Not sum(): since Python 3.12 it adds floats more exactly than the published runs did.
    'add_': lambda values: _fold(operator.add)([0, *values]),
    'subtract_': _fold(operator.sub),
    'multiply_': _fold(operator.mul),
    'divide_': _fold(operator.truediv),
    'power_': _fold(_power),
    'sqrt_': lambda values: math.sqrt(_first(values)),
    'log_': _log,
    'ln_': lambda values: math.log(_first(values)),
    'lcm_': _fold(lambda left, right: left * right // math.gcd(left, right), _whole),
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


# Errata

REPAIRED = ('arithmetic', 'rounded', 'question')
KINDS = (*REPAIRED, 'calculation', 'doubtful')


@dataclass(frozen=True)
class Erratum:
    """One error in the data.

    Attributes:
        subset: ``one_hop`` or ``multi_hop``.
        record: Id of the record in the published file.
        digest: :func:`digest` of the question, which identifies the record, since other files use the same ids.
        kind: One of ``KINDS``.
        published: The published answer.
        repaired: The correct answer; the published answer if nothing is fixed.
        why: Description of the error.
    """

    subset: str
    record: str
    digest: str
    kind: str
    published: int | float
    repaired: int | float
    why: str


def digest(question: str) -> str:
    """Returns 16 hex digits that identify a question."""
    return hashlib.blake2b(question.strip().encode('utf-8', 'replace'), digest_size=8).hexdigest()


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        'one_hop',
        '26',
        '45546cc7a499f8a3',
        'doubtful',
        59508,
        59508,
        'one lap is in seconds, the other in minutes; the calculation takes both for the same',
    ),
    Erratum(
        'one_hop',
        '27',
        'e27c323343278493',
        'calculation',
        3724,
        3724,
        'the question says 28, the calculation 17; lcm(38, 49, 28) is 3724, lcm(38, 49, 17) is 31654',
    ),
    Erratum(
        'one_hop',
        '32',
        '9d18d979b2cdc053',
        'calculation',
        18,
        18,
        'the question says 108, the calculation 112; gcd(144, 126, 108) is 18, gcd(144, 126, 112) is 2',
    ),
    Erratum(
        'one_hop',
        '41',
        'df139097d041f270',
        'doubtful',
        980179200,
        980179200,
        '17 people are to come from 8 candidates; the calculation takes 8 of 17',
    ),
    Erratum(
        'one_hop', '44', '11313df6f1444f5f', 'question', 5040, 2520, 'one of the seven letters occurs twice: 7! / 2!'
    ),
    Erratum(
        'one_hop',
        '47',
        'f7ca77bf2780e5d1',
        'doubtful',
        888.7007,
        888.7007,
        'the number is not a positive integer',
    ),
    Erratum(
        'one_hop',
        '51',
        '36a6f84013d87a2e',
        'question',
        -3.4881,
        -3.48945499,
        'the question says 0.000324, the calculation 0.000325',
    ),
    Erratum(
        'one_hop', '56', '405b0925345b957b', 'question', 3, 9, 'the question says 18, the calculation 24: 1899 mod 18'
    ),
    Erratum('multi_hop', '5', '133d12342724ac54', 'arithmetic', 8.7824, 8.7724, 'a digit: the last step gives 8.7724'),
    Erratum(
        'multi_hop',
        '12',
        '62c3c0ac6ef74dbf',
        'question',
        27,
        36.02249297,
        'the initial value is left out: sqrt(1.78 * 3^6)',
    ),
    Erratum(
        'multi_hop', '13', 'b785087c543a4875', 'rounded', 10.5034, 10.5162731, '4.8^(3/2), from a root rounded to 2.19'
    ),
    Erratum(
        'multi_hop',
        '14',
        '3b8d1706220c82ee',
        'doubtful',
        14.88,
        14.88,
        'an arc is taken for a height, which is 20 + 20 cos(72 degrees), and no tool has a cosine',
    ),
    Erratum('multi_hop', '17', 'cc6bcfbb9db03a69', 'question', 3.18, 4, 'the least integer above 3.18 is asked'),
    Erratum('multi_hop', '22', '7c177ee61c73a046', 'calculation', 6, 6, 'a step, 0.1792 / 0.03, is 5.97, not 5.66'),
    Erratum('multi_hop', '23', 'c458f9ceccd91b5e', 'question', 21, 20, '20.39 to the nearest integer'),
    Erratum('multi_hop', '25', '102327e21577768e', 'rounded', 0.48, 0.48163519, 'ln(sqrt(2222)) / 8 to two digits'),
    Erratum(
        'multi_hop',
        '29',
        '7729f3e16674b37f',
        'doubtful',
        4.3054,
        4.3054,
        '"divisible by 546 through 777" is taken for these two numbers',
    ),
    Erratum(
        'multi_hop',
        '30',
        '70b8c9588391fbb4',
        'arithmetic',
        393610,
        39370,
        'a digit too many: lcm(5624, 4921) is 39368, not 393608',
    ),
    Erratum(
        'multi_hop',
        '31',
        '69d8f40cda13174f',
        'question',
        12502,
        595,
        'enough for both is the sum, not the least common multiple: (798 + 987) / 3',
    ),
    Erratum(
        'multi_hop',
        '35',
        'd8358f5728f3e720',
        'doubtful',
        128,
        128,
        '138.24 * 182.32 is 25203.9168, not 25199.7568, so that 128 tiles leave 2% of a tile open',
    ),
    Erratum(
        'multi_hop',
        '40',
        'aba42ec8002e1642',
        'rounded',
        0.0045,
        0.00447196,
        '91 / 20349 to two digits; and the question has no clear meaning',
    ),
    Erratum('multi_hop', '41', 'e81be97427d52534', 'rounded', 0.0222, 0.02222222, '23 / 1035 to three digits'),
    Erratum('multi_hop', '43', 'f5572eccf7436e86', 'rounded', 2.8e-05, 2.7808676e-05, '1 / 35960 to two digits'),
    Erratum('multi_hop', '46', '77962ac8b38e6f27', 'question', 15.04, 15, 'the largest integer below 15.04 is asked'),
    Erratum(
        'multi_hop',
        '49',
        '6c14c7eaddcf17f3',
        'question',
        152409600,
        76204800,
        'three places are for boys, the first and the last two: 7 * 6 * 5 * 9!',
    ),
    Erratum(
        'multi_hop',
        '50',
        '13d0d3f80928598e',
        'arithmetic',
        537214360,
        53721360,
        'a digit too many: 22 * 21 * 20 * 19 * 18 * 17',
    ),
    Erratum(
        'multi_hop',
        '55',
        '1e93f8f144e41ac5',
        'calculation',
        2491079,
        2491079,
        'a step, 2.71828^0.9126, is 2.490789, not 2.491079; the answer is within 0.1%',
    ),
    Erratum(
        'multi_hop',
        '64',
        'f6677d0920154b28',
        'calculation',
        47,
        47,
        'the question says 611, the calculation 987 twice; gcd(564, 987, 611) is 47, gcd(564, 987) is 141',
    ),
    Erratum(
        'multi_hop',
        '66',
        '4201cfdb5568bcd6',
        'rounded',
        6.85,
        6.82083211,
        'a difference of two circumferences that were rounded before',
    ),
    Erratum(
        'multi_hop',
        '67',
        '6b2bd22492777468',
        'question',
        118773.6,
        1187.69061629,
        'millimetres and decimetres are mixed: 121 * 3.14 * 0.538^2 * 10.8 cubic centimetres',
    ),
)
"""The errors, in the order of the files."""

_NOT_ASKED = {erratum.digest for erratum in ERRATA if erratum.kind in ('question', 'doubtful')}
_REPAIRED = {(erratum.subset, erratum.digest): erratum for erratum in ERRATA if erratum.kind in REPAIRED}


def is_wrong_by_question(question: str) -> bool:
    """Tests if the question is known to ask for another number than the published answer, or has no clear meaning."""
    return digest(question) in _NOT_ASKED


# Records

logger = logging.getLogger(__name__)

FIX = 'tooleval prepare funcqa --from DIR'
GOLDS = ('official', 'repaired')

_STEP = re.compile(r'(?P<minus>-?)<(?P<name>[a-z]+)>\((?P<numbers>[^()]*)\)+=(?P<result>[^=]+)')
_SPLIT = re.compile(r'[,*]')
"""One published step writes its two numbers as a product, ``(12*2.0933)``."""


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.benchmarks.funcqa.tables.SUBSETS`."""

    METRICS = find_benchmark('funcqa').metrics
    file: str

    count: int
    repaired: int


@dataclass(frozen=True)
class Calculation:
    """One step of the published calculation.

    Attributes:
        tool: One of :data:`TOOL_NAMES`.
        numbers: Arguments of the tool; ``4/3`` in the file is 1.3333333333333333.
        result: The published result, with its rounding.
        minus: True if ``result`` is the negative of the tool's result, ``-<log>(...)``.
    """

    tool: str
    numbers: tuple[int | float, ...]
    result: int | float
    minus: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the gold call."""
        return {PARAMETER: list(self.numbers)}


@dataclass(frozen=True)
class Record:
    """One question.

    Attributes:
        id: Row number in the file, from 0.
        subset: ``one_hop`` or ``multi_hop``.
        question: The question in the file, including spaces at its ends, which are part of the prompt.
        answer: The gold answer that is scored.
        published: The gold answer in the file.
        gold: Which gold answer is scored: one of ``GOLDS``.
        steps: The published calculation; it may lack the last step, such as rounding.
    """

    id: str
    subset: str
    question: str
    answer: int | float
    published: int | float
    gold: str
    steps: tuple[Calculation, ...]

    @property
    def gold_answer(self) -> str:
        """The gold final answer."""
        return f'Answer: {plain(self.answer)}'

    def to_payload(self) -> str:
        """Converts the record to JSON text for :func:`parse_payload`."""
        return json.dumps(asdict(self))


TABLE = Table(Subset, SUBSETS, 'FuncQA')
""":data:`~opencompass_tooleval.benchmarks.funcqa.tables.SUBSETS`, typed."""
find_subset = TABLE.find


def parse_payload(payload: str) -> Record:
    """Parses the text of :meth:`Record.to_payload`."""
    raw = json.loads(payload)
    steps = (Calculation(**{**step, 'numbers': tuple(step['numbers'])}) for step in raw.pop('steps'))
    return Record(steps=tuple(steps), **raw)


def _number(value: Any) -> int | float:
    """Parses a number, or a text such as ``1,385.5`` or ``4/3``."""
    if isinstance(value, str):
        above, _, below = value.replace(',', '').strip().partition('/')
        try:
            value = (
                float(above) / float(below) if below else int(above) if above.lstrip('-').isdecimal() else float(above)
            )
        except (ValueError, ZeroDivisionError) as error:
            raise Fault(f'{value!r} is not a number') from error
    finite = not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not finite:
        raise Fault(f'{value!r} is not a number')
    return value


def read_step(text: Any) -> Calculation:
    """Parses one step of a calculation.

    Raises:
        Fault: The step has another form.
    """
    match = _STEP.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or f'{match["name"]}_' not in TOOL_NAMES:
        raise Fault(f'{text!r} is not a step of a calculation')
    numbers = tuple(_number(part) for part in _SPLIT.split(match['numbers']))
    return Calculation(f'{match["name"]}_', numbers, _number(match['result']), bool(match['minus']))


def _record(number: str, raw: Any, subset: str, gold: str) -> Record:
    if not isinstance(raw, Mapping):
        raise Fault('the row is not a JSON object')
    question = raw.get('question')
    if not isinstance(question, str) or not question.strip():
        raise Fault("field 'question' is not a string")
    published = _number(raw.get('answer'))
    calculation = raw.get('calculation', [raw.get('func')])
    if not isinstance(calculation, list) or not calculation:
        raise Fault("'func' or 'calculation' has no calculation")
    steps = tuple(read_step(text) for text in calculation)
    erratum = _REPAIRED.get((subset, digest(question))) if gold == 'repaired' else None
    answer = erratum.repaired if erratum and erratum.published == published else published
    return Record(number, subset, question, answer, published, gold, steps)


def load_records(file: Path, subset: str, gold: str = 'official', change: Change | None = None) -> list[Record]:
    """Reads a data file.

    Args:
        file: Path of ``funcqa_oh.json`` or ``funcqa_mh.json``.
        subset: Name of the row in the table.
        gold: ``official``: the published answers. ``repaired``: with the fixes of :data:`ERRATA`.
        change: Changes the rows for a variant.

    Returns:
        One record per row, in the file's order. A count that differs from the published one is logged.

    Raises:
        DataError: The file is missing or damaged; the error names the row.
        ValueError: The subset or gold does not exist.
    """
    row = find_subset(subset)
    if gold not in GOLDS:
        raise ValueError(f'FuncQA has the gold answers {" and ".join(GOLDS)}, not {gold!r}')
    rows = {str(number): raw for number, raw in enumerate(read_list(file, FIX))}
    records = _records(file, rows, subset, gold)
    if len(records) != row.count:
        logger.warning('%s has %d questions; the published %s has %d', file, len(records), subset, row.count)
    return _records(file, change(rows), subset, gold) if change else records


def _records(file: Path, rows: Mapping[str, Any], subset: str, gold: str) -> list[Record]:
    records = []
    for number, raw in rows.items():
        with naming_record(file, number, FIX):
            records.append(_record(number, raw, subset, gold))
    return records


# Files

DATA_PATH = 'data/funcqa'
INSTRUCTIONS = 'data/easytool/functions_data.json'
_CLONE = 'git clone --depth 1 https://github.com/microsoft/JARVIS'


def _read(subset: str, files: Sequence[Path]) -> Content:
    return Content({'questions': len(load_records(files[0], subset))})


def _read_instructions(files: Sequence[Path]) -> Content:
    tools = load_instructions(files[0])
    missing = [name for name in TOOL_NAMES if name not in tools]
    if missing:
        raise DataError(files[0], f'no instruction for {", ".join(missing)}', fix=_CLONE)
    return Content({'instructions': len(tools)})


def configured(subset: str, *, method: str = 'easytool', instructions: str | None = None) -> ConfiguredDataset:
    """Returns the config of a subset.

    Raises:
        ValueError: The subset does not exist.
    """
    file = Path(find_subset(subset).file)
    config = 'fc_gen' if method == 'function_calling' else 'gen'
    return ConfiguredDataset([f'funcqa/tooleval_funcqa_{config}'], subset, file, method)


FILES = BenchmarkFiles(
    files=(
        *(
            DataFiles(
                subset.name, (f'{DATA_PATH}/{subset.file}',), partial(_read, subset.name), {'questions': subset.count}
            )
            for subset in TABLE
        ),
        DataFiles('instructions', (INSTRUCTIONS,), _read_instructions),
    ),
    origin="FuncQA's files, as EasyTool uses them, are in EasyTool's GitHub repository.",
    clone=_CLONE,
)
