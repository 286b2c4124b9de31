# llama.cpp's server, which each task starts, such as '/opt/llama.cpp/llama-server'. `path` is a GGUF file. It answers
# `--parallel` requests at once, each with its share of `--ctx-size`; `--jinja` uses the model's chat template.
from opencompass_tooleval.models import ToolEvalServed

models = [
    dict(
        type=ToolEvalServed,
        abbr='qwen2.5-7b-instruct-served-llamacpp',
        path='/models/qwen2.5-7b-instruct-q4_k_m.gguf',
        engine=dict(
            command=[
                *['llama-server', '--model', '{model}', '--alias', '{model}', '--host', '{host}', '--port', '{port}'],
                *['--parallel', '8', '--ctx-size', '131072', '--n-gpu-layers', '999', '--jinja'],
            ],
            key_variable='LLAMA_API_KEY',
            health='/health',
            startup=1800,
        ),
        temperature=0,
        max_seq_len=16384,
        max_out_len=512,  # a reasoning model needs 16384, and a max_seq_len with space for it
        max_workers=8,
        batch_size=256,
        run_cfg=dict(num_gpus=1),
    )
]
