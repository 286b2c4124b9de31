"""How long prompts are: counted by a tokenizer or estimated, and per task of a result."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.benchmark import holds_dialogues
from opencompass_tooleval.core.usage_summary import PromptTokens, prompt_tokens_of

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
    """Words, signs and Chinese characters: near enough for a reduction in %, and needs no tokenizer.

    It is the package's only estimate. English prose has 1.0 to 1.3 tokens of a usual tokenizer for each.
    """
    return [len(_PIECE.findall(text)) for text in texts]


@cache
def find_tokenizer(path: str) -> Any:
    """The Hugging Face tokenizer of a folder, or of a model that is on this machine; None if there is none."""
    if not Path(path).is_dir() and not _is_downloaded(path):
        return None  # before transformers is imported, which takes seconds
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(path, local_files_only=True)
    except (ImportError, OSError, ValueError):
        return None


def _is_downloaded(repository: str) -> bool:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE, f'models--{repository.replace("/", "--")}').is_dir()


def tokenizer_name(tokenizer: Any) -> str:
    """What a tokenizer is called beside the numbers that it counted."""
    path = getattr(tokenizer, 'name_or_path', None) or getattr(tokenizer, 'name', None) or type(tokenizer).__name__
    return f'tokenizer {Path(str(path)).name}'


def choose_counter(paths: Iterable[str | None]) -> Counter:
    """A counter with the first tokenizer of ``paths`` that is on this machine, else the estimate."""
    for path in filter(None, paths):
        tokenizer = find_tokenizer(path)
        if tokenizer is not None:

            def count(texts: Sequence[str], tokenizer: Any = tokenizer) -> list[int]:
                encoded = tokenizer(list(texts), add_special_tokens=False, verbose=False)['input_ids']
                return [len(ids) for ids in encoded]

            return Counter(tokenizer_name(tokenizer), count)
    return Counter(ESTIMATE, estimate_tokens)


def counter_of(model: Mapping[str, Any], tokenizer: str | None = None) -> Counter:
    """What counts the prompts of a model's config.

    Args:
        model: The config.
        tokenizer: A tokenizer that comes before the model's own.
    """
    paths = (tokenizer, model.get('tokenizer_path'), model.get('path'))
    return choose_counter(path for path in paths if isinstance(path, str))


def _as_json(value: Any) -> str:
    """As chat templates write it: letters of any script stay letters, which are fewer tokens than their escapes."""
    return json.dumps(value, ensure_ascii=False).encode('utf-8', 'replace').decode('utf-8')


def prompt_texts(prompt: Any, tools: Iterable[Any] | None = None) -> list[str]:
    """The texts of a prompt by which its tokens are counted.

    The marks that a chat template puts around them are left out.

    Args:
        prompt: As OpenCompass keeps it or a server gets it: a text, or a list of turns with their calls.
        tools: The tools that are offered natively; each is a text, as JSON.

    Returns:
        None of the tools either where there is no prompt.
    """
    if isinstance(prompt, str):
        texts = [prompt]
    else:
        turns = prompt if isinstance(prompt, list) else []
        parts = (turn.get('prompt', turn.get('content')) if isinstance(turn, dict) else turn for turn in turns)
        calls = (_as_json(turn['tool_calls']) for turn in turns if isinstance(turn, dict) and turn.get('tool_calls'))
        texts = [*(part for part in parts if isinstance(part, str)), *calls]
    return [*texts, *map(_as_json, tools or ())] if texts else []


def count_prompts(rows: Iterable[Mapping[str, Any]], counter: Counter) -> float | None:
    """Mean number of tokens of the prompts of predictions, each with the tools that it offers; None without prompts.

    A text that many prompts share, such as a system prompt, is counted once.
    """
    prompts = [texts for row in rows if (texts := prompt_texts(row.get('origin_prompt'), row.get('tools')))]
    if not prompts:
        return None
    distinct = list(dict.fromkeys(text for texts in prompts for text in texts))
    counts: dict[str, int] = {}
    for start in range(0, len(distinct), _BATCH):
        batch = distinct[start : start + _BATCH]
        counts.update(zip(batch, counter.count(batch), strict=True))
    return sum(counts[text] for texts in prompts for text in texts) / len(prompts)


def prompt_tokens(
    result: Mapping[str, Any], rows: Callable[[], Iterable[Mapping[str, Any]]], counter: Callable[[], Counter]
) -> PromptTokens:
    """The one definition of how long the prompts of a task are, for the summary's tables and the report's.

    The tokens are those of the result's ``usage``: as the server reported them, or as they were counted when the model
    was asked. Where it has none, such as of recorded answers, the prompts in the predictions are counted. These hold
    what was asked first, but of an agent or another dialogue in rounds the task alone: nothing is known then.

    Args:
        result: With ``usage`` and ``provenance``.
        rows: Returns the predictions.
        counter: Returns what counts their prompts.
    """
    is_dialogue = holds_dialogues(result.get('provenance'))
    reported = prompt_tokens_of(result.get('usage'), is_dialogue)
    if reported.task is not None or is_dialogue:
        return reported
    chosen = counter()
    mean = count_prompts(rows(), chosen)
    return PromptTokens(mean, mean, '' if mean is None else chosen.name)
