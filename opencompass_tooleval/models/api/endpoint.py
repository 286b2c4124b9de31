"""Asks a server a few short questions before a run: is it there, has it the model, what do its answers show.

``tooleval run`` asks the first questions (:func:`first_answer`), ``tooleval doctor --endpoint`` these and further ones.
All are bounded in number, time and tokens. Imports no OpenCompass.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from opencompass_tooleval.core.calls.answer import CUT, ONLY_THOUGHTS, Answer
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.sent import CONTENT, MEMBERS, has_thoughts
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.core.model_name import is_openais_reasoning
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.redaction import excerpt, redact, remember_keys
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.findings.kinds import Level
from opencompass_tooleval.models.api.endings import TOKEN_LIMITS
from opencompass_tooleval.models.api.event_loop import run
from opencompass_tooleval.models.api.failure import PAGE, Failure
from opencompass_tooleval.models.api.http_client import HttpClient, HttpReply, check_base_url
from opencompass_tooleval.models.api.reply import Reply, read_message
from opencompass_tooleval.models.api.wires import WIRES
from opencompass_tooleval.models.api.wires.chat import CHAT
from opencompass_tooleval.models.api.wires.wire import Choice, Wire

Turn = Mapping[str, Any] | Message
"""A message of chat as a request has it, or a message that a wire other than chat encodes."""
OK, UNKNOWN, FAULT = Level.OK, Level.UNKNOWN, Level.FAULT

MAX_OUT_LEN = 512
"""Token limit of an answer in most datasets (the published setting)."""
FEW_TOKENS = 16
"""Token limit of short answers; Responses refuses a lower one."""
_ENOUGH = 64
_SECONDS_TO_CONNECT = 20.0
_SLACK = 300.0
"""Extra seconds to wait: requests have their own timeouts, but may end late on a busy machine."""

NO_ACCESS = (401, 403)
_MISSING, _NOT_IMPLEMENTED = 404, 501
_BUSY = ('infra:rate_limit', 'infra:server', 'infra:timeout')
RIGHT_KEY = 'put the right one into $OPENAI_API_KEY, or name another with --key-env'
SET_KEY = 'put it into $OPENAI_API_KEY, or name another variable with --key-env'
_SILENT = ('(refused)', 'does not resolve', 'no connection in time')
"""Texts of failures that no other URL on the same host and port can fix."""
_ADVICE = {
    '(refused)': '; nothing listens there: start the server, or correct host and port',
    'WRONG_VERSION_NUMBER': '; the server does not speak TLS at this port: write http://',
}
"""Text of a failure -> its fix."""
_TOOLS = ToolSet([ToolSchema('get_time', 'Returns the time.', {'type': 'object', 'properties': {}})])
_MOST_NAMED, _MOST_CHARS = 8, 80
_TAG = re.compile(r'</?think(?:ing)?>|<\|channel\|>', re.IGNORECASE)
_TAG_CHARS = 20_000


def user(text: str) -> dict[str, Any]:
    """Returns a user's message."""
    return {'role': 'user', 'content': text}


QUESTION = user('Reply with the single word: ready')


def shown(check: str, *rows: tuple[Any, Level, str]) -> Finding:
    """Returns the finding of a check: the first row that applies.

    Args:
        check: Its subject, such as ``tool calls``.
        rows: Condition, level and text. A function as a condition is called only if no earlier row applies.
    """
    level, text = next(row[1:] for row in rows if (row[0]() if callable(row[0]) else row[0]))
    return Finding(f'server:{check.replace(" ", "_")}', level, check, text)


@dataclass(frozen=True)
class _Turns:
    """Messages that a wire encodes as it encodes a conversation. (A conversation is OpenCompass's.)"""

    turns: list[Message]

    def messages(self) -> list[Message]:
        """Returns the messages."""
        return self.turns

    def requested_call(self, call: ToolCall) -> dict[str, Any]:
        """Returns a call in the server's format."""
        return {'name': call.name, 'arguments': json.dumps(call.arguments)}


