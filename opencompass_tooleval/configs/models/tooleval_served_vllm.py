# vLLM, which each task starts on its own GPUs. It needs a separate environment ('/envs/vllm/bin/vllm' instead of
# 'vllm') or a container. The tool parser is Qwen2.5's; decoding is greedy, without the penalties of the model's
# generation_config.json.
from opencompass_tooleval.models import ToolEvalServed

models = [
    dict(
        type=ToolEvalServed,
        abbr='qwen2.5-7b-instruct-served-vllm',
        path='Qwen/Qwen2.5-7B-Instruct',
        engine=dict(
            command=[
                *['vllm', 'serve', '{model}', '--host', '{host}', '--port', '{port}'],
                *['--tensor-parallel-size', '{gpus}', '--max-model-len', '16384', '--generation-config', 'vllm'],
                *['--enable-auto-tool-choice', '--tool-call-parser', 'hermes'],
            ],
            key_variable='VLLM_API_KEY',
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
