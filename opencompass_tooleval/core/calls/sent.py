"""Members that a server sent with a message, to send back unchanged in the next request of the dialogue.

Servers of reasoning models require the thoughts and signatures of earlier calls in the same members; some cache or
render the text of arguments. The members are opaque: a JSON object with members of the message, and under
``tool_calls`` the members of each call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.calls.answer import strip_reasoning
from opencompass_tooleval.core.text.bounds import MAX_CHARS
from opencompass_tooleval.core.text.json_object import load_json

THOUGHTS, AS_SENT, NONE = 'thoughts', 'as_sent', 'none'
"""Key of the setting in a model's config, in rows of predictions and in results; and its values."""

CONTENT, EXTRA, ARGUMENTS, CALLS = 'content', 'extra_content', 'arguments', 'tool_calls'
MEMBERS = ('reasoning_content', 'reasoning', 'reasoning_details')
"""Members of a message that have thoughts. ``content`` may have thoughts too."""

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

    Args:
        message: The message. Empty and unknown members are left out.
        calls: The calls of the message in the server's format.

    Raises:
        ValueError: The members are too long or nested too deeply.
    """
    sent: dict[str, Any] = {name: message[name] for name in MEMBERS if message.get(name)}
    if has_thoughts(message.get(CONTENT)):
        sent[CONTENT] = message[CONTENT]
    of_calls = [_of_call(call) for call in calls]
    if any(of_calls):
        sent[CALLS] = of_calls
    text = json.dumps(sent, allow_nan=False)
    if len(text) > _MOST_CHARS:
        raise ValueError(f'more than {_MOST_CHARS:,} characters of thoughts and calls')
    return load_json(text, bounded=True) or None


def has_thoughts(content: Any) -> bool:
    """Tests if the content of a server's message (a text or a list of parts) contains thoughts."""
    if isinstance(content, str):
        return len(content) <= _MOST_CHARS and strip_reasoning(content).text != content
    return isinstance(content, list) and any(isinstance(part, Mapping) and part.get('thinking') for part in content)


def _of_call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = call['function'].get(ARGUMENTS)
    members = {EXTRA: call.get(EXTRA), ARGUMENTS: arguments.strip() and arguments if isinstance(arguments, str) else ''}
    return {name: value for name, value in members.items() if value}


def carried_out(sent: Sent | None, arguments: Sequence[Any]) -> dict[str, Any] | None:
    """Returns the members for a message that repeats the first calls of an answer; None if there are none.

    Args:
        sent: The members of the answer.
        arguments: Arguments of each repeated call. The server's text of arguments is kept if it has the same value,
            and left out if a loop has cut or replaced the arguments.
    """
    if not sent:
        return None
    pairs = zip(sent.get(CALLS, ()), arguments, strict=False)
    calls = [call if _has_text(call, value) else {**call, ARGUMENTS: None} for call, value in pairs]
    kept = [{name: value for name, value in call.items() if value} for call in calls]
    message = {name: value for name, value in sent.items() if name != CALLS}
    return {**message, CALLS: kept} if any(kept) else message or None


def _has_text(call: Mapping[str, Any], arguments: Any) -> bool:
    try:
        return isinstance(arguments, dict) and bool(load_json(call.get(ARGUMENTS, '')) == arguments)
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
    members = {name: value for name, value in sent.items() if name != CALLS and name not in without}
    calls = [dict(call) for call in requested.get(CALLS, ())]
    for call, of_call in zip(calls, sent.get(CALLS, ()), strict=False):
        if ARGUMENTS in of_call:
            call['function'] = {**call['function'], ARGUMENTS: of_call[ARGUMENTS]}
        if EXTRA in of_call and EXTRA not in without:
            call[EXTRA] = of_call[EXTRA]
    return {**requested, **members, **({CALLS: calls} if calls else {})}


def thoughts_member(template: str) -> str:
    """Returns the member of a message from which a chat template reads thoughts; '' if there is none."""
    return next((name for name in (*MEMBERS[:2], 'thinking') if re.search(_READS.format(name), template)), '')


def names_of(sent: Iterable[Sent | None]) -> set[str]:
    """Returns the names of the members with thoughts and signatures."""
    names: set[str] = set()
    for one in filter(None, sent):
        names.update(name for name in one if name != CALLS)
        names.update(EXTRA for call in one.get(CALLS, ()) if EXTRA in call)
    return names


def refused_members(error: str, names: Collection[str]) -> set[str]:
    """Returns the members that a server may have refused: those named in its error, or all if it is about thoughts."""
    searched = error[:_SEARCHED_CHARS]
    named = {name for name in names if re.search(rf'(?<!\w){name}(?!\w)', searched)}
    return named or (set(names) if is_about_thoughts(searched) else set())


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