@dataclass
class Endpoint:
    """A server and a model on it.

    Args:
        url: The base URL, such as ``http://127.0.0.1:8000/v1``.
        model: Its name on the server.
        key: The API key; '' sends none.
        timeout: Maximum number of seconds per request.
        seconds: Maximum number of seconds for all requests.
        wire: The request format.

    Attributes:
        requests: Number of requests so far.
        prompt_tokens, completion_tokens: Sums over all replies that report tokens.
    """

    url: str
    model: str
    key: str = ''
    timeout: float = 60.0
    seconds: float = 300.0
    wire: Wire = CHAT
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    _end: float = field(init=False, repr=False)
    _client: HttpClient = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Removes ``/chat/completions`` from the URL, and starts the clock.

        Raises:
            ValueError: The URL is invalid.
        """
        self.url = check_base_url(self.url).removesuffix('/chat/completions').removesuffix(self.wire.path)
        self._end = time.monotonic() + self.seconds
        self._client = HttpClient(_SECONDS_TO_CONNECT)
        remember_keys([self.key])

    def close(self) -> None:
        """Closes the connections."""
        run(self._client.close(), _SLACK)

    @property
    def shown(self) -> str:
        """The URL without keys."""
        return redact(self.url)

    def get(self, path: str, key: str | None = None, url: str = '') -> Any:
        """Returns the JSON of a page below the base URL.

        Args:
            path: A path such as ``models``.
            key: Used in place of the key.
            url: Used in place of the base URL.

        Raises:
            Failure: The request failed, or the reply is not JSON.
        """
        (exchanged,) = self._exchange('GET', f'{url or self.url}/{path}', [None], self._headers(key))
        return _page(exchanged)

    def post(self, path: str, members: Mapping[str, Any]) -> Any:
        """Returns the JSON of a page at the root of the server, without ``/v1``.

        Args:
            path: A path such as ``/tokenize``.
            members: Members of the request in addition to ``model``.

        Raises:
            Failure: The request failed, or the reply is not JSON.
        """
        body = json.dumps({'model': self.model, **members}).encode('ascii')
        headers = {**self._headers(None), 'Content-Type': 'application/json'}
        (exchanged,) = self._exchange('POST', self.url.removesuffix('/v1') + path, [body], headers)
        return _page(exchanged)

    def ask_all(
        self,
        questions: Sequence[Sequence[Turn]],
        within: float | None = None,
        key: str | None = None,
        **settings: Any,
    ) -> list[Reply | Failure]:
        """Sends all requests at the same time, each once, and returns the replies in the order of the questions.

        Args:
            questions: One conversation per request.
            within: Maximum number of seconds, if lower than ``timeout``.
            key: Used in place of the key.
            settings: Further members of each request; None leaves a member out.
        """
        headers = {**self._headers(key), 'Content-Type': 'application/json'}
        requests = ({'model': self.model, **self._asked(messages), **settings} for messages in questions)
        members = ({name: value for name, value in request.items() if value is not None} for request in requests)
        bodies = [json.dumps(request).encode('ascii') for request in members]
        try:
            exchanged = self._exchange('POST', f'{self.url}{self.wire.path}', bodies, headers, within)
        except Failure as failure:
            return [failure for _ in questions]
        return [self._read(reply) for reply in exchanged]

    def _asked(self, messages: Sequence[Turn]) -> dict[str, Any]:
        """Returns the members of a request with the messages."""
        if self.wire is CHAT:
            return {'messages': list(messages)}
        turns = [one if isinstance(one, Message) else Message(one['role'], one['content']) for one in messages]
        encoded = self.wire.encode(_Turns(turns), ())  # type: ignore[arg-type]
        return {**self.wire.members, **json.loads(f'{{{encoded}}}')}

    def _headers(self, key: str | None) -> dict[str, str]:
        key = self.key if key is None else key
        return {**self.wire.headers, **({'Authorization': f'Bearer {key}'} if key else {})}

    def _exchange(
        self,
        method: str,
        url: str,
        bodies: Sequence[bytes | None],
        headers: Mapping[str, str],
        within: float | None = None,
    ) -> list[HttpReply | Failure]:
        """Sends all bodies at the same time."""
        timeout = min(self.timeout, self._end - time.monotonic(), self.timeout if within is None else within)
        if timeout <= 0:
            raise Failure('infra:timeout', f'not sent: the limit of {self.seconds:g} s is over', again=False)
        self.requests += len(bodies)

        async def send(body: bytes | None) -> HttpReply | Failure:
            try:
                return await self._client.request(method, url, headers, timeout, body)
            except Failure as failure:
                return failure

        async def send_all() -> list[HttpReply | Failure]:
            return list(await asyncio.gather(*map(send, bodies)))

        try:
            return run(send_all(), timeout + _SLACK)
        except TimeoutError:
            raise Failure('infra:timeout', f'no reaction within {timeout + _SLACK:.0f} s') from None

    def _read(self, exchanged: HttpReply | Failure) -> Reply | Failure:
        try:
            whole = _checked(exchanged)
            reply = read_message(whole.body, whole.content_type, self.wire.read, self.wire.reader)
        except Failure as failure:
            return failure
        self.prompt_tokens += reply.tokens('prompt') or 0
        self.completion_tokens += reply.tokens('completion') or 0
        return reply


def _page(exchanged: HttpReply | Failure) -> Any:
    """Returns the JSON of a page.

    Raises:
        Failure: The request failed, or the reply is not JSON.
    """
    reply = _checked(exchanged)
    try:
        return load_json(reply.body, bounded=True)
    except ValueError:
        raise Failure('infra:bad_response', f'no JSON: {excerpt(reply.text)}') from None


def _checked(exchanged: HttpReply | Failure) -> HttpReply:
    """Returns the reply.

    Raises:
        Failure: The request failed, or the status is not 200.
    """
    if isinstance(exchanged, Failure):
        raise exchanged
    if exchanged.status != 200:
        raise exchanged.failure()
    return exchanged


@dataclass
class Probed:
    """A server, and the results of the checks so far.

    Attributes:
        endpoint: The server.
        at_once: Number of simultaneous requests in the concurrency check.
        long_prompt: Tokens of the long prompt; 0 to send none.
        listed: Models that ``/models`` lists, by name; None if there is no list.
        settings: Members of each request. Those that the server refuses are removed.
        accepted: Settings of a config that replace those that the server refuses.
        limit: Name of the token limit in requests, such as ``max_tokens``.
        plain: The reply to :data:`QUESTION`.
        failure: The failure of :data:`QUESTION`; None if it succeeded.
        calls_if_forced: True if the server returned a call that the request demanded.
        called: A question and an answer with calls, if possible with thoughts; None without such an answer.
        refused: Members of the server's messages that it refuses when they are sent back.
        context: Length of the context in tokens, if known.
    """

    endpoint: Endpoint
    at_once: int = 16
    long_prompt: int = 6000
    listed: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=lambda: {'temperature': 0})
    accepted: dict[str, Any] = field(default_factory=dict)
    limit: str = 'max_tokens'
    plain: Reply | None = None
    failure: Failure | None = None
    calls_if_forced: bool = False
    called: tuple[Turn, Answer] | None = None
    refused: set[str] = field(default_factory=set)
    context: int | None = None

    def __post_init__(self) -> None:
        """Uses the settings of :class:`ToolEvalOpenAI` for reasoning models at OpenAI's own address."""
        wire = self.endpoint.wire
        is_reasoning = is_openais_reasoning(self.endpoint.url, self.endpoint.model)
        self.limit = wire.limits[is_reasoning and wire is CHAT]
        if is_reasoning or wire.no_temperature:
            self.settings = {}

    def ask(self, *messages: Turn, tokens: int = MAX_OUT_LEN, **settings: Any) -> Reply:
        """Sends a question with the accepted settings.

        Raises:
            Failure: The request failed, or the reply has no message.
        """
        (reply,) = self.endpoint.ask_all([messages], **{**self.settings, self.limit: tokens, **settings})
        if isinstance(reply, Failure):
            raise reply
        return reply

    def is_dropped(self, reply: Reply, *messages: Turn, **settings: Any) -> bool:
        """Tests if a part of a request did not reach the model, by sending the request without this part.

        Chat templates may drop parts silently; then the number of prompt tokens is the same.

        Args:
            reply: Reply to the request with the part.
            messages: Messages of the request without the part.
            settings: Settings of the request without the part.

        Raises:
            Failure: The request failed, or the reply has no message.
        """
        more = reply.tokens('prompt')
        less = self.ask(*messages, tokens=FEW_TOKENS, **settings).tokens('prompt') if more else None
        return bool(more and less and more <= less)


