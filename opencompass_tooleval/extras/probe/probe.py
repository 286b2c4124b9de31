"""Checks the capabilities of a server that data sets need, with a few short requests. Does not import OpenCompass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from opencompass_tooleval.extras.probe.answers import (
    check_key,
    check_limit,
    check_system_role,
    check_thoughts,
    check_usage,
)
from opencompass_tooleval.extras.probe.calls import (
    check_auto,
    check_forced,
    check_histories,
    check_several,
    check_thoughts_back,
    check_tool_role,
)
from opencompass_tooleval.extras.probe.limits import (
    check_choices,
    check_concurrency,
    check_context,
    check_long_prompt,
)
from opencompass_tooleval.extras.probe.raw_text import check_raw_text
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.first_answer import check_plain_answer
from opencompass_tooleval.models.api.probed import Probed, server_unknown
from opencompass_tooleval.models.api.reachable import check_listed, check_reachable
from opencompass_tooleval.models.api.wires.chat import CHAT

Check = Callable[[Probed], Iterator[Finding]]

ALL = 'all data sets'
CALLING = 'data sets with function calling (-fc)'
ROUNDS = 'dialogues with function calling (FuncQA -fc)'
WITH_SYSTEM = 'data sets with a system prompt (T-Eval, UltraTool gpt, EasyTool by ID, FuncQA ReAct)'


class ProbeCheck(NamedTuple):
    """One check: its subject, and the data sets that need it."""

    what: str
    run: Check
    concerns: str


FIRST = (
    ProbeCheck('reachable', check_reachable, ALL),
    ProbeCheck('key', check_key, ALL),
    ProbeCheck('model', check_listed, ALL),
    ProbeCheck('answer', check_plain_answer, ALL),
)
"""Basic checks; without them no others can run."""

ANSWERS = (
    ProbeCheck('thoughts', check_thoughts, ALL),
    ProbeCheck('usage', check_usage, ALL),
    ProbeCheck('max_tokens', check_limit, ALL),
    ProbeCheck('system role', check_system_role, WITH_SYSTEM),
)
CALLS = (
    ProbeCheck('forced call', check_forced, CALLING),
    ProbeCheck('tool calls', check_auto, CALLING),
    ProbeCheck('several calls', check_several, CALLING),
    ProbeCheck('thoughts back', check_thoughts_back, ROUNDS),
    ProbeCheck('role tool', check_tool_role, ROUNDS),
    ProbeCheck('raw text', check_raw_text, CALLING),
)
OTHER_WIRES = (*CALLS[:-1], ProbeCheck('made-up calls', check_histories, CALLING))
"""Of calls on Responses and Messages, on which no server returns the raw text; they have no ``n``."""
LIMITS = (
    ProbeCheck('n', check_choices, 'none'),
    ProbeCheck('context', check_context, ALL),
    ProbeCheck('long prompt', check_long_prompt, ALL),
    ProbeCheck('concurrency', check_concurrency, ALL),
)


def probe(endpoint: Endpoint, with_calls: bool = True, at_once: int = 16, long_prompt: int = 6000) -> Iterator[Finding]:
    """Yields findings in a fixed order; never raises, whatever a server replies.

    Args:
        endpoint: The server.
        with_calls: True to check function calling.
        at_once: Number of concurrent requests, for the last check.
        long_prompt: Tokens of the long prompt; 0 sends none.
    """
    probed = Probed(endpoint, at_once=at_once, long_prompt=long_prompt)
    for check in FIRST:
        findings = list(_findings_of(check, probed))
        yield from findings
        is_faulty = any(finding.is_fault for finding in findings)
        if (check.what in ('reachable', 'key') and is_faulty) or (check.what == 'answer' and probed.plain is None):
            yield server_unknown('all else', f'skipped, because {check.what!r} failed')
            return
    of_calls, limits = (CALLS, LIMITS) if endpoint.wire is CHAT else (OTHER_WIRES, LIMITS[1:])
    for check in (*ANSWERS, *(of_calls if with_calls else ()), *limits):
        yield from _findings_of(check, probed)


def _findings_of(check: ProbeCheck, probed: Probed) -> Iterator[Finding]:
    try:
        for finding in check.run(probed):
            yield replace(finding, concerns=check.concerns)
    except Failure as failure:  # a server that sometimes fails
        yield replace(server_unknown(check.what, failure.words), concerns=check.concerns)
