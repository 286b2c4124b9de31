"""Counts the tokens of prompts, with a tokenizer or an estimate, and per task of a result."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.benchmark import holds_dialogues
from opencompass_tooleval.core.calls.answer import USAGE
from opencompass_tooleval.core.scoring.usage import Usage, read_usage
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens, prompt_tokens_of

ESTIMATE = 'estimate: words, signs and Chinese characters'
_PIECE = re.compile(r'[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\w\s]')
_BATCH = 256
_FEWEST_PROMPTS, _FEWEST_TOKENS, _EQUAL, _LONGER = 10, 256, 0.98, 1.2
"""Numbers of prompts and tokens from which on cut prompts are found; share of the highest number of tokens; ratio of
lengths."""


@dataclass(frozen=True)
class Counter:
    """Counts tokens.

    Attributes:
        name: The tokenizer, or :data:`ESTIMATE`.
        count: Returns the number of tokens in each text, without special tokens.
    """

    name: str
    count: Callable[[Sequence[str]], list[int]]


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """Estimates the number of tokens in each text by counting words, signs and Chinese characters.

    English prose has 1.0 to 1.3 tokens of a usual tokenizer per counted item.
    """
    return [len(_PIECE.findall(text)) for text in texts]


@cache
def find_tokenizer(path: str) -> Any:
    """Loads a Hugging Face tokenizer from a folder or the local cache; returns None if there is none."""
    if not Path(path).is_dir() and not _is_downloaded(path):
        return None  # importing transformers takes seconds
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(path, local_files_only=True)
    except (ImportError, OSError, ValueError):
        return None


def _is_downloaded(repository: str) -> bool:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE, f'models--{repository.replace("/", "--")}').is_dir()


def tokenizer_name(tokenizer: Any) -> str:
    """Returns the name of a tokenizer to show with its counts."""
    path = getattr(tokenizer, 'name_or_path', None) or getattr(tokenizer, 'name', None) or type(tokenizer).__name__
    return f'tokenizer {Path(str(path)).name}'


def choose_counter(paths: Iterable[str | None]) -> Counter:
    """Returns a counter with the first tokenizer of ``paths`` on this machine, else the estimate."""
    for path in filter(None, paths):
        tokenizer = find_tokenizer(path)
        if tokenizer is not None:

            def count(texts: Sequence[str], tokenizer: Any = tokenizer) -> list[int]:
                encoded = tokenizer(list(texts), add_special_tokens=False, verbose=False)['input_ids']
                return [len(ids) for ids in encoded]

            return Counter(tokenizer_name(tokenizer), count)
    return Counter(ESTIMATE, estimate_tokens)


def counter_of(model: Mapping[str, Any], tokenizer: str | None = None) -> Counter:
    """Returns the counter for the prompts of a model.

    Args:
        model: The model's config.
        tokenizer: A tokenizer that takes precedence over the model's; None to use the model's.
    """
    paths = (tokenizer, model.get('tokenizer_path'), model.get('path'))
    return choose_counter(path for path in paths if isinstance(path, str))


def _as_json(value: Any) -> str:
    """Returns JSON as chat templates write it: without escapes of non-ASCII letters, which would take more tokens."""
    return json.dumps(value, ensure_ascii=False).encode('utf-8', 'replace').decode('utf-8')


def prompt_texts(prompt: Any, tools: Iterable[Any] | None = None) -> list[str]:
    """Returns the texts of a prompt, to count their tokens.

    The special tokens that a chat template adds are not included.

    Args:
        prompt: The prompt as stored by OpenCompass, or as sent to a server: a text, or a list of turns with calls.
        tools: The natively offered tools; each becomes one text in JSON.

    Returns:
        The texts; empty without a prompt, even if there are tools.
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
    """Returns the mean number of prompt tokens (with tools) of predictions; None without prompts.

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


def reported_usage(row: Mapping[str, Any]) -> Usage | None:
    """Returns the usage in a row if the server reported it, of one request; None otherwise."""
    usage = read_usage(row.get(USAGE))
    return usage if usage and not usage.counted and usage.requests == 1 else None


def cut_prompts(rows: Sequence[Mapping[str, Any]]) -> int:
    """Returns the number of tokens to which a server cut long prompts without an error; 0 if it did not.

    It did if the longest third of the prompts has the same number of tokens (at least 256), within 2%, though the
    texts of these prompts differ in length by 20%, and the shortest of them has more bytes than tokens.
    """
    used = [(usage, row) for row in rows if (usage := reported_usage(row)) and usage.prompt]
    alone = _cut_at([(usage.prompt or 0, row) for usage, row in used])
    return alone or _cut_at([((usage.prompt or 0) + (usage.cached or 0), row) for usage, row in used])


def _cut_at(known: Sequence[tuple[int, Mapping[str, Any]]]) -> int:
    most = max((tokens for tokens, _ in known), default=0)
    third = len(known) // 3
    are_equal = sum(tokens >= _EQUAL * most for tokens, _ in known) >= third
    if len(known) < _FEWEST_PROMPTS or not are_equal or most < _FEWEST_TOKENS:
        return 0
    texts = (''.join(prompt_texts(row.get('origin_prompt'), row.get('tools'))) for _, row in known)
    sized = [(len(text.encode('utf-8', 'replace')), tokens) for text, (tokens, _) in zip(texts, known, strict=True)]
    longest = sorted(sized)[-third:]
    is_cut = all(tokens >= _EQUAL * most for _, tokens in longest) and most < longest[0][0]
    return most if is_cut and longest[-1][0] >= _LONGER * longest[0][0] else 0


def prompt_tokens(
    result: Mapping[str, Any], rows: Callable[[], Iterable[Mapping[str, Any]]], counter: Callable[[], Counter]
) -> PromptTokens:
    """Returns the number of prompt tokens per task of a result, as shown in the summary and the report.

    The numbers come from the result's ``usage``: the server reported them, or inference counted them. If there is no
    ``usage``, as for recorded answers, the prompts in the predictions are counted. These are first prompts, so for
    multi-round dialogues, such as agents, the result is then unknown.

    Args:
        result: The result, with ``usage`` and ``provenance``.
        rows: Returns the rows of the predictions.
        counter: Returns the token counter for the prompts.
    """
    is_dialogue = holds_dialogues(result)
    reported = prompt_tokens_of(result.get('usage'), is_dialogue)
    if reported.task is not None or is_dialogue:
        return reported
    chosen = counter()
    mean = count_prompts(rows(), chosen)
    return PromptTokens(mean, mean, '' if mean is None else chosen.name)
