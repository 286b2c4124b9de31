# vLLM (0.11.1 or later) over two whole nodes of a Slurm job, without Ray: put 'infer' of tooleval_slurm.py beside it.
# The GPUs of a node (run_cfg) share each layer, the nodes share the layers. The path of vLLM is the same on all nodes.
from opencompass_tooleval.models import ToolEvalServed

models = [
    dict(
        type=ToolEvalServed,
        abbr='qwen3-coder-480b-served-vllm',
        path='Qwen/Qwen3-Coder-480B-A35B-Instruct',
        engine=dict(
            nodes=2,
            command=[
                *['vllm', 'serve', '{model}', '--host', '{host}', '--port', '{port}'],
                *['--nnodes', '{nodes}', '--node-rank', '{rank}'],
                *['--master-addr', '{address}', '--master-port', '{master_port}'],
                *['--distributed-executor-backend', 'mp'],
                *['--tensor-parallel-size', '{gpus}', '--pipeline-parallel-size', '{nodes}'],
                *['--max-model-len', '32768', '--generation-config', 'vllm'],
                *['--enable-auto-tool-choice', '--tool-call-parser', 'qwen3_coder'],
            ],
            worker_options=['--headless'],
            key_variable='VLLM_API_KEY',
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
