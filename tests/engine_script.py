"""An engine in a page: a server of OpenAI's kind that starts in a moment, takes its key from $ENGINE_KEY, and fails.

    python engine_script.py --port PORT [--host HOST] [--fault FAULT] [--latency SECONDS] [--folder DIR] [--reply FILE]
                            [--nodes N --rank R --master ADDRESS:PORT]

FAULT: ``loading`` (never takes a connection), ``unhealthy`` (status 503 for ever), ``crash`` (ends while it loads),
``deaf`` (ignores SIGTERM), ``taken`` (lets someone else take its port, the first time: writes it to DIR/port and waits
for DIR/go), ``once`` (kills itself at its third question, the first time), ``twice`` (at the third of each of the
first two starts), ``always``. The questions are counted in DIR/asked. FILE has the answer, in which SCORE becomes a
number that depends on the question. A helper in a session of its own stands for the processes that engines start.

On several nodes rank 0 is ready when all others have come to its address, and never notices that one of them has gone.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

DEADLY_QUESTION = 3
connections: list[socket.socket] = []


class Handler(BaseHTTPRequestHandler):
    """Answers the same to everything."""

    settings: argparse.Namespace
    is_ready = True
    asked = 0
    counting = threading.Lock()

    def do_GET(self) -> None:
        self._send(200 if self.is_ready and self.settings.fault != 'unhealthy' else 503, {})

    def do_POST(self) -> None:
        question = self.rfile.read(int(self.headers['Content-Length']))
        key = os.environ.get('ENGINE_KEY')
        if key and self.headers['Authorization'] != f'Bearer {key}':
            self._send(401, {'error': {'message': 'wrong key'}})
            return
        with self.counting:
            Handler.asked += 1
            mark = self.settings.folder / 'died'
            deaths = {'once': 1, 'twice': 2, 'always': 1000}.get(self.settings.fault, 0)
            died = len(mark.read_text()) if mark.exists() else 0
            if Handler.asked >= DEADLY_QUESTION and died < deaths:
                mark.write_text('x' * (died + 1))
                print('RuntimeError: out of memory, or so', flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            with (self.settings.folder / 'asked').open('a') as stream:
                stream.write('x')
        time.sleep(self.settings.latency)
        reply = self.settings.reply.read_text() if self.settings.reply else 'Answer: A'
        content = reply.replace('SCORE', str(sum(question) % 10 + 1))
        choice = {'index': 0, 'message': {'role': 'assistant', 'content': content}, 'finish_reason': 'stop'}
        self._send(200, {'choices': [choice]})

    def _send(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def wait_for_ranks(address: tuple[str, int], nodes: int) -> None:
    """Takes a line of each other rank; the connections stay open."""
    with socket.create_server(address) as listening:
        for _ in range(nodes - 1):
            connection, (host, _) = listening.accept()
            print(f'rank {connection.recv(9).decode()} is here, from {host}', flush=True)
            connections.append(connection)
    Handler.is_ready = True


def join(address: tuple[str, int], rank: int) -> None:
    """Tells rank 0 that this one is here, and waits."""
    while True:
        try:
            connections.append(socket.create_connection(address))
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    connections[0].sendall(str(rank).encode())
    time.sleep(3600)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument('--port', type=int, required=True)
    parser.add_argument('--host', default='127.0.0.1')
    parser.add_argument('--reply', type=Path)
    parser.add_argument('--fault', default='')
    parser.add_argument('--latency', type=float, default=0.0)
    parser.add_argument('--folder', type=Path, default=Path())
    parser.add_argument('--nodes', type=int, default=1)
    parser.add_argument('--rank', type=int, default=0)
    parser.add_argument('--master', default='')
    settings = Handler.settings = parser.parse_args()
    helper = [sys.executable, '-c', 'import time; time.sleep(3600)']
    subprocess.Popen(helper, start_new_session=True, stdout=subprocess.DEVNULL)
    print(f'loading the weights, GPUs {os.environ.get("CUDA_VISIBLE_DEVICES")} ', flush=True)
    if settings.fault == 'crash':
        raise RuntimeError('no such weights')
    if settings.fault == 'deaf':
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if settings.fault == 'taken' and not (settings.folder / 'port').exists():
        (settings.folder / 'port.new').write_text(str(settings.port))
        (settings.folder / 'port.new').rename(settings.folder / 'port')
        while not (settings.folder / 'go').exists():
            time.sleep(0.02)
    if settings.fault == 'loading':
        time.sleep(3600)
    if settings.nodes > 1:
        host, _, port = settings.master.rpartition(':')
        if settings.rank:
            join((host, int(port)), settings.rank)
        Handler.is_ready = False
        threading.Thread(target=wait_for_ranks, args=((host, int(port)), settings.nodes), daemon=True).start()
    ThreadingHTTPServer((settings.host, settings.port), Handler).serve_forever()


if __name__ == '__main__':
    main()
