"""Probes the capabilities of a server that data sets need, with a few short requests. Imports no OpenCompass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from opencompass_tooleval.core.errors import Finding, Level
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.probe_answers import (
    check_limit,
    check_plain_answer,
    check_system_role,
    check_thoughts,
    check_usage,
)
from opencompass_tooleval.models.api.probe_calls import check_auto, check_forced, check_several, check_tool_role
from opencompass_tooleval.models.api.probe_limits import (
    check_choices,
    check_concurrency,
    check_context,
    check_long_prompt,
)
from opencompass_tooleval.models.api.probe_server import check_key, check_listed, check_reachable
from opencompass_tooleval.models.api.probed import Probed

Check = Callable[[Probed], Iterator[Finding]]

ALL = 'all data sets'
CALLING = 'data sets by function calling (-fc)'
ROUNDS = 'dialogues by function calling (FuncQA -fc)'
WITH_SYSTEM = 'data sets with a system prompt (T-Eval, UltraTool gpt, EasyTool by ID, FuncQA ReAct)'


class Look(NamedTuple):
    """One check: its subject, and the data sets that need it."""

    what: str
    check: Check
    concerns: str


FIRST = (
    Look('reachable', check_reachable, ALL),
    Look('key', check_key, ALL),
    Look('model', check_listed, ALL),
    Look('answer', check_plain_answer, ALL),
)
"""Checks without which no others can run."""

ANSWERS = (
    Look('thoughts', check_thoughts, ALL),
    Look('usage', check_usage, ALL),
    Look('max_tokens', check_limit, ALL),
    Look('system role', check_system_role, WITH_SYSTEM),
)
CALLS = (
    Look('forced call', check_forced, CALLING),
    Look('tool calls', check_auto, CALLING),
    Look('several calls', check_several, CALLING),
    Look('role tool', check_tool_role, ROUNDS),
)
LIMITS = (
    Look('n', check_choices, 'none'),
    Look('context', check_context, ALL),
    Look('long prompt', check_long_prompt, ALL),
    Look('concurrency', check_concurrency, ALL),
)


def probe(endpoint: Endpoint, with_calls: bool = True, at_once: int = 16, long_prompt: int = 6000) -> Iterator[Finding]:
    """Yields findings, in a fixed order; no reply of a server raises.

    Args:
        endpoint: The server.
        with_calls: True to check function calling.
        at_once: Requests in flight, for the last check.
        long_prompt: Tokens of the one long prompt; 0 sends none.
    """
    probed = Probed(endpoint, at_once=at_once, long_prompt=long_prompt)
    for look in FIRST:
        findings = list(_looked(look, probed))
        yield from findings
        is_faulty = any(finding.level is Level.FAULT for finding in findings)
        if (look.what in ('reachable', 'key') and is_faulty) or (look.what == 'answer' and probed.plain is None):
            yield Finding(Level.UNKNOWN, 'all else', f'not looked at, because of the fault of {look.what!r}')
            return
    for look in (*ANSWERS, *(CALLS if with_calls else ()), *LIMITS):
        yield from _looked(look, probed)


def _looked(look: Look, probed: Probed) -> Iterator[Finding]:
    try:
        for finding in look.check(probed):
            yield replace(finding, concerns=look.concerns)
    except Failure as failure:  # a server that fails sometimes
        yield Finding(Level.UNKNOWN, look.what, failure.words, look.concerns)
