"""Checks that tools reach the model, and that the server returns its calls as calls, and what the model wrote."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT, Answer, visible_text
from opencompass_tooleval.core.calls.messages import tool_messages
from opencompass_tooleval.core.calls.sent import (
    EMPTY_CONTENT,
    NULL_CONTENT,
    THOUGHTS,
    names_of,
    refused_members,
    with_sent,
    without_bound_thoughts,
)
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.findings.kinds import PARSER, Level
from opencompass_tooleval.models.api.endpoint import FAULT, FEW_TOKENS, OK, UNKNOWN, Probed, Turn, shown, user
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.raw_text import Request, search
from opencompass_tooleval.models.api.reply import Reply, answer_of
from opencompass_tooleval.models.api.wires.chat import CHAT
from opencompass_tooleval.models.api.wires.wire import Choice

_NAME = 'get_weather'
_PLACE = {'city': {'type': 'string', 'description': 'Name of the city.'}}
_SAYS = 'Tells the weather of today in a city: degrees Celsius, wind and rain.'
_TOOLS = ToolSet([ToolSchema(_NAME, _SAYS, {'type': 'object', 'properties': _PLACE, 'required': ['city']})])
_QUESTION = user('What is the weather in Paris today? Call the tool get_weather.')
_SEVERAL = user('What is the weather in Paris and in Rome today? Call the tool get_weather for both at once.')
_MARKS = ('<tool_call>', '[TOOL_CALLS]', '<|python_tag|>', '<function=', '<|tool_call', '<｜tool', f'{_NAME}(')
"""Marks of calls in text."""
_ID, _DEGREES = 'call000a1', '37'
"""Nine letters and digits, since Mistral's templates accept no other id."""
_MADE_UP = Answer('', calls=(ToolCall(_NAME, {'city': 'Paris'}, _ID),))
_RESULT = f'{{"degrees": {_DEGREES}, "wind": "none", "rain": false}}'


def is_refusal(failure: Failure) -> bool:
    """Tests if a server refused a request: also by a template's error, with status 500."""
    return failure.reason == 'infra:bad_request' or failure.status == 500


def _offered(probed: Probed, choice: str = '', parallel: bool | None = None) -> dict[str, Any]:
    """Returns the members of a request that offer the tool; without a choice if it is ``''``."""
    offered = probed.endpoint.wire.offer(_TOOLS, Choice(choice, parallel))
    return offered if choice else {'tools': offered['tools']}


def _with_tool(probed: Probed, *messages: Turn, choice: str = '', **settings: Any) -> Reply:
    reply = probed.ask(*messages, **{**_offered(probed, choice), **settings})
    if len(messages) == 1 and reply.functions and not any(map(_fault_of, reply.functions)):
        answer = answer_of(reply, offers_tools=True)
        if probed.called is None or names_of(answer.sent):
            probed.called = messages[0], answer
    return reply


def _fault_of(function: Mapping[str, Any]) -> str:
    """Returns the error in a call of the tool; '' without an error."""
    name, arguments = function.get('name'), function.get('arguments')
    if name != _NAME:
        return f'a call of {str(name)[:60]!r}, which is not an offered tool'
    try:
        value = load_json(arguments, bounded=True) if isinstance(arguments, str) else arguments
    except ValueError:
        return f'arguments are not JSON: {str(arguments)[:60]!r}'
    return '' if isinstance(value, Mapping) else f'arguments are not an object: {str(arguments)[:60]!r}'


def _of_call(what: str, reply: Reply, *others: tuple[Any, Level, str]) -> Finding:
    """Returns the finding on a reply: of its calls, of a call in its text, or else of the other rows."""
    fault = next(filter(None, map(_fault_of, reply.functions)), '')
    text = visible_text(Answer(reply.text)).text
    is_text = any(mark in text for mark in _MARKS) or (f'"{_NAME}"' in text and '"name"' in text)
    return shown(
        what,
        (reply.functions and not fault, OK, 'returned with name and arguments'),
        (fault and reply.finish_reason == CUT, UNKNOWN, f'cut: {fault}'),
        (fault, FAULT, fault),
        (is_text, FAULT, f'it comes as text, which does not count as a call: {PARSER}'),
        *others,
    )


