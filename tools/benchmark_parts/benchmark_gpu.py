"""Times a local and a served model on a GPU beside what their engines do alone; part of ``benchmark.py``.

The model is made here, with random weights, unless ``--model`` names one. The same prompts are answered:

* by Hugging Face in this process, in batches of 1, 8 and 64, through the inferencer that data sets have; beside it a
  bare loop of ``generate`` over the same batches. The answers must be the same for every size of batch, and in two
  processes that share the GPU.
* by an engine that the package starts: vLLM where it is installed, and ``transformers serve``; beside it a bare client
  that sends the same requests and keeps nothing.

Without a GPU there is nothing to measure, and it says so. ``--device cpu`` takes a tiny model and a few prompts, to try
the steps; its figures say nothing about a GPU.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import aiohttp
import torch
from mmengine.config import Config
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.inferencers.inferencer import ToolEvalGenInferencer
from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.models.local_chat import ToolEvalHFChat
from opencompass_tooleval.models.model_config import build_model
from opencompass_tooleval.models.served_model import ToolEvalServed
from tools.benchmark_parts.benchmark_pipe import RowsDataset
from tools.make_tiny_model import demo_texts, make_tiny_model

CONFIGS = Path(__file__).resolve().parents[2] / 'opencompass_tooleval' / 'configs' / 'models'
BATCHES = (1, 8, 64)
CONTEXT = 4096


@dataclass(frozen=True)
class Size:
    """How much is done.

    Attributes:
        prompts: Number of prompts.
        tokens: Maximum number of tokens of an answer.
        model: Arguments of the model that is made.
    """

    prompts: int
    tokens: int
    model: Mapping[str, int]


LARGE = Size(
    256,
    128,
    {
        'hidden_size': 2048,
        'intermediate_size': 5632,
        'num_hidden_layers': 16,
        'num_attention_heads': 16,
        'num_key_value_heads': 8,
    },
)
SMALL = Size(8, 8, {})
SIZES = {'cuda': LARGE, 'cpu': SMALL}


def prompts_of(count: int) -> list[str]:
    """Beginnings of the demo's messages, each with a number: no two are the same."""
    texts = [' '.join(text.split())[:400] for text in islice(demo_texts(), count)]
    return [f'{number}. {texts[number % len(texts)]}' for number in range(count)]


def ask(model: Any, prompts: Sequence[str], tokens: int, batch: int) -> tuple[list[str], float]:
    """Answers and seconds of the inferencer that data sets have."""
    rows = [
        {
            'record_id': str(number),
            'messages': json.dumps([{'role': 'user', 'content': text}]),
            'record': '',
            'gold_answer': '',
            'source': 'gpu',
        }
        for number, text in enumerate(prompts)
    ]
    reader = {'input_columns': ['messages'], 'output_column': 'record'}
    retriever = ZeroRetriever(RowsDataset(reader_cfg=reader, abbr='gpu', rows=rows))
    with tempfile.TemporaryDirectory() as folder:
        inferencer = ToolEvalGenInferencer(
            model=model, max_out_len=tokens, batch_size=batch, output_json_filepath=folder
        )
        started = time.perf_counter()
        answers = inferencer.inference(retriever, None, ToolEvalConversationTemplate(), folder, 'gpu.json')
        return answers, time.perf_counter() - started


def load(path: str, device: str) -> ToolEvalHFChat:
    """The model in this process, in float32: in half the bits, sums depend on the size of a batch."""
    return ToolEvalHFChat(
        path=path,
        max_seq_len=CONTEXT,
        model_kwargs={'torch_dtype': 'float32', 'device_map': device},
        generation_kwargs={'do_sample': False},
    )


def bare_seconds(model: ToolEvalHFChat, prompts: Sequence[str], tokens: int, batch: int) -> float:
    """Seconds of ``generate`` over the same batches, in the order of their beginnings, as data sets are asked."""
    tokenizer = model.tokenizer
    tokenizer.padding_side = 'left'
    texts = [
        tokenizer.apply_chat_template([{'role': 'user', 'content': text}], tokenize=False, add_generation_prompt=True)
        for text in sorted(prompts)
    ]
    started = time.perf_counter()
    for start in range(0, len(texts), batch):
        encoded = tokenizer(texts[start : start + batch], return_tensors='pt', padding=True, add_special_tokens=False)
        encoded = encoded.to(model.model.device)
        made = model.model.generate(**encoded, max_new_tokens=tokens, do_sample=False)
        tokenizer.batch_decode(made[:, encoded['input_ids'].shape[1] :])
    return time.perf_counter() - started


def answers_of_process(path: str, device: str, prompts: Sequence[str], tokens: int, batch: int) -> list[str]:
    """The answers of a process of its own."""
    return ask(load(path, device), prompts, tokens, batch)[0]


