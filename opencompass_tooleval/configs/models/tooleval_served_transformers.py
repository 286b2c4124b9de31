# `transformers serve` of this environment (4.57: transformers[serving]), for a model that no other engine supports. It
# checks no key, answers one request after the other, and parses tool calls only for Qwen's architectures.
from opencompass_tooleval.models import ToolEvalServed

models = [
    dict(
        type=ToolEvalServed,
        abbr='qwen2.5-0.5b-instruct-served-transformers',
        path='Qwen/Qwen2.5-0.5B-Instruct',
        engine=dict(
            command=[
                *['{python}', '-m', 'transformers.commands.transformers_cli', 'serve'],
                *['--host', '{host}', '--port', '{port}', '--force_model', '{model}', '--model_timeout', '86400'],
            ],
            health='/health',
            startup=600,
        ),
        temperature=0,
        max_seq_len=16384,
        max_out_len=512,  # a reasoning model needs 16384, and a max_seq_len with space for it
        max_workers=1,
        batch_size=16,
        run_cfg=dict(num_gpus=1),
    )
]
