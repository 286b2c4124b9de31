"""Classifies failed requests to a server, and says if another try may help. Imports no OpenCompass."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.redaction import excerpt
from opencompass_tooleval.models.api.endings import DECISIVE, FILTERED, ServerError, error_in

MAX_WAIT = 60.0
"""Maximum pause between two tries, in seconds, unless the server requests a longer one."""

_READ_CHARS = 10_000
"""Number of characters of an error text that are searched for its cause."""

_LENGTH_HINTS = (
    'context_length',  # OpenAI, vLLM, DeepSeek
    'context length',  # OpenAI, vLLM, SGLang
    'maximum context',
    'max_model_len',
    'context_size',  # llama.cpp: exceed_context_size_error
    'context size',  # llama.cpp: exceeds the available context size
    'context window',  # llama-cpp-python, Groq
    'exceed context limit',  # Anthropic
    'input token count',  # Gemini: The input token count (3475108) exceeds the maximum number of tokens allowed (...)
    'range of input length',  # DashScope: Range of input length should be [1, 129024]
    'model token limit',  # Moonshot
    'prompt exceeds max length',  # Zhipu
    'too large for model',  # Mistral
    'max_new_tokens` must be',  # TGI: `inputs` tokens + `max_new_tokens` must be <= 2048
    '`inputs` must have less',
    'max_seq_len',  # TensorRT-LLM
    'max_input_len',
    'session_len',  # LMDeploy
)
_VAGUE_LENGTH_HINTS = ('too long', 'reduce the length')
"""Texts in the error of a refused request; a server with an internal error may use them for other causes."""
_FILTER_HINTS = ('content_filter', 'content management policy', 'inappropriate content', 'data_inspection', 'flagged')
_NO_TOOLS = re.compile(
    r'support tool use|(?:does|do) not support (?:tools|function)|requires --jinja|requires --enable-auto-tool-choice'
)
NO_TOOLS = 'this model or server takes no tools'
"""Beginning of the words of a failure for a model without tool calls, or a server without a parser for them."""
_DURATION = re.compile(r'(?:\d{1,9}(?:\.\d{1,9})?(?:ms|h|m|s))+')
_PART = re.compile(r'([\d.]+)(ms|h|m|s)')
_SECONDS = {'h': 3600.0, 'm': 60.0, 's': 1.0, 'ms': 0.001}
_RESET, _REMAINING = 'x-ratelimit-reset', 'x-ratelimit-remaining'
_SHORTEST_RESET = 1.0
_TAKE_NO_TOOLS = (400, 404, 422, 500)
"""Statuses of servers and models without tools. Others, such as 429 and 503, may be answered later."""
_MARKUP = re.compile(r'<[^<>]{0,500}>')
_LONGEST_ERROR = 1 << 16
PAGE = 'a page of HTML'
"""Beginning of the words of a failure for a page in place of a reply with status 200."""
_TITLE = re.compile(r'<title[^<>]{0,200}>([^<]{1,500})', re.IGNORECASE)
_TITLE_CHARS = 80
_EMPTY = ServerError('')

_NO_SERVER_BEHIND = {502, 521, 522, 523}
"""Statuses of a proxy that cannot reach the server."""


class Failure(Exception):
    """One try failed.

    Args:
        reason: ``infra:...``.
        words: Description in one line, without keys.
        again: True if another try may help.
        wait: Seconds that the server requests to wait, or None.
        ends: True if the task must end: no request can succeed until the user changes something.
        no_connection: True if no server was reached.
        usage: Usage that the server reported for the try; None if it reported none.
        sent: True if a server may have received the request.

    Attributes:
        body: The server's error reply, or its message if the server failed; '' without one.
        answer: An empty answer with the parts that the server sent before the failure; None if it sent none.
        status: The HTTP status of the error, or of its code; None without a status, and for an HTML page with 403.
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
        self.body = ''
        self.answer: Answer | None = None
        self.status: int | None = None

    @property
    def may_refuse_members(self) -> bool:
        """True if the server may have refused a part of the request: also a template's error, with status 500."""
        is_refusal = self.reason == 'infra:bad_request' and not self.ends
        return is_refusal or (self.reason == 'infra:server' and self.status == 500)

    @property
    def cost(self) -> Usage | None:
        """Usage of this try, to be added to that of the answer; None if nothing was sent."""
        return (self.usage or Usage()) if self.sent else None


