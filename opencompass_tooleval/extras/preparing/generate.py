"""Makes an instruction with a model: the tool's description, then an example for each function (Section 4, Table 2).

The two stages are separate dialogues, so that the requests for all tools, and then for all functions of all tools, run
at the same time. An unusable reply is requested again, with its errors named, up to three times. After that the
description is shortened from the documentation by rule, and a function has no example; both are listed. Parameters come
from the documentation; :mod:`opencompass_tooleval.tool_docs.template` shortens them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.scoring.refusal import declines_or_apologizes
from opencompass_tooleval.core.scoring.result import TRUNCATED
from opencompass_tooleval.extras.preparing.prompts import (
    DESCRIPTION_FORM,
    GUIDELINE_FORM,
    PAPER,
    again_prompt,
    guideline_prompt,
)
from opencompass_tooleval.extras.preparing.reply import Description, read_description, read_example
from opencompass_tooleval.extras.preparing.split import Limit, compose, parameter_list, part_prompt, shortest_that_fits
from opencompass_tooleval.extras.preparing.validate import Flaw, check_example
from opencompass_tooleval.tool_docs.instruction import Example, ToolInstruction
from opencompass_tooleval.tool_docs.template import first_sentence, template_instruction
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc, is_usage

REFUSAL = 'description:refusal'
BRACKET = 'description:bracket'
UNRELATED = 'description:unrelated'

_MAX_CHARS = 200_000
"""Maximum length of the documentation's beginning in which to search for words."""

_PAIRS = {'}': '{', ']': '['}

_WORD = re.compile(r'[㐀-鿿]+|[^\W\d_㐀-鿿]+')
_HUMP = re.compile(r'(?<=[a-z])(?=[A-Z])')
_PREFIX = 4
"""Number of first letters of a word to compare: movie and movies, retrieve and retrieving count as the same."""

_COMMON_WORDS = (
    'a about all also an and any api apis are as at be built by can could do does for from function functions get has '
    'have help helps how if in into is it its may more multiple not of on one or other out such text that the their '
    'these they this to tool tools two use used user users uses using various very was what when which will with would '
    'you your i me my we us sorry cannot unable please'
)
_COMMON = frozenset(_COMMON_WORDS.split())
_COMMON_CHINESE = '工具 可以 用于 这个 该工 一个 能够 具可 以用 提供 功能 使用 用户 描述 我们 无法 抱歉 对不 不起'
_COMMON_PAIRS = frozenset(_COMMON_CHINESE.split())


def _without_names(text: str, doc: ToolDoc) -> str:
    """Removes the names of the tool from a text; names may contain any brackets, or begin with any word."""
    for name in sorted({doc.name, *(function.name for function in doc.functions)}, key=len, reverse=True):
        if not name.strip().isalnum():
            text = text.replace(name, ' ')
    return text


def _is_balanced(text: str) -> bool:
    """Tests if every brace and every square bracket has its counterpart."""
    opened: list[str] = []
    for character in text:
        if character in '{[':
            opened.append(character)
        elif character in _PAIRS and (not opened or opened.pop() != _PAIRS[character]):
            return False
    return not opened


def _words(text: str) -> Iterator[str]:
    """Yields the units that are compared: words, cut to their beginning, and pairs of Chinese characters."""
    for match in _WORD.finditer(text):
        run = match[0]
        if '㐀' <= run[0] <= '鿿':
            yield from ({run[at : at + 2] for at in range(len(run) - 1)} or {run}) - _COMMON_PAIRS
            continue
        for word in (part.casefold() for part in {run, *_HUMP.split(run)}):
            if len(word) > 1 and word not in _COMMON:
                yield word[:_PREFIX] if len(word) > _PREFIX else word


def _words_of_tool(doc: ToolDoc) -> str:
    texts = [doc.name, doc.description]
    for function in doc.functions:
        texts += [function.name, function.description]
        for parameter in (*function.required, *function.optional):
            texts += [parameter.name, parameter.description]
    texts += [raw for raw in (doc.raw, *(function.raw for function in doc.functions)) if isinstance(raw, str)]
    return '\n'.join(texts)[:_MAX_CHARS]


