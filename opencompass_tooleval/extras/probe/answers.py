"""Checks the key and plain answers: their contents, and what prompts without tools need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT, Answer, visible_text
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.first_answer import field_of_thoughts, has_tag
from opencompass_tooleval.models.api.probed import (
    FEW_TOKENS,
    MAX_OUT_LEN,
    QUESTION,
    Probed,
    server_fault,
    server_fine,
    server_unknown,
    user,
)
from opencompass_tooleval.models.api.reachable import NO_ACCESS, RIGHT_KEY

_WRONG_KEY = 'tooleval-doctor-wrong-key'
_NO_THINKING = 'extra_body=dict(chat_template_kwargs=dict(enable_thinking=False))'
_COUNT_CHARS = 1000
_SYSTEM_WORD = 'BANANA'


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
    if isinstance(reply, Failure):
        # A server that rejects the content has accepted the key; a busy server may not have read the key.
        return {400: True, 422: True, 401: False, 403: False}.get(reply.status or 0)
    return True


def check_key(probed: Probed) -> Iterator[Finding]:
    """Checks that the key is accepted and a wrong key refused; with a question, if the list of models is public."""
    accepted, wrong = _accepts(probed, None), None
    if accepted is not False:
        wrong = _accepts(probed, _WRONG_KEY)
    if accepted is not False and wrong is not False:
        accepted = _answers(probed, None)
        wrong = None if accepted is not True else _answers(probed, _WRONG_KEY)
    if accepted is False:
        which = 'the key is refused' if probed.endpoint.key else 'no key is set, and the server requires one'
        yield server_fault('key', f'{which}: {RIGHT_KEY}')
    elif wrong is None:
        yield server_unknown('key', 'not checked: the list of models needs no key, and the server answered no question')
    else:
        yield server_fine('key', 'the server accepts any key' if wrong else 'accepted; a wrong key is refused')


def check_thoughts(probed: Probed) -> Iterator[Finding]:
    """Checks where thoughts are returned, and that they end."""
    reply = probed.plain
    assert reply is not None
    thoughts, text = field_of_thoughts(reply), reply.text
    in_text = has_tag(text)
    if (in_text and not visible_text(Answer(text)).text) or (not text.strip() and reply.finish_reason == CUT):
        says = (
            f'they do not end within {MAX_OUT_LEN} tokens, for a one-word question: raise max_out_len of the data '
            f'sets, or turn thoughts off: {_NO_THINKING}'
        )
        yield server_fault('thoughts', says)
    elif thoughts:
        yield server_fine('thoughts', f'in {thoughts}, separate from the answer')
    elif in_text:
        yield server_fine('thoughts', 'in the answer, in tags that mark them as thoughts')
    else:
        yield server_fine('thoughts', 'none seen')


def check_usage(probed: Probed) -> Iterator[Finding]:
    """Checks that the server counts tokens."""
    reply = probed.plain
    assert reply is not None
    prompt, completion = reply.tokens('prompt'), reply.tokens('completion')
    if prompt and completion:
        yield server_fine('usage', 'tokens of prompt and answer are counted')
    else:
        why = 'the server streams without a request to do so' if not reply.body else 'the server does not report them'
        yield server_unknown('usage', f'{why}: tokens and cost are estimates')


def check_limit(probed: Probed) -> Iterator[Finding]:
    """Checks that an answer stops at the token limit, with this reason."""
    reply = probed.ask(user('Count from 1 to 100, separated by spaces.'), tokens=FEW_TOKENS)
    what, counted = 'max_tokens', reply.tokens('completion')
    words = len(reply.text.split())
    too_long = words > 2 * FEW_TOKENS if counted is None else counted > 2 * FEW_TOKENS
    if too_long:
        kind = 'words' if counted is None else 'tokens'
        says = f'{FEW_TOKENS} tokens were allowed, but {counted or words} {kind} came: the limit is ignored'
        yield server_fault(what, says)
    elif reply.finish_reason == CUT:
        yield server_fine(what, 'respected, and finish_reason says so')
    elif _looks_cut(reply.text):
        says = f'respected, but finish_reason is {reply.finish_reason}: results cannot show which answers were cut'
        yield server_unknown(what, says)
    else:
        yield server_unknown(what, f'the answer is too short to check this: {reply.text.strip()[:40]!r}')


def _looks_cut(text: str) -> bool:
    digits = re.sub(r'\D', '', text[:_COUNT_CHARS])  # a model with digits as tokens may leave out the spaces
    return digits.startswith('12') and not digits.endswith('99100')


def check_system_role(probed: Probed) -> Iterator[Finding]:
    """Checks that a system prompt is accepted and reaches the model."""
    order = f'Whatever you are asked, reply with the single word {_SYSTEM_WORD} and nothing else, in capital letters.'
    system: dict[str, Any] = {'role': 'system', 'content': order}
    try:
        reply = probed.ask(system, QUESTION)
    except Failure as failure:
        if failure.reason != 'infra:bad_request':
            raise
        says = f"refused: {failure.words}. For T-Eval set system_role='user' in the prompt template"
        yield server_fault('system role', says)
        return
    if _SYSTEM_WORD in visible_text(Answer(reply.text)).text:
        yield server_fine('system role', 'accepted and followed')
    elif probed.is_dropped(reply, QUESTION):
        says = "accepted, but the chat template leaves it out. For T-Eval set system_role='user' in the prompt template"
        yield server_fault('system role', says)
    else:
        yield server_unknown('system role', 'accepted; the answer does not show if the model saw it')
