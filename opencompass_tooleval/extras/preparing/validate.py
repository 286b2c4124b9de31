"""Checks examples against the documentation; the paper checks them by calling the tool (Section 4.2).

An example is never evaluated. FuncQA's tools, which this package implements, are called with it; for all other tools it
is compared with the documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from opencompass_tooleval.benchmarks.funcqa.data import PARAMETER, TOOL_NAMES, call_tool
from opencompass_tooleval.benchmarks.restbench.data import is_placeholder, matches, normalise
from opencompass_tooleval.core.scoring.refusal import declines_or_apologizes
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.tool_docs.instruction import Example, Parameter
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc, is_usage
from opencompass_tooleval.tool_docs.value_types import expected, from_text, unlike_schema

UNKNOWN_FUNCTION = 'example:unknown_function'
MISSING = 'example:missing_parameter'
UNKNOWN = 'example:unknown_parameter'
TYPE = 'example:wrong_type'
NOT_JSON_VALUE = 'example:not_json_value'
NO_SCENARIO = 'example:no_scenario'
PATH = 'example:path'
EXECUTION = 'example:execution'

REST_INPUT = 'input'
"""Name of the parameter that contains a complete call, as in the published instructions of RestBench (Table 9)."""

_SENT_BY_THE_CLIENT = ('header', 'cookie')

MAX_SCENARIO_CHARS = 2_000

_SHOWN = 60


@dataclass(frozen=True)
class Flaw:
    """One error in a description or an example.

    Attributes:
        code: ``area:code``.
        message: A sentence for the model.
    """

    code: str
    message: str


def is_prose(function: FunctionDoc) -> bool:
    """Tests if a function's parameters are documented in plain text, without a list."""
    return isinstance(function.raw, str) and not function.required and not function.optional


def is_arithmetic(function: FunctionDoc) -> bool:
    """Tests if a function is one of FuncQA's tools, by its name and its only parameter ``input``."""
    return function.name in TOOL_NAMES and [parameter.name for parameter in function.required] == [PARAMETER]


def check_example(doc: ToolDoc, function_name: str, example: Example) -> list[Flaw]:
    """Compares an example with the documentation.

    A value is valid if it has the documented type, is in the documented ``enum``, or equals the documented default
    (ToolBench writes defaults of numbers as strings). An example of a REST function is a call,
    ``{"input": "GET /movie/456/keywords?page=2"}``, which must match the path template with ids in place of the
    parameters. Body parameters are keys beside ``input``; headers are left to the client. If a function is only
    documented in plain text, the text must mention the parameters.

    Args:
        doc: The tool.
        function_name: Name of one of its functions.
        example: The example, with values as :mod:`json` parses them.

    Returns:
        The errors, in the documentation's order; empty without errors.
    """
    function = next((function for function in doc.functions if function.name == function_name), None)
    if function is None:
        names = ', '.join(repr(function.name) for function in doc.functions)
        return [Flaw(UNKNOWN_FUNCTION, f'{_short(function_name)} is not a function of {doc.name!r}; it has {names}.')]
    faults = list(_check_scenario(example.scenario))
    parameters = dict(example.parameters)
    if to_jsonable(parameters) != parameters:
        return [
            *faults,
            Flaw(NOT_JSON_VALUE, 'A parameter has a value that JSON cannot hold, such as NaN.'),
        ]
    if is_usage(function.name):
        return [*faults, *_check_call(function, parameters)]
    faults += (
        _check_mentioned(function.raw, parameters) if is_prose(function) else _check_parameters(function, parameters)
    )
    if not faults and is_arithmetic(function):
        result = call_tool(function.name, parameters)
        if result.error:
            faults.append(Flaw(EXECUTION, f'Calling the tool with these parameters gives "{result.text}".'))
    return faults


def _check_scenario(scenario: Any) -> Iterator[Flaw]:
    if not isinstance(scenario, str) or not scenario.strip():
        yield Flaw(NO_SCENARIO, 'The scenario is missing: "Scenario" must be a sentence.')
    elif len(scenario) > MAX_SCENARIO_CHARS:
        yield Flaw(NO_SCENARIO, f'The scenario is longer than {MAX_SCENARIO_CHARS} characters.')
    elif declines_or_apologizes(scenario):
        yield Flaw(NO_SCENARIO, 'The scenario is a refusal or an apology: "Scenario" must say when the tool is used.')


def _documented(function: FunctionDoc) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in (*function.required, *function.optional)}


def _check_parameters(function: FunctionDoc, given: Mapping[str, Any]) -> Iterator[Flaw]:
    documented = _documented(function)
    for parameter in function.required:
        if parameter.name not in given and parameter.extra.get('in') not in _SENT_BY_THE_CLIENT:
            yield Flaw(MISSING, f'The required parameter {parameter.name!r} is missing.')
    for name, value in given.items():
        if name not in documented:
            names = ', '.join(map(repr, documented)) or 'none'
            yield Flaw(UNKNOWN, f'There is no parameter {_short(name)}; the parameters are: {names}.')
        elif expectation := _unfit(documented[name], value):
            yield Flaw(TYPE, f'The parameter {name!r} must be {expectation}, not {_short(value)}.')


def _check_mentioned(text: Any, given: Mapping[str, Any]) -> Iterator[Flaw]:
    for name in given:
        if name not in text:
            yield Flaw(UNKNOWN, f'The documentation mentions no parameter {_short(name)}.')


def _unfit(parameter: Parameter, value: Any) -> str:
    default = parameter.default
    if type(value) is type(default) and value == default:
        return ''
    return expected(parameter.type, value) or unlike_schema(parameter.extra, value)


def _check_call(function: FunctionDoc, parameters: dict[str, Any]) -> list[Flaw]:
    call = parameters.pop(REST_INPUT, None)
    if not isinstance(call, str):
        return [Flaw(PATH, f'"Parameters" must hold the whole call as "{REST_INPUT}", such as "GET /items/456".')]
    step = normalise(call)
    clean = step.name and not {'no_method', 'method_case', 'words', 'marks', 'too_long'} & set(step.rules)
    if not clean or '#' in call or not matches(function.name, call):
        how = 'take its path, with values in place of what is in braces, and no blanks'
        message = f'{_short(call)} is not a call of {function.name!r}: {how}.'
        return [Flaw(PATH, message)]
    documented = _documented(function)
    given = dict(parameters)
    for template, other in zip(normalise(function.name).segments, step.segments, strict=True):
        if is_placeholder(template):
            if is_placeholder(other):
                return [Flaw(PATH, f'{other!r} in {_short(call)} must be replaced by a value.')]
            if template[1:-1] in documented:
                given[template[1:-1]] = _value(documented[template[1:-1]], other)
    for pair in filter(None, call.partition('?')[2].split('&')):
        key, _, text = pair.partition('=')
        name = unquote_plus(key)
        if name in given:
            return [Flaw(PATH, f'{_short(name)} is given twice in {_short(call)}.')]
        given[name] = _value(documented.get(name), text)
    return list(_check_parameters(function, given))


def _value(parameter: Parameter | None, text: str) -> Any:
    return from_text(parameter.type if parameter else '', unquote_plus(text))


def _short(value: Any) -> str:
    """Formats a value for a sentence, shortened."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'
