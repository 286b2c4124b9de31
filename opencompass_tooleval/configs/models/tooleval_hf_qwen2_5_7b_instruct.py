# OpenCompass's class, which `opencompass -a vllm` and `-a lmdeploy` replace. For native tools (-fc) set
# type=ToolEvalHFChat or type=ToolEvalVLLMChat, of opencompass_tooleval.models.
from opencompass.models import HuggingFacewithChatTemplate

models = [
    dict(
        type=HuggingFacewithChatTemplate,
        abbr='qwen2.5-7b-instruct-hf',
        path='Qwen/Qwen2.5-7B-Instruct',
        max_seq_len=16384,
        max_out_len=512,  # a reasoning model needs 16384, and a max_seq_len with space for it
        batch_size=8,
        run_cfg=dict(num_gpus=1),
    )
]
