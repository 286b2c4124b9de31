from opencompass_tooleval.models import ToolEvalVLLMChat

models = [
    dict(
        type=ToolEvalVLLMChat,
        abbr='qwen2.5-7b-instruct-vllm',
        path='Qwen/Qwen2.5-7B-Instruct',
        model_kwargs=dict(tensor_parallel_size=1, enable_prefix_caching=True),
        generation_kwargs=dict(temperature=0),
        max_seq_len=16384,
        max_out_len=512,  # a reasoning model needs 16384, and a max_seq_len with space for it
        batch_size=256,
        run_cfg=dict(num_gpus=1),
    )
]
