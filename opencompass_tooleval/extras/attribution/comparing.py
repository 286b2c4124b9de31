"""Decides whether the server or the model caused an error, by comparing the served answer with the model's raw text.

A server may parse more than the reference parser does: repair a broken call, accept a call without the format's marks,
convert arguments to the schema's types. This counts as right, since an agent gets the server's answer. But everything
that the server returns must occur in the raw text.

Texts are compared without spaces. A server may remove special tokens, the text after the first call, and the text after
a stop word. If a call cannot be parsed, the server may return any part of it as text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT, Answer, visible_text
from opencompass_tooleval.core.calls.one_call import keeps_to
from opencompass_tooleval.core.calls.prompt_parts import has_text, without_blanks
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.calls.written.formats import CALL, FORMATS, HARMONY, HERMES
from opencompass_tooleval.core.calls.written.formats import NONE as NO_FORMAT
from opencompass_tooleval.core.calls.written.reading import (
    END_TOKENS,
    Reading,
    after_thoughts,
    read_reference,
    read_required_calls,
    unread_format,
    without_end_tokens,
    written_format,
)
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.extras.attribution.causes import (
    LIMIT,
    NAMES,
    NONE,
    ORDER,
    PARSER,
    REASONING,
    TEMPLATE,
    UNKNOWN,
    Attribution,
    RawText,
    Written,
    bounded_raw,
)
from opencompass_tooleval.models.api.raw_text import LOGPROBS

_FEWEST_CHARS = 16
"""Shorter thoughts are not searched in an answer, which may contain the same words by chance."""
_MOST_SEARCHED, _MOST_VALUES = 16, 64
"""Maximum number of additional calls, and of values of each, to search in the raw text."""
_MOST_READ = 20_000
"""If the raw text without thoughts is longer than this, the text before the calls is not searched."""
_MOST_WAITED = 64
"""Fewer characters than this may be missing at the end of a cut text."""
_LOST_BYTES = '\ufffd'
_WORD = re.compile(r'[\w-]{1,256}')
_TOKEN = (
    r'<\|[^<>|]{1,64}\|?>|<[^<>|]{1,64}\|>|<｜[^<>｜]{1,64}｜>|<[|｜][^<>]{0,40}\Z'
    r'|\[/?(?:TOOL_CALLS|ARGS|CALL_ID|THINK)]'
)
"""Matches a special token, or the beginning of one at the end of the text."""
_MARKS = re.compile(
    r'</?[\w:｜]{0,40}(?:tool|function|param|invoke|arg_|think|calls)[\w:=."\'-]{0,80}/?>|```tool_code',
    re.IGNORECASE,
)
"""Marks of calls and thoughts other than special tokens, in a text without spaces."""
_PART_OF_MARK = re.compile(r'(?:functools|[<\[{(`](?![^<\[{(`]{0,40}functools\Z)[^<\[{(`]{0,40})\Z')


@dataclass(frozen=True)
class Asked:
    """The parts of a request that decide how its answer is parsed.

    Attributes:
        format_name: Format of calls of the model, a name of :data:`~.written.FORMATS`.
        tools: The offered tools, with the names under which they were sent; None for no tools.
        tool_choice: ``tool_choice`` of the request.
        is_single: True if the request allows one call (``parallel_tool_calls: false``): servers then drop the other
            calls.
        opened_thoughts: True if the prompt ends within thoughts.
        lost: Parts of the request that the prompt of the server lacks, from :func:`~.prompt_parts.lost_parts`.
        special_tokens: Tokens that servers remove from texts, in addition to ``<|...|>``.
        stop_words: ``stop`` of the request.
    """

    format_name: str
    tools: ToolSet | None = None
    tool_choice: Any = 'auto'
    is_single: bool = False
    opened_thoughts: bool = False
    lost: Sequence[str] = ()
    special_tokens: Sequence[str] = ()
    stop_words: Sequence[str] = ()

    @property
    def required_name(self) -> str:
        """The tool that ``tool_choice`` names; '' without a name."""
        named = self.tool_choice.get('function') if isinstance(self.tool_choice, dict) else None
        return str(named.get('name') or '') if isinstance(named, dict) else ''


def attribute(served: Answer, raw: RawText | None, asked: Asked, is_call_for_text: bool = False) -> Attribution:
    """Decides whether the server caused an error in its answer.

    Args:
        served: The answer as the server sent it; an empty answer has a reason.
        raw: The raw text of the same answer; None if the server does not return it.
        asked: The request.
        is_call_for_text: True if the server sent a call and no text, and no tools were offered.
    """
    found = _attribute(served, raw, asked, is_call_for_text)
    names = _changed_names(served.calls, asked.tools) if asked.tools else ''
    return replace(found, note='; '.join(filter(None, (found.note, names)))) if names else found


def _changed_names(calls: Sequence[ToolCall], tools: ToolSet) -> str:
    """Describes the text that all calls have before or after the name of an offered tool; '' without such text."""
    around = set()
    for call in calls:
        name = max((name for name in tools.schemas if name in call.name), key=len, default=call.name)
        around.add(tuple(call.name.split(name, 1)) if name else ())
    ((before, after), *others) = around if around and () not in around else [('', '')]
    if others or before[-1:].isalnum() or after[:1].isalnum() or '_' in (before[-1:], after[:1]):
        return ''
    parts = ((before, 'begin'), (after, 'end'))
    words = ' and '.join(f'{verb} with {text!r}' for text, verb in parts if text)
    return f'{NAMES} {words}' if words else ''


def _attribute(served: Answer, raw: RawText | None, asked: Asked, is_call_for_text: bool) -> Attribution:
    cut = Attribution(LIMIT, 'the answer was cut') if served.finish_reason == CUT else None
    lost = Attribution(TEMPLATE, f'the prompt lacks {", ".join(asked.lost)}') if asked.lost else None
    known = lost or cut
    if raw is None or not raw.text or len(raw.text) > MAX_CHARS:
        return known or Attribution(UNKNOWN)
    if raw.source == LOGPROBS and served.calls and not any(call.name in raw.text for call in served.calls):
        return known or Attribution(UNKNOWN, 'logprobs do not contain the calls')  # OpenAI's cover only the content
    if known is None and _is_unchanged(served, raw.text, asked):
        return Attribution(NONE, '', bounded_raw(raw.text), raw.source)
    if asked.tools and asked.format_name == NO_FORMAT:
        asked = replace(asked, format_name=written_format(raw.text, asked.tools, asked.opened_thoughts))
    reference = _reference(raw.text, asked)
    if cut and _is_ended(raw.text, reference):  # even if the server says otherwise
        cut, known = None, lost
    if asked.tools and asked.format_name == NO_FORMAT and not reference.calls:
        found = known or Attribution(UNKNOWN, 'the format of calls is unknown: set tokenizer_path or tool_parser')
    elif asked.tools and (marked := unread_format(reference, asked.tools)):
        found = known or Attribution(UNKNOWN, f'marks of {marked}, in which {asked.format_name} finds no call')
    else:
        fault = _fault_of_calls(served, raw.text, reference, asked)
        fault = fault or _fault_of_text(served, raw.text, reference, asked, cut is not None, is_call_for_text)
        found = fault or known or Attribution(NONE)
    return Attribution(found.cause, found.note, bounded_raw(raw.text), raw.source, found.written)


def _is_unchanged(served: Answer, raw: str, asked: Asked) -> bool:
    """Tests if an answer occurs literally in the raw text. Most answers do, and parsing a call takes three times as
    long.

    A call must have the only call mark; without calls, the text must have no mark and lack only end tokens.
    """
    if asked.tools is None:
        return not served.calls and served.text.strip() == without_end_tokens(raw).strip()
    if asked.format_name != HERMES or asked.tool_choice != 'auto' or raw.count(CALL) != len(served.calls):
        return False
    if not served.calls:
        return served.text.strip() == without_end_tokens(raw).strip()
    (call, *others) = served.calls
    arguments = json.dumps(call.arguments, ensure_ascii=False) if call.written is None else call.written
    written = f'{CALL}\n{{"name": "{call.name}", "arguments": {arguments}}}\n'
    # No text beside the call: doubly encoded arguments also occur in the raw text if the model quoted them.
    is_object = isinstance(call.arguments, dict) and not served.text.strip()
    return not others and is_object and raw.startswith(written) and call.name in asked.tools.schemas


def _is_ended(raw: str, reference: Reading) -> bool:
    """Tests if a text has an end token after its answer.

    In some families an end token also follows the thoughts; in an unfinished call it belongs to an argument.
    """
    is_call = bool(reference.calls) and not isinstance(reference.calls[-1].arguments, str)
    has_answer = is_call or bool(not reference.calls and reference.content.strip())
    return has_answer and not reference.is_unfinished and without_end_tokens(raw) != raw


def _reference(text: str, asked: Asked) -> Reading:
    """Parses the raw text; without tools, calls are text."""
    reference = read_reference(text, asked.format_name, asked.tools, asked.opened_thoughts, asked.tools is not None)
    if reference.calls or not asked.tools or asked.tool_choice in ('auto', 'none', None):
        return reference
    required = read_required_calls(text, asked.required_name, asked.opened_thoughts)
    return required if required.calls else reference


def _fault_of_calls(served: Answer, raw: str, reference: Reading, asked: Asked) -> Attribution | None:
    """Returns the fault if parsable calls in the raw text were lost or changed, or the server made up calls."""
    if asked.tools is None or asked.tool_choice == 'none':
        return None
    # Servers may drop a call to a tool that was not offered; this is the model's error.
    written = _offered(reference.calls, asked.tools)
    if _text(served.calls) == _text(written):
        return None
    unmatched, missing = defaultdict[str, list[ToolCall]](list), list[ToolCall]()
    for call in served.calls:
        unmatched[_key(call)].append(call)
    for call in written[:1] if asked.is_single else written:
        same = unmatched[_key(call)]
        if same:
            same.pop()
        else:
            missing.append(call)
    left = [call for calls in unmatched.values() for call in calls]
    lost, changed, others = list[ToolCall](), list[ToolCall](), Counter(call.name for call in left)
    for call in missing:
        is_changed, others[call.name] = others[call.name] > 0, others[call.name] - 1
        (changed if is_changed else lost).append(call)
    seen, unseen = changed[:_MOST_VALUES], changed[_MOST_VALUES:]  # 1,000 calls would take 10 s
    changed = [*(call for call in seen if not _is_converted(call, left, asked.tools)), *unseen]
    invented = _invented(left[: 0 if changed else _MOST_SEARCHED], served, raw, reference, asked)
    counted = ((lost, 'lost'), (changed, 'changed'), (invented, 'made up'))
    notes = [f'{len(calls)} {what}' for calls, what in counted if calls]
    if not notes:
        is_moved = any(_in_another_order(served.calls, written, of) for of in (_key, attrgetter('name')))
        return _fault(ORDER, f'{len(written)} calls have another order', reference) if is_moved else None
    if lost and not served.calls and _are_in_thoughts(lost, served, reference):
        return _fault(REASONING, 'a call is among the thoughts', reference)
    return _fault(PARSER, f'of {len(written)} calls {", ".join(notes)}', reference)


def _offered(calls: Sequence[ToolCall], tools: ToolSet) -> list[ToolCall]:
    """Returns the parsable calls of offered tools."""
    return [call for call in calls if isinstance(call.arguments, dict) and call.name in tools.schemas]


def _invented(left: Sequence[ToolCall], served: Answer, raw: str, reference: Reading, asked: Asked) -> list[ToolCall]:
    """Returns the server's additional calls that do not occur in the raw text, or occur less often."""
    if not left or asked.tools is None:
        return []
    thoughts = read_reference(reference.thoughts, asked.format_name, asked.tools).calls
    # The name of an unreadable call counts once.
    unreadable = (call for call in reference.calls if isinstance(call.arguments, str))
    texts = [reference.content, *(call.arguments.replace(call.name, '', 1) for call in unreadable)]
    unread = '\n'.join([*texts, reference.thoughts] if reference.is_unfinished else texts)
    names, shown, shown_unread = Counter(_WORD.findall(unread)), without_blanks(raw), without_blanks(unread)
    more = Counter(call.name for call in served.calls) - Counter(call.name for call in reference.calls)
    read = Counter(map(_key, (*reference.calls, *thoughts)))
    again = Counter(map(_key, served.calls)) - read

    def may_be(call: ToolCall) -> bool:
        key = _key(call)
        if call.name == asked.required_name or not more[call.name] or not again[key]:
            return True
        return more[call.name] <= names[call.name] and (not read[key] or _has_values(shown_unread, call))

    return [call for call in left if not (_has_values(shown, call) and may_be(call))]