def measure_local(path: str, device: str, size: Size) -> dict[str, Any]:
    """Measures and checks the model in this process."""
    prompts, model = prompts_of(size.prompts), load(path, device)
    ask(model, prompts[:2], size.tokens, 2)  # the first call prepares the device
    answers, rows = dict[int, list[str]](), dict[str, Any]()
    for batch in BATCHES:
        bare = bare_seconds(model, prompts, size.tokens, batch)
        answers[batch], seconds = ask(model, prompts, size.tokens, batch)
        made = sum(len(model.tokenizer(text, add_special_tokens=False)['input_ids']) for text in answers[batch])
        rows[f'batch {batch}'] = {'seconds': seconds, 'bare': bare, 'tokens': made}
        print(
            f'gpu: Hugging Face in batches of {batch}: {size.prompts} prompts in {seconds:.2f} s, '
            f'{made / seconds:.0f} tokens/s of answers; generate alone {bare:.2f} s, ratio {seconds / bare:.2f}',
            flush=True,
        )
    same = {
        batch: sum(one == other for one, other in zip(answers[1], answers[batch], strict=True)) for batch in BATCHES
    }
    del model
    with get_context('spawn').Pool(2) as pool:
        given = [(path, device, prompts, size.tokens, 8)] * 2
        both = pool.starmap(answers_of_process, given, chunksize=1)
    two = [sum(one == other for one, other in zip(answers[8], made, strict=True)) for made in both]
    print(
        f'gpu: answers equal to those one by one, of {size.prompts}: '
        f'{", ".join(f"{count} in batches of {batch}" for batch, count in same.items())}; of two processes at once '
        f'in batches of 8, {two[0]} and {two[1]} equal to those of one',
        flush=True,
    )
    return {**rows, 'equal': same, 'two processes': two}


def _served_configs(path: str, device: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields name and config of each engine that is installed."""
    for name, module in (('vllm', 'vllm'), ('transformers', 'fastapi')):
        if not find_spec(module):
            print(f'gpu: {name} is skipped: {module} is not installed', flush=True)
            continue
        cfg = Config.fromfile(CONFIGS / f'tooleval_served_{name}.py').to_dict()['models'][0]
        words = [str(CONTEXT) if word == str(cfg['max_seq_len']) else word for word in cfg['engine']['command']]
        if name == 'vllm':
            words[0] = str(Path(sys.executable).with_name('vllm'))
        else:
            words += ['--device', device]
        yield name, {**cfg, 'path': path, 'max_seq_len': CONTEXT, 'engine': {**cfg['engine'], 'command': words}}


@contextmanager
def _served(cfg: Mapping[str, Any]) -> Iterator[ToolEvalServed]:
    model = build_model(cfg)
    try:
        yield model
    finally:
        model.close()


async def _ask_bare(url: str, key: str, path: str, prompts: Sequence[str], tokens: int, width: int) -> None:
    waiting = deque(sorted(prompts))

    async def work(session: aiohttp.ClientSession) -> None:
        while waiting:
            message = {'role': 'user', 'content': waiting.popleft()}
            body = {'model': path, 'messages': [message], 'max_tokens': tokens, 'temperature': 0.0}
            async with session.post(f'{url}/chat/completions', json=body) as response:
                response.raise_for_status()
                await response.read()

    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(headers={'Authorization': f'Bearer {key}'}, timeout=timeout) as session:
        await asyncio.gather(*(work(session) for _ in range(width)))


def measure_served(path: str, device: str, size: Size) -> dict[str, Any]:
    """Measures the engines that are installed."""
    rows, prompts = dict[str, Any](), prompts_of(size.prompts)
    for name, cfg in _served_configs(path, device):
        with _served(cfg) as model:
            ask(model, [f'first {text}' for text in prompts[:2]], size.tokens, 2)  # starts the engine
            engine, width = model._engine, model.max_workers
            started = time.perf_counter()
            # Other prompts, as an engine's cache would answer the second half of the same ones faster.
            asyncio.run(_ask_bare(engine.url, engine.key, path, [f'bare {one}' for one in prompts], size.tokens, width))
            bare = time.perf_counter() - started
            _, seconds = ask(model, [f'ours {one}' for one in prompts], size.tokens, width)
        rows[name] = {'seconds': seconds, 'bare': bare, 'in flight': width}
        print(
            f'gpu: served by {name}, {width} in flight: {size.prompts} prompts in {seconds:.2f} s; '
            f'a bare client {bare:.2f} s, ratio {seconds / bare:.2f}',
            flush=True,
        )
    return rows


def measure(model: str | None = None, device: str = 'cuda') -> dict[str, Any]:
    """Measures and prints, or says that there is no GPU.

    Args:
        model: Folder of a chat model; None makes one with random weights.
        device: ``cuda``, or ``cpu`` to try the steps.
    """
    if device == 'cuda' and not torch.cuda.is_available():
        print('gpu is skipped: torch sees no GPU here; --device cpu tries the steps with a tiny model')
        return {}
    size = SIZES[device]
    name = torch.cuda.get_device_name() if device == 'cuda' else 'the processor, which is no measure of a GPU'
    with tempfile.TemporaryDirectory() as folder:
        path = model or str(make_tiny_model(Path(folder, 'model'), sizes=size.model))
        print(f'gpu: on {name}', flush=True)
        parts: dict[str, Callable[[str, str, Size], dict[str, Any]]] = {
            'local': measure_local,
            'served': measure_served,
        }
        return {'gpu': {'device': name} | {part: of(path, device, size) for part, of in parts.items()}}
