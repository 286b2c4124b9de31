"""Checks that tools reach the model, and that the server returns its calls as calls."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
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
from opencompass_tooleval.findings.of_results import PARSER
from opencompass_tooleval.models.api.endpoint import Turn
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.probed import Probed, server_fault, server_fine, server_unknown, user
from opencompass_tooleval.models.api.reply import Reply, answer_of
from opencompass_tooleval.models.api.wires.chat import CHAT
from opencompass_tooleval.models.api.wires.wire import Choice

_NAME = 'get_weather'
_PLACE = {'city': {'type': 'string', 'description': 'Name of the city.'}}
_SAYS = 'Tells the weather of today in a city: degrees Celsius, wind and rain.'
_TOOLS = ToolSet([ToolSchema(_NAME, _SAYS, {'type': 'object', 'properties': _PLACE, 'required': ['city']})])
_QUESTION = user('What is the weather in Paris today? Call the tool get_weather.')
_MARKS = ('<tool_call>', '[TOOL_CALLS]', '<|python_tag|>', '<function=', '<|tool_call', '<｜tool', f'{_NAME}(')
"""Marks of calls in text."""
_ID, _DEGREES = 'call000a1', '37'
"""Nine letters and digits, since Mistral's templates accept no other id."""
_MADE_UP = Answer('', calls=(ToolCall(_NAME, {'city': 'Paris'}, _ID),))
_RESULT = f'{{"degrees": {_DEGREES}, "wind": "none", "rain": false}}'


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
    if isinstance(arguments, Mapping):
        return ''
    try:
        value = load_json(arguments if isinstance(arguments, str) else '', bounded=True)
    except ValueError:
        return f'arguments are not JSON: {str(arguments)[:60]!r}'
    return '' if isinstance(value, Mapping) else f'arguments are not an object: {str(arguments)[:60]!r}'


def _is_call_in_text(text: str) -> bool:
    shown = visible_text(Answer(text)).text
    return any(mark in shown for mark in _MARKS) or (f'"{_NAME}"' in shown and '"name"' in shown)


def _finding_of_call(what: str, reply: Reply) -> Finding | None:
    """Returns the finding for calls, or for a call as text; None without either."""
    if reply.functions:
        faults = list(filter(None, map(_fault_of, reply.functions)))
        if not faults:
            return server_fine(what, 'returned with name and arguments')
        if reply.finish_reason == CUT:
            return server_unknown(what, f'cut: {faults[0]}')
        return server_fault(what, faults[0])
    if _is_call_in_text(reply.text):
        return server_fault(what, f'it comes as text, which does not count as a call: {PARSER}')
    return None


def check_forced(probed: Probed) -> Iterator[Finding]:
    """Checks that a forced call is returned: of a named function, or else of any function."""
    what = 'forced call'
    named = {'type': 'function', 'function': {'name': _NAME}}
    is_chat = probed.endpoint.wire is CHAT
    try:
        finding = _finding_of_call(what, _with_tool(probed, _QUESTION, tool_choice=named)) if is_chat else None
        if finding is None:  # llama.cpp silently treats the object as 'auto'
            finding = _finding_of_call(what, _with_tool(probed, _QUESTION, choice='required'))
            if finding and finding.is_fine and is_chat:
                says = "returned with tool_choice='required', as a config may request; a named function is ignored"
                finding = replace(finding, text=says)
    except Failure as failure:
        if failure.reason not in ('infra:bad_request', 'infra:server', 'infra:bad_response'):
            raise
        yield server_unknown(what, f'refused: {failure.words}')
        return
    probed.calls_if_forced = finding is not None and finding.is_fine
    yield finding or server_unknown(what, 'tool_choice is ignored: no call came')


def check_auto(probed: Probed) -> Iterator[Finding]:
    """Checks that the model may decide to call, as in data sets, and sees the tools."""
    what = 'tool calls'
    try:
        reply = _with_tool(probed, _QUESTION, choice='auto')
    except Failure as failure:
        if failure.reason != 'infra:bad_request':
            raise
        try:
            reply = _with_tool(probed, _QUESTION)
        except Failure as other:
            if other.reason != 'infra:bad_request':
                raise
            yield server_fault(what, f'tools are refused: {other.words}; {PARSER}')
            return
        yield server_unknown('tool_choice', "'auto' is refused; leave out tool_choice")
    finding = _finding_of_call(what, reply)
    if finding:
        yield finding
    elif probed.is_dropped(reply, _QUESTION):
        says = 'the chat template leaves out the tools, so the model never sees them: use tools in the prompt'
        yield server_fault(what, says)
    elif probed.calls_if_forced:
        yield server_unknown(what, 'the model chose not to call, although a forced call is returned')
    else:
        says = f'no call came, forced or not, nor text that looks like a call: if the model can call, {PARSER}'
        yield server_fault(what, says)