def _in_another_order(served: Sequence[ToolCall], written: Sequence[ToolCall], of: Callable[[ToolCall], str]) -> bool:
    """Tests if the calls that two answers share differ in order; ``of`` returns the same text for equal calls."""
    first, second = list(map(of, served)), list(map(of, written))
    shared = set(first) & set(second)
    first, second = ([key for key in keys if key in shared] for keys in (first, second))
    return first != second and sorted(first) == sorted(second)


def _are_in_thoughts(lost: Sequence[ToolCall], served: Answer, reference: Reading) -> bool:
    """Tests if lost calls are in the served thoughts, and not in the served text."""
    hidden, end, shown = served.text.rpartition('</think>')
    if not end and shown.startswith('<think>'):
        hidden, shown = shown, ''
    return all(
        hidden.count(call.name) > reference.thoughts.count(call.name)
        and shown.count(call.name) <= reference.content.count(call.name)
        for call in lost
    )


def _fault_of_text(
    served: Answer, raw: str, reference: Reading, asked: Asked, is_cut: bool, is_call_for_text: bool
) -> Attribution | None:
    """Returns the fault if the text of an answer was lost or changed, or contains thoughts or marks of calls."""
    shown, content = _compared(visible_text(served).text), _compared(reference.content)
    if shown == content or len(served.text) > MAX_CHARS:
        return None
    if _LOST_BYTES in raw and _ascii(shown) == _ascii(content):  # logprobs without bytes lose parts of characters
        return None
    if is_call_for_text:
        return _fault(PARSER, 'text was parsed as a call', reference) if content else None
    tokens = _tokens(raw, asked)
    if not _more_of(tokens, shown, content):
        shown, content = tokens.sub('', shown), tokens.sub('', content)
    if _is_right_text(shown, content, served, raw, reference, asked, is_cut):
        return None
    thoughts = _compared(reference.thoughts)
    if not shown:
        is_hidden = content in _compared(served.text)
        cause, note = (REASONING, 'the answer is among the thoughts') if is_hidden else (PARSER, 'the text was lost')
        return _fault(cause, note, reference)
    more = shown.replace(content, '', 1) if content in shown else ''
    in_answer = _fault(REASONING, 'thoughts are in the answer', reference)
    if thoughts and (
        more == thoughts or (len(thoughts) >= _FEWEST_CHARS and thoughts in shown and thoughts not in content)
    ):
        return in_answer
    if _more_of(tokens, shown, content) or _more_of(_MARKS, shown, content):
        return _fault(PARSER, 'marks of calls are in the text', reference)
    return in_answer if more and more in thoughts else _fault(PARSER, 'the text was changed', reference)


