# T-Eval's demo records: shipped with this package, scored with the encoder that the extra `offline` installs.
from mmengine.config import read_base

with read_base():
    from ..teval.tooleval_teval_fc_gen import tooleval_teval_en_v2_fc_datasets, tooleval_teval_zh_v2_fc_datasets
    from ..teval.tooleval_teval_gen import tooleval_teval_en_v2_datasets, tooleval_teval_zh_v2_datasets

_en = [*tooleval_teval_en_v2_datasets, *tooleval_teval_en_v2_fc_datasets]
_zh = [*tooleval_teval_zh_v2_datasets, *tooleval_teval_zh_v2_fc_datasets]
for _dataset in _en:
    _dataset['path'] = 'tooleval:demo/teval/EN'
for _dataset in _zh:
    _dataset['path'] = 'tooleval:demo/teval/ZH'
for _dataset in [*_en, *_zh]:
    _dataset['encoder'] = 'offline'
    _dataset['eval_cfg']['evaluator']['encoder'] = 'offline'  # type: ignore[index]
