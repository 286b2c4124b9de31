"""Stands in for vLLM, which cannot be installed here: what OpenCompass imports of it, with its signatures.

Each call appends what it received to the file ``$RECORDED``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any


@dataclass
class SamplingParams:
    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: list[str] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    skip_special_tokens: bool = True


class LLM:
    def __init__(
        self,
        model: str,
        *,
        trust_remote_code: bool = False,
        tensor_parallel_size: int = 1,
        max_model_len: int | None = None,
    ) -> None:
        self._engine = {'tensor_parallel_size': tensor_parallel_size, 'max_model_len': max_model_len}
        self._model = model

    def get_tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self._model)

    def generate(self, prompts: Sequence[Any], sampling_params: SamplingParams | None = None) -> list[Any]:
        received = {'prompts': len(prompts), 'engine': self._engine, **asdict(sampling_params or SamplingParams())}
        with open(os.environ['RECORDED'], 'a', encoding='utf-8') as stream:
            stream.write(json.dumps(received) + '\n')
        return [SimpleNamespace(prompt=prompt, outputs=[SimpleNamespace(text='[]')]) for prompt in prompts]
