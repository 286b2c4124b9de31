# SGLang, which each task starts on its own GPUs, in a separate environment: replace 'python' by its interpreter. It
# accepts a key only on the command line, which everybody on the node can see, so it listens without one, on loopback.
# The tool parser is Qwen2.5's; decoding is greedy, without the penalties of the model's generation config.
from opencompass_tooleval.models import ToolEvalServed

models = [
    dict(
        type=ToolEvalServed,
        abbr='qwen2.5-7b-instruct-served-sglang',
        path='Qwen/Qwen2.5-7B-Instruct',
        engine=dict(
            command=[
                *['python', '-m', 'sglang.launch_server', '--model-path', '{model}'],
                *['--host', '{host}', '--port', '{port}', '--tensor-parallel-size', '{gpus}'],
                *['--context-length', '16384', '--sampling-defaults', 'openai', '--tool-call-parser', 'qwen25'],
            ],
            health='/health',
            startup=1800,
        ),
        temperature=0,
        max_seq_len=16384,
        max_out_len=512,  # a reasoning model needs 16384, and a max_seq_len with space for it
        max_workers=64,
        batch_size=256,
        run_cfg=dict(num_gpus=1),
    )
]
