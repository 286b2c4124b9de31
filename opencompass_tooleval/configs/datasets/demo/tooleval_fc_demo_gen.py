# Demo records of the data sets with native tools: shipped with this package.
from mmengine.config import read_base

with read_base():
    from ..funcqa.tooleval_funcqa_fc_gen import tooleval_funcqa_fc_datasets as _funcqa
    from ..restbench.tooleval_restbench_fc_gen import tooleval_restbench_spotify_fc_datasets as _spotify
    from ..restbench.tooleval_restbench_fc_gen import tooleval_restbench_tmdb_fc_datasets as _tmdb
    from ..toolbench.tooleval_toolbench_calls_fc_gen import tooleval_toolbench_calls_fc_datasets as _toolbench

tooleval_fc_demo_datasets = [
    *[dict(row, path='tooleval:demo/restbench') for row in [*_tmdb, *_spotify]],
    *[dict(row, path='tooleval:demo/funcqa') for row in _funcqa],
    *[dict(row, path='tooleval:demo/toolbench') for row in _toolbench],
]
