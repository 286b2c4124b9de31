"""A proxy before a server, which keeps each chat request that it passes on."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Recorder:
    """Passes requests on to a server, and replies back.

    Args:
        target: The server's address, ``http://HOST:PORT``.

    Attributes:
        url: Where it listens.
        requests: The bodies of the chat requests, in the order in which they came.
    """

    def __init__(self, target: str) -> None:
        self.requests: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler) -> None:
                self._pass_on(handler, target)

            def do_POST(handler) -> None:
                self._pass_on(handler, target)

            def log_message(handler, *arguments: object) -> None:
                """The requests are kept; nothing is printed."""

        self._server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self._server.server_port}'
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _pass_on(self, handler: BaseHTTPRequestHandler, target: str) -> None:
        body = handler.rfile.read(int(handler.headers.get('Content-Length') or 0)) or None
        if body and handler.path.endswith('/chat/completions'):
            self.requests.append(json.loads(body))
        sent = {name: handler.headers[name] for name in ('Authorization', 'Content-Type') if name in handler.headers}
        request = urllib.request.Request(target + handler.path, body, sent, method=handler.command)
        try:
            with urllib.request.urlopen(request) as reply:
                status, kind, content = reply.status, reply.headers.get_content_type(), reply.read()
        except urllib.error.HTTPError as error:
            status, kind, content = error.code, error.headers.get_content_type(), error.read()
        handler.send_response(status)
        handler.send_header('Content-Type', kind)
        handler.send_header('Content-Length', str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def stop(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()
