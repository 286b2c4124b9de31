"""Why one try to get an answer from a server failed, and whether another may help. Imports no OpenCompass."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime

from opencompass_tooleval.core.usage import Usage
from opencompass_tooleval.models.api.redaction import excerpt

MAX_WAIT = 60.0
"""Longest pause between two tries, in seconds, unless the server asks for a longer one."""

_READ_CHARS = 10_000
"""As much of an error is searched for its cause."""

_LENGTH_HINTS = (
    'context_length',  # OpenAI, vLLM, DeepSeek
    'context length',  # OpenAI, vLLM, SGLang
    'maximum context',
    'max_model_len',
    'context_size',  # llama.cpp: exceed_context_size_error
    'context size',  # llama.cpp: exceeds the available context size
    'context window',  # llama-cpp-python, Groq
    'input token count',  # Gemini: The input token count (3475108) exceeds the maximum number of tokens allowed (...)
    'range of input length',  # DashScope: Range of input length should be [1, 129024]
    'model token limit',  # Moonshot
    'prompt exceeds max length',  # Zhipu
    'too large for model',  # Mistral
)
_VAGUE_LENGTH_HINTS = ('too long', 'reduce the length')
"""Of a request that was refused; a server that fails may speak of time."""
_FILTER_HINTS = ('content_filter', 'content management policy', 'inappropriate content', 'data_inspection', 'flagged')
_NO_CREDIT = re.compile(r'"(?:code|type)"\s{0,9}:\s{0,9}"(?:insufficient_quota|arrearage)"')
"""OpenAI (429) and DashScope (400); as a code only, since an error may hold the prompt, which may speak of anything."""

_NO_SERVER_BEHIND = {502, 521, 522, 523}
"""What a proxy answers in place of a server that it cannot reach."""


class Failure(Exception):
    """One try failed.

    Args:
        reason: ``infra:...``.
        words: What happened, in one line without keys.
        again: Whether another try may help.
        wait: Seconds that the server asks to wait, or None.
        ends: Whether it ends the task: no request can succeed before a person does something.
        no_connection: Whether no server was reached.
        usage: What the server reported that the try cost; None if nothing.
        sent: Whether a server may have received the request.
    """

    def __init__(
        self,
        reason: str,
        words: str,
        again: bool = True,
        wait: float | None = None,
        ends: bool = False,
        no_connection: bool = False,
        usage: Usage | None = None,
        sent: bool = True,
    ) -> None:
        super().__init__(f'{reason}: {words}')
        self.reason = reason
        self.words = words
        self.again = again
        self.wait = wait
        self.ends = ends
        self.no_connection = no_connection
        self.usage = usage
        self.sent = sent

    @property
    def cost(self) -> Usage | None:
        """What the try adds to the usage of the answer; None if nothing was sent."""
        return (self.usage or Usage()) if self.sent else None


def retry_after(value: str | None) -> float | None:
    """Seconds that a ``Retry-After`` asks to wait, however many; None if it says nothing of use.

    Args:
        value: Seconds, or a date as in HTTP.
    """
    value = (value or '')[:64]
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
            seconds = (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp() - time.time()
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def failure_of_status(status: int, headers: Mapping[str, str], body: str) -> Failure:
    """What the error of a server means.

    Args:
        status: Of HTTP.
        headers: By their names in lower case.
        body: What the server says.
    """
    words = f'status {status}: {excerpt(body)}'
    text = body[:_READ_CHARS].lower()
    wait = retry_after(headers.get('retry-after'))
    is_refusal = status < 500 and status not in (408, 409, 425, 429)
    if status in (401, 402, 404) or _NO_CREDIT.search(text):
        return Failure('infra:bad_request', words, again=False, ends=True)
    if is_refusal and any(hint in text for hint in _FILTER_HINTS):
        return Failure('infra:filter', words, again=False)
    if status == 403:
        return Failure('infra:bad_request', words, again=False, ends=True)
    if status == 413 or (is_refusal and any(hint in text for hint in (*_LENGTH_HINTS, *_VAGUE_LENGTH_HINTS))):
        return Failure('infra:truncated', words, again=False)
    if is_refusal:
        return Failure('infra:bad_request', words, again=False)
    if status == 408:
        return Failure('infra:timeout', words, wait=wait)
    if status == 429:
        return Failure('infra:rate_limit', words, wait=wait)
    if status >= 500 and any(hint in text for hint in _LENGTH_HINTS):
        return Failure(
            'infra:truncated', words, wait=wait
        )  # llama.cpp says so too where parallel requests fill its cache
    return Failure('infra:server', words, wait=wait, no_connection=status in _NO_SERVER_BEHIND)
