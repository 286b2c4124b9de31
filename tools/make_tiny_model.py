"""Make a tiny Hugging Face chat model with random weights, for tests and benchmarks. Nothing is downloaded.

The tokenizer is trained on the demo data that this package ships, the chat template knows system, user and assistant,
and the weights are drawn from a seed: the same seed makes the same files. The model answers with nonsense, but with a
different one for each prompt, never an empty one, and greedy decoding ends at different lengths.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast, Qwen2ForCausalLM

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / 'opencompass_tooleval' / 'demo'

VOCABULARY = 1024
CONTEXT = 8192
PAD, START, END = '<|pad|>', '<|im_start|>', '<|im_end|>'

CHAT_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] not in ['system', 'user', 'assistant'] %}"
    "{{ raise_exception('unknown role ' + message['role']) }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

QWEN_TEMPLATE = (
    "{% if not tools %}{{ raise_exception('no tools were sent') }}{% endif %}<|im_start|>system\n# Tools\n\n"
    'You are provided with function signatures within <tools></tools> XML tags:\n<tools>'
    "{% for tool in tools %}{{ '\n' + tool | tojson }}{% endfor %}\n</tools>\n\nFor each function call, return a json "
    'object with function name and arguments within <tool_call></tool_call> XML tags.<|im_end|>\n'
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""Tools as Qwen2.5's own template shows them; it refuses a conversation without any."""

TINY = {
    'hidden_size': 64,
    'intermediate_size': 128,
    'num_hidden_layers': 2,
    'num_attention_heads': 4,
    'num_key_value_heads': 2,
}

END_SCALE = 4.0
"""How much louder the end token is than the others. At 1 an answer never ends; here most do within 30 tokens."""


def demo_texts() -> Iterator[str]:
    """Yields the text of every demo file, as a model would see it: Chinese as Chinese, not as escapes."""
    for file in sorted(DEMO.joinpath('teval').rglob('*.json')):
        for record in json.loads(file.read_text(encoding='utf-8')).values():
            prompt = record['origin_prompt']
            for message in json.loads(prompt) if isinstance(prompt, str) else prompt:
                yield message['content']


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Trains a byte-level BPE tokenizer: any text goes in and comes out unchanged."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(demo_texts(), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[START],
        chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT,
        model_input_names=['input_ids', 'attention_mask'],
        clean_up_tokenization_spaces=False,
    )


def make_model(
    tokenizer: PreTrainedTokenizerFast, seed: int, sizes: Mapping[str, int] | None = None
) -> LlamaForCausalLM:
    """Makes a two-layer Llama in float32 with weights drawn from ``seed``.

    Args:
        tokenizer: Its tokenizer.
        seed: Of the weights.
        sizes: Arguments of ``LlamaConfig`` in place of those of a tiny model.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        **{**TINY, **(sizes or {})},
        max_position_embeddings=CONTEXT,
        # Ten times the usual: the attention is sharp, so that the answer depends on the prompt, and the best token is
        # far enough ahead of the second for greedy decoding to agree between batch sizes.
        initializer_range=0.2,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype=torch.float32,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).eval()
    model.generation_config.min_new_tokens = 1
    with torch.no_grad():
        model.lm_head.weight[tokenizer.eos_token_id] *= END_SCALE
        for silent in (PAD, START):
            model.lm_head.weight[tokenizer.convert_tokens_to_ids(silent)] = 0.0
    return model


def make_tiny_model(folder: Path, seed: int = 0, sizes: Mapping[str, int] | None = None) -> Path:
    """Writes tokenizer and model to ``folder``, which is made if it is not there, and returns it."""
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    make_model(tokenizer, seed, sizes).save_pretrained(folder)
    return folder


def _add_call(tokenizer: PreTrainedTokenizerFast, name: str, arguments: dict[str, Any]) -> list[int]:
    """Makes a call, as Qwen writes it, tokens of their own, none of which comes twice; returns them."""
    from tokenizers import AddedToken

    # `transformers serve` looks for the name before it passes on what stands behind "arguments": as single tokens.
    values = json.dumps(arguments, ensure_ascii=False)
    pieces = ['<tool_call>\n', '{"name": ', f'"{name}", ', '"arguments": ', f'{values}}}\n', '</tool_call>']
    tokenizer.add_tokens([AddedToken(piece, normalized=False, special=False) for piece in pieces])
    return [tokenizer.convert_tokens_to_ids(piece) for piece in pieces]


def make_calling_model(folder: Path, name: str, arguments: dict[str, Any]) -> Path:
    """Writes a model of Qwen2's architecture that answers every question with one call, and returns its folder.

    Args:
        folder: Made if it is not there.
        name: Of the function.
        arguments: Of the call.
    """
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = make_tokenizer()
    tokenizer.chat_template = QWEN_TEMPLATE
    call = _add_call(tokenizer, name, arguments)
    question = [{'role': 'user', 'content': 'question'}]
    before: int = tokenizer.apply_chat_template(question, tools=[{}], add_generation_prompt=True)[-1]
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype=torch.float32,
    )
    model: Qwen2ForCausalLM = Qwen2ForCausalLM(config).eval()
    with torch.no_grad():
        # Nothing but the last token counts: each of the chain has a direction, which its successor listens to.
        for weight in (model.model.layers[0].self_attn.o_proj.weight, model.model.layers[0].mlp.down_proj.weight):
            weight.zero_()
        model.model.embed_tokens.weight.zero_()
        model.lm_head.weight.zero_()
        for place, (token, successor) in enumerate(pairwise([before, *call, tokenizer.eos_token_id])):
            model.model.embed_tokens.weight[token, place] = 1.0
            model.lm_head.weight[successor, place] = 1.0
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=Path, metavar='OUT', help='where the model goes')
    parser.add_argument('--seed', type=int, default=0)
    arguments = parser.parse_args()
    print(make_tiny_model(arguments.folder, arguments.seed))


if __name__ == '__main__':
    main()
