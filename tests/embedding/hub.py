"""Hugging Face's hub on loopback, with the files of some folders."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Hub(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    folders: Mapping[str, Path]
    status: int | None
    asked: list[str]

    def log_message(self, *_: object) -> None:
        """Keeps the screen of the tests clean."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition('?')[0].replace('/api/models/', '/').replace('/api/datasets/', '/')
        self.asked.append(f'{self.command} {path}')
        repo, _, rest = path.removeprefix('/').removeprefix('datasets/').partition('/re')  # resolve or revision
        _, revision, *names = rest.split('/')
        if self.status or repo not in self.folders:
            return self._send(b'\x1b[2J' * 500, {}, self.status or 404)
        folder = self.folders[repo]
        if names:
            body = (folder / '/'.join(names)).read_bytes()
            return self._send(body, {'X-Repo-Commit': revision, 'ETag': f'"{hashlib.sha1(body).hexdigest()}"'})
        files = [str(file.relative_to(folder)) for file in folder.rglob('*') if file.is_file()]
        about = {'id': repo, 'sha': revision, 'siblings': [{'rfilename': name} for name in files]}
        return self._send(json.dumps(about).encode(), {})

    def _send(self, body: bytes, headers: Mapping[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in {**headers, 'Content-Length': str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)


@contextmanager
def serving_hub(
    folders: Mapping[str, Path], status: int | None = None, asked: list[str] | None = None
) -> Iterator[str]:
    """Yields the URL of a hub.

    Args:
        folders: Name of a repository -> its files.
        status: The status of every answer; None for what a hub answers.
        asked: Receives method and path of each request.
    """
    handler = type('Hub', (_Hub,), {'folders': folders, 'status': status, 'asked': [] if asked is None else asked})
    with ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}'
        server.shutdown()


def hub_settings(url: str, home: Path) -> dict[str, str]:
    """Returns the environment of a program that uses a hub, and keeps its files in the folder ``hub`` of ``home``."""
    return {**os.environ, 'HF_ENDPOINT': url, 'HF_HUB_OFFLINE': '0', 'HF_HUB_CACHE': str(home / 'hub')}
