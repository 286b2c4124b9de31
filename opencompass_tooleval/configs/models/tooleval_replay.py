# Existing answers: T-Eval's own result files or folders, OpenCompass predictions, or JSON lines.
from opencompass_tooleval.models import ReplayModel

models = [
    dict(
        type=ReplayModel,
        abbr='replay',
        path='predictions/{dataset}.json',
        batch_size=256,
        run_cfg=dict(num_gpus=0),
    )
]