def _is_right_text(
    shown: str, content: str, served: Answer, raw: str, reference: Reading, asked: Asked, is_cut: bool
) -> bool:
    """Tests if a correct server may return a text."""
    tokens = _tokens(raw, asked)
    row = FORMATS[asked.format_name]
    stopped = (reference.content.partition(word) for word in asked.stop_words)
    texts = [text for before, word, _ in stopped for text in (before, before + word)]
    if not reference.calls and not row.thoughts and asked.format_name != HARMONY:  # servers take the first mark
        texts.append(visible_text(Answer(after_thoughts(without_end_tokens(raw), asked.opened_thoughts))).text)
    texts += [visible_text(Answer(raw)).text] if is_cut else []
    if asked.tools:  # a server may drop a call without its end
        whole = _compared(reference.content)
        texts += [whole[: mark.start()] for pattern in (tokens, _MARKS) if (mark := pattern.search(whole))]
    if shown == content or shown in (tokens.sub('', _compared(text)) for text in texts):
        return True
    if is_cut and after_thoughts(reference.thoughts, opened_thoughts=True) != reference.thoughts:
        return True  # marks of thoughts in an unfinished call: ambiguous
    if is_cut and content.startswith(shown):  # servers hold back what may become a mark or JSON
        return len(content) - len(shown) < _MOST_WAITED or asked.tool_choice not in ('auto', 'none', None)
    front = _front(raw, reference, asked)
    after = shown.removeprefix(front)
    if reference.calls and (content.startswith(shown) or content.removeprefix(front).endswith(after)):
        # vLLM returns text before Harmony calls as thoughts.
        is_thought = asked.format_name == HARMONY and not shown and front in _compared(served.text)
        if is_thought or shown.startswith(front):
            return True
    offered = _offered(reference.calls, asked.tools) if asked.tools else []
    read = set(map(_key, reference.calls))
    is_unsure = is_cut or reference.is_unfinished or len(offered) < len(reference.calls) or asked.tool_choice == 'none'
    if not shown.startswith(front) or not (is_unsure or any(_key(call) not in read for call in served.calls)):
        return False
    may_be_thoughts = reference.is_unfinished or (is_cut and not content)
    thoughts = '' if may_be_thoughts else _compared(reference.thoughts)
    plain, whole = (_MARKS.sub('', tokens.sub('', text)) for text in (after, _compared(raw).replace(thoughts, '', 1)))
    return plain in whole