def _models(page: Any) -> dict[str, Any]:
    """Returns the models that a page lists, by name."""
    rows = page.get('data') if isinstance(page, Mapping) else None
    rows = rows if isinstance(rows, list) else []
    return {str(row['id']): row for row in rows if isinstance(row, Mapping) and isinstance(row.get('id'), str)}


def check_reachable(probed: Probed) -> list[Finding]:
    """Checks that a server replies at the URL, with any content."""
    endpoint, says, right, is_lost = probed.endpoint, '', '', False
    try:
        probed.listed = _models(endpoint.get('models'))
    except Failure as failure:
        is_late, says = failure.reason == 'infra:timeout', failure.words
        is_lost = failure.no_connection or is_late or (failure.status is None and 'through the proxy' in says)
        is_silent = is_late or any(words in says for words in _SILENT)
        right = '' if is_silent else redact(_right_url(endpoint, failure.status is None))
    advice = next((advice for words, advice in _ADVICE.items() if words in says), '')
    fix = f'; {right} answers: use that URL' if right else advice
    return [
        shown(
            'reachable',
            (right and not is_lost, FAULT, f'{endpoint.shown} has no API, {right} has one: use that URL'),
            (is_lost, FAULT, f'{endpoint.shown}: {says}{fix}'),
            (True, OK, f'{endpoint.shown} answers'),
        )
    ]


