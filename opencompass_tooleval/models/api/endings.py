"""Classifies how servers end answers, and what their errors mean, with one table for each. Imports no OpenCompass."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT, STOP
from opencompass_tooleval.core.text.redaction import redact

FILTERED, BROKEN = 'content_filter', 'error'
_MAX_WORD = 32
_READ_CHARS = 10_000
_ENDS: Mapping[str, tuple[str, ...]] = {
    # Mistral has model_length, Anthropic max_tokens and model_context_window_exceeded, Gemini MAX_TOKENS
    CUT: (
        *(CUT, 'max_tokens', 'max_output_tokens', 'max_completion_tokens', 'max_new_tokens', 'model_length'),
        *('model_context_window_exceeded', 'context_length_exceeded', 'token_limit'),
    ),
    STOP: (STOP, 'end_turn', 'stop_sequence', 'eos', 'eos_token', 'complete', 'completed'),
    FILTERED: (
        *(FILTERED, 'content_filtered', 'sensitive', 'safety', 'image_safety', 'prohibited_content', 'blocklist'),
        *('recitation', 'spii', 'guardrail_intervened', 'error_toxic', 'refusal'),
    ),
    # SGLang and vLLM have abort, DeepSeek insufficient_system_resource, Zhipu network_error; the last are for answers
    # of Responses and Messages that are not whole
    BROKEN: (
        *(BROKEN, 'abort', 'aborted', 'cancelled', 'canceled', 'network_error', 'insufficient_system_resource'),
        *('incomplete', 'failed', 'queued', 'in_progress', 'pause_turn'),
    ),
}
"""End of an answer, as stored -> the servers' words for it, in any case."""
_END_OF = {word: end for end, words in _ENDS.items() for word in words}
_CALLS = ('tool_calls', 'tool_call', 'tool_use', 'function_call')
_MALFORMED = 'malformed_function_call'
_OF_MODEL = ('parse_error', 'repetition', _MALFORMED)
_KNOWN = frozenset({CUT, STOP, FILTERED, *_CALLS, *_OF_MODEL})


def end_of(value: Any) -> str | None:
    """Returns how an answer ended: ``stop``, ``length``, ``content_filter`` or the server's word (cut to 32 letters).

    Args:
        value: The ``finish_reason`` of a choice. If it is not a string, or is empty, None is returned.
    """
    text = value[:_READ_CHARS].strip() if isinstance(value, str) else ''
    text = (redact(text) if text and is_unknown(text) else text)[: 3 * _MAX_WORD]
    if text.lower().startswith(FILTERED):  # Gemini: 'content_filter: PROHIBITED_CONTENT'
        return FILTERED
    if _MALFORMED in text.lower():  # 'function_call_filter: MALFORMED_FUNCTION_CALL'
        return _MALFORMED
    word = text[:_MAX_WORD]
    end = _END_OF.get(word.lower(), word)
    return word if end == BROKEN else end or None


def is_broken(end: str | None) -> bool:
    """Tests if the server broke off the answer, given a result of :func:`end_of`."""
    return _END_OF.get(str(end).lower()) == BROKEN


def is_models_failure(end: str | None) -> bool:
    """Tests if the model ended its answer with an unreadable call or in a loop: the answer counts, even if empty."""
    return str(end).lower() in _OF_MODEL


def is_unknown(end: Any) -> bool:
    """Tests if a stored ``finish_reason`` is unknown: the answer counts, and a note names the reason."""
    return isinstance(end, str) and end.lower() not in _KNOWN and end.lower() not in _END_OF


