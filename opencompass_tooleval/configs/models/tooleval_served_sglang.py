# SGLang, which each task starts on its own GPUs, in an environment of its own: name its interpreter in place of
# 'python'. It takes a key on the command line alone, where everybody on the node would see it: it listens without one,
# on loopback. The tool parser is that of Qwen2.5; greedy is greedy, without the penalties that the model comes with.
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
        max_out_len=512,
        max_workers=64,
        batch_size=256,
        run_cfg=dict(num_gpus=1),
    )
]
