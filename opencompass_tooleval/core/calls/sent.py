"""Members that a server sent with a message, to send back unchanged in the next request of the dialogue.

Servers of reasoning models require the thoughts and signatures of earlier calls in the same members; some cache or
render the text of arguments. The members are opaque: a JSON object with members of the message, and under
``tool_calls`` the members of each call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.calls.answer import strip_reasoning
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import MAX_CHARS

THOUGHTS, AS_SENT, NONE = 'thoughts', 'as_sent', 'none'
"""Key of the setting in a model's config, in rows of predictions and in results; and its values."""

CONTENT, ARGUMENTS, CALLS = 'content', 'arguments', 'tool_calls'
ITEMS = 'items'
"""Member with the items of an answer of Responses, or the blocks of one of Messages, which replace the message."""
WITHHELD = 'withheld'
"""Member that marks a message whose thoughts are left out after a change of earlier messages. It is not sent."""
_THOUGHT_ITEMS, _CALL_ITEMS = ('reasoning', 'thinking', 'redacted_thinking'), ('function_call', 'tool_use')
_INPUT = 'input'
MEMBERS = ('reasoning_content', 'reasoning', 'reasoning_details', 'thinking', 'reasoning_text', 'thinking_blocks')
"""Members of a message that have thoughts, as a text or as a list of parts. ``content`` may have thoughts too."""
NULL_CONTENT, EMPTY_CONTENT = 'null content', 'empty content'
"""Among the names of members to leave out: a null content becomes an empty text, an empty text becomes null."""

_KNOWN = (*MEMBERS, CONTENT)
_NOT_RETURNED = frozenset({'role', CONTENT, CALLS, 'function_call', 'name', 'refusal', 'annotations', 'audio'})
_NOT_RETURNED |= {'images', 'parsed', 'logprobs'}
_FUNCTION = 'function'
_NOT_OF_CALLS = frozenset({'id', 'type', 'index', _FUNCTION, ARGUMENTS})
_NOT_OF_FUNCTIONS = frozenset({'name', 'description', 'parameters', ARGUMENTS})
_NAME = re.compile(r'[\w.-]{1,64}')
_READABLE = ('text', 'summary', 'thinking')
"""Members of a part that have its thoughts."""
_MOST_CHARS = 10 * MAX_CHARS
"""Longer thoughts fit into no context. A part of them would be refused, or mislead the model."""
_ABOUT_THOUGHTS = re.compile('reasoning|think|thought|signature', re.IGNORECASE)
_READS = r'(?:message|msg|m)(?:\.{0}\b|\[.{0}.\]|\.get\(.{0}.)'
_SEARCHED_CHARS = 10_000
_MOST_SHOWN = 200

Sent = Mapping[str, Any]


def setting_faults(settings: Mapping[str, Any]) -> Iterable[str]:
    """Yields a fault if ``thoughts`` in a model's config is invalid."""
    if (value := settings.get(THOUGHTS, AS_SENT)) not in (AS_SENT, NONE):
        yield f'{THOUGHTS} is {str(value)[:50]!r}; it is {AS_SENT!r} or {NONE!r}'