_OF_CODE: Mapping[str, int | str] = {
    # OpenAI, DashScope, Moonshot, one-api, OpenAI's monthly limit, Volcengine, Zhipu, MiniMax
    **dict.fromkeys(
        ('insufficient_quota', 'arrearage', 'exceeded_current_quota_error', 'insufficient_user_quota'), 402
    ),
    **dict.fromkeys(('billing_hard_limit_reached', 'billing_not_active', 'accountoverdueerror', '1113', '1008'), 402),
    **dict.fromkeys(('insufficient_balance', 'insufficient_balance_error', 'insufficient_credits'), 402),
    **dict.fromkeys(('payment_required', 'billing_error', 'credit_balance_exhausted'), 402),
    **dict.fromkeys(('organization_spend_limit_exceeded', 'project_spend_limit_exceeded'), 402),
    **dict.fromkeys(('enforced_spend_limit_reached', 'contract_spend_limit_reached'), 402),
    'organization_usage_limit_exceeded': 402,
    **dict.fromkeys(('invalid_api_key', 'invalidapikey', 'api_key_invalid', 'authentication_error'), 401),
    **dict.fromkeys(('invalid_authentication_error', 'unauthenticated', 'incorrect_api_key_error'), 401),
    **dict.fromkeys(('model_not_found', 'modelnotfound', 'resource_not_found_error', 'not_found_error'), 404),
    **dict.fromkeys(('rate_limit_exceeded', 'rate_limit_reached_error', 'throttling', 'resource_exhausted'), 429),
    **{'rate_limit_error': 429, 'permission_error': 403, 'request_too_large': 413, 'overloaded_error': 529},
    **dict.fromkeys(('unsupported_parameter', 'unsupported_value', 'invalid_parameter_error'), 400),
    **dict.fromkeys(
        ('invalid_request_error', 'invalid_function_parameters', 'invalidparameter', 'invalid_prompt'), 400
    ),
    **dict.fromkeys(('content_filter', 'content_policy_violation', 'responsibleaipolicyviolation', '1301'), FILTERED),
    **dict.fromkeys(('data_inspection_failed', 'datainspectionfailed', 'sensitive', 'moderation_blocked'), FILTERED),
    **dict.fromkeys(('content_filter_error', 'prompt_blocked', 'prohibited_content'), FILTERED),
    **dict.fromkeys(('cyber_policy', 'bio_policy', 'misalignment_policy_violation'), FILTERED),
}
"""Code of an error, in lower case -> the HTTP status with the same meaning, or :data:`FILTERED`."""
DECISIVE = (401, 402, 404, FILTERED)
"""Meanings that override the HTTP status."""
_BAIDU = {'17': 402, '19': 402, '110': 401, '111': 401, '4': 429, '18': 429, '336104': 404}
"""Baidu's values of ``error_code``; other servers use these numbers for other errors."""
_PHRASES = (
    (402, re.compile(r'(?:insufficient|not enough|no) (?:account )?(?:balance|credits?|funds|quota)', re.IGNORECASE)),
    (402, re.compile(r'\b(?:balance|credits?|quota) (?:is |are )?(?:used up|exhausted|insufficient|too low)', re.I)),
    (402, re.compile(r'余额不足|账户欠费|账号已欠费|\bspecified API usage limits\b')),
    (FILTERED, re.compile(r'\bblocked by content filtering policy\b', re.IGNORECASE)),
    (401, re.compile(r'\bapi key (?:is )?(?:not valid|invalid)|\b(?:invalid|incorrect) api key', re.IGNORECASE)),
)
"""Meanings of error texts, for errors with an unknown code. Only for short texts: a long one may contain the prompt."""
_MAX_PHRASE = 200

_CODES = ('error_code', 'code', 'status_code', 'type', 'status')
_MESSAGES = ('message', 'error_msg', 'status_msg', 'msg', 'detail')
_MAX_CODE = 80

_PARAMETER = re.compile(
    r'\b(?:parameters?|arguments?|values?|fields?)(?:\.|\s{0,3}:?\s{0,3}\[?["\'`])(?P<name>\w{1,40})'
    r'|["\'`](?P<first>\w{1,40})["\'`] (?:is|was) (?:not supported|unsupported|deprecated)'
    r'|argument supplied: (?P<supplied>\w{1,40})|\binvalid (?P<only>\w{1,40}): only '
    r'|^(?P<extra>\w{1,40}): extra inputs are not permitted',
    re.IGNORECASE,
)
_REFUSED = ('unsupported_parameter', 'unsupported_value', 'unknown_parameter', 'invalid_parameter_error')
_REFUSAL = re.compile(
    r'not support|unsupported|unrecognized request arg|(?:deprecated|only .{1,40} allowed) for this model'
    r'|^\w{1,40}: extra inputs are not permitted',
    re.IGNORECASE,
)
"""Beginnings of messages that refuse a setting, for servers whose codes do not say so."""
_KNOWN_SETTING = re.compile(
    r'temperature|tool_choice|parallel_tool_calls|max_(?:completion_)?tokens|top_\w{1,12}|min_p|seed|random_seed|n|stop|'
    r'\w{1,20}_penalty|logit_bias|logprobs|reasoning_effort|reasoning_format|thinking_budget|enable_thinking|'
    r'chat_template_kwargs'
)
"""Settings that the text of an error may name, among values and members of messages and schemas."""
SENT_BY_DEFAULT = ('temperature', 'tool_choice', 'parallel_tool_calls')
"""Members of requests that a config need not set, and may leave out."""
_SETTING = re.compile(r'(?!(?:messages|model|tools|prompt|input)$)[a-z]\w{0,39}')
TOKEN_LIMITS = ('max_tokens', 'max_completion_tokens')
"""Members of a request that set its token limit."""


