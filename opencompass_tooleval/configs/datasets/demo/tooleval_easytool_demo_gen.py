# T-Eval's and UltraTool's demo records with the instructions that this package ships, made by rule.
from mmengine.config import read_base

with read_base():
    from ..teval.tooleval_teval_easytool_gen import (
        tooleval_teval_en_v2_easytool_datasets,
        tooleval_teval_zh_v2_easytool_datasets,
    )
    from ..ultratool.tooleval_ultratool_easytool_gen import (
        tooleval_ultratool_en_easytool_datasets,
        tooleval_ultratool_zh_easytool_datasets,
    )

_teval = [(tooleval_teval_en_v2_easytool_datasets, 'EN', 'en'), (tooleval_teval_zh_v2_easytool_datasets, 'ZH', 'zh')]
_ultratool = [(tooleval_ultratool_en_easytool_datasets, 'en'), (tooleval_ultratool_zh_easytool_datasets, 'zh')]

for _rows, _folder, _language in _teval:
    for _dataset in _rows:
        _dataset['path'] = f'tooleval:demo/teval/{_folder}'
        _dataset['instructions'] = f'tooleval:demo/easytool/teval_{_language}.json'
        _dataset['encoder'] = 'offline'
        _dataset['eval_cfg']['evaluator']['instructions'] = _dataset['instructions']  # type: ignore[index]
        _dataset['eval_cfg']['evaluator']['encoder'] = 'offline'  # type: ignore[index]
for _rows, _language in _ultratool:
    for _dataset in _rows:
        _dataset['path'] = 'tooleval:demo/ultratool'
        _dataset['instructions'] = f'tooleval:demo/easytool/ultratool_{_language}.json'
        _dataset['eval_cfg']['evaluator']['instructions'] = _dataset['instructions']  # type: ignore[index]