def retry_after(value: str | None) -> float | None:
    """Returns the seconds that ``Retry-After`` requests, without an upper limit; None if it is invalid.

    Args:
        value: Seconds, a duration such as ``1m30s``, a Unix time in seconds or milliseconds, or a date as in HTTP.
    """
    value = (value or '').strip()[:64]
    try:
        seconds = float(value)
        times = (seconds / unit for unit in (1, 1000))  # in milliseconds, a Unix time has three digits more
        seconds = next((unix - time.time() for unix in times if 10**9 <= unix < 10**11), seconds)
    except ValueError:
        if _DURATION.fullmatch(value):
            return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(value))
        try:
            date = parsedate_to_datetime(value)
            seconds = (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp() - time.time()
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _wait(status: int, headers: Mapping[str, str]) -> float | None:
    """Returns the seconds that the headers of an error ask to wait; None without such a header."""
    for name, unit in (('retry-after-ms', 'ms'), ('retry-after', '')):
        if (seconds := retry_after(f'{headers.get(name, "")}{unit}')) is not None:
            return seconds
    if status not in (429, 503):
        return None
    named = {name.lower(): value for name, value in headers.items()}
    kinds = {name.removeprefix(_RESET): retry_after(named[name]) for name in named if name.startswith(_RESET)}
    resets = {kind: seconds for kind, seconds in kinds.items() if seconds is not None}
    used_up = [seconds for kind, seconds in resets.items() if named.get(f'{_REMAINING}{kind}', '0').strip() == '0']
    longest = max(used_up, default=0)
    return longest if longest >= _SHORTEST_RESET else None  # a shorter one would end all tries within moments


def page_of(body: str) -> str:
    """Describes a page of HTML for a message, by its title; '' for another text."""
    if not body[:100].lstrip().lower().startswith(('<!doctype html', '<html')):
        return ''
    title = _TITLE.search(body[:_READ_CHARS])
    return f'{PAGE} with the title "{excerpt(title[1], _TITLE_CHARS)}"' if title else PAGE


def failure_of_status(status: int, headers: Mapping[str, str], body: str) -> Failure:
    """Classifies the error of a server.

    Args:
        status: HTTP status.
        headers: Headers by their names in lower case.
        body: Body of the reply.
    """
    is_page = body[:100].lstrip().startswith('<')
    return _failure(status, _error_in(body), body, _wait(status, headers), is_page, headers.get('location', ''))


def failure_of_error(error: ServerError, text: str) -> Failure:
    """Classifies an error in a reply with status 200.

    Args:
        error: The error.
        text: The JSON of the error, shown if it has no message.
    """
    return _failure(200, error, text)


def _error_in(body: str) -> ServerError:
    try:
        return (error_in(load_json(body)) if len(body) <= _LONGEST_ERROR else None) or _EMPTY
    except (ValueError, RecursionError):
        return _EMPTY


def _failure(
    sent_status: int,
    error: ServerError,
    body: str,
    wait: float | None = None,
    is_page: bool = False,
    location: str = '',
) -> Failure:
    """Classifies an error by what its code means, its HTTP status, and its text, in this order."""
    status = sent_status if sent_status != 200 else 500
    means = error.means if sent_status == 200 or error.means in DECISIVE else None
    status = means if isinstance(means, int) else status
    shown = excerpt(error.message or _MARKUP.sub(' ', body[:_READ_CHARS]))
    words = f'status {sent_status}' if sent_status != 200 else 'an error instead of an answer'
    words += f' (status {status})' if status not in (sent_status, 500) else ''
    words += f': {shown}' + (
        f' ({excerpt(error.code, 80)})' if error.message and error.code not in ('', str(status)) else ''
    )
    if location and 300 <= status < 400:
        words = f'status {status}: redirects to {excerpt(location)}, which is not followed, since it would get the key'
    is_about_tools = _NO_TOOLS.search(error.message[:_READ_CHARS] or body[:_READ_CHARS])
    if takes_no_tools := bool(is_about_tools) and status in _TAKE_NO_TOOLS:
        words, status = f'{NO_TOOLS}: {words}', 400
    failure = _classified(status, means == FILTERED, body[:_READ_CHARS].lower(), words, wait, is_page)
    failure.body = (error.message if status >= 500 else '') or body  # the JSON may name members, such as type
    failure.status = None if is_page and status == 403 else status
    failure.no_connection = failure.no_connection and sent_status != 200
    if failure.reason == 'infra:bad_request' and error.fix and not takes_no_tools:
        failure.words = f'{words}; {error.fix}'
    return failure


def _classified(status: int, is_filtered: bool, text: str, words: str, wait: float | None, is_page: bool) -> Failure:
    is_refusal = status < 500 and status not in (408, 409, 425, 429)
    if is_filtered or (is_refusal and status not in (401, 402, 404) and any(hint in text for hint in _FILTER_HINTS)):
        return Failure('infra:filter', words, again=False)
    # A page of HTML comes from a proxy or a firewall, which does not check keys.
    if status in (401, 402, 404) or (status == 403 and not is_page):
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
        )  # llama.cpp also reports this if parallel requests fill its cache
    return Failure('infra:server', words, wait=wait, no_connection=status in _NO_SERVER_BEHIND)
