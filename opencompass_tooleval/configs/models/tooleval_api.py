# Any OpenAI-compatible server. The key is read from $OPENAI_API_KEY. To compute the cost, set
# prices=dict(input=..., output=...) per million tokens. Several trials (n of a data set) need a temperature above 0.
from opencompass_tooleval.models import ToolEvalOpenAI

models = [
    dict(
        type=ToolEvalOpenAI,
        abbr='gpt-4o-mini',
        path='gpt-4o-mini',
        openai_api_base='https://api.openai.com/v1/',
        temperature=0,
        max_seq_len=128000,
        max_out_len=16384,  # tokens of an answer; thoughts need many
        max_workers=16,
        batch_size=64,  # for other packages' data sets; ours send max_workers requests at a time
        run_cfg=dict(num_gpus=0),
    )
]
