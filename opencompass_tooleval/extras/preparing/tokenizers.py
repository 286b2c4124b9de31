"""Tokenizers for counting tokens: a Hugging Face folder, the packaged one, or OpenAI's ``cl100k_base``.

Downloads nothing unless the user asks for it.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

from opencompass_tooleval.embedding.locate import OFFLINE, EncoderMissingError, locate_encoder

CL100K = 'cl100k_base'
"""The tokenizer of the paper (Section 3.2, footnote)."""

_CACHE = 'TIKTOKEN_CACHE_DIR'
_PACKAGE = 'litellm'
"""A package that contains the file of ``cl100k_base``; used if installed, never required."""


def _packaged_folder() -> str | None:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return str(Path(spec.origin).parent / 'litellm_core_utils' / 'tokenizers')


def _cl100k() -> Callable[[str], int]:
    try:
        import tiktoken
    except ImportError as error:
        raise ValueError('tiktoken is not installed; install it with: pip install tiktoken') from error
    packaged = _packaged_folder()
    if packaged:
        os.environ.setdefault(_CACHE, packaged)
    try:
        encoding = tiktoken.get_encoding(CL100K)
    except Exception as error:  # from requests, the file system, or tiktoken if the file is damaged
        raise ValueError(
            f'the file of {CL100K} is missing ({type(error).__name__}). Run once with a network, set {_CACHE} to a '
            f'folder that contains it, install {_PACKAGE}, which includes it, or use --tokenizer {OFFLINE} (the '
            "packaged encoder's) or a folder with a Hugging Face tokenizer"
        ) from error
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def load_counter(tokenizer: str) -> Callable[[str], int]:
    """Returns a function that counts the tokens of a text.

    Args:
        tokenizer: ``cl100k_base``, a folder with a Hugging Face tokenizer, or ``offline``, the packaged encoder's.
            Special tokens around a text are not counted.

    Raises:
        EncoderMissingError: ``offline`` is not installed.
        ValueError: The folder does not exist or has no tokenizer, or the file of ``cl100k_base`` is not available;
            the error contains the fix.
    """
    if tokenizer == CL100K:
        return _cl100k()
    folder = Path(locate_encoder(OFFLINE).path if tokenizer == OFFLINE else tokenizer).expanduser()
    if not folder.is_dir():
        raise ValueError(f'--tokenizer {tokenizer} is neither {CL100K}, {OFFLINE} nor a folder')
    from transformers import AutoTokenizer

    try:
        loaded = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        message = str(error).partition('\n')[0][:200]  # transformers may list all its models after the first line
        raise ValueError(f'{folder} contains no tokenizer that transformers can load ({message})') from error
    # verbose: a text longer than the model's limit is not an error here
    return lambda text: len(loaded.encode(text, add_special_tokens=False, verbose=False))


def default_counter() -> tuple[str, Callable[[str], int], str]:
    """Returns ``cl100k_base``, or without its file the packaged encoder's tokenizer, if installed.

    Returns:
        Name of the tokenizer, a function that counts the tokens of a text, and a note about the tokenizer or ''.

    Raises:
        ValueError: Neither is on this machine; the error contains the fix.
    """
    try:
        return CL100K, load_counter(CL100K), ''
    except ValueError as error:
        try:
            counter = load_counter(OFFLINE)
        except EncoderMissingError:
            raise error from None
        return OFFLINE, counter, f"counted with the packaged encoder's tokenizer, not the paper's: {error}"
