"""An OpenAI-compatible server in this process without faults; tests override parts to add some."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.models.api.raw_server import NO_TLS, TLS

Request = dict[str, Any]
CONTEXT = 8192
KEY = 'right-key-of-the-test'


class Refused(Exception):
    """An error in place of an answer."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code or status


def call(name: str, arguments: str, place: int = 0) -> dict[str, Any]:
    """A tool call of a message."""
    return {'id': f'call{place:05}', 'type': 'function', 'function': {'name': name, 'arguments': arguments}}


class Script:
    """What a good server answers. Words count as tokens."""

    path = '/chat/completions'

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.heads: list[tuple[str, dict[str, str]]] = []
        self.lock = threading.Lock()

    def models(self) -> Any:
        """The page ``/models``."""
        return {'object': 'list', 'data': [{'id': 'tiny', 'object': 'model', 'max_model_len': CONTEXT}]}

    def admits(self, authorization: str) -> bool:
        """Whether a key is let in."""
        return authorization == f'Bearer {KEY}'

    def answer_to(self, authorization: str) -> bool:
        """Whether a question with a key is answered, once it is let in."""
        return True

    def check(self, request: Request) -> None:
        """Raises :class:`Refused` for what it does not take."""
        if request['model'] != 'tiny':
            raise Refused(404, 'The model does not exist')
        if request['max_tokens'] + self.prompt_tokens(request) > CONTEXT:
            raise Refused(400, f"This model's maximum context length is {CONTEXT} tokens. However, you requested more")
        if request.get('n', 1) > 1 and not request.get('temperature'):
            raise Refused(400, 'n must be 1 when using greedy sampling')

    def prompt_tokens(self, request: Request) -> int:
        """Tokens of what the model sees."""
        return len(self.prompt(request).split())

    def prompt(self, request: Request) -> str:
        """The text that the model sees."""
        messages = json.loads(json.dumps(self.seen(request)))
        for made in (made for message in messages for made in message.get('tool_calls') or ()):
            made['function']['arguments'] = json.loads(made['function']['arguments'])
        return json.dumps([messages, request.get('tools')])

    def verbose(self, request: Request, message: dict[str, Any]) -> dict[str, Any]:
        """What llama.cpp adds to a reply on request: the prompt, and the text before its parser."""
        return {'__verbose': {'prompt': self.prompt(request), 'content': json.dumps(message)}}

    def seen(self, request: Request) -> list[dict[str, Any]]:
        """The messages that reach the model."""
        messages: list[dict[str, Any]] = request['messages']
        return messages

    def message(self, request: Request) -> dict[str, Any]:
        """The message of the answer, before it is cut."""
        messages = self.seen(request)
        texts = {message['role']: message['content'] for message in messages}
        if 'tool' in texts:
            return {'content': f'It is {json.loads(texts["tool"]).get("degrees")} degrees.'}
        if 'BANANA' in texts.get('system', ''):
            return {'content': 'BANANA'}
        text = texts['user']
        if request.get('tools'):
            return self.called([city for city in ('Paris', 'Rome') if city in text])
        if text.startswith('The code word is'):
            return {'content': text.split()[4].rstrip('.')}
        return {'content': ' '.join(map(str, range(1, 101))) if 'Count' in text else 'ready'}

    def called(self, cities: list[str]) -> dict[str, Any]:
        """A message that calls the tool for each city."""
        calls = [call('get_weather', json.dumps({'city': city}), place) for place, city in enumerate(cities)]
        return {'content': None, 'tool_calls': calls}

    def finish(self, message: dict[str, Any], is_cut: bool) -> str:
        """The ``finish_reason``."""
        return 'length' if is_cut else 'tool_calls' if message.get('tool_calls') else 'stop'

    def cut(self, message: dict[str, Any], limit: int) -> tuple[dict[str, Any], bool]:
        """The message within its limit, and whether something is lost."""
        words = (message.get('content') or '').split()
        is_cut = len(words) > limit
        return ({**message, 'content': ' '.join(words[:limit])} if is_cut else message), is_cut

    def usage(self, request: Request, message: dict[str, Any]) -> Any:
        """The ``usage``."""
        completion = len((message.get('content') or 'a call').split())
        return {'prompt_tokens': self.prompt_tokens(request), 'completion_tokens': completion}

    def choices(self, request: Request) -> int:
        count: int = request.get('n', 1)
        return count

    def complete(self, request: Request) -> Any:
        """The whole reply of ``/chat/completions``."""
        with self.lock:
            self.asked.append(request)
        self.check(request)
        message, is_cut = self.cut({'role': 'assistant', **self.message(request)}, request['max_tokens'])
        choice = {'message': message, 'finish_reason': self.finish(message, is_cut)}
        choices = [{'index': index, **choice} for index in range(self.choices(request))]
        page = {'object': 'chat.completion', 'choices': choices, 'usage': self.usage(request, message)}
        return {**page, **self.verbose(request, message)} if request.get('verbose') else page


def _handler(script: Script, base: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'
        wbufsize = -1  # head and body in one packet: else each answer waits 40 ms for the other side

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

        def handle_one_request(self) -> None:
            if self.rfile.peek(1)[:1] == TLS:  # type: ignore[attr-defined]
                self.rfile.read1()
                self.wfile.write(NO_TLS)
                self.close_connection = True
            else:
                super().handle_one_request()

        def do_GET(self) -> None:
            self.answer(f'{base}/models', lambda body: script.models())

        def do_POST(self) -> None:
            self.answer(f'{base}{script.path}', script.complete)

        def answer(self, path: str, make: Any) -> None:
            body = self.rfile.read(int(self.headers.get('content-length') or 0))
            script.heads.append((self.path, dict(self.headers)))
            try:
                if self.path.partition('?')[0] != path:
                    raise Refused(404, 'Not Found')
                key = self.headers.get('authorization') or ''
                if not script.admits(key) or (self.command == 'POST' and not script.answer_to(key)):
                    raise Refused(401, 'Incorrect API key provided')
                status, page = 200, make(json.loads(body) if body else None)
            except Refused as refused:
                status, page = refused.status, {'error': {'message': str(refused), 'code': refused.code}}
            content = page if isinstance(page, bytes) else json.dumps(page).encode()
            self.send_response(status)
            is_stream = content.startswith((b'data:', b':'))
            self.send_header('Content-Type', 'text/event-stream' if is_stream else 'application/json')
            self.send_header('Content-Length', str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def serving(script: Script, base: str = '/v1') -> Iterator[str]:
    """Runs a server on a free port, and gives its base URL."""
    server = _Server(('127.0.0.1', 0), _handler(script, base))
    thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.05}, daemon=True)
    thread.start()
    try:
        yield f'http://127.0.0.1:{server.server_address[1]}{base}'
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
