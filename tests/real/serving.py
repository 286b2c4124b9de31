"""A running llama.cpp server of a real model: its counters, and the prompts that it was sent."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.models import RealModel
from tests.real.recorder import Recorder
from tests.real.sweep import ROOT

KEY = 'key-of-make-real'
SLOTS = 4
CONTEXT = 8192
SCRIPT = ROOT / 'tests' / 'real' / 'llama_server.py'


@dataclass(frozen=True)
class Counters:
    """What the server has counted since its start."""

    prompt: int
    cached: int
    completion: int

    def __sub__(self, other: Counters) -> Counters:
        return Counters(self.prompt - other.prompt, self.cached - other.cached, self.completion - other.completion)


class LlamaServer:
    """llama.cpp's server of one model, as its own process.

    Args:
        model: What it serves.
        folder: For its log.
        template: File of another chat template than the model's.
        options: Further options of the server.
    """

    def __init__(
        self, model: RealModel, folder: Path, template: Path | None = None, options: Sequence[str] = ()
    ) -> None:
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
        self.model, self.url = model, f'http://127.0.0.1:{port}'
        self.log = folder / 'server.log'
        folder.mkdir(parents=True)
        words = ['--model', model.gguf, '--alias', model.name, '--port', port, '--parallel', SLOTS]
        words += ['--ctx-size', SLOTS * CONTEXT, '--chat-template-file', template or model.template_file, *options]
        with self.log.open('w') as log:
            self.process = subprocess.Popen(
                [sys.executable, SCRIPT, *map(str, words)],
                env={**os.environ, 'LLAMA_API_KEY': KEY},
                stdout=log,
                stderr=log,
            )
        while not self._is_up():
            assert self.process.poll() is None, self.log.read_text(encoding='utf-8', errors='replace')[-3000:]
            time.sleep(0.2)
        self.recorder = Recorder(self.url)

    def _is_up(self) -> bool:
        try:
            return bool(self._get('/health'))
        except OSError:
            return False

    def _get(self, path: str, body: Any = None) -> bytes:
        headers = {'Authorization': f'Bearer {KEY}', 'Content-Type': 'application/json'}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers)) as reply:
            content: bytes = reply.read()
            return content

    def counters(self) -> Counters:
        """Its counters: tokens of prompts without the cached ones, the cached ones, tokens of answers."""
        lines = [line.split() for line in self._get('/metrics').decode().splitlines() if not line.startswith('#')]
        counted = {name: int(float(value)) for name, value in lines}
        names = ('prompt_tokens_total', 'prompt_tokens_cached_total', 'tokens_predicted_total')
        return Counters(*(counted[f'llamacpp:{name}'] for name in names))

    def tokens(self, text: str, special: bool) -> list[int]:
        """How it tokenizes a text, with or without the tokens that it adds itself."""
        found: list[int] = json.loads(self._get('/tokenize', dict(content=text, add_special=special)))['tokens']
        return found

    def prompts(self) -> list[str]:
        """The text of each prompt that it was sent, as its chat template renders it.

        Not from the folder of ``--log-prompts-dir``: of two prompts in the same millisecond it keeps one.
        """
        bodies = {json.dumps(request): request for request in list(self.recorder.requests)}
        return [json.loads(self._get('/apply-template', body))['prompt'] for body in bodies.values()]

    def settings(self, **more: Any) -> dict[str, Any]:
        """The config of a model that is served here."""
        return dict(
            type='opencompass_tooleval.models.openai_model.ToolEvalOpenAI',
            abbr=more.pop('abbr', f'{self.model.name}-llamacpp'),
            path=self.model.name,
            key='ENV',
            openai_api_base=f'{self.recorder.url}/v1',
            **{**COMMON, 'max_workers': SLOTS, **more},
            tokenizer_path=str(self.model.folder),
            temperature=0,
            retry=0,
        )

    def stop(self) -> None:
        """Ends it."""
        self.recorder.stop()
        self.process.terminate()
        self.process.wait()


COMMON: dict[str, Any] = dict(
    max_seq_len=CONTEXT,
    prices=dict(input=0.15, output=0.6, cached=0.075),
    run_cfg=dict(num_gpus=0),
)


def local_settings(model: RealModel, batch_size: int = 4, **more: Any) -> dict[str, Any]:
    """The config of a model that OpenCompass's chat wrapper loads."""
    return dict(
        type='opencompass_tooleval.models.local_chat.ToolEvalHFChat',
        abbr=f'{model.name}-transformers',
        path=str(model.folder),
        batch_size=batch_size,
        model_kwargs=dict(torch_dtype='torch.float32', device_map='cpu'),
        **{**COMMON, **more},
    )