def check_forced(probed: Probed) -> list[Finding]:
    """Checks that a forced call is returned: of a named function, or else of any function."""
    none, is_chat = (True, UNKNOWN, 'tool_choice is ignored: no call came'), probed.endpoint.wire is CHAT
    named = {'tool_choice': {'type': 'function', 'function': {'name': _NAME}}} if is_chat else {'choice': 'required'}
    finding = _of_call('forced call', _with_tool(probed, _QUESTION, **named), none)
    if is_chat and finding.text == none[2]:  # llama.cpp silently treats the object as 'auto'
        finding = _of_call('forced call', _with_tool(probed, _QUESTION, choice='required'), none)
        if finding.is_fine:
            says = "returned with tool_choice='required', as a config may request; a named function is ignored"
            finding = replace(finding, text=says)
    probed.calls_if_forced = finding.is_fine
    return [finding]


def check_auto(probed: Probed) -> list[Finding]:
    """Checks that the model may decide to call, as in data sets, and sees the tools."""
    refused = []
    try:
        reply = _with_tool(probed, _QUESTION, choice='auto')
    except Failure as failure:
        if not is_refusal(failure):
            raise
        reply = _with_tool(probed, _QUESTION)
        refused = [shown('tool_choice', (True, UNKNOWN, "'auto' is refused; leave out tool_choice"))]
    unseen = 'the chat template leaves out the tools, so the model never sees them: use tools in the prompt'
    says = f'no call came, forced or not, nor text that looks like a call: if the model can call, {PARSER}'
    finding = _of_call(
        'tool calls',
        reply,
        (partial(probed.is_dropped, reply, _QUESTION), FAULT, unseen),
        (probed.calls_if_forced, UNKNOWN, 'the model chose not to call, although a forced call is returned'),
        (True, FAULT, says),
    )
    return [*refused, finding]


def check_several(probed: Probed) -> list[Finding]:
    """Checks that an answer can have several calls."""
    reply = _with_tool(probed, _SEVERAL, **_offered(probed, 'auto', parallel=True))
    finding, count = _of_call('several calls', reply, (True, UNKNOWN, 'none came')), len(reply.functions)
    several = (count > 1, OK, f'one answer has {count}'), (True, UNKNOWN, 'only one for two cities')
    return [shown('several calls', *several) if finding.is_fine else finding]


def _rounds(probed: Probed, question: Turn, answer: Answer, without: Collection[str] = ()) -> list[Turn]:
    """Returns the messages after an answer with calls: the answer as a dialogue sends it back, and a result per
    call."""
    message, *results = tool_messages(answer, [_RESULT] * len(answer.calls))
    if probed.endpoint.wire is not CHAT:
        sent = without_bound_thoughts(message.sent) if THOUGHTS in without else message.sent
        return [question, replace(message, sent=sent), *results]
    calls = [
        {'id': call.id, 'type': 'function', 'function': {'name': call.name, 'arguments': json.dumps(call.arguments)}}
        for call in message.calls
    ]
    content = message.content or ('' if NULL_CONTENT in without else None)
    back = {'role': 'assistant', 'content': content, 'tool_calls': calls}
    replies = ({'role': 'tool', 'tool_call_id': result.call_id, 'content': result.content} for result in results)
    return [question, with_sent(back, message.sent, without), *replies]


def _tried(probed: Probed, rounds: list[Turn]) -> tuple[str, int]:
    """Returns the words of a refusal, or ``''`` and the number of prompt tokens; 0 if it is unknown."""
    try:
        return '', _with_tool(probed, *rounds).tokens('prompt') or 0
    except Failure as failure:
        if failure.reason not in ('infra:bad_request', 'infra:server'):
            raise
        return failure.words, 0


