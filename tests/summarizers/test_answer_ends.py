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
REPLIES: dict[str, tuple[int, Any]] = {
    'broken': (
        200,
        {'choices': [{'message': {'content': 'half'}, 'finish_reason': 'error', 'error': {'message': 'gone'}}]},
    ),
    'limit': (
        400,
        {'error': {'message': "Unsupported parameter: 'max_tokens' is not", 'code': 'unsupported_parameter'}},
    ),
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

datasets = [row for row in datasets if row['abbr'] in DATASETS]
models = [dict(type=ToolEvalOpenAI, abbr=name, path='tiny', key='none', openai_api_base=f'URL/{name}/v1', retry=1,
               backoff=0.001, max_out_len=64, run_cfg=dict(num_gpus=0)) for name in NAMES]
"""


def _filled(values: dict[str, str]) -> str:
    return re.sub('|'.join(values), lambda name: values[name[0]], CONFIG)


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
        values = {
            'URL': url,
            'NAMES': repr([name for name in REPLIES if name != 'stopped']),
            'DATASETS': "['tooleval-teval-review_str_v2']",
        }
        (tmp_path / 'mine.py').write_text(_filled(values))
        done = run_opencompass('mine.py', '-w', 'out', cwd=tmp_path)
    count = asked['odd']
    assert done.returncode == 1 and count > 1, done.stdout
    assert asked == {name: count * (1 + (name == 'broken')) for name in REPLIES if name != 'stopped'}
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
    assert f'WARNING swallowed: {count} answers are empty: all of their text is thoughts' in said
    assert f"NOTE {count} answers ended for the reason 'reason of tomorrow', which is unknown" in said
    assert f'WARNING cut: {count} of {count} answers were cut at' in said
    (journal,) = tmp_path.glob('out/*/predictions/hostile/tmp_*.jsonl')
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    assert all(row['server_words'].startswith('status 400: bad') for row in rows if row.get('infra'))


def test_answers_that_are_all_thoughts_and_the_limit_of_a_server_are_named(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()
    with serving(asked) as url:
        values = {'URL': url, 'NAMES': "['swallowed', 'stopped']", 'DATASETS': "['tooleval-funcqa-one_hop-zero_shot']"}
        (tmp_path / 'mine.py').write_text(_filled(values))
        done = run_opencompass('mine.py', '-w', 'out', cwd=tmp_path)
    said = (
        f'WARNING swallowed: {asked["swallowed"]} answers are empty: all of their text is thoughts, although the model'
    )
    assert done.returncode == 0 and said in done.stdout and 'Start the server without --reasoning-parser' in done.stdout
    stopped = f'WARNING stopped: {asked["stopped"]} of {asked["stopped"]} answers were cut. The'
    flat = re.sub(r'\s+', ' ', done.stdout)
    assert (
        f'{stopped} server stopped them at about 12 tokens, before your limit of 512 (funcqa-one_hop-zero_shot): '
        in flat
    )