def check_several(probed: Probed) -> Iterator[Finding]:
    """Checks that an answer can have several calls."""
    what = 'several calls'
    question = user('What is the weather in Paris and in Rome today? Call the tool get_weather for both at once.')
    try:
        reply = _with_tool(probed, question, **_offered(probed, 'auto', parallel=True))
    except Failure as failure:
        if failure.reason != 'infra:bad_request':
            raise
        yield server_unknown(what, f'refused: {failure.words}')
        return
    count = len(reply.functions)
    finding = _finding_of_call(what, reply)
    if count > 1 and finding and finding.is_fine:
        yield server_fine(what, f'one answer has {count}')
    elif finding and not finding.is_fine:
        yield finding
    else:
        says = 'only one for two cities' if count else 'none came'
        yield server_unknown(what, says)


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


def check_thoughts_back(probed: Probed) -> Iterator[Finding]:
    """Checks if the server requires, accepts or drops the thoughts of its own calls in the next round."""
    what = 'thoughts back'
    names = set(names_of(probed.called[1].sent)) - {EMPTY_CONTENT} if probed.called else set()
    if not probed.called or not names:
        yield server_fine(what, 'its calls have no thoughts to send back')
        return
    tried: list[Reply | Failure] = []
    for without in ((), names):
        try:
            tried.append(_with_tool(probed, *_rounds(probed, *probed.called, without)))
        except Failure as failure:
            if failure.reason not in ('infra:bad_request', 'infra:server'):
                raise
            tried.append(failure)
    probed.refused = names if isinstance(tried[0], Failure) else set()
    yield _finding_of_thoughts(what, ', '.join(sorted(names)), *tried)


def _finding_of_thoughts(what: str, names: str, returned: Reply | Failure, left_out: Reply | Failure) -> Finding:
    if isinstance(returned, Failure):
        if isinstance(left_out, Failure):
            return server_fault(what, f'refused with and without {names}: {returned.words}')
        says = f'{names} refused; left out after the first refusal: {returned.words}'
        return server_unknown(what, says)
    if isinstance(left_out, Failure):
        return server_fine(what, f"{names} required, and sent back (thoughts='as_sent', the default)")
    more, fewer = returned.tokens('prompt'), left_out.tokens('prompt')
    if not more or not fewer:
        return server_fine(what, f'{names} accepted; without usage it is unknown if the model sees them')
    if more > fewer:
        return server_fine(what, f'{names} accepted: the model sees them ({more - fewer} tokens of the prompt)')
    return server_unknown(what, f'{names} accepted but dropped: the prompt has as many tokens without')


def check_tool_role(probed: Probed) -> Iterator[Finding]:
    """Checks that a call and its result can be sent back in the next round."""
    what = 'role tool'
    called = probed.called or (_QUESTION, _MADE_UP)
    rounds = _rounds(probed, *called, probed.refused)
    try:
        try:
            reply = _with_tool(probed, *rounds)
        except Failure as failure:
            if not failure.may_refuse_members or not refused_members(failure.body, [NULL_CONTENT]):
                raise
            reply = _with_tool(probed, *_rounds(probed, *called, {*probed.refused, NULL_CONTENT}))
    except Failure as failure:
        if failure.reason not in ('infra:bad_request', 'infra:server'):
            raise
        yield server_fault(what, f'refused: {failure.words}')
        return
    if _DEGREES in visible_text(Answer(reply.text)).text:
        yield server_fine(what, 'accepted, and the result is used')
    elif probed.is_dropped(reply, rounds[0], **_offered(probed)):
        yield server_fault(what, 'accepted, but the chat template leaves out calls and results')
    else:
        yield server_unknown(what, 'accepted; the answer does not show if the model saw the result')


def check_histories(probed: Probed) -> Iterator[Finding]:
    """Checks on Responses and Messages that calls are accepted that the model never made, as data sets contain them,
    and if thoughts may follow other messages than before.
    """
    what = 'made-up calls'
    if refusal := _refusal(probed, _rounds(probed, _QUESTION, _MADE_UP)):
        yield server_fault(what, f'refused: {refusal}')
    else:
        yield server_fine(what, 'accepted without ids and thoughts of the server')
    if probed.called and THOUGHTS in names_of(probed.called[1].sent) and not probed.refused:
        what = 'bound thoughts'
        if refusal := _refusal(probed, _rounds(probed, user('Is it warm in Paris?'), probed.called[1])):
            yield server_fine(what, f'refused after other messages; loops that change messages omit them: {refusal}')
        else:
            yield server_fine(what, 'accepted after other messages too')


def _refusal(probed: Probed, rounds: list[Turn]) -> str:
    try:
        _with_tool(probed, *rounds)
    except Failure as failure:
        if failure.reason not in ('infra:bad_request', 'infra:server'):
            raise
        return failure.words
    return ''