def check_thoughts_back(probed: Probed) -> list[Finding]:
    """Checks if the server requires, accepts or drops the thoughts of its own calls in the next round."""
    names = set(names_of(probed.called[1].sent)) - {EMPTY_CONTENT} if probed.called else set()
    if not probed.called or not names:
        return [shown('thoughts back', (True, OK, 'its calls have no thoughts to send back'))]
    (refused, more), (required, fewer) = (_tried(probed, _rounds(probed, *probed.called, one)) for one in ((), names))
    probed.refused, those = names if refused else set(), ', '.join(sorted(names))
    return [
        shown(
            'thoughts back',
            (refused and required, FAULT, f'refused with and without {those}: {refused}'),
            (refused, UNKNOWN, f'{those} refused; left out after the first refusal: {refused}'),
            (required, OK, f"{those} required, and sent back (thoughts='as_sent', the default)"),
            (not more or not fewer, OK, f'{those} accepted; without usage it is unknown if the model sees them'),
            (more > fewer, OK, f'{those} accepted: the model sees them ({more - fewer} tokens of the prompt)'),
            (True, UNKNOWN, f'{those} accepted but dropped: the prompt has as many tokens without'),
        )
    ]


def check_tool_role(probed: Probed) -> list[Finding]:
    """Checks that a call and its result can be sent back in the next round."""
    called = probed.called or (_QUESTION, _MADE_UP)
    rounds = _rounds(probed, *called, probed.refused)
    try:
        reply = _with_tool(probed, *rounds)
    except Failure as failure:
        if not failure.may_refuse_members or not refused_members(failure.body, [NULL_CONTENT]):
            raise
        reply = _with_tool(probed, *_rounds(probed, *called, {*probed.refused, NULL_CONTENT}))
    is_unseen = partial(probed.is_dropped, reply, rounds[0], **_offered(probed))
    return [
        shown(
            'role tool',
            (_DEGREES in visible_text(Answer(reply.text)).text, OK, 'accepted, and the result is used'),
            (is_unseen, FAULT, 'accepted, but the chat template leaves out calls and results'),
            (True, UNKNOWN, 'accepted; the answer does not show if the model saw the result'),
        )
    ]


def check_histories(probed: Probed) -> Iterator[Finding]:
    """Checks on Responses and Messages that calls are accepted that the model never made, as data sets contain them,
    and if thoughts may follow other messages than before.
    """
    refusal, _ = _tried(probed, _rounds(probed, _QUESTION, _MADE_UP))
    accepted = 'accepted without ids and thoughts of the server'
    yield shown('made-up calls', (refusal, FAULT, f'refused: {refusal}'), (True, OK, accepted))
    if probed.called and THOUGHTS in names_of(probed.called[1].sent) and not probed.refused:
        refusal, _ = _tried(probed, _rounds(probed, user('Is it warm in Paris?'), probed.called[1]))
        says = f'refused after other messages; loops that change messages omit them: {refusal}'
        yield shown('bound thoughts', (refusal, OK, says), (True, OK, 'accepted after other messages too'))


def check_raw_text(probed: Probed) -> list[Finding]:
    """Checks if errors can be attributed, and if the prompt has all parts of a conversation."""
    searching = search(None)
    request = next(searching)
    while True:
        try:
            request = searching.send(_answered(probed, request))
        except StopIteration as end:
            found = end.value
            break
    source, lost = found.source.name if found.source else '', ', '.join(found.lost)
    ids = 'token ids are returned: attribution=True with tokenizer_path decodes them'
    return [
        shown(
            'raw text',
            (source, OK, f'returned by {source}: attribution=True finds errors of the parser'),
            (found.has_unread_ids, OK, ids),
            (True, UNKNOWN, 'not returned: lost calls of the parser cannot be found'),
        ),
        shown(
            'prompt',
            (lost, FAULT, f'the chat template of the server leaves out {lost}'),
            (found.prompt, OK, 'system text, tools, calls and results reach the model'),
            (True, UNKNOWN, 'the server does not return it'),
        ),
    ]


def _answered(probed: Probed, request: Request) -> Any:
    path, members = request
    try:
        if path.startswith('/'):
            return probed.endpoint.post(path, members)
        settings = {**members}
        return probed.ask(*settings.pop('messages'), tokens=FEW_TOKENS, **settings)
    except Failure as failure:
        return failure