def _right_url(endpoint: Endpoint, with_schemes: bool) -> str:
    """Returns a URL on the same host and port that has an API, found by requests; '' if there is none.

    Args:
        endpoint: The server.
        with_schemes: True to try http instead of https, or the reverse, without the key. If the server then asks for
            a key, the URL is right.
    """
    scheme, _, rest = endpoint.url.partition('://')
    other = f'{"http" if scheme == "https" else "https"}://{rest}'
    tried: list[tuple[str, str | None]] = [(f'{endpoint.url}/v1', None)]
    tried += [(other, ''), (f'{other}/v1', '')] if with_schemes else []
    for url, key in (one for one in tried if not one[0].endswith('/v1/v1')):
        try:
            if _models(endpoint.get('models', key=key, url=url)):
                return url
        except Failure as failure:
            if key == '' and failure.status in NO_ACCESS:
                return url
    return ''


def check_listed(probed: Probed) -> list[Finding]:
    """Checks that ``/models`` lists the model. If not, only an answer can show that the model exists."""
    name, listed = probed.endpoint.model, probed.listed
    names = first_of([excerpt(text, _MOST_CHARS) for text in listed or ()], _MOST_NAMED) or 'nothing'
    return [
        shown(
            'model',
            (listed is None, UNKNOWN, 'there is no list of models'),
            (name in (listed or ()), OK, f'{name} is listed'),
            (True, UNKNOWN, f'{name} is not listed; the server lists {names}'),
        )
    ]


def check_answer(probed: Probed) -> Iterator[Finding]:
    """Checks that the server answers a question that is sent with the settings of ``ToolEvalOpenAI``."""
    refused: dict[str, str] = {}
    while probed.plain is None:
        try:
            probed.plain = probed.ask(QUESTION)
        except Failure as failure:
            if not (accepted := _adapted(probed, failure)):
                probed.failure = failure
                yield shown('answer', (True, FAULT, f'no answer to a plain question: {failure.words}'))
                return
            refused |= accepted
    if refused:
        says = f'the server refuses {" and ".join(refused)}: set {" and ".join(refused.values())}'
        yield shown('settings', (True, FAULT, f'{says} in the config of the model'))
    reply = probed.plain
    thoughts, text, is_cut = field_of_thoughts(reply), reply.text.strip(), reply.finish_reason == CUT
    yield shown(
        'answer',
        (text, OK, f'{text[:40]!r}'),
        (thoughts and not is_cut, FAULT, f'empty: the whole text is in {thoughts}. {ONLY_THOUGHTS}'),
        (is_cut, UNKNOWN, f'only thoughts in {MAX_OUT_LEN} tokens'),
        (True, FAULT, f'empty, finish_reason {reply.finish_reason}'),
    )


def _adapted(probed: Probed, failure: Failure) -> dict[str, str]:
    """Replaces the setting that the server refused; returns its name and the accepted setting of a config."""
    if failure.reason != 'infra:bad_request' or failure.ends:
        return {}
    if probed.limit == TOKEN_LIMITS[0] and all(name in failure.words for name in TOKEN_LIMITS):
        probed.limit = probed.accepted['token_limit_key'] = TOKEN_LIMITS[1]
        return {TOKEN_LIMITS[0]: f'token_limit_key={probed.limit!r}'}
    if 'temperature' in failure.words and probed.settings.pop('temperature', None) is not None:
        probed.accepted['openai_extra_kwargs'] = {'temperature': None}
        return {'temperature': 'openai_extra_kwargs=dict(temperature=None)'}
    return {}


