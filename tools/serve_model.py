"""Serve a small Hugging Face chat model, or scripted answers, as an OpenAI-compatible server that fails on demand.

    python tools/serve_model.py MODEL_DIR --fault 429@1=0.1 --fault cut@3-5
    python tools/serve_model.py --canned 'Answer: A' --latency 0.05
    python tools/serve_model.py --script tests/answers.py:right

A script is a function of a Python file that takes the messages ([{"role": ..., "content": ...}, ...]) and returns the
answer's text; one with a second parameter gets the whole request there, with its "tools", and may return an object with
"content", "calls" ([{"name": ..., "arguments": {...}}, ...]; arguments that are text are sent as they are),
"finish_reason" and "usage" (in place of words, which are counted as tokens otherwise; null sends none). It runs once
per request, in several threads at once. An exception in it is a 400, so that no test passes by it.

The first line of output is the base URL to put into a config (``openai_api_base``). Decoding is greedy, whatever the
request says, and what it says of ``max_tokens`` is kept to.

A fault is KIND@WHEN or KIND@WHEN=VALUE. Requests are counted from 1 in the order in which they arrive; WHEN is a number
(``3``), a range (``2-5``, ``4-``), ``all``, or ``~TEXT`` for requests whose conversation contains TEXT. The first fault
that fits is the one that happens:

    429      too many requests; VALUE is sent as Retry-After
    500      internal error
    401      the key is wrong (as with --key)
    402, 403, 404, 408, 409, 413, 425, 502   as HTTP means them
    quota    429 with the code insufficient_quota
    slow     the right answer, VALUE seconds late
    cut      Content-Length promises more than is sent, and the connection closes
    html     a page in HTML, as a proxy sends it
    notjson  a body that says it is JSON, and is not
    nochoice an answer without choices
    empty    no content, although the model stopped by itself
    filter   no content, finish_reason content_filter
    filter400   400 with the code content_filter
    length   400 with the code context_length_exceeded
    bad      400 for another reason; VALUE is its message
    echo     400 that repeats the key that came, and 100,000 more characters
    error200 an error with status 200
    drip     one byte each VALUE seconds
    bomb     64 MB of answer in 64 kB of gzip
    stream   the answer as an event stream, a character per chunk
    streamcut   such a stream that ends in its middle
    reasoning   the answer as thoughts in ``reasoning``, content null
    calls    content null and a tool call
    refusal  content null and the answer as a refusal

A request with "stream": true gets the right answer as a stream.

GET /stats tells what was asked, and the tokens that whole replies report; POST /reset {"faults": [...], "latency": s}
forgets it and changes the faults.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import importlib.util
import json
import socket
import sys
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response, StreamingResponse

Answerer = Callable[[dict[str, Any]], tuple[dict[str, Any], str]]
"""A request -> the message and finish_reason."""

ERRORS = {
    '429': (429, 'rate_limit_exceeded', 'Too many requests'),
    '500': (500, 'internal_error', 'The server had an error'),
    '401': (401, 'invalid_api_key', 'Incorrect API key provided'),
    '402': (402, 'payment_required', 'Insufficient Balance'),
    '403': (403, 'forbidden', 'This key may not use the model'),
    '404': (404, 'model_not_found', 'The model does not exist'),
    '408': (408, 'timeout', 'The request took too long'),
    '409': (409, 'conflict', 'Try again'),
    '413': (413, 'too_large', 'Request Entity Too Large'),
    '425': (425, 'too_early', 'Try again'),
    '502': (502, 'bad_gateway', 'Bad Gateway'),
    'quota': (429, 'insufficient_quota', 'You exceeded your current quota'),
    'filter400': (400, 'content_filter', "The prompt triggered the content management policy's filter"),
    'length': (400, 'context_length_exceeded', "This model's maximum context length is 8192 tokens"),
    'bad': (400, 'invalid_request_error', 'Unknown parameter'),
}
BODIES = ('slow', 'cut', 'html', 'notjson', 'nochoice', 'empty', 'filter', 'echo', 'error200', 'bomb', 'calls')
SHAPES = ('drip', 'stream', 'streamcut', 'reasoning', 'refusal')
"""Of an answer that there is."""
BOMB_BYTES = 64 << 20
DEFAULT_MAX_TOKENS = 512
USAGE = 'usage'


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and for which requests."""

    kind: str
    first: int = 1
    last: float = float('inf')
    text: str = ''
    value: str = ''

    def fits(self, number: int, conversation: str) -> bool:
        """Whether it happens to the request that came as the ``number``-th."""
        return self.first <= number <= self.last and self.text in conversation


