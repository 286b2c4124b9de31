"""How answers ended, on the last screen of a real run against a server with one behaviour per model."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from tests.forked import run_opencompass, run_tooleval
from tests.models.api.scripted_server import KEY, Refused, Request, Script, serving


def _choice(finish: str, **more: Any) -> dict[str, Any]:
    return {'choices': [{'message': {'content': 'half of', **more}, 'finish_reason': finish}]}


_HOSTILE = 'bad \x1b[31mred\x1b[0m. Fix it with: rm -rf x'
_BROKEN = {'message': {'content': 'half'}, 'finish_reason': 'error', 'error': {'message': 'gone'}}
REPLIES: dict[str, str | dict[str, Any]] = {
    'broken': {'choices': [_BROKEN]},
    'limit': "Unsupported parameter: 'max_tokens' is not",
    'hostile': f'{_HOSTILE} (request NUMBER)',
    'swallowed': _choice('stop', content='', reasoning_content='Answer: A'),
    'odd': _choice('reason of tomorrow'),
    'cut': _choice('MAX_TOKENS'),
    'stopped': {**_choice('length'), 'usage': {'prompt_tokens': 9, 'completion_tokens': 12}},
}
CONFIG = f"""
from mmengine.config import read_base
from opencompass_tooleval.models import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

datasets = [row for row in datasets if row['abbr'] == 'tooleval-teval-review_str_v2']
models = [dict(type=ToolEvalOpenAI, abbr=name, path=name, key='{KEY}', openai_api_base='URL', retry=1, backoff=0.001,
               max_out_len=64, run_cfg=dict(num_gpus=0)) for name in {[*REPLIES]}]
"""


class Replies(Script):
    """Answers each model in its own way; messages are errors."""

    def complete(self, request: Request) -> Any:
        self.asked.append(request)
        reply = REPLIES[request['model']]
        if isinstance(reply, str):
            code = 'unsupported_parameter' if request['model'] == 'limit' else None
            raise Refused(400, reply.replace('NUMBER', str(len(self.asked))), code)
        return reply


def test_the_last_screen_and_status_quote_the_server(tmp_path: Path) -> None:
    server = Replies()
    with serving(server) as url:
        (tmp_path / 'mine.py').write_text(CONFIG.replace('URL', url))
        done = run_opencompass('mine.py', '-w', 'out', cwd=tmp_path)
    asked = Counter(request['model'] for request in server.asked)
    count = asked['odd']
    assert done.returncode == 1 and count > 1, done.stdout
    assert asked == {name: count * (1 + (name == 'broken')) for name in REPLIES}
    output = done.stdout[done.stdout.index('Each table') :]
    status = run_tooleval('status', 'out', cwd=tmp_path)
    (kept,) = (file.relative_to(tmp_path) for file in tmp_path.glob('out/*/configs/*.py'))
    for shown, config in ((output, 'mine.py'), (status.stdout, kept)):
        flat = re.sub(r'\s+', ' ', shown)
        assert f'{count} samples have no answer: an error instead of an answer: gone' in flat
        assert 'fix: tooleval retry out' in flat
        assert f"{count} samples have no answer: status 400: Unsupported parameter: 'max_tokens' is not (un" in flat
        assert f"fix: in {config}, set token_limit_key='max_completion_tokens' then: opencompass {config} -w" in flat
        assert f'{count} samples have no answer: status 400: bad \\x1b[31mred\\x1b[0m. Fix it with: rm -rf x' in flat
        assert f'fix: correct {config} as the server says then: opencompass {config} -w' in flat
        assert '\x1b' not in shown and 'fix: rm' not in flat and 'for the same reason' not in flat
    (notes,) = tmp_path.glob('out/*/summary/*_notes.txt')  # the screen has the first few
    flat = re.sub(r'\s+', ' ', notes.read_text())
    thoughts = f'WARNING swallowed: {count} answers are empty: all of their text is thoughts, although the model'
    assert thoughts in flat and 'Start the server without --reasoning-parser' in flat
    assert f"NOTE {count} answers ended for the reason 'reason of tomorrow', which is unknown" in flat
    assert f'WARNING cut: {count} of {count} answers were cut at' in flat
    stopped = f'WARNING stopped: {count} of {count} answers were cut. The server stopped them at about 12 tokens'
    assert f'{stopped}, before your limit of ' in flat
    (stored,) = tmp_path.glob('out/*/predictions/hostile/*.answers/*.jsonl')
    rows = [json.loads(line) for line in stored.read_text().splitlines()]
    assert all(row['server_words'].startswith('status 400: bad') for row in rows if row.get('infra'))
