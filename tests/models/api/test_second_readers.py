"""The vendors' own clients read generated replies as this package does, and accept the types of what it sends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from urllib.request import urlopen

import pytest

from opencompass_tooleval.models.api.reply import read_message
from opencompass_tooleval.models.api.wires import WIRES
from tests.models.api.scripted_server import KEY, Request, Script, call, serving
from tests.models.api.test_wires import VENDORS, model_of, talk
from tests.models.api.vendor_server import MessagesVendor, ResponsesVendor, Vendor

pytestmark = pytest.mark.long
PROXY = 'litellm[proxy]==1.108.7'
MASTER_KEY = 'sk-0123456789abcdef0123456789abcdef'
PROXY_SECONDS = 180
"""The proxy is up in some 20 s."""
CLIENTS = ('openai==3.57.0', 'anthropic==2.14.0')
REPLIES = 500
TEXTS = ('', 'plain', 'zwei\nZeilen', '三\u2028\U0001f600', '"quoted" \\ {', ' ' * 5)
ARGUMENTS: list[dict[str, Any]] = [{}, {'a': 1}, {'text': '三"\n'}, {'deep': {'list': [1, None, {'x': 0.5}]}}]


@pytest.fixture(scope='module')
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the clients, which the package's own cannot have."""
    return environment(tmp_path_factory.mktemp('clients'), *CLIENTS)


def environment(folder: Path, *packages: str) -> Path:
    """The interpreter of a new environment with the packages."""
    subprocess.run([sys.executable, '-m', 'venv', folder], check=True)
    python = folder / 'bin' / 'python'
    subprocess.run([python, '-m', 'pip', 'install', '--quiet', *packages], check=True)
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
        words: list[str | Path] = [interpreter, '-W', 'ignore', script, url, wire, str(REPLIES), json.dumps(body), sent]
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


class ThinksAndCalls(Script):
    """A chat server: two calls, then one, each with thoughts and a text; then the results."""

    def check(self, request: Request) -> None: ...

    def usage(self, request: Request, message: dict[str, Any]) -> Any:
        return {'prompt_tokens': 10, 'completion_tokens': 5, 'total_tokens': 15}

    def message(self, request: Request) -> dict[str, Any]:
        results = [message['content'] for message in request['messages'] if message['role'] == 'tool']
        thought = {'reasoning_content': f'thought {len(results)}'}
        if len(results) == 3:
            return {'content': f'Answer: {results}', **thought}
        places = range(len(results), 3 if results else 2)
        return {'content': 'I add.', 'tool_calls': [call('add', '{"a": 2}', place) for place in places], **thought}


@contextmanager
def proxy(folder: Path, upstream: str) -> Iterator[str]:
    """LiteLLM's proxy, which translates Messages to the chat completions of a server."""
    server = f'{{model: hosted_vllm/upstream, api_base: {upstream}, api_key: {KEY}}}'
    config = f'model_list: [{{model_name: tiny, litellm_params: {server}}}]\n'
    (folder / 'lite.yaml').write_text(f'{config}general_settings: {{master_key: {MASTER_KEY}}}\n')
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    program = environment(folder / 'proxy', PROXY).with_name('litellm')
    words: list[str | Path] = [program, '--config', 'lite.yaml', '--host', '127.0.0.1', '--port', str(port)]
    env = {**os.environ, 'LITELLM_LOCAL_MODEL_COST_MAP': 'True'}
    with (folder / 'log').open('w') as log, subprocess.Popen(words, cwd=folder, env=env, stdout=log, stderr=log) as run:
        try:
            for _ in range(PROXY_SECONDS):
                try:
                    urlopen(f'http://127.0.0.1:{port}/health/liveliness').close()
                    break
                except OSError:
                    assert run.poll() is None, (folder / 'log').read_text()
                    time.sleep(1)
            yield f'http://127.0.0.1:{port}/v1'
        finally:
            run.kill()


def test_a_translator_gets_the_same_dialogue_on_messages_and_chat(tmp_path: Path) -> None:
    """Thoughts, texts, calls, results and tools reach the server alike; not what Messages says otherwise."""
    asked: dict[str, list[Request]] = {}
    with serving(script := ThinksAndCalls()) as upstream, proxy(tmp_path, upstream) as url:
        for wire in ('chat', 'messages'):
            outcome = talk(url, wire, key=MASTER_KEY, stream=False)
            assert outcome.value is not None and outcome.value.text.endswith("Answer: ['2', '2', '2']")
            asked[wire], script.asked = script.asked, []
    assert len(asked['chat']) == len(asked['messages']) == 3
    for of_chat, of_messages in zip(*asked.values(), strict=True):
        assert (of_chat.pop('temperature'), of_chat.pop('stream'), of_chat.pop('parallel_tool_calls')) == (
            0,
            False,
            True,
        )
        assert of_messages.pop('reasoning_effort') == 'medium'  # the translator's word for adaptive thoughts
        assert of_messages == of_chat