def sent_of(message: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Returns the members of a server's message to send back; None if there are none.

    Everything goes back that is not null, unless the request already contains it (role, text, ids and names of calls)
    or servers refuse it in requests. If that is too long or nested too deeply, only thoughts, content and arguments do.
    The items of Responses and the blocks of Messages contain all of this, and go back alone.

    Args:
        message: The message.
        calls: The calls of the message in the server's format.

    Raises:
        ValueError: Thoughts and arguments are too long or nested too deeply.
    """
    if ITEMS in message:
        return _bounded({ITEMS: message[ITEMS]}, [])
    content = message.get(CONTENT)
    thoughts = {name: message[name] for name in MEMBERS if message.get(name) is not None}
    if has_thoughts(content) or (_is_blank(content) and (calls or thoughts)):
        thoughts[CONTENT] = content
    arguments = [_arguments_of(call) for call in calls]
    functions = [_returned(call[_FUNCTION], _NOT_OF_FUNCTIONS) for call in calls]
    others = [
        {**_returned(call, _NOT_OF_CALLS), **({_FUNCTION: function} if function else {})}
        for call, function in zip(calls, functions, strict=True)
    ]
    try:
        both = [{**other, **text} for other, text in zip(others, arguments, strict=True)]
        return _bounded({**_returned(message, _NOT_RETURNED), **thoughts}, both)
    except (ValueError, RecursionError):
        return _bounded(thoughts, arguments)


def _returned(members: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    named = {name: value for name, value in members.items() if value is not None and name not in left_out}
    return {name: value for name, value in named.items() if _NAME.fullmatch(name)}


def _arguments_of(call: Mapping[str, Any]) -> dict[str, str]:
    text = call['function'].get(ARGUMENTS)
    return {ARGUMENTS: text} if isinstance(text, str) and text.strip() else {}


def _bounded(members: dict[str, Any], of_calls: list[dict[str, Any]]) -> dict[str, Any] | None:
    sent = {**members, CALLS: of_calls} if any(of_calls) else members
    if len(json.dumps(once(sent))) > _MOST_CHARS:
        raise ValueError(f'more than {_MOST_CHARS:,} characters of thoughts and calls')
    return load_json(json.dumps(sent, allow_nan=False), bounded=True) or None


def unreturned(message: Mapping[str, Any], sent: Sent | None) -> set[str]:
    """Returns the names of the members that :func:`sent_of` left out of a message because of their size."""
    return set() if ITEMS in message else _returned(message, _NOT_RETURNED).keys() - (sent or {}).keys()


def once(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a message in which thoughts that several members repeat occur once, to count its tokens."""
    counted: dict[str, Any] = {}
    seen: set[str] = set()
    for name, value in message.items():
        if name in MEMBERS and (text := readable(value)):
            repeats = text in seen
            seen.add(text)
            if repeats:
                value = [_without_text(part) for part in value] if isinstance(value, list) else ''
        counted[name] = value
    return counted


def _without_text(part: Any) -> Any:
    return {key: item for key, item in part.items() if key not in _READABLE} if isinstance(part, Mapping) else part


def readable(thoughts: Any) -> str:
    """Returns the text of a member with thoughts; '' if it has none, or is encrypted."""
    if not isinstance(thoughts, list):
        return thoughts if isinstance(thoughts, str) else ''
    parts = (next(filter(None, map(part.get, _READABLE)), '') for part in thoughts if isinstance(part, Mapping))
    return ''.join(text for text in parts if isinstance(text, str))


def has_thoughts(content: Any) -> bool:
    """Tests if the content of a server's message (a text or a list of parts) contains thoughts."""
    if isinstance(content, str):
        return len(content) <= _MOST_CHARS and strip_reasoning(content).text != content
    return isinstance(content, list) and any(isinstance(part, Mapping) and part.get('thinking') for part in content)


def carried_out(sent: Sent | None, calls: Sequence[Any]) -> dict[str, Any] | None:
    """Returns the members for a message that repeats the first calls of an answer; None if there are none.

    Args:
        sent: The members of the answer.
        calls: Each repeated :class:`~opencompass_tooleval.core.calls.tool_calls.ToolCall`, of which id and arguments
            count. The server's text of arguments is kept if it has the same value, and left out if a loop has cut or
            replaced the arguments.
    """
    if not sent:
        return None
    if ITEMS in sent:
        return {**sent, ITEMS: list(_carried_out_items(sent[ITEMS], calls))}
    pairs = zip(sent.get(CALLS, ()), calls, strict=False)
    kept = [call if _has_text(call, made.arguments) else _without(call, (ARGUMENTS,)) for call, made in pairs]
    message = _without(sent, (CALLS,))
    return {**message, CALLS: kept} if any(kept) else message or None


def _carried_out_items(items: Iterable[Any], calls: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yields the items up to the first call that a loop has not made; the calls before it as the loop has made them.

    Thoughts after a call that the loop has changed are left out, since they are bound to it.
    """
    left, is_changed = list(calls), False
    for item in items:
        if item.get('type') in _CALL_ITEMS:
            if not left:
                return
            repeated = _repeated(item, left.pop(0))
            is_changed, item = is_changed or repeated != item, repeated
        yield from items_without((item,), (THOUGHTS,) if is_changed else ())


def _repeated(item: Mapping[str, Any], made: Any) -> dict[str, Any]:
    if item['type'] == _CALL_ITEMS[0]:
        arguments = item.get(ARGUMENTS) if _has_text(item, made.arguments) else _text_of(made.arguments)
        return {**item, 'call_id': made.id, 'name': made.name, ARGUMENTS: arguments}
    return {**item, 'id': made.id, 'name': made.name, _INPUT: made.arguments}


def _text_of(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def items_of(sent: Sent | None, kinds: Collection[str], without: Collection[str] = ()) -> list[dict[str, Any]]:
    """Returns the items of an answer to send back; none if they are of another request format.

    Args:
        sent: The members of the answer.
        kinds: Types of the items of the other format.
        without: As for :func:`items_without`.
    """
    items = (sent or {}).get(ITEMS, ())
    return [] if any(item.get('type') in kinds for item in items) else list(items_without(items, without))


def items_without(items: Iterable[Any], without: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yields the items of an answer; without thoughts, and the ids that belong to them, if the server refuses these."""
    for item in items:
        if THOUGHTS not in without:
            yield item
        elif item.get('type') not in _THOUGHT_ITEMS:
            yield item if _INPUT in item else _without(item, ('id',))


def without_bound_thoughts(sent: Sent | None) -> Sent | None:
    """Returns the members without the thoughts of Responses and Messages.

    Servers refuse them after a change of earlier messages, to which their signatures are bound.
    """
    if not names_of(sent) or not sent or ITEMS not in sent:
        return sent
    return {ITEMS: [*items_without(sent[ITEMS], (THOUGHTS,))], WITHHELD: True}


def _without(members: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in names}


def _has_text(call: Mapping[str, Any], arguments: Any) -> bool:
    try:
        text = call.get(ARGUMENTS)
        return isinstance(arguments, dict) and isinstance(text, str) and bool(load_json(text) == arguments)
    except ValueError:
        return False


def with_sent(requested: dict[str, Any], sent: Sent | None, without: Collection[str] = ()) -> dict[str, Any]:
    """Returns a message of a request with the members added.

    Args:
        requested: The message in the server's format.
        sent: The members.
        without: Names of members to leave out.
    """
    if not sent:
        return requested
    calls = [dict(call) for call in requested.get(CALLS, ())]
    for call, of_call in zip(calls, sent.get(CALLS, ()), strict=False):
        of_function = _without(of_call.get(_FUNCTION, {}), without)
        text = {ARGUMENTS: of_call[ARGUMENTS]} if ARGUMENTS in of_call else {}
        call[_FUNCTION] = {**call[_FUNCTION], **of_function, **text}
        call |= _without(of_call, (ARGUMENTS, _FUNCTION, *without))
    if EMPTY_CONTENT in without and _is_blank(sent.get(CONTENT)):
        without = {CONTENT, *without}
    return {**requested, **_without(sent, (CALLS, ITEMS, WITHHELD, *without)), **({CALLS: calls} if calls else {})}


def thoughts_member(template: str) -> str:
    """Returns the member of a message from which a chat template reads thoughts; '' if there is none."""
    return next((name for name in (*MEMBERS[:2], 'thinking') if re.search(_READS.format(name), template)), '')


def names_of(sent: Sent | None) -> list[str]:
    """Returns the names of the members of a message and its calls, thoughts first; for items, if there are thoughts."""
    if ITEMS in (sent or {}):
        items = (sent or {})[ITEMS]
        return [THOUGHTS] if any(item.get('type') in _THOUGHT_ITEMS for item in items) else []
    calls = (sent or {}).get(CALLS, ())
    of_calls = (name for call in calls for name in (*call, *call.get(_FUNCTION, ())))
    names = {*(sent or {}), *of_calls} - {CALLS, ARGUMENTS, _FUNCTION}
    if _is_blank((sent or {}).get(CONTENT)):
        names = names - {CONTENT} | {EMPTY_CONTENT}
    return sorted(names, key=lambda name: (name == CONTENT, name not in MEMBERS, name))


def _is_blank(content: Any) -> bool:
    return isinstance(content, str) and not content.strip()


def refused_members(error: str, names: Sequence[str]) -> list[str]:
    """Returns the members to leave out next.

    These are the members that a server's error names. If it names none, these are the first one of thoughts for an
    error about thoughts, else all members that are unknown in requests.

    Args:
        error: The error.
        names: Members that the server got, from :func:`names_of`; and :data:`NULL_CONTENT`.
    """
    searched = error[:_SEARCHED_CHARS]
    named = named_members(searched, names)
    contents = [name for name in names if name in (EMPTY_CONTENT, NULL_CONTENT)]
    if not named and contents and re.search(rf'\b{CONTENT}\b', searched):
        return contents[:1]
    others = [name for name in names if name not in contents]
    return named or (others[:1] if is_about_thoughts(searched) else [name for name in others if name not in _KNOWN])


def named_members(error: str, names: Sequence[str]) -> list[str]:
    """Returns the names that a server's error contains as words."""
    words = set(re.findall(r'\w+', error[:_SEARCHED_CHARS]))
    return [name for name in names if (name in error[:_SEARCHED_CHARS] if re.search(r'\W', name) else name in words)]


def is_about_thoughts(error: str) -> bool:
    """Tests if a server's error may be about thoughts."""
    return bool(_ABOUT_THOUGHTS.search(error[:_SEARCHED_CHARS]))


def thoughts_of_rows(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Returns how the dialogues in rows of predictions sent thoughts back; None if they offered no tools.

    A member that the server refuses is left out after its first refusal; dialogues that ended earlier do not say so.
    """
    ways = {row[THOUGHTS][:_MOST_SHOWN] for row in rows if isinstance(row.get(THOUGHTS), str)}
    if any(way.startswith(f'{AS_SENT} ') for way in ways):
        ways.discard(AS_SENT)
    return ', '.join(sorted(ways)) or None
