"""How long the prompts of a run are, counted over its predictions files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.json_object import load_json

ESTIMATE = 'estimate: words, signs and Chinese characters'
_PIECE = re.compile(r'[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\w\s]')
_BATCH = 256


@dataclass(frozen=True)
class Counter:
    """Counts tokens.

    Attributes:
        name: The tokenizer, or :data:`ESTIMATE`.
        count: Texts -> their numbers of tokens, special tokens aside.
    """

    name: str
    count: Callable[[Sequence[str]], list[int]]


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """Words, signs and Chinese characters: near enough for a reduction in %, and needs no tokenizer."""
    return [len(_PIECE.findall(text)) for text in texts]


@cache
def find_tokenizer(path: str) -> Any:
    """The Hugging Face tokenizer of a folder, or of a model that is on this machine; None if there is none."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(path, local_files_only=True)
    except (ImportError, OSError, ValueError):
        return None


def choose_counter(paths: Iterable[str | None]) -> Counter:
    """A counter with the first tokenizer of ``paths`` that is on this machine, else the estimate."""
    for path in filter(None, paths):
        tokenizer = find_tokenizer(path)
        if tokenizer is not None:

            def count(texts: Sequence[str], tokenizer: Any = tokenizer) -> list[int]:
                encoded = tokenizer(list(texts), add_special_tokens=False, verbose=False)['input_ids']
                return [len(ids) for ids in encoded]

            return Counter(f'tokenizer {Path(path).name}', count)
    return Counter(ESTIMATE, estimate_tokens)


def _as_json(value: Any) -> str:
    """As chat templates write it: letters of any script stay letters, which are fewer tokens than their escapes."""
    return json.dumps(value, ensure_ascii=False).encode('utf-8', 'replace').decode('utf-8')


def _texts(prompt: Any) -> list[str]:
    """The texts of a prompt as OpenCompass keeps it: one, or a list of turns."""
    if isinstance(prompt, str):
        return [prompt]
    if not isinstance(prompt, list):
        return []
    turns = (turn.get('prompt', turn.get('content')) if isinstance(turn, dict) else turn for turn in prompt)
    calls = (_as_json(turn['tool_calls']) for turn in prompt if isinstance(turn, dict) and turn.get('tool_calls'))
    return [*(turn for turn in turns if isinstance(turn, str)), *calls]


def _prompts(files: Iterable[Path]) -> Iterator[list[str]]:
    for file in files:
        for row in load_json(file.read_bytes()).values():
            texts = _texts(row.get('origin_prompt'))
            if texts:
                yield [*texts, *map(_as_json, row.get('tools') or ())]


def count_prompts(files: Iterable[Path], counter: Counter) -> float | None:
    """Mean number of tokens of the prompts in predictions files; None if they hold no prompts.

    The texts of all turns are counted, and as JSON the tools that are offered; the marks that a chat template puts
    around them are not. A text that many prompts share, such as a system prompt, is counted once.
    """
    prompts = list(_prompts(files))
    if not prompts:
        return None
    distinct = list(dict.fromkeys(text for texts in prompts for text in texts))
    counts: dict[str, int] = {}
    for start in range(0, len(distinct), _BATCH):
        batch = distinct[start : start + _BATCH]
        counts.update(zip(batch, counter.count(batch), strict=True))
    total = sum(counts[text] for texts in prompts for text in texts)
    return total / len(prompts)
