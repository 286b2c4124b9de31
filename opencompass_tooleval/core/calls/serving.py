"""Decides whose fault a served answer is: compares it with a reading of the model's raw text.

A server that reads more than the reference reading does no harm: a broken call that it repairs, a call without the
marks of the format, arguments that it converts to the types of the schema. Whatever it returns must stand in the raw
text. Its answer is what an agent would get, so that it counts as right.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT, Answer, visible_text
from opencompass_tooleval.core.calls.attribution import (
    LIMIT,
    LOGPROBS,
    NONE,
    PARSER,
    REASONING,
    TEMPLATE,
    UNKNOWN,
    Attribution,
    RawText,
    Written,
    bounded_raw,
)
from opencompass_tooleval.core.calls.function_calling import keeps_to
from opencompass_tooleval.core.calls.prompt_parts import has_text, without_blanks
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.calls.written import formats
from opencompass_tooleval.core.calls.written.formats import CALL, HERMES
from opencompass_tooleval.core.calls.written.reading import (
    Reading,
    read_reference,
    read_required_calls,
    unread_format,
    without_end_tokens,
)
from opencompass_tooleval.core.text.bounds import MAX_CHARS

_FEWEST_CHARS = 16
"""Fewer characters of thoughts are not searched in an answer: it may have them too."""
_MOST_SEARCHED, _MOST_VALUES = 16, 64
"""Number of calls beyond the written ones, and of values of each, that are searched in the raw text."""


@dataclass(frozen=True)
class Asked:
    """The parts of a request that decide how its answer is read.

    Attributes:
        format_name: Format of calls of the model, a name of :data:`~.written.formats.FORMATS`.
        tools: The offered tools, with the names under which they were sent; None for none.
        tool_choice: ``tool_choice`` of the request.
        is_single: True if the request allows one call (``parallel_tool_calls: false``): servers drop all others.
        opened_thoughts: True if the prompt ends within thoughts.
        lost: Parts of the request that the prompt of the server lacks, from :func:`~.prompt_parts.lost_parts`.
    """

    format_name: str
    tools: ToolSet | None = None
    tool_choice: Any = 'auto'
    is_single: bool = False
    opened_thoughts: bool = False
    lost: Sequence[str] = ()

    @property
    def required_name(self) -> str:
        """The tool that ``tool_choice`` names; '' for none."""
        named = self.tool_choice.get('function') if isinstance(self.tool_choice, dict) else None
        return str(named.get('name') or '') if isinstance(named, dict) else ''


def attribute(served: Answer, raw: RawText | None, asked: Asked, is_call_for_text: bool = False) -> Attribution:
    """Decides whose fault a served answer is.

    Args:
        served: The answer as the server sent it; with a reason if it sent an empty one.
        raw: The raw text of the same answer; None if the server returns none.
        asked: The request.
        is_call_for_text: True if the server sent a call and no text, and no tools were offered.
    """
    cut = Attribution(LIMIT, 'the answer was cut') if served.finish_reason == CUT else None
    lost = Attribution(TEMPLATE, f'the prompt lacks {", ".join(asked.lost)}') if asked.lost else None
    known = lost or cut
    if raw is None or not raw.text or len(raw.text) > MAX_CHARS:
        return known or Attribution(UNKNOWN)
    if raw.source == LOGPROBS and served.calls and not any(call.name in raw.text for call in served.calls):
        return known or Attribution(UNKNOWN, 'logprobs leave calls out')  # those of OpenAI are of the content alone
    if known is None and _is_unchanged(served, raw.text, asked):
        return Attribution(NONE, '', bounded_raw(raw.text), raw.source)
    reference = _reference(raw.text, asked)
    if asked.tools and asked.format_name == formats.NONE and not reference.calls:
        found = known or Attribution(UNKNOWN, 'the format of calls is unknown')
    elif asked.tools and (marked := unread_format(reference, asked.tools)):
        found = known or Attribution(UNKNOWN, f'marks of {marked}, in which {asked.format_name} reads no call')
    else:
        text_fault = _fault_of_text(served, reference, is_call_for_text)
        found = _fault_of_calls(served, raw.text, reference, asked) or text_fault or known or Attribution(NONE)
    return Attribution(found.cause, found.note, bounded_raw(raw.text), raw.source, found.written)


def _is_unchanged(served: Answer, raw: str, asked: Asked) -> bool:
    """Tests if an answer stands in the raw text to the letter: most do, and to read a call takes three times as long.

    A call must have the only mark of a call; without calls there is no mark, and nothing but end tokens is missing.
    """
    if asked.tools is None:
        return not served.calls and served.text.strip() == without_end_tokens(raw).strip()
    if asked.format_name != HERMES or asked.tool_choice != 'auto' or raw.count(CALL) != len(served.calls):
        return False
    if not served.calls:
        return served.text.strip() == without_end_tokens(raw).strip()
    (call, *others) = served.calls
    written = f'{CALL}\n{{"name": "{call.name}", "arguments": {call.written}}}\n'
    # Not a text in their place: arguments that are encoded twice stand in the raw text too, if the model quoted them.
    is_object = isinstance(call.arguments, dict)
    return not others and is_object and raw.startswith(written) and call.name in asked.tools.schemas


def _reference(text: str, asked: Asked) -> Reading:
    """Reads the raw text; without tools, calls are text."""
    format_name = asked.format_name if asked.tools else formats.NONE
    reference = read_reference(text, format_name, asked.tools, asked.opened_thoughts)
    if reference.calls or not asked.tools or asked.tool_choice in ('auto', 'none', None):
        return reference
    required = read_required_calls(text, asked.required_name, asked.opened_thoughts)
    return required if required.calls else reference


def _fault_of_calls(served: Answer, raw: str, reference: Reading, asked: Asked) -> Attribution | None:
    """Returns the fault if readable calls of the raw text were lost or changed, or the server made up calls."""
    if asked.tools is None or asked.tool_choice == 'none':
        return None
    # Servers may drop a call of a tool that was not offered: the model's fault.
    schemas = asked.tools.schemas
    written = [call for call in reference.calls if isinstance(call.arguments, dict) and call.name in schemas]
    if _text(served.calls) == _text(written):
        return None
    unmatched, missing = defaultdict[str, list[ToolCall]](list), list[ToolCall]()
    for call in served.calls:
        unmatched[_plain([call.name, call.arguments])].append(call)
    for call in written[:1] if asked.is_single else written:
        same = unmatched[_plain([call.name, call.arguments])]
        if same:
            same.pop()
        else:
            missing.append(call)
    left = [call for calls in unmatched.values() for call in calls]
    lost, changed, others = list[ToolCall](), list[ToolCall](), Counter(call.name for call in left)
    for call in missing:
        is_changed, others[call.name] = others[call.name] > 0, others[call.name] - 1
        (changed if is_changed else lost).append(call)
    seen, unseen = changed[:_MOST_VALUES], changed[_MOST_VALUES:]  # a thousand calls would take 10 s
    changed = [*(call for call in seen if not _is_converted(call, left, asked.tools)), *unseen]
    shown, served_names = without_blanks(raw) if left else '', Counter(call.name for call in served.calls)
    invented = [
        call
        for call in left[: 0 if changed else _MOST_SEARCHED]
        if not _has_values(shown, call)
        or (call.name != asked.required_name and raw.count(call.name) < served_names[call.name])
    ]
    counted = ((lost, 'lost'), (changed, 'changed'), (invented, 'made up'))
    notes = [f'{len(calls)} {what}' for calls, what in counted if calls]
    if not notes:
        return None
    thoughts = served.text.replace(visible_text(served).text, '', 1).replace(reference.thoughts.strip(), '', 1)
    if lost and not served.calls and all(call.name in thoughts for call in lost):
        return _fault(REASONING, 'a call is among the thoughts', reference)
    return _fault(PARSER, f'of {len(written)} calls {", ".join(notes)}', reference)


def _fault_of_text(served: Answer, reference: Reading, is_call_for_text: bool) -> Attribution | None:
    """Returns the fault if the text of an answer without calls was lost, or has thoughts in it."""
    content, thoughts = reference.content.strip(), reference.thoughts.strip()
    if not content or served.calls or reference.calls:
        return None
    shown = visible_text(served).text.strip()
    if is_call_for_text:
        return _fault(PARSER, 'text was read as a call', reference)
    if not shown:
        cause, note = (REASONING, 'the answer is among the thoughts') if served.text else (PARSER, 'the text was lost')
        return _fault(cause, note, reference)
    if len(thoughts) >= _FEWEST_CHARS and thoughts in shown and thoughts not in content:
        return _fault(REASONING, 'thoughts are in the answer', reference)
    return None


def _fault(cause: str, note: str, reference: Reading) -> Attribution:
    return Attribution(cause, note, written=Written(reference.text, reference.calls))


def _text(calls: Sequence[ToolCall]) -> str:
    """Returns a text that is equal for calls whose JSON is."""
    return json.dumps([[call.name, call.arguments] for call in calls], sort_keys=True)


def _plain(value: Any) -> str:
    """Returns a text that is equal for equal JSON values: 2.0 is 2, but true is not 1."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dict):
        return f'{{{",".join(sorted(f"{json.dumps(key)}:{_plain(item)}" for key, item in value.items()))}}}'
    return f'[{",".join(map(_plain, value))}]' if isinstance(value, list) else json.dumps(value)


def _is_converted(call: ToolCall, left: Sequence[ToolCall], tools: ToolSet) -> bool:
    """Tests if a server's call is valid under the schema, and the model's is not."""
    schema = tools.schemas.get(call.name)
    if schema is None:
        return False
    try:
        served = islice((other.arguments for other in left if other.name == call.name), _MOST_SEARCHED)
        return not keeps_to(call.arguments, schema) and any(keeps_to(arguments, schema) for arguments in served)
    except Exception:  # of jsonschema, for what is no schema
        return False


def _has_values(shown: str, call: ToolCall) -> bool:
    """Tests if a raw text, given without blanks, has all values of a call."""
    return all(has_text(shown, text) for text in islice(_leaves(call.arguments), _MOST_VALUES))


def _leaves(value: Any) -> Iterator[str]:
    """Yields the texts and numbers of a JSON value."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield f'{value:.0f}' if isinstance(value, float) and value.is_integer() else json.dumps(value)
    elif isinstance(value, str):
        yield value
