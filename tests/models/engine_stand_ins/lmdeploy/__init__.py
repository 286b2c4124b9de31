"""Stands in for LMDeploy 0.10, which cannot be installed here: what OpenCompass imports of it, with its signatures.

Each call of the pipeline appends what it received to the file ``$RECORDED``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

version_info = (0, 10, 0)


@dataclass
class GenerationConfig:
    n: int = 1
    max_new_tokens: int = 512
    do_sample: bool = False
    top_p: float = 1.0
    top_k: int = 50
    min_p: float = 0.0
    temperature: float = 0.8
    repetition_penalty: float = 1.0
    ignore_eos: bool = False
    random_seed: int | None = None
    stop_words: list[str] | None = None
    bad_words: list[str] | None = None
    stop_token_ids: list[int] | None = None
    bad_token_ids: list[int] | None = None
    min_new_tokens: int | None = None
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True
    logprobs: int | None = None
    response_format: dict[str, Any] | None = None


@dataclass
class TurbomindEngineConfig:
    tp: int = 1
    session_len: int | None = None
    max_batch_size: int | None = None


PytorchEngineConfig = TurbomindEngineConfig


@dataclass
class Response:
    text: str
    input_token_len: int = 1
    generate_token_len: int = 1


class Pipeline:
    def __init__(self, engine: TurbomindEngineConfig) -> None:
        self._engine = engine

    def __call__(
        self, prompts: Sequence[str], gen_config: GenerationConfig | None = None, do_preprocess: bool = True
    ) -> list[Response]:
        received = {'prompts': len(prompts), 'engine': asdict(self._engine), **asdict(gen_config or GenerationConfig())}
        with open(os.environ['RECORDED'], 'a', encoding='utf-8') as stream:
            stream.write(json.dumps(received) + '\n')
        return [Response('[]') for _ in prompts]


def pipeline(model_path: str, backend_config: TurbomindEngineConfig, log_level: str = 'WARNING', **_: Any) -> Pipeline:
    return Pipeline(backend_config)
