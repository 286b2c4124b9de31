"""Checks limits: choices, context, concurrent requests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer, visible_text
from opencompass_tooleval.core.scoring.usage import whole_number
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.probed import (
    FEW_TOKENS,
    QUESTION,
    Probed,
    server_fault,
    server_fine,
    server_unknown,
    user,
)
from opencompass_tooleval.models.api.wires.chat import CHAT

_NAMES = ('max_model_len', 'context_length', 'context_window', 'max_context_length', 'max_seq_len', 'n_ctx')
"""Keys of vLLM and SGLang; OpenRouter and Together; Groq; Mistral and LM Studio; llama.cpp (in ``meta``)."""
_HUGE = 100_000_000
_OF_ERROR = re.compile(
    r'(?:context\s(?:length|window|size)|max_model_len|n_ctx)\D{0,40}?(\d{3,9})', re.IGNORECASE
)  # "This model's maximum context length is 4096 tokens. However, you requested 100000012 tokens"
_SECONDS_TO_REFUSE = 15.0
_STOPS = ['\n', ' ', '.', ',']
_WORD = 'PELICAN'
_RESERVED = 200
_SHORTEST = 1000


def check_choices(probed: Probed) -> Iterator[Finding]:
    """Checks if one request can return ``n`` answers, although no data set needs this."""
    try:
        reply = probed.ask(QUESTION, tokens=FEW_TOKENS, n=2, **_sampled(probed))
    except Failure as failure:
        if failure.reason != 'infra:bad_request':
            raise
        yield server_fine('n', 'refused; not needed, since each trial is a separate request')
        return
    if reply.choices == 2:
        yield server_fine('n', 'n=2 returns two answers')
    else:
        yield server_fine('n', 'ignored; not needed, since each trial is a separate request')


def _sampled(probed: Probed) -> dict[str, Any]:
    """Returns sampling settings: vLLM refuses several greedy answers, since they would be equal."""
    return {'temperature': 1} if 'temperature' in probed.settings else {}


def _listed_context(row: Any) -> int | None:
    """Returns the context length in a row of ``/models``."""
    if not isinstance(row, Mapping):
        return None
    for part in (row, row.get('meta'), row.get('top_provider')):
        if isinstance(part, Mapping):
            numbers = (whole_number(part.get(name)) for name in _NAMES)
            length = next((number for number in numbers if number), None)
            if length:
                return length
    return None


def check_context(probed: Probed) -> Iterator[Finding]:
    """Finds the size of the context, from the list of models or from the refusal of a much too long answer."""
    listed = _listed_context((probed.listed or {}).get(probed.endpoint.model))
    refused = None if listed else _refused_context(probed)
    probed.context = listed or refused
    if probed.context is None:
        yield server_unknown('context', 'the server does not report its context length')
        return
    where = 'from the list of models' if listed else 'the server refuses more'
    says = f'{probed.context:,} tokens, {where}; set max_seq_len={probed.context} for the model'
    yield server_fine('context', f'{says}, and check with `tooleval plan` that the prompts fit')


def _refused_context(probed: Probed) -> int | None:
    stop = {'stop': _STOPS} if probed.endpoint.wire is CHAT else {}
    try:
        # A server without a limit ends at the first word; `transformers serve` 4.57 hangs because of `stop`.
        probed.ask(QUESTION, tokens=_HUGE, **stop, within=_SECONDS_TO_REFUSE)
    except Failure as failure:
        match = _OF_ERROR.search(failure.words)
        return int(match[1]) if match and int(match[1]) < _HUGE else None
    return None


def check_long_prompt(probed: Probed) -> Iterator[Finding]:
    """Checks that a complete long prompt reaches the model, since some servers cut it silently."""
    size = min(probed.long_prompt, (probed.context or _HUGE) - _RESERVED)
    if size < _SHORTEST:
        return
    # Any tokenizer needs at least one token per number here.
    numbers = ' '.join(str(number % 10) for number in range(size // 2))
    order = f'The code word is {_WORD}. Here are digits without a meaning:\n{numbers}\n'
    try:
        reply = probed.ask(user(f'{order}Reply with the code word from the beginning and nothing else.'))
    except Failure as failure:
        if failure.reason != 'infra:truncated':
            raise
        yield server_unknown('long prompt', f'{size} tokens do not fit: {failure.words}')
        return
    counted = reply.tokens('prompt')
    if _WORD in visible_text(Answer(reply.text)).text.upper():
        yield server_fine('long prompt', f'{counted or f"about {size}"} tokens reach the model completely')
    elif counted is not None and 0 < counted < size // 2:
        fix = 'raise the context length, for Ollama with: OLLAMA_CONTEXT_LENGTH=32768 ollama serve'
        says = f'only {counted} of about {size} tokens reach the model, without an error: {fix}'
        yield server_fault('long prompt', says)
    else:
        yield server_unknown('long prompt', 'the answer does not show if the model saw the complete prompt')


def check_concurrency(probed: Probed) -> Iterator[Finding]:
    """Checks that concurrent requests are answered."""
    count = probed.at_once
    if count < 2:
        return
    what = 'concurrency'
    questions = [[user(f'Reply with the number {number}')] for number in range(count)]
    settings = {**probed.settings, probed.limit: FEW_TOKENS}
    replies = probed.endpoint.ask_all(questions, **settings)
    failures = [reply for reply in replies if isinstance(reply, Failure)]
    reasons = Counter(failure.reason for failure in failures)
    limited, late = reasons.pop('infra:rate_limit', 0), reasons.pop('infra:timeout', 0)
    if reasons:
        other = next(failure for failure in failures if failure.reason in reasons)
        says = f'{sum(reasons.values())} of {count} concurrent requests fail ({other.words}): lower max_workers'
        yield server_fault(what, says)
    elif late:
        yield server_unknown(what, f'{late} of {count} concurrent requests are not answered in time: lower max_workers')
    elif limited:
        says = f'{limited} of {count} concurrent requests hit a rate limit and are repeated: lower max_workers'
        yield server_fine(what, says)
    else:
        yield server_fine(what, f'{count} concurrent requests are answered')