def _front(raw: str, reference: Reading, asked: Asked) -> str:
    """Returns the text before the first call, up to the first mark of a call."""
    place = raw.find(reference.thoughts)
    text = raw if place < 0 else raw[place + len(reference.thoughts) :]
    if not reference.calls or not asked.tools or len(text) > _MOST_READ:
        return ''
    read, schemas = FORMATS[asked.format_name].reader, asked.tools.schemas
    first = bisect_left(range(len(text)), True, key=lambda end: bool(read(text[:end], schemas)[1]))
    tokens = _tokens(raw, asked)
    before = _PART_OF_MARK.sub('', _compared(text[: max(first - 1, 0)]))
    before, content = _MARKS.sub('', tokens.sub('', before)), tokens.sub('', _compared(reference.content))
    same = bisect_left(range(1, len(content) + 1), True, key=lambda end: content[:end] not in before)
    return content[:same] if same == len(content) or same >= _FEWEST_CHARS else ''


def _tokens(raw: str, asked: Asked) -> re.Pattern[str]:
    """Returns a pattern for the tokens in a raw text that servers remove from texts."""
    names = {without_blanks(token) for token in (*END_TOKENS, *asked.special_tokens) if token.strip() and token in raw}
    return re.compile('|'.join([_TOKEN, *map(re.escape, sorted(names, key=len, reverse=True))]))


