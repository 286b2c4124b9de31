# LMDeploy, which each task starts on its own GPUs, in a separate environment, such as '/envs/lmdeploy/bin/lmdeploy'.
# It accepts a key only on the command line, which everybody on the node can see, so it listens without one, on
# loopback. The tool parser is Qwen2.5's.
from opencompass_tooleval.models import ToolEvalServed

models = [
    dict(
        type=ToolEvalServed,
        abbr='qwen2.5-7b-instruct-served-lmdeploy',
        path='Qwen/Qwen2.5-7B-Instruct',
        engine=dict(
            command=[
                *['lmdeploy', 'serve', 'api_server', '{model}', '--model-name', '{model}'],
                *['--server-name', '{host}', '--server-port', '{port}', '--tp', '{gpus}', '--session-len', '16384'],
                *['--enable-prefix-caching', '--tool-call-parser', 'qwen2d5'],
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