def field_of_thoughts(reply: Reply) -> str:
    """Returns the names of the fields with thoughts, apart from the content; '' if there are none."""
    values = {name: reply.message.get(name) for name in MEMBERS}
    return ' and '.join(name for name, value in values.items() if (value.strip() if isinstance(value, str) else value))


def has_tag(text: str) -> bool:
    """Tests if a text contains a tag of thoughts, such as ``<think>``."""
    return bool(_TAG.search(text[:_TAG_CHARS]))


class FirstAnswer(NamedTuple):
    """The outcome of the first question to a model.

    Attributes:
        fault: The fault that would stop a run, with its fix, or ''. A busy server is not a fault, since a run waits.
        thinks: True if the model reasons before it answers.
        settings: Settings of a config that replace those that the server refuses.
    """

    fault: str = ''
    thinks: bool = False
    settings: Mapping[str, Any] = {}


def first_answer(
    url: str,
    model: str,
    key: str,
    temperature: float | None = None,
    wire: str = 'chat',
    offers_tools: bool = False,
    members: Mapping[str, Any] | None = None,
) -> FirstAnswer:
    """Asks a model one question, as a run would; if there is no answer, finds the reason.

    A second question offers a tool, if the run does. A refusal that names another request format is a fault, and so is
    a server that answers on another format only.

    Args:
        url: The base URL.
        model: Its name on the server.
        key: The API key; '' sends none.
        temperature: The temperature that the user set; None if none was set.
        wire: The request format.
        offers_tools: True if requests of the run offer tools.
        members: Further members of the run's requests; None leaves one out.
    """
    with closing(Endpoint(url, model, key, wire=WIRES[wire])) as endpoint:
        probed = Probed(endpoint)
        probed.settings |= {**({} if temperature is None else {'temperature': temperature}), **(members or {})}
        findings = list(check_answer(probed))
        if (reply := probed.plain) is None:
            return FirstAnswer(_why_no_answer(probed, probed.failure) if probed.failure else '')
        if offers_tools and (refusal := _refusal_of_tools(probed)):
            return FirstAnswer(refusal)
    faults = [one.text for one in findings if one.text.endswith(ONLY_THOUGHTS)]
    if refused := probed.accepted.get('openai_extra_kwargs'):
        faults += (
            [] if temperature is None else [f'the server refuses temperature={temperature:g}: leave --temperature out']
        )
        probed.accepted['openai_extra_kwargs'] = {**(members or {}), **refused}
    in_content = has_tag(reply.text) or has_thoughts(reply.message.get(CONTENT))
    thinks = bool(field_of_thoughts(reply) or in_content or reply.reasoning_tokens)
    return FirstAnswer(next(iter(faults), ''), thinks, probed.accepted)


def _why_no_answer(probed: Probed, failure: Failure) -> str:
    """Returns why the question has no answer, with the fix; '' if another try may help."""
    endpoint, wire = probed.endpoint, probed.endpoint.wire
    for name, other in WIRES.items() if failure.status == _MISSING else ():
        if other is not wire:
            with closing(replace(endpoint, wire=other)) as elsewhere, suppress(Failure):
                Probed(elsewhere, settings={}).ask(QUESTION, tokens=_ENOUGH)
                return f'the server has no {wire.path}, and answers on {other.path}: take --wire {name}'
    if failure.reason in _BUSY and failure.status != _NOT_IMPLEMENTED:
        return ''
    (reachable,), (listed,) = check_reachable(probed), check_listed(probed)
    key = f'; {RIGHT_KEY if endpoint.key else SET_KEY}' if failure.status in NO_ACCESS else ''
    no_api = f'this address is no API, it answers with {failure.words}; correct the URL'
    says = no_api if failure.words.startswith(PAGE) else f'{failure.words}{key}'
    known = [reachable.text] * reachable.is_fault + [listed.text] * bool(probed.listed and not listed.is_fine)
    return next(iter(known), f'{endpoint.shown}: {says}')


def _refusal_of_tools(probed: Probed) -> str:
    """Asks a question that offers a tool; returns a fault if the server names another format, else ``''``."""
    try:
        probed.ask(QUESTION, **probed.endpoint.wire.offer(_TOOLS, Choice('auto')))
    except Failure as failure:
        named = next((name for name in WIRES if f'/v1{WIRES[name].path}' in failure.body and name != 'chat'), '')
        if named and failure.reason == 'infra:bad_request':
            return f'{failure.words}: take --wire {named}'
    return ''
