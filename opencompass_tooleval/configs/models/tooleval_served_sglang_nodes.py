# SGLang over two whole nodes of a Slurm job: put 'infer' of tooleval_slurm.py beside it, and SGLang's interpreter, the
# same on all nodes, in place of 'python'. All GPUs share each layer. It listens without a key, on loopback.
from opencompass_tooleval.models import ToolEvalServed

models = [
    dict(
        type=ToolEvalServed,
        abbr='qwen3-coder-480b-served-sglang',
        path='Qwen/Qwen3-Coder-480B-A35B-Instruct',
        engine=dict(
            nodes=2,
            command=[
                *['python', '-m', 'sglang.launch_server', '--model-path', '{model}'],
                *['--host', '{host}', '--port', '{port}', '--tp', '{total_gpus}'],
                *['--nnodes', '{nodes}', '--node-rank', '{rank}', '--dist-init-addr', '{address}:{master_port}'],
                *['--context-length', '32768', '--sampling-defaults', 'openai', '--tool-call-parser', 'qwen3_coder'],
            ],
            startup=3600,
        ),
        temperature=0,
        max_seq_len=32768,
        max_out_len=4096,
        max_workers=64,
        batch_size=256,
        run_cfg=dict(num_gpus=8),
    )
]