def check_description(doc: ToolDoc, text: str) -> list[Flaw]:
    """Compares a description with the documentation.

    Args:
        doc: The tool, or a part of one.
        text: The description, limited in length.

    Returns:
        The errors; empty without errors. The comparison is skipped for documentation without words.
    """
    faults = []
    if declines_or_apologizes(text) and not text.lstrip('\'"`* ').casefold().startswith(doc.name.casefold()):
        faults.append(Flaw(REFUSAL, 'It is a refusal or an apology, and no description of the tool.'))
    if not _is_balanced(_without_names(text, doc)):
        faults.append(Flaw(BRACKET, 'It has a brace or a square bracket without its counterpart.'))
    documented = set(_words(_words_of_tool(doc)))
    if documented and documented.isdisjoint(_words(text)):
        faults.append(Flaw(UNRELATED, 'It has no word of the documentation: say what this tool does.'))
    return faults


TRIES = 4
"""Maximum number of requests: an unusable reply is requested again, up to three times."""

TOO_LONG_TO_ASK = Flaw('prompt:too_long', "The request does not fit into the model's context.")

_QUOTED = (2_000, 200)
"""Maximum length of a reply that is shown to the model again; the first number that fits is used."""

T = TypeVar('T')


@dataclass(frozen=True)
class Options:
    """Options of the prompts.

    Attributes:
        variant: Wording of the prompts, one of ``prompts.VARIANTS``.
        limit: Maximum length of a prompt.
    """

    variant: str = PAPER
    limit: Limit = field(default_factory=Limit)


@dataclass(frozen=True)
class Listed:
    """A part of an instruction that the model could not make in ``TRIES`` requests.

    Attributes:
        tool: Name of the tool.
        function: The function without an example; '' for a description taken from the documentation.
        fault: The error of the last reply.
    """

    tool: str
    function: str
    fault: Flaw


@dataclass(frozen=True)
class Generated:
    """An instruction, and a list of its missing parts."""

    instruction: ToolInstruction
    listed: tuple[Listed, ...] = ()


def ask_until_usable(
    prompt: tuple[Message, ...],
    read: Callable[[str], T | list[Flaw]],
    form: str,
    limit: Limit,
    model: str = '',
) -> Dialogue[T | list[Flaw]]:
    """Sends at most ``TRIES`` requests until a reply is usable; otherwise returns the errors of the last reply.

    It also ends if the model's server rejects a request for its length.

    Args:
        prompt: The first request.
        read: Parses a reply; returns its errors if it is not usable.
        form: The expected form of a reply, which repeated requests state.
        limit: Maximum length of a request.
        model: The model to ask; ``''`` for the model under test.
    """
    asked = prompt
    result: T | list[Flaw] = []
    for _ in range(TRIES):
        answer = yield ModelRequest(asked, model=model, may_be_too_long=True)
        if answer.reason == TRUNCATED:
            return result or [TOO_LONG_TO_ASK]
        reply = answer.text
        result = read(reply)
        if not isinstance(result, list):
            return result
        messages = [fault.message for fault in result]
        longer = (again_prompt(prompt, reply, messages, form, most) for most in _QUOTED)
        fitting = next(filter(limit.fits, longer), None)
        if fitting is None:
            return result
        asked = fitting
    return result


def describe(part: ToolDoc, options: Options) -> Dialogue[Description]:
    """Requests the description of a tool, or of a part of a tool (stage I).

    Args:
        part: A part from :func:`~opencompass_tooleval.extras.preparing.split.split`.
        options: Options of the prompts.

    Returns:
        The model's description; if it has a ``fault``, the description comes from the documentation.
    """
    prompt = part_prompt(part, options.limit, options.variant)
    if prompt is None:
        return _documented(part, TOO_LONG_TO_ASK)
    names = [function.name for function in part.functions]

    def read(reply: str) -> Description | list[Flaw]:
        description = read_description(reply, names, part.name)
        if isinstance(description, list):
            return description
        return check_description(part, description.text) or description

    result = yield from ask_until_usable(prompt, read, DESCRIPTION_FORM, options.limit)
    return _documented(part, result[0]) if isinstance(result, list) else result


