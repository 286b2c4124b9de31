"""The vendors' own clients read generated replies as this package does, and accept the types of what it sends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from opencompass_tooleval.models.api.reply import read_message
from opencompass_tooleval.models.api.wires import WIRES
from tests.models.api.scripted_server import Request, serving
from tests.models.api.test_wires import VENDORS, model_of, talk
from tests.models.api.vendor_server import MessagesVendor, ResponsesVendor, Vendor

pytestmark = pytest.mark.long
CLIENTS = ('openai==3.57.0', 'anthropic==2.14.0')
REPLIES = 500
TEXTS = ('', 'plain', 'zwei\nZeilen', '三\u2028\U0001f600', '"quoted" \\ {', ' ' * 5)
ARGUMENTS: list[dict[str, Any]] = [{}, {'a': 1}, {'text': '三"\n'}, {'deep': {'list': [1, None, {'x': 0.5}]}}]


@pytest.fixture(scope='module')
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the clients, which the package's own cannot have."""
    folder = tmp_path_factory.mktemp('clients')
    subprocess.run([sys.executable, '-m', 'venv', folder], check=True)
    python = folder / 'bin' / 'python'
    subprocess.run([python, '-m', 'pip', 'install', '--quiet', *CLIENTS], check=True)
    return python


def seed_of(request: Request) -> Random:
    asked = request.get('input') or request['messages']
    return Random(asked[-1]['content'])


class AnyResponses(ResponsesVendor):
    """Several messages, thoughts with and without texts, calls in any place."""

    def check(self, request: Request) -> None: ...

    def made(self, request: Request) -> list[dict[str, Any]]:
        rng, items = seed_of(request), list[dict[str, Any]]()
        for number in range(rng.randint(1, 6)):
            kind = rng.choice(('reasoning', 'message', 'function_call'))
            item: dict[str, Any] = {'type': kind, 'id': f'{kind[:2]}_{number}'}
            if kind == 'reasoning':
                texts = [{'type': 'summary_text', 'text': rng.choice(TEXTS)} for _ in range(rng.randint(0, 2))]
                item |= {'summary': texts, 'encrypted_content': rng.choice(TEXTS)}
            elif kind == 'message':
                part = {'type': 'output_text', 'text': rng.choice(TEXTS), 'annotations': []}
                item |= {'role': 'assistant', 'status': 'completed', 'content': [part]}
                item |= rng.choice(({}, {'phase': 'commentary'}, {'phase': 'final_answer'}))
            else:
                item |= {'call_id': f'call_{number}', 'name': 'add', 'status': 'completed'}
                item['arguments'] = json.dumps(rng.choice(ARGUMENTS), indent=rng.choice((None, 2)))
            items.append(item)
        return items


class AnyMessages(MessagesVendor):
    """Texts, thoughts (also empty and redacted ones) and calls in any place."""

    def check(self, request: Request) -> None: ...

    def made(self, request: Request) -> list[dict[str, Any]]:
        rng, blocks = seed_of(request), list[dict[str, Any]]()
        for number in range(rng.randint(1, 6)):
            kind = rng.choice(('text', 'thinking', 'redacted_thinking', 'tool_use'))
            block: dict[str, Any] = {'type': kind}
            if kind == 'text':
                block['text'] = rng.choice(TEXTS)
            elif kind == 'thinking':
                block |= {'thinking': rng.choice(TEXTS), 'signature': f'c2ln{number}'}
            elif kind == 'redacted_thinking':
                block['data'] = 'c2VjcmV0'
            else:
                block |= {'id': f'toolu_{number}', 'name': 'add', 'input': rng.choice(ARGUMENTS)}
            blocks.append(block)
        return blocks


ANY: dict[str, type[Vendor]] = {'responses': AnyResponses, 'messages': AnyMessages}


@pytest.mark.parametrize('wire', list(ANY))
def test_generated_replies_are_read_alike(wire: str, interpreter: Path, tmp_path: Path) -> None:
    sent = tmp_path / 'sent.jsonl'
    with serving(talked := VENDORS[wire]()) as url:
        assert talk(url, wire).value is not None
        model_of(url, wire).answers(['Hello'], 64)
    bodies = ({name: value for name, value in request.items() if name != 'stream'} for request in talked.asked)
    sent.write_text(''.join(f'{json.dumps(body)}\n' for body in bodies))
    limit = {WIRES[wire].limits[0]: 64}
    body = {'model': 'tiny', **limit}
    script = Path(__file__).with_name('sdk_reader.py')
    with serving(ANY[wire]()) as url:
        words = [interpreter, '-W', 'ignore', script, url, wire, str(REPLIES), json.dumps(body), sent]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert len(lines) == REPLIES
    for number, line in enumerate(lines):
        member = 'input' if wire == 'responses' else 'messages'
        asked = {**body, member: [{'role': 'user', 'content': f'seed {number}'}]}
        for stream, theirs in zip((False, True), json.loads(line), strict=True):
            page = ANY[wire]().complete({**asked, 'stream': stream})
            content = page if isinstance(page, bytes) else json.dumps(page).encode()
            reply = read_message(content, 'text/event-stream' if stream else '', WIRES[wire].read, WIRES[wire].reader)
            assert reply.message['items'] == theirs, (number, stream)
