"""Checks the capabilities of a server that data sets need, with a few short requests. Does not import OpenCompass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from opencompass_tooleval.core.calls.answer import CUT, Answer, visible_text
from opencompass_tooleval.core.scoring.usage import whole_number
from opencompass_tooleval.extras.probe.calls import (
    check_auto,
    check_forced,
    check_histories,
    check_raw_text,
    check_several,
    check_thoughts_back,
    check_tool_role,
    is_refusal,
)
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.findings.kinds import PARSER, Level
from opencompass_tooleval.models.api.endpoint import (
    FAULT,
    FEW_TOKENS,
    MAX_OUT_LEN,
    NO_ACCESS,
    OK,
    QUESTION,
    RIGHT_KEY,
    UNKNOWN,
    Endpoint,
    Probed,
    check_answer,
    check_listed,
    check_reachable,
    field_of_thoughts,
    has_tag,
    shown,
    user,
)
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.wires.chat import CHAT

_WRONG_KEY = 'tooleval-doctor-wrong-key'
_NO_THINKING = 'extra_body=dict(chat_template_kwargs=dict(enable_thinking=False))'
_COUNT_CHARS = 1000
_SYSTEM_WORD, _WORD = 'BANANA', 'PELICAN'
_SYSTEM_ROLE = "For T-Eval set system_role='user' in the prompt template"
_NAMES = ('max_model_len', 'context_length', 'context_window', 'max_context_length', 'max_seq_len', 'n_ctx')
"""Keys of vLLM and SGLang; OpenRouter and Together; Groq; Mistral and LM Studio; llama.cpp (in ``meta``)."""
_HUGE = 100_000_000
_OF_ERROR = re.compile(
    r'(?:context\s(?:length|window|size)|max_model_len|n_ctx)\D{0,40}?(\d{3,9})', re.IGNORECASE
)  # "This model's maximum context length is 4096 tokens. However, you requested 100000012 tokens"
_SECONDS_TO_REFUSE = 15.0
_STOPS = ['\n', ' ', '.', ',']
_RESERVED, _SHORTEST = 200, 1000


def _accepts(probed: Probed, key: str | None) -> bool | None:
    """Tests if a key is accepted; None if unknown."""
    try:
        probed.endpoint.get('models', key=key)
    except Failure as failure:
        return False if failure.status in NO_ACCESS else None
    return True


def _answers(probed: Probed, key: str | None) -> bool | None:
    """Tests if a question with a key is accepted; None if unknown, such as for an unknown model."""
    (reply,) = probed.endpoint.ask_all([[QUESTION]], key=key, **{probed.limit: FEW_TOKENS})
    # A server that rejects the content has accepted the key; a busy server may not have read the key.
    of_status = {400: True, 422: True, 401: False, 403: False}
    return of_status.get(reply.status or 0) if isinstance(reply, Failure) else True


def check_key(probed: Probed) -> list[Finding]:
    """Checks that the key is accepted and a wrong key refused; with a question, if the list of models is public."""
    accepted, wrong = _accepts(probed, None), None
    if accepted is not False:
        wrong = _accepts(probed, _WRONG_KEY)
    if accepted is not False and wrong is not False:
        accepted = _answers(probed, None)
        wrong = None if accepted is not True else _answers(probed, _WRONG_KEY)
    which = 'the key is refused' if probed.endpoint.key else 'no key is set, and the server requires one'
    unknown = 'not checked: the list of models needs no key, and the server answered no question'
    return [
        shown(
            'key',
            (accepted is False, FAULT, f'{which}: {RIGHT_KEY}'),
            (wrong is None, UNKNOWN, unknown),
            (wrong, OK, 'the server accepts any key'),
            (True, OK, 'accepted; a wrong key is refused'),
        )
    ]


def check_plain(probed: Probed) -> list[Finding]:
    """Checks in the plain answer where thoughts are, that they end, and that the server counts tokens."""
    reply = probed.plain
    assert reply is not None
    thoughts, in_text, body = field_of_thoughts(reply), has_tag(reply.text), bool(reply.body)
    is_endless = (in_text and not visible_text(Answer(reply.text)).text) or (
        not reply.text.strip() and reply.finish_reason == CUT
    )
    limit = f'they do not end within {MAX_OUT_LEN} tokens, for a one-word question: raise max_out_len of the data sets'
    why = 'the server does not report them' if body else 'the server streams without a request to do so'
    return [
        shown(
            'thoughts',
            (is_endless, FAULT, f'{limit}, or turn thoughts off: {_NO_THINKING}'),
            (thoughts, OK, f'in {thoughts}, separate from the answer'),
            (in_text, OK, 'in the answer, in tags that mark them as thoughts'),
            (True, OK, 'none seen'),
        ),
        shown(
            'usage',
            (reply.tokens('prompt') and reply.tokens('completion'), OK, 'tokens of prompt and answer are counted'),
            (True, UNKNOWN, f'{why}: tokens and cost are estimates'),
        ),
    ]


def check_limit(probed: Probed) -> list[Finding]:
    """Checks that an answer stops at the token limit, with this reason."""
    reply = probed.ask(user('Count from 1 to 100, separated by spaces.'), tokens=FEW_TOKENS)
    counted, end = reply.tokens('completion'), reply.finish_reason
    count, kind = (len(reply.text.split()), 'words') if counted is None else (counted, 'tokens')
    digits = re.sub(r'\D', '', reply.text[:_COUNT_CHARS])  # a model with digits as tokens may leave out the spaces
    is_cut = digits.startswith('12') and not digits.endswith('99100')
    return [
        shown(
            'max_tokens',
            (
                count > 2 * FEW_TOKENS,
                FAULT,
                f'{FEW_TOKENS} tokens were allowed, but {count} {kind} came: the limit is ignored',
            ),
            (end == CUT, OK, 'respected, and finish_reason says so'),
            (is_cut, UNKNOWN, f'respected, but finish_reason is {end}: results cannot show which answers were cut'),
            (True, UNKNOWN, f'the answer is too short to check this: {reply.text.strip()[:40]!r}'),
        )
    ]


def check_system_role(probed: Probed) -> list[Finding]:
    """Checks that a system prompt is accepted and reaches the model."""
    order = f'Whatever you are asked, reply with the single word {_SYSTEM_WORD} and nothing else, in capital letters.'
    reply = probed.ask({'role': 'system', 'content': order}, QUESTION)
    is_unseen = partial(probed.is_dropped, reply, QUESTION)
    return [
        shown(
            'system role',
            (_SYSTEM_WORD in visible_text(Answer(reply.text)).text, OK, 'accepted and followed'),
            (is_unseen, FAULT, f'accepted, but the chat template leaves it out. {_SYSTEM_ROLE}'),
            (True, UNKNOWN, 'accepted; the answer does not show if the model saw it'),
        )
    ]


def check_choices(probed: Probed) -> list[Finding]:
    """Checks if one request can return ``n`` answers, although no data set needs this."""
    # vLLM refuses several greedy answers, since they would be equal.
    sampled = {'temperature': 1} if 'temperature' in probed.settings else {}
    choices = probed.ask(QUESTION, tokens=FEW_TOKENS, n=2, **sampled).choices
    says = 'ignored; not needed, since each trial is a separate request'
    return [shown('n', (choices == 2, OK, 'n=2 returns two answers'), (True, OK, says))]


def _listed_context(row: Any) -> int | None:
    """Returns the context length in a row of ``/models``."""
    parts = [row, row.get('meta'), row.get('top_provider')] if isinstance(row, Mapping) else []
    numbers = (whole_number(part.get(name)) for part in parts if isinstance(part, Mapping) for name in _NAMES)
    return next(filter(None, numbers), None)


def _refused_context(probed: Probed) -> int | None:
    """Returns the context length in the refusal of a much too long answer."""
    stop = {'stop': _STOPS} if probed.endpoint.wire is CHAT else {}
    try:
        # A server without a limit ends at the first word; `transformers serve` 4.57 hangs because of `stop`.
        probed.ask(QUESTION, tokens=_HUGE, **stop, within=_SECONDS_TO_REFUSE)
    except Failure as failure:
        match = _OF_ERROR.search(failure.words)
        return int(match[1]) if match and int(match[1]) < _HUGE else None
    return None


def check_context(probed: Probed) -> list[Finding]:
    """Finds the size of the context, from the list of models or from the refusal of a much too long answer."""
    listed = _listed_context((probed.listed or {}).get(probed.endpoint.model))
    context = probed.context = listed or _refused_context(probed)
    where = 'from the list of models' if listed else 'the server refuses more'
    says = f'{context or 0:,} tokens, {where}; set max_seq_len={context} for the model'
    return [
        shown(
            'context',
            (context, OK, f'{says}, and check with `tooleval plan` that the prompts fit'),
            (True, UNKNOWN, 'the server does not report its context length'),
        )
    ]


def check_long_prompt(probed: Probed) -> list[Finding]:
    """Checks that a complete long prompt reaches the model, since some servers cut it silently."""
    size = min(probed.long_prompt, (probed.context or _HUGE) - _RESERVED)
    if size < _SHORTEST:
        return []
    # Any tokenizer needs at least one token per number here.
    numbers = ' '.join(str(number % 10) for number in range(size // 2))
    order = f'The code word is {_WORD}. Here are digits without a meaning:\n{numbers}\n'
    reply = probed.ask(user(f'{order}Reply with the code word from the beginning and nothing else.'))
    counted = reply.tokens('prompt')
    fix = 'raise the context length, for Ollama with: OLLAMA_CONTEXT_LENGTH=32768 ollama serve'
    return [
        shown(
            'long prompt',
            (
                _WORD in visible_text(Answer(reply.text)).text.upper(),
                OK,
                f'{counted or f"about {size}"} tokens reach the model completely',
            ),
            (
                0 < (counted or 0) < size // 2,
                FAULT,
                f'only {counted} of about {size} tokens reach the model, without an error: {fix}',
            ),
            (True, UNKNOWN, 'the answer does not show if the model saw the complete prompt'),
        )
    ]


def check_concurrency(probed: Probed) -> list[Finding]:
    """Checks that concurrent requests are answered."""
    count = probed.at_once
    if count < 2:
        return []
    questions = [[user(f'Reply with the number {number}')] for number in range(count)]
    replies = probed.endpoint.ask_all(questions, **{**probed.settings, probed.limit: FEW_TOKENS})
    words = {reply.reason: reply.words for reply in reversed(replies) if isinstance(reply, Failure)}
    reasons = Counter(reply.reason for reply in replies if isinstance(reply, Failure))
    limited, late = reasons.pop('infra:rate_limit', 0), reasons.pop('infra:timeout', 0)
    other, those = words.get(next(iter(reasons), ''), ''), f'of {count} concurrent requests'
    return [
        shown(
            'concurrency',
            (reasons, FAULT, f'{sum(reasons.values())} {those} fail ({other}): lower max_workers'),
            (late, UNKNOWN, f'{late} {those} are not answered in time: lower max_workers'),
            (limited, OK, f'{limited} {those} hit a rate limit and are repeated: lower max_workers'),
            (True, OK, f'{count} concurrent requests are answered'),
        )
    ]


ALL = 'all data sets'
CALLING = 'data sets with function calling (-fc)'
ROUNDS = 'dialogues with function calling (FuncQA -fc)'
WITH_SYSTEM = 'data sets with a system prompt (T-Eval, UltraTool gpt, EasyTool by ID, FuncQA ReAct)'


class Check(NamedTuple):
    """One check.

    Attributes:
        what: Its subject.
        run: Asks, and returns the findings.
        concerns: The data sets that need it.
        level: Level of its finding if the server refuses the request.
        refused: Text of that finding, with the server's words.
    """

    what: str
    run: Callable[[Probed], Iterable[Finding]]
    concerns: str
    level: Level = UNKNOWN
    refused: str = 'refused: {}'


FIRST = (
    Check('reachable', check_reachable, ALL),
    Check('key', check_key, ALL),
    Check('model', check_listed, ALL),
    Check('answer', check_answer, ALL),
)
"""Basic checks; without them no others can run."""
ANSWERS = (
    Check('thoughts', check_plain, ALL),
    Check('max_tokens', check_limit, ALL),
    Check('system role', check_system_role, WITH_SYSTEM, FAULT, f'refused: {{}}. {_SYSTEM_ROLE}'),
)
CALLS = (
    Check('forced call', check_forced, CALLING),
    Check('tool calls', check_auto, CALLING, FAULT, f'tools are refused: {{}}; {PARSER}'),
    Check('several calls', check_several, CALLING),
    Check('thoughts back', check_thoughts_back, ROUNDS),
    Check('role tool', check_tool_role, ROUNDS, FAULT),
    Check('raw text', check_raw_text, CALLING),
)
OTHER_WIRES = (*CALLS[:-1], Check('made-up calls', check_histories, CALLING))
"""Of calls on Responses and Messages, on which no server returns the raw text; they have no ``n``."""
LIMITS = (
    Check('n', check_choices, 'none', OK, 'refused; not needed, since each trial is a separate request'),
    Check('context', check_context, ALL),
    Check('long prompt', check_long_prompt, ALL),
    Check('concurrency', check_concurrency, ALL),
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
            yield shown('all else', (True, UNKNOWN, f'skipped, because {check.what!r} failed'))
            return
    of_calls, limits = (CALLS, LIMITS) if endpoint.wire is CHAT else (OTHER_WIRES, LIMITS[1:])
    for check in (*ANSWERS, *(of_calls if with_calls else ()), *limits):
        yield from _findings_of(check, probed)


def _findings_of(check: Check, probed: Probed) -> Iterator[Finding]:
    try:
        for finding in check.run(probed):
            yield replace(finding, concerns=check.concerns)
    except Failure as failure:  # a refusal, or a server that sometimes fails
        level, text = (check.level, check.refused) if is_refusal(failure) else (UNKNOWN, '{}')
        yield replace(shown(check.what, (True, level, text.replace('{}', failure.words))), concerns=check.concerns)