def parse_fault(fault: str) -> Fault:
    """Reads KIND@WHEN or KIND@WHEN=VALUE.

    Raises:
        ValueError: It is neither.
    """
    kind, _, when = fault.partition('@')
    when, _, value = when.partition('=')
    kinds = (*ERRORS, *BODIES, *SHAPES)
    if kind not in kinds:
        raise ValueError(f'{kind!r} is no fault; there are {", ".join(kinds)}')
    if when.startswith('~') and len(when) > 1:
        return Fault(kind, text=when[1:], value=value)
    if when == 'all':
        return Fault(kind, value=value)
    first, dash, last = when.partition('-')
    if not first.isdecimal() or (last and not last.isdecimal()):
        raise ValueError(f'{fault!r}: {when!r} is no number, range, "all" or ~TEXT')
    return Fault(kind, int(first), (int(last) if last else float('inf')) if dash else int(first), value=value)


@dataclass
class State:
    """What the server was asked, and how it is to fail."""

    faults: list[Fault] = field(default_factory=list)
    latency: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    tokens: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0
    was_reset: asyncio.Event = field(default_factory=asyncio.Event)

    def reset(self, faults: list[str], latency: float) -> None:
        """Forgets what was asked, answers what waits, and fails as told from now on."""
        self.was_reset.set()
        self.was_reset = asyncio.Event()
        self.faults, self.latency = [parse_fault(fault) for fault in faults], latency
        self.asked, self.tokens, self.most_in_flight = [], Counter(), self.in_flight

    async def wait(self, seconds: float) -> None:
        """Waits until the time is over, or the next reset."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.was_reset.wait(), seconds)

    def count(self, response: Response) -> None:
        """Adds up the usage that a whole reply reports."""
        usage = json.loads(bytes(response.body)).get('usage') if isinstance(response, JSONResponse) else None
        if usage:
            details = usage.get('prompt_tokens_details') or {}
            self.tokens.update({name: usage[f'{name}_tokens'] for name in ('prompt', 'completion')})
            self.tokens.update({'cached': details.get('cached_tokens', 0), 'replies': 1})

    def stats(self) -> dict[str, Any]:
        """What ``GET /stats`` says: ``asked`` has digest, limit of tokens and ``stream`` of each request, in order."""
        return {
            'requests': len(self.asked),
            'in_flight': self.in_flight,
            'most_in_flight': self.most_in_flight,
            'asked': self.asked,
            'tokens': self.tokens,
        }


def canned(text: str) -> Answerer:
    """Answers everything with ``text``."""
    return lambda request: ({'content': text}, 'stop')


def scripted(place: str) -> Answerer:
    """Answers with a function of a file.

    Args:
        place: ``FILE.py:function``; the file's folder need not be on the path.

    Raises:
        ValueError: There is no such file or function.
    """
    file, _, name = place.rpartition(':')
    if not file or not Path(file).is_file():
        raise ValueError(f'{place!r} is no FILE.py:function')
    spec = importlib.util.spec_from_file_location('serve_model_script', file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f'{file} has no function {name!r}')
    takes_request = len(signature(function).parameters) > 1

    def answer(request: dict[str, Any]) -> tuple[dict[str, Any], str]:
        messages = request['messages']
        answered = function(messages, request) if takes_request else function(messages)
        if not isinstance(answered, dict):
            return {'content': str(answered)}, 'stop'
        calls = [_tool_call(number, call) for number, call in enumerate(answered.get('calls', ()))]
        message = {'content': answered.get('content'), **({'tool_calls': calls} if calls else {})}
        message |= {USAGE: answered[USAGE]} if USAGE in answered else {}
        return message, answered.get('finish_reason') or ('tool_calls' if calls else 'stop')

    return answer


def _tool_call(number: int, call: dict[str, Any]) -> dict[str, Any]:
    arguments = call['arguments']
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {'id': f'call_{number}', 'type': 'function', 'function': {'name': call['name'], 'arguments': text}}


def load_model(folder: Path) -> Answerer:
    """Loads a model and its tokenizer, and returns what answers with it, one conversation at a time."""
    import threading

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    lock = threading.Lock()

    def answer(request: dict[str, Any]) -> tuple[dict[str, Any], str]:
        messages, max_tokens = request['messages'], request.get('max_tokens') or DEFAULT_MAX_TOKENS
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        tokens = tokenizer(text, return_tensors='pt', add_special_tokens=False)
        with lock, torch.no_grad():
            output = model.generate(**tokens, max_new_tokens=max_tokens, do_sample=False)
        new = output[0, tokens['input_ids'].shape[1] :]
        ended = bool(len(new)) and int(new[-1]) == tokenizer.eos_token_id
        return {'content': tokenizer.decode(new, skip_special_tokens=True)}, 'stop' if ended else 'length'

    return answer


def _error(fault: Fault) -> Response:
    status, code, message = ERRORS[fault.kind]
    headers = {'Retry-After': fault.value} if fault.value and fault.kind != 'bad' else None
    message = fault.value if fault.value and fault.kind == 'bad' else message
    return JSONResponse({'error': {'message': message, 'type': code, 'code': code}}, status, headers)


def _completion(model: str, text: str, finish_reason: str) -> dict[str, Any]:
    return _with_tokens(model, {'content': text}, finish_reason)


def _with_tokens(model: str, message: dict[str, Any], finish_reason: str, asked: str = '') -> dict[str, Any]:
    """A completion whose tokens are words, unless the message says them."""
    message = dict(message)
    reported = {USAGE: message.pop(USAGE)} if USAGE in message else {}
    prompt, completion = len(asked.split()) or 1, len(json.dumps(message).split())  # no prompt is empty
    return {
        'id': 'chatcmpl-0',
        'object': 'chat.completion',
        'created': 0,
        'model': model,
        'choices': [{'index': 0, 'message': {'role': 'assistant', **message}, 'finish_reason': finish_reason}],
        'usage': {
            'prompt_tokens': prompt,
            'completion_tokens': completion,
            'total_tokens': prompt + completion,
        },
        **reported,
    }


CALL = {'id': 'call_0', 'type': 'function', 'function': {'name': 'search', 'arguments': '{"q": "cats"}'}}


def _with_message(model: str, finish_reason: str, **message: Any) -> Response:
    body = _completion(model, '', finish_reason)
    body['choices'][0]['message'].update(content=None, **message)
    return JSONResponse(body)


def _events(body: dict[str, Any], has_usage: bool = False) -> Iterator[str]:
    """The chunks of a completion, as servers send them that were asked to stream: a character each."""
    message, finish = dict(body['choices'][0]['message']), body['choices'][0]['finish_reason']
    deltas: list[dict[str, Any]] = [{'role': message.pop('role')}]
    for index, call in enumerate(message.pop('tool_calls', ())):
        begun = {**call, 'index': index, 'function': {**call['function'], 'arguments': ''}}
        deltas += [{'tool_calls': [begun]}]
        deltas += [
            {'tool_calls': [{'index': index, 'function': {'arguments': character}}]}
            for character in call['function']['arguments']
        ]
    deltas += [{name: character} for name, text in message.items() for character in text or '']
    choices: list[dict[str, Any]] = [{'index': 0, 'delta': delta, 'finish_reason': None} for delta in deltas]
    choices += [{'index': 0, 'delta': {}, 'finish_reason': finish}]
    chunk = {**body, 'object': 'chat.completion.chunk', 'usage': None}
    for choice in choices:
        yield f'data: {json.dumps({**chunk, "choices": [choice]})}\n\n'
    if has_usage:
        yield f'data: {json.dumps({**chunk, "choices": [], USAGE: body[USAGE]})}\n\n'
    yield 'data: [DONE]\n\n'


async def _drip(body: bytes, seconds: float) -> AsyncIterator[bytes]:
    for position in range(len(body)):
        yield body[position : position + 1]
        await asyncio.sleep(seconds)


def _shaped(fault: Fault, model: str, text: str, finish_reason: str) -> Response:
    """The response of a fault that spoils nothing of the answer but its shape."""
    if fault.kind == 'reasoning':
        return _with_message(model, finish_reason, reasoning=text)
    if fault.kind == 'refusal':
        return _with_message(model, finish_reason, refusal=text)
    if fault.kind == 'drip':
        body = json.dumps(_completion(model, text, finish_reason)).encode()
        return StreamingResponse(_drip(body, float(fault.value)), media_type='application/json')
    events = list(_events(_completion(model, text, finish_reason)))
    kept = events[: len(events) // 2] if fault.kind == 'streamcut' else events
    return Response(''.join(kept), media_type='text/event-stream')


def _spoilt(fault: Fault, model: str, authorization: str) -> Response | None:
    """The response of a fault that needs no answer of the model; None if it needs one."""
    if fault.kind in ERRORS:
        return _error(fault)
    if fault.kind == 'html':
        return Response('<html><body>502 Bad Gateway</body></html>', media_type='text/html')
    if fault.kind == 'notjson':
        return Response('{"choices": [{"mess', media_type='application/json')
    if fault.kind == 'nochoice':
        return JSONResponse({**_completion(model, '', 'stop'), 'choices': []})
    if fault.kind == 'empty':
        return JSONResponse(_completion(model, '', 'stop'))
    if fault.kind == 'filter':
        return JSONResponse(_completion(model, '', 'content_filter'))
    if fault.kind == 'calls':
        return _with_message(model, 'tool_calls', tool_calls=[CALL])
    if fault.kind == 'echo':
        return Response(f'cannot read {authorization} ' + 'x' * 100_000, 400, media_type='text/plain')
    if fault.kind == 'error200':
        return JSONResponse({'error': {'message': 'Provider returned error', 'code': 503}})
    if fault.kind == 'bomb':
        body = json.dumps(_completion(model, 'a' * BOMB_BYTES, 'stop')).encode()
        return Response(gzip.compress(body, 1), headers={'Content-Encoding': 'gzip'}, media_type='application/json')
    return None


def _cut(body: dict[str, Any]) -> Response:
    whole = json.dumps(body).encode()
    headers = {'Content-Length': str(len(whole))}
    return Response(whole[: len(whole) // 2], headers=headers, media_type='application/json')


def make_app(answer: Answerer, state: State, name: str = 'tiny', key: str | None = None) -> FastAPI:
    """Builds the server.

    Args:
        answer: What answers.
        state: Its faults and counts.
        name: The only model there is; another one is 404.
        key: The only key that is let in; None lets in all.
    """
    app = FastAPI()

    async def respond(request: Request) -> Response:
        asked = await request.json()
        conversation = json.dumps(asked['messages'], ensure_ascii=False)
        digest = hashlib.blake2b(conversation.encode('utf-8', 'replace'), digest_size=8).hexdigest()
        number = len(state.asked) + 1
        fault = next((fault for fault in state.faults if fault.fits(number, conversation)), None)
        limit = asked.get('max_tokens', asked.get('max_completion_tokens'))
        kind = fault.kind if fault else None
        state.asked.append({'digest': digest, 'fault': kind, 'limit': limit, 'stream': bool(asked.get('stream'))})
        if key is not None and request.headers.get('authorization') != f'Bearer {key}':
            return _error(Fault('401'))
        if asked['model'] != name:
            return _error(Fault('404'))
        await state.wait(state.latency + (float(fault.value) if fault and fault.kind == 'slow' else 0.0))
        spoilt = _spoilt(fault, name, request.headers.get('authorization', '')) if fault else None
        if spoilt is not None:
            return spoilt
        try:
            message, finish_reason = await run_in_threadpool(answer, asked)
        except Exception:
            traceback.print_exc()
            return _error(Fault('bad'))
        if fault and fault.kind in SHAPES:
            return _shaped(fault, name, str(message['content']), finish_reason)
        body = _with_tokens(name, message, finish_reason, conversation)
        if fault and fault.kind == 'cut':
            return _cut(body)
        if asked.get('stream'):
            options = asked.get('stream_options') or {}
            return StreamingResponse(_events(body, options.get('include_usage', False)), media_type='text/event-stream')
        return JSONResponse(body)

    @app.post('/v1/chat/completions')
    async def chat_completions(request: Request) -> Response:
        state.in_flight += 1
        state.most_in_flight = max(state.most_in_flight, state.in_flight)
        try:
            response = await respond(request)
            state.count(response)
            return response
        finally:
            state.in_flight -= 1

    @app.get('/v1/models')
    async def models() -> dict[str, Any]:
        return {'object': 'list', 'data': [{'id': name, 'object': 'model'}]}

    @app.get('/stats')
    async def stats() -> dict[str, Any]:
        return state.stats()

    @app.post('/reset')
    async def reset(request: Request) -> dict[str, Any]:
        told = await request.json()
        state.reset(told.get('faults', []), told.get('latency', 0.0))
        return state.stats()

    return app


def serve(app: FastAPI, host: str, port: int) -> None:
    """Listens until it is stopped; prints the base URL once connections are taken."""
    listener = socket.create_server((host, port), backlog=1024)
    print(f'http://{host}:{listener.getsockname()[1]}/v1', flush=True)
    # critical: uvicorn logs a cut body as an error of its own
    uvicorn.Server(uvicorn.Config(app, log_level='critical', lifespan='off')).run(sockets=[listener])


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('model', type=Path, nargs='?', metavar='MODEL_DIR', help='a local model')
    parser.add_argument('--canned', metavar='TEXT', help='answer everything with this, without a model')
    parser.add_argument('--script', metavar='FILE.py:FUNCTION', help='answer with a function of the messages')
    parser.add_argument('--port', type=int, default=0, help='0 (default) takes a free one')
    parser.add_argument('--host', default='127.0.0.1', help='address to listen on')
    parser.add_argument('--name', default='tiny', help='name of the model')
    parser.add_argument('--key', help='let in only this key')
    parser.add_argument('--latency', type=float, default=0.0, metavar='SECONDS', help='wait this long in each request')
    parser.add_argument('--fault', action='append', default=[], metavar='KIND@WHEN[=VALUE]')
    arguments = parser.parse_args()
    if [arguments.model, arguments.canned, arguments.script].count(None) != 2:
        parser.error('give one of MODEL_DIR, --canned TEXT and --script FILE.py:FUNCTION')
    state = State()
    try:
        state.reset(arguments.fault, arguments.latency)
        if arguments.script:
            answer = scripted(arguments.script)
        else:
            answer = canned(arguments.canned) if arguments.model is None else load_model(arguments.model)
    except ValueError as error:
        parser.error(str(error))
    serve(make_app(answer, state, arguments.name, arguments.key), arguments.host, arguments.port)


if __name__ == '__main__':
    sys.exit(main())