@dataclass(frozen=True)
class ServerError:
    """An error that a server reported.

    Attributes:
        message: Its text; ``''`` if there is none.
        code: Its code or type; ``''`` if there is none.
        means: The HTTP status with the same meaning, or :data:`FILTERED`; None if its codes are unknown.
        parameter: The setting of the request that the server refused; ``''`` if it names none.
    """

    message: str
    code: str = ''
    means: int | str | None = None
    parameter: str = ''

    @property
    def fix(self) -> str:
        """The setting of the model's config that fixes a refused parameter; ``''`` if it names none."""
        if self.parameter in TOKEN_LIMITS:
            other = TOKEN_LIMITS[self.parameter == TOKEN_LIMITS[0]]
            return f'set token_limit_key={other!r} in the config of the model'
        if self.parameter in SENT_BY_DEFAULT:
            return f'set openai_extra_kwargs=dict({self.parameter}=None) in the config of the model, to leave it out'
        what = f'set {self.parameter} by openai_extra_kwargs in the config of the model; None leaves it out'
        return what if self.parameter else ''


def error_in(value: Any) -> ServerError | None:
    """Finds the error in the JSON of a reply: in ``error``, in the first choice, at the top level, or in a list.

    Args:
        value: The JSON; an object with choices is searched only in its ``error`` members.
    """
    value = value[0] if isinstance(value, list) and value else value
    if not isinstance(value, dict):
        return None
    choices = value.get('choices')
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    for error in (value.get('error'), choice.get('error')):
        if error:
            return _read(error if isinstance(error, Mapping) else {'message': str(error), 'code': value.get('code')})
    inner = value.get('base_resp')  # MiniMax's, which is also present without an error
    value = inner if isinstance(inner, Mapping) else value
    return None if choices or not any(isinstance(value.get(name), str) for name in _MESSAGES) else _read(value)


def _read(error: Mapping[str, Any]) -> ServerError:
    details = error.get('details')
    reasons = [part.get('reason') for part in details if isinstance(part, Mapping)] if isinstance(details, list) else []
    reasons += [details.get(_CODES[0])] if isinstance(details, Mapping) else []  # Anthropic's
    named = [code for code in (*map(error.get, _CODES[:3]), *reasons, *map(error.get, _CODES[3:])) if code]
    codes = [redact(str(code)[:_READ_CHARS])[:_MAX_CODE].lower() for code in named if isinstance(code, (str, int))]
    message = next((text for name in _MESSAGES if isinstance(text := error.get(name), str) and text.strip()), '')
    known = (_BAIDU.get(str(error.get('error_code'))), *map(_meaning, codes))
    meanings = [meaning for meaning in known if meaning is not None]
    means = next((meaning for meaning in meanings if meaning in DECISIVE), meanings[0] if meanings else None)
    if means in (None, 400) and len(message) <= _MAX_PHRASE:
        means = next((status for status, phrase in _PHRASES if phrase.search(message)), means)
    return ServerError(message, codes[0] if codes else '', means, _parameter(error.get('param'), codes, message))


def _meaning(code: str) -> int | str | None:
    is_status = len(code) == 3 and code.isascii() and code.isdigit() and 400 <= int(code) < 600
    return int(code) if is_status else _OF_CODE.get(code)


def _parameter(named: Any, codes: Sequence[str], message: str) -> str:
    """Returns the refused setting, from ``param`` or the beginning of the message; '' if neither names one."""
    if not (set(codes).intersection(_REFUSED) or _REFUSAL.search(message[:80])):
        return ''
    match = _PARAMETER.search(message[:500])
    name = match and next(filter(None, match.groups()))
    setting = _SETTING if named or set(codes).intersection(_REFUSED) else _KNOWN_SETTING
    name = named or name
    return name if isinstance(name, str) and setting.fullmatch(name) else ''