def _documented(part: ToolDoc, fault: Flaw) -> Description:
    sentence = first_sentence(part.description)
    return Description(template_instruction(part).description, sentence, {}, fault)


def merge(doc: ToolDoc, parts: Sequence[Description]) -> Description:
    """Merges the descriptions of a tool's parts into one.

    A description of the complete tool that lists all functions, or of a tool with one function, stays as it is.
    Otherwise the result has the purposes, then all functions in the documentation's order; a function that the model
    did not describe gets the first sentence of its documentation.
    """
    lines = {name: line for part in parts for name, line in part.functions.items()}
    functions = {
        function.name: lines.get(function.name) or first_sentence(function.description) for function in doc.functions
    }
    fault = next((part.fault for part in parts if part.fault), None)
    whole = parts[0]
    if len(parts) == 1 and (fault or len(functions) == 1 or len(lines) == len(functions)):
        return replace(whole, functions=functions)
    purposes = [part.purpose for part in parts]
    return Description(compose(purposes, functions), ' '.join(dict.fromkeys(filter(None, purposes))), functions, fault)


def exemplify(
    doc: ToolDoc, function: FunctionDoc, description: Description, options: Options
) -> Dialogue[Example | Flaw]:
    """Requests a scenario with parameters for one function (stage II).

    Args:
        doc: The tool.
        function: One of its functions.
        description: The description from :func:`merge`.
        options: Options of the prompts.

    Returns:
        An example that agrees with the documentation, or the error of the last reply.
    """
    purpose = _purpose(doc, function, description)

    def build(most: int | None) -> tuple[Message, ...]:
        shown = parameter_list(function, most)
        part = purpose if most is None else purpose[: 10 * most]
        return guideline_prompt(options.variant, doc.name, function.name, part, shown, is_usage(function.name))

    def read(reply: str) -> Example | list[Flaw]:
        example = read_example(reply, function.name)
        return example if isinstance(example, list) else check_example(doc, function.name, example) or example

    prompt = shortest_that_fits(options.limit, build)
    if prompt is None:
        return TOO_LONG_TO_ASK
    result = yield from ask_until_usable(prompt, read, GUIDELINE_FORM, options.limit)
    return result[0] if isinstance(result, list) else result


def _purpose(doc: ToolDoc, function: FunctionDoc, description: Description) -> str:
    """Describes the purpose of tool and function in the wording of Table 2."""
    line = description.functions.get(function.name, '')
    if len(doc.functions) == 1 or not line:
        return description.purpose
    return f"{description.purpose}\n'{function.name}' in '{doc.name}' is to {line[:1].lower()}{line[1:]}"


def assemble(doc: ToolDoc, description: Description, examples: Mapping[str, Example | Flaw]) -> Generated:
    """Builds the instruction from its parts.

    Args:
        doc: The documentation, the source of names and parameters.
        description: The description from :func:`merge`.
        examples: Function -> result of :func:`exemplify`.

    Returns:
        The instruction; a tool's only function has no description in addition to the tool's.
    """
    ruled = template_instruction(doc)
    functions, listed = [], []
    if description.fault:
        listed.append(Listed(doc.name, '', description.fault))
    for function in ruled.functions:
        example = examples[function.name]
        if isinstance(example, Flaw):
            listed.append(Listed(doc.name, function.name, example))
        alone = len(ruled.functions) == 1 and not function.description
        line = '' if alone else description.functions.get(function.name, '')
        functions.append(replace(function, description=line, example=example if isinstance(example, Example) else None))
    return Generated(replace(ruled, description=description.text, functions=tuple(functions)), tuple(listed))
