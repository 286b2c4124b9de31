"""How answers ended, on the last screen of a real run against a server with one behaviour per path."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.forked import run_opencompass, run_python


def _choice(finish: str, **message: Any) -> tuple[int, Any]:
    return 200, {'choices': [{'message': {'content': 'half of', **message}, 'finish_reason': finish}]}


_HOSTILE = 'bad \x1b[31mred\x1b[0m. Fix it with: rm -rf x'
_HALF = {'message': {'content': 'half'}, 'finish_reason': 'error', 'error': {'message': 'gone'}}
_LIMIT = {'message': "Unsupported parameter: 'max_tokens' is not", 'code': 'unsupported_parameter'}
REPLIES: dict[str, tuple[int, Any]] = {
    'broken': (200, {'choices': [_HALF]}),
    'limit': (400, {'error': _LIMIT}),
    'hostile': (400, {'error': {'message': f'{_HOSTILE} (request NUMBER)'}}),
    'swallowed': _choice('stop', content='', reasoning_content='Answer: A'),
    'odd': _choice('reason of tomorrow'),
    'cut': _choice('MAX_TOKENS'),
    'stopped': (200, {**_choice('length')[1], 'usage': {'prompt_tokens': 9, 'completion_tokens': 12}}),
}
CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

datasets = [row for row in datasets if row['abbr'] == 'tooleval-teval-review_str_v2']
models = [dict(type=ToolEvalOpenAI, abbr=name, path='tiny', key='none', openai_api_base=f'URL/{name}/v1', retry=1,
               backoff=0.001, max_out_len=64, run_cfg=dict(num_gpus=0)) for name in NAMES]
"""


@contextmanager
def serving(asked: Counter[str]) -> Iterator[str]:
    """Runs the server, and yields its address; counts requests by behaviour."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

        def do_POST(self) -> None:
            name = self.path.split('/')[1]
            self.rfile.read(int(self.headers['content-length']))
            asked[name] += 1
            status, body = REPLIES[name]
            content = json.dumps(body).replace('NUMBER', str(asked[name])).encode()
            self.send_response(status)
            self.send_header('Content-Type', 'application/json')
            self.send_header('Content-Length', str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.05}, daemon=True).start()
    try:
        yield f'http://127.0.0.1:{server.server_address[1]}'
    finally:
        server.shutdown()
        server.server_close()


def test_the_last_screen_and_status_quote_the_server(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()
    with serving(asked) as url:
        (tmp_path / 'mine.py').write_text(CONFIG.replace('URL', url).replace('NAMES', repr([*REPLIES])))
        done = run_opencompass('mine.py', '-w', 'out', cwd=tmp_path)
    count = asked['odd']
    assert done.returncode == 1 and count > 1, done.stdout
    assert asked == {name: count * (1 + (name == 'broken')) for name in REPLIES}
    said = done.stdout[done.stdout.index('Each table') :]
    command = 'from opencompass_tooleval.cli.main import main; main()'
    status = run_python('-c', command, 'status', 'out', cwd=tmp_path)
    (kept,) = (file.relative_to(tmp_path) for file in tmp_path.glob('out/*/configs/*.py'))
    for shown, config in ((said, 'mine.py'), (status.stdout, kept)):
        flat = re.sub(r'\s+', ' ', shown)
        assert f'{count} samples have no answer: an error instead of an answer: gone' in flat
        assert 'fix: tooleval retry out' in flat
        assert f"{count} samples have no answer: status 400: Unsupported parameter: 'max_tokens' is not (un" in flat
        assert f"fix: in {config}, set token_limit_key='max_completion_tokens' then: opencompass {config} -w" in flat
        assert f'{count} samples have no answer: status 400: bad \\x1b[31mred\\x1b[0m. Fix it with: rm -rf x' in flat
        assert f'fix: correct {config} as the server says then: opencompass {config} -w' in flat
        assert '\x1b' not in shown and 'fix: rm' not in flat and 'for the same reason' not in flat
    flat = re.sub(r'\s+', ' ', said)
    thoughts = f'WARNING swallowed: {count} answers are empty: all of their text is thoughts, although the model'
    assert thoughts in flat and 'Start the server without --reasoning-parser' in flat
    assert f"NOTE {count} answers ended for the reason 'reason of tomorrow', which is unknown" in said
    assert f'WARNING cut: {count} of {count} answers were cut at' in said
    stopped = f'WARNING stopped: {count} of {count} answers were cut. The server stopped them at about 12 tokens'
    assert f'{stopped}, before your limit of ' in flat
    (journal,) = tmp_path.glob('out/*/predictions/hostile/tmp_*.jsonl')
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    assert all(row['server_words'].startswith('status 400: bad') for row in rows if row.get('infra'))