def _more_of(pattern: re.Pattern[str], shown: str, content: str) -> bool:
    """Tests if a text has more matches of a pattern than the other."""
    return bool(Counter(pattern.findall(shown)) - Counter(pattern.findall(content)))


def _compared(text: str) -> str:
    """Returns a text without spaces and without the replacement characters for bytes that are not text."""
    return without_blanks(text).replace(_LOST_BYTES, '')


def _ascii(text: str) -> str:
    return text.encode('ascii', 'ignore').decode('ascii')


def _fault(cause: str, note: str, reference: Reading) -> Attribution:
    return Attribution(cause, note, written=Written(reference.text, reference.calls))


def _key(call: ToolCall) -> str:
    """Returns the same text for calls with equal names and arguments."""
    return _plain([call.name, call.arguments])


def _text(calls: Sequence[ToolCall]) -> str:
    """Returns the same text for calls whose JSON is equal."""
    return json.dumps([[call.name, call.arguments] for call in calls], sort_keys=True)


def _plain(value: Any) -> str:
    """Returns the same text for equal JSON values: 2.0 equals 2, but true does not equal 1."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dict):
        return f'{{{",".join(sorted(f"{json.dumps(key)}:{_plain(item)}" for key, item in value.items()))}}}'
    return f'[{",".join(map(_plain, value))}]' if isinstance(value, list) else json.dumps(value)


def _is_converted(call: ToolCall, left: Sequence[ToolCall], tools: ToolSet) -> bool:
    """Tests if a server's call is valid under the schema and the model's call is not."""
    schema = tools.schemas.get(call.name)
    if schema is None:
        return False
    try:
        served = islice((other.arguments for other in left if other.name == call.name), _MOST_SEARCHED)
        return not keeps_to(call.arguments, schema) and any(keeps_to(arguments, schema) for arguments in served)
    except Exception:  # from jsonschema, if the schema is invalid
        return False


def _has_values(shown: str, call: ToolCall) -> bool:
    """Tests if a raw text, given without spaces, has all values of a call."""
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
