"""Asks a server one short question, as a run would; returns the answer, or why there is none and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

from opencompass_tooleval.core.calls.answer import CUT, ONLY_THOUGHTS
from opencompass_tooleval.core.calls.sent import CONTENT, MEMBERS, has_thoughts
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

_TAG = re.compile(r'</?think(?:ing)?>|<\|channel\|>', re.IGNORECASE)
_TAG_CHARS = 20_000


def check_plain_answer(probed: Probed) -> Iterator[Finding]:
    """Checks that the server answers a question that is sent with the settings of ``ToolEvalOpenAI``."""
    refused: list[str] = []
    while True:
        try:
            probed.plain = probed.ask(QUESTION)
            break
        except Failure as failure:
            refusal = _adapted(probed, failure)
            if not refusal:
                probed.failure = failure
                yield server_fault('answer', f'no answer to a plain question: {failure.words}')
                return
            refused.append(refusal)
    if refused:
        yield _without(probed, refused)
    yield from _judged(probed.plain)


def _without(probed: Probed, refused: list[str]) -> Finding:
    """Returns a finding that names the refused settings and the settings of ``ToolEvalOpenAI`` to use instead."""
    fixes = (
        f'token_limit_key={probed.limit!r}' if name in TOKEN_LIMITS else f'openai_extra_kwargs=dict({name}=None)'
        for name in refused
    )
    says = f'the server refuses {" and ".join(refused)}: set {" and ".join(fixes)} in the config of the model'
    return server_fault('settings', says)


def _adapted(probed: Probed, failure: Failure) -> str:
    """Removes the setting that the server refused, and returns its name; '' if the failure names none."""
    if failure.reason != 'infra:bad_request' or failure.ends:
        return ''
    if probed.limit == TOKEN_LIMITS[0] and all(name in failure.words for name in TOKEN_LIMITS):
        probed.limit = TOKEN_LIMITS[1]
        return TOKEN_LIMITS[0]
    if 'temperature' in failure.words and probed.settings.pop('temperature', None) is not None:
        return 'temperature'
    return ''


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


def first_answer(url: str, model: str, key: str) -> tuple[str, bool]:
    """Asks a model one question, as a run would; if there is no answer, finds the reason.

    Args:
        url: The base URL.
        model: Its name on the server.
        key: The API key; '' sends none.

    Returns:
        The fault that would stop a run, with its fix, or ''; and True if the model reasons before it answers. A busy
        server is not a fault, since a run waits for it.
    """
    with closing(Endpoint(url, model, key)) as endpoint:
        probed = Probed(endpoint)
        findings = list(check_plain_answer(probed))
        reply = probed.plain
        if reply is None:
            return (why_no_answer(probed, probed.failure) if probed.failure else ''), False
    faults = (one.text for one in findings if one.about == 'settings' or one.text.endswith(ONLY_THOUGHTS))
    in_content = has_tag(reply.text) or has_thoughts(reply.message.get(CONTENT))
    return next(faults, ''), bool(field_of_thoughts(reply) or in_content or reply.reasoning_tokens)


def has_tag(text: str) -> bool:
    """Tests if a text contains a tag of thoughts, such as ``<think>``."""
    return bool(_TAG.search(text[:_TAG_CHARS]))
