"""Tokens of documentation and instructions, counted by a tokenizer."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.embedding.locate import OFFLINE, EncoderMissingError, locate_encoder
from opencompass_tooleval.results.variants import reduction
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.render import render_doc, render_instruction
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc

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


@dataclass(frozen=True)
class ToolTokens:
    """Tokens of one tool: of its documentation (``before``) and of its instruction (``after``)."""

    name: str
    before: int
    after: int

    @property
    def reduction(self) -> float | None:
        """Reduction in percent; None if the documentation has no tokens."""
        return reduction(self.before, self.after)


@dataclass(frozen=True)
class TokenStats:
    """Tokens of all tools.

    Attributes:
        tools: The tools with both, in the documentation's order.
        only_documented: Tools without an instruction; not counted.
        only_instructed: Instructions without documentation; not counted.
    """

    tools: tuple[ToolTokens, ...]
    only_documented: tuple[str, ...]
    only_instructed: tuple[str, ...]

    @property
    def before(self) -> int:
        """Tokens of all documentation."""
        return sum(tool.before for tool in self.tools)

    @property
    def after(self) -> int:
        """Tokens of all instructions."""
        return sum(tool.after for tool in self.tools)

    @property
    def mean_before(self) -> float:
        """Mean tokens of a tool's documentation: ``Token Doc.`` of Table 3."""
        return self.before / len(self.tools)

    @property
    def mean_after(self) -> float:
        """Mean tokens of a tool's instruction: ``Token Ins.`` of Table 3."""
        return self.after / len(self.tools)

    @property
    def reduction(self) -> float | None:
        """Reduction of all tokens in percent: ``Reduce (%)`` of Table 3; None if the documentation has no tokens."""
        return reduction(self.before, self.after)


def token_stats(
    docs: Iterable[ToolDoc], instructions: Mapping[str, ToolInstruction], count: Callable[[str], int]
) -> TokenStats:
    """Counts the tokens of each tool in a prompt, as :mod:`~opencompass_tooleval.tool_docs.render` formats the tool.

    Args:
        docs: The documentation.
        instructions: Tool name -> instruction.
        count: Text -> number of tokens.

    Raises:
        ValueError: No tool has both documentation and instruction.
    """
    documented = {doc.name: doc for doc in docs}
    tools = tuple(
        ToolTokens(name, count(render_doc(doc)), count(render_instruction(instructions[name])))
        for name, doc in documented.items()
        if name in instructions
    )
    if not tools:
        raise ValueError('no tool of the documentation has an instruction; do both belong to the same tools?')
    return TokenStats(
        tools,
        tuple(name for name in documented if name not in instructions),
        tuple(name for name in instructions if name not in documented),
    )
