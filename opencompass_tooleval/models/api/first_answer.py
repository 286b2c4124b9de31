"""Asks a server one short question, as a run would; returns the answer, or why there is none and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, NamedTuple

from opencompass_tooleval.core.calls.answer import CUT, ONLY_THOUGHTS
from opencompass_tooleval.core.calls.sent import CONTENT, MEMBERS, has_thoughts
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.models.api.endings import TOKEN_LIMITS
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.probed import (
    MAX_OUT_LEN,
    QUESTION,
    Probed,
    server_fault,
    server_fine,
    server_unknown,
)
from opencompass_tooleval.models.api.reachable import why_no_answer
from opencompass_tooleval.models.api.reply import Reply
from opencompass_tooleval.models.api.wires import WIRES
from opencompass_tooleval.models.api.wires.wire import Choice

_TAG = re.compile(r'</?think(?:ing)?>|<\|channel\|>', re.IGNORECASE)
_TAG_CHARS = 20_000
_MISSING = 404
_ENOUGH = 64
_TOOLS = ToolSet([ToolSchema('get_time', 'Returns the time.', {'type': 'object', 'properties': {}})])


def check_plain_answer(probed: Probed) -> Iterator[Finding]:
    """Checks that the server answers a question that is sent with the settings of ``ToolEvalOpenAI``."""
    refused: dict[str, str] = {}
    while True:
        try:
            probed.plain = probed.ask(QUESTION)
            break
        except Failure as failure:
            if not (accepted := _adapted(probed, failure)):
                probed.failure = failure
                yield server_fault('answer', f'no answer to a plain question: {failure.words}')
                return
            refused |= accepted
    if refused:
        says = f'the server refuses {" and ".join(refused)}: set {" and ".join(refused.values())}'
        yield server_fault('settings', f'{says} in the config of the model')
    yield from _judged(probed.plain)


def _adapted(probed: Probed, failure: Failure) -> dict[str, str]:
    """Replaces the setting that the server refused; returns its name and the accepted setting of a config."""
    if failure.reason != 'infra:bad_request' or failure.ends:
        return {}
    if probed.limit == TOKEN_LIMITS[0] and all(name in failure.words for name in TOKEN_LIMITS):
        probed.limit = TOKEN_LIMITS[1]
        probed.accepted['token_limit_key'] = probed.limit
        return {TOKEN_LIMITS[0]: f'token_limit_key={probed.limit!r}'}
    if 'temperature' in failure.words and probed.settings.pop('temperature', None) is not None:
        probed.accepted['openai_extra_kwargs'] = {'temperature': None}
        return {'temperature': 'openai_extra_kwargs=dict(temperature=None)'}
    return {}


def _judged(reply: Reply) -> Iterator[Finding]:
    thoughts = field_of_thoughts(reply)
    if reply.text.strip():
        yield server_fine('answer', f'{reply.text.strip()[:40]!r}')
    elif thoughts and reply.finish_reason != CUT:
        yield server_fault('answer', f'empty: the whole text is in {thoughts}. {ONLY_THOUGHTS}')
    elif thoughts or reply.finish_reason == CUT:
        yield server_unknown('answer', f'only thoughts in {MAX_OUT_LEN} tokens')
    else:
        yield server_fault('answer', f'empty, finish_reason {reply.finish_reason}')


def field_of_thoughts(reply: Reply) -> str:
    """Returns the names of the fields with thoughts, apart from the content; '' if there are none."""
    values = {name: reply.message.get(name) for name in MEMBERS}
    return ' and '.join(name for name, value in values.items() if (value.strip() if isinstance(value, str) else value))


class FirstAnswer(NamedTuple):
    """The outcome of the first question to a model.

    Attributes:
        fault: The fault that would stop a run, with its fix, or ''. A busy server is not a fault, since a run waits.
        thinks: True if the model reasons before it answers.
        settings: Settings of a config that replace those that the server refuses.
    """

    fault: str = ''
    thinks: bool = False
    settings: Mapping[str, Any] = {}


def _other_wire(probed: Probed, wire: str) -> str:
    """Returns a fault if the path of the format is missing, and that of another one answers; ``''`` if not."""
    if probed.failure is None or probed.failure.status != _MISSING:
        return ''
    for name in (one for one in WIRES if one != wire):
        endpoint = replace(probed.endpoint, wire=WIRES[name])
        with closing(endpoint), suppress(Failure):
            Probed(endpoint, settings={}).ask(QUESTION, tokens=_ENOUGH)
            return f'the server has no {WIRES[wire].path}, and answers on {WIRES[name].path}: take --wire {name}'
    return ''


def _refusal_of_tools(probed: Probed) -> str:
    """Asks a question that offers a tool; returns a fault if the server names another format; else ``''``."""
    try:
        probed.ask(QUESTION, **probed.endpoint.wire.offer(_TOOLS, Choice('auto')))
    except Failure as failure:
        named = next((name for name in WIRES if f'/v1{WIRES[name].path}' in failure.body and name != 'chat'), '')
        if named and failure.reason == 'infra:bad_request':
            return f'{failure.words}: take --wire {named}'
    return ''


def first_answer(
    url: str,
    model: str,
    key: str,
    temperature: float | None = None,
    wire: str = 'chat',
    offers_tools: bool = False,
    members: Mapping[str, Any] | None = None,
) -> FirstAnswer:
    """Asks a model one question, as a run would; if there is no answer, finds the reason.

    A second question offers a tool, if the run does. A refusal that names another request format is a fault, and so is
    a server that answers on another format only.

    Args:
        url: The base URL.
        model: Its name on the server.
        key: The API key; '' sends none.
        temperature: The temperature that the user set; None if none was set.
        wire: The request format.
        offers_tools: True if requests of the run offer tools.
        members: Further members of the run's requests; None leaves one out.
    """
    with closing(Endpoint(url, model, key, wire=WIRES[wire])) as endpoint:
        probed = Probed(endpoint)
        if temperature is not None:
            probed.settings['temperature'] = temperature
        probed.settings |= members or {}
        findings = list(check_plain_answer(probed))
        reply = probed.plain
        if reply is None:
            other = _other_wire(probed, wire)
            return FirstAnswer(other or (why_no_answer(probed, probed.failure) if probed.failure else ''))
        if offers_tools and (refusal := _refusal_of_tools(probed)):
            return FirstAnswer(refusal)
    faults = [one.text for one in findings if one.text.endswith(ONLY_THOUGHTS)]
    if members and 'openai_extra_kwargs' in probed.accepted:
        probed.accepted['openai_extra_kwargs'] = {**members, **probed.accepted['openai_extra_kwargs']}
    if temperature is not None and 'openai_extra_kwargs' in probed.accepted:
        faults.append(f'the server refuses temperature={temperature:g}: leave --temperature out')
    in_content = has_tag(reply.text) or has_thoughts(reply.message.get(CONTENT))
    thinks = bool(field_of_thoughts(reply) or in_content or reply.reasoning_tokens)
    return FirstAnswer(next(iter(faults), ''), thinks, probed.accepted)


def has_tag(text: str) -> bool:
    """Tests if a text contains a tag of thoughts, such as ``<think>``."""
    return bool(_TAG.search(text[:_TAG_CHARS]))
