"""Checks plain answers: that they come, what they hold, and what prompts without tools need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT, Answer, visible_text
from opencompass_tooleval.core.errors import Finding, Level
from opencompass_tooleval.models.api.endings import ONLY_THOUGHTS, TOKEN_LIMITS
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.probe_server import why_no_answer
from opencompass_tooleval.models.api.probed import MAX_OUT_LEN, QUESTION, Probed, user
from opencompass_tooleval.models.api.reply import Reply

THOUGHTS = ('reasoning_content', 'reasoning')
_NO_THINKING = 'extra_body=dict(chat_template_kwargs=dict(enable_thinking=False))'
_TAG = re.compile(r'</?think(?:ing)?>|<\|channel\|>', re.IGNORECASE)
_TAG_CHARS = 20_000
_FEW_TOKENS = 8
_COUNT_CHARS = 1000
_SYSTEM_WORD = 'BANANA'


def check_plain_answer(probed: Probed) -> Iterator[Finding]:
    """Checks that a question is answered, with the settings of ``ToolEvalOpenAI``."""
    refused: list[str] = []
    while True:
        try:
            probed.plain = probed.ask(QUESTION)
            break
        except Failure as failure:
            refusal = _adapted(probed, failure)
            if not refusal:
                probed.failure = failure
                yield Finding(Level.FAULT, 'answer', f'none to a plain question: {failure.words}')
                return
            refused.append(refusal)
    if refused:
        yield _without(probed, refused)
    yield from _judged(probed.plain)


def _without(probed: Probed, refused: list[str]) -> Finding:
    """Returns the effect of refused settings, and the settings of ``ToolEvalOpenAI`` that fix it."""
    fixes = (
        f'token_limit_key={probed.limit!r}' if name in TOKEN_LIMITS else f'openai_extra_kwargs=dict({name}=None)'
        for name in refused
    )
    says = f'the server refuses {" and ".join(refused)}: set {" and ".join(fixes)} in the config of the model'
    return Finding(Level.FAULT, 'settings', says)


def _adapted(probed: Probed, failure: Failure) -> str:
    """Removes the setting that a refusal names, and returns its name; '' if it names none."""
    if failure.reason != 'infra:bad_request' or failure.ends:
        return ''
    if probed.limit == TOKEN_LIMITS[0] and all(name in failure.words for name in TOKEN_LIMITS):
        probed.limit = TOKEN_LIMITS[1]
        return TOKEN_LIMITS[0]
    if 'temperature' in failure.words and probed.settings.pop('temperature', None) is not None:
        return 'temperature'
    return ''


def _judged(reply: Reply) -> Iterator[Finding]:
    thoughts = _field_of_thoughts(reply)
    if reply.text.strip():
        yield Finding(Level.OK, 'answer', f'{reply.text.strip()[:40]!r}')
    elif thoughts and reply.finish_reason != CUT:
        yield Finding(Level.FAULT, 'answer', f'empty: all of it is in {thoughts}. {ONLY_THOUGHTS}')
    elif thoughts or reply.finish_reason == CUT:
        yield Finding(Level.UNKNOWN, 'answer', f'nothing but thoughts in {MAX_OUT_LEN} tokens')
    else:
        yield Finding(Level.FAULT, 'answer', f'empty, finish_reason {reply.finish_reason}')


def _field_of_thoughts(reply: Reply) -> str:
    """Returns the name of the field with thoughts, beside the content; '' for none."""
    named = (name for name in THOUGHTS if isinstance(reply.message.get(name), str) and reply.message[name].strip())
    return ' and '.join(named)


def first_answer(url: str, model: str, key: str) -> tuple[str, bool]:
    """Asks a model one question, as a run would; if no answer comes, looks for the reason.

    Args:
        url: The base URL.
        model: Its name on the server.
        key: The API key; '' sends none.

    Returns:
        The fault that would stop a run, with its fix, or ''; and True if the model reasons before it answers. A busy
        server is no fault, since a run waits for it.
    """
    with closing(Endpoint(url, model, key)) as endpoint:
        probed = Probed(endpoint)
        findings = list(check_plain_answer(probed))
        reply = probed.plain
        if reply is None:
            return (why_no_answer(probed, probed.failure) if probed.failure else ''), False
    faults = (one.says for one in findings if one.what == 'settings' or one.says.endswith(ONLY_THOUGHTS))
    thinks = _field_of_thoughts(reply) or _has_tag(reply.text) or reply.reasoning_tokens
    return next(faults, ''), bool(thinks)


def _has_tag(text: str) -> bool:
    return bool(_TAG.search(text[:_TAG_CHARS]))


def check_thoughts(probed: Probed) -> Iterator[Finding]:
    """Checks where thoughts are, and that they end."""
    reply = probed.plain
    assert reply is not None
    thoughts, text = _field_of_thoughts(reply), reply.text
    in_text = _has_tag(text)
    if (in_text and not visible_text(Answer(text)).text) or (not text.strip() and reply.finish_reason == CUT):
        says = (
            f'they do not end within {MAX_OUT_LEN} tokens, on a question of one word: raise max_out_len of the data '
            f'sets, or turn them off: {_NO_THINKING}'
        )
        yield Finding(Level.FAULT, 'thoughts', says)
    elif thoughts:
        yield Finding(Level.OK, 'thoughts', f'in {thoughts}, apart from the answer')
    elif in_text:
        yield Finding(Level.OK, 'thoughts', 'in the answer, in tags that are read as thoughts')
    else:
        yield Finding(Level.OK, 'thoughts', 'none seen')


def check_usage(probed: Probed) -> Iterator[Finding]:
    """Checks that the server counts tokens."""
    reply = probed.plain
    assert reply is not None
    prompt, completion = reply.tokens('prompt'), reply.tokens('completion')
    if prompt and completion:
        yield Finding(Level.OK, 'usage', 'tokens of prompt and answer are counted')
    else:
        why = 'the server streams without being asked to' if not reply.body else 'the server does not say'
        yield Finding(Level.UNKNOWN, 'usage', f'{why}: tokens and cost are estimates')


def check_limit(probed: Probed) -> Iterator[Finding]:
    """Checks that an answer ends at the limit of tokens, with this reason."""
    reply = probed.ask(user('Count from 1 to 100, separated by spaces.'), tokens=_FEW_TOKENS)
    what, counted = 'max_tokens', reply.tokens('completion')
    words = len(reply.text.split())
    too_long = words > 2 * _FEW_TOKENS if counted is None else counted > 2 * _FEW_TOKENS
    if too_long:
        kind = 'words' if counted is None else 'tokens'
        says = f'{_FEW_TOKENS} tokens were allowed, {counted or words} {kind} came: answers are longer than they may be'
        yield Finding(Level.FAULT, what, says)
    elif reply.finish_reason == CUT:
        yield Finding(Level.OK, what, 'kept to, and finish_reason says so')
    elif _looks_cut(reply.text):
        says = f'kept to, but finish_reason is {reply.finish_reason}: results cannot say which answers were cut'
        yield Finding(Level.UNKNOWN, what, says)
    else:
        yield Finding(Level.UNKNOWN, what, f'the answer is too short to tell: {reply.text.strip()[:40]!r}')


def _looks_cut(text: str) -> bool:
    digits = re.sub(r'\D', '', text[:_COUNT_CHARS])  # a model whose digits are tokens may leave the spaces out
    return digits.startswith('12') and not digits.endswith('99100')


def check_system_role(probed: Probed) -> Iterator[Finding]:
    """Checks that a system prompt is accepted, and reaches the model."""
    order = f'Whatever you are asked, reply with the single word {_SYSTEM_WORD} and nothing else, in capital letters.'
    system: dict[str, Any] = {'role': 'system', 'content': order}
    try:
        reply = probed.ask(system, QUESTION)
    except Failure as failure:
        if failure.reason != 'infra:bad_request':
            raise
        says = f"refused: {failure.words}. For T-Eval set system_role='user' in the prompt template"
        yield Finding(Level.FAULT, 'system role', says)
        return
    if _SYSTEM_WORD in visible_text(Answer(reply.text)).text:
        yield Finding(Level.OK, 'system role', 'taken and heeded')
    elif probed.is_dropped(reply, QUESTION):
        says = "taken, but the chat template leaves it out. For T-Eval set system_role='user' in the prompt template"
        yield Finding(Level.FAULT, 'system role', says)
    else:
        yield Finding(Level.UNKNOWN, 'system role', 'taken; the answer does not show whether the model saw it')
