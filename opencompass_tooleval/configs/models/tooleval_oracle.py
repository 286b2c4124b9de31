# No model: the gold answers, and partly damaged gold answers, which show the range of the benchmarks.
from opencompass_tooleval.models import OracleModel

models = [
    dict(type=OracleModel, abbr='oracle', batch_size=256, run_cfg=dict(num_gpus=0)),
    dict(type=OracleModel, abbr='oracle-noise-0.3', noise=0.3, seed=0, batch_size=256, run_cfg=dict(num_gpus=0)),
]
