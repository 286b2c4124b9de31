# The tables of T-Eval and UltraTool with instructions. Columns whose prompts contain no documentation have no variant;
# they come from the run without instructions: T-Eval's review; UltraTool's planning, creation and usage awareness.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.teval.tables import tooleval_teval_rows, tooleval_teval_summary_groups
    from opencompass_tooleval.benchmarks.ultratool.tables import (
        tooleval_ultratool_rows,
        tooleval_ultratool_summary_groups,
    )
    from opencompass_tooleval.instructions.subsets import TEVAL_VARIANTS, ULTRATOOL_VARIANTS

_versions = ['v1', 'v1_zh', 'v2', 'v2_zh', 'v2_subset', 'v2_subset_zh']
_instructed = [
    *[f'tooleval-teval-{_name}_{_version}' for _name in TEVAL_VARIANTS for _version in _versions],
    *[f'tooleval-ultratool-{_name}_{_language}' for _name in ULTRATOOL_VARIANTS for _language in ['zh', 'en']],
]

tooleval_easytool_summary_groups, _columns = [], []
for _group in [*tooleval_teval_summary_groups, *tooleval_ultratool_summary_groups]:
    _subsets = [
        [f'{_name}-easytool', _metric] if _name in _instructed or [_name, _metric] in _columns else [_name, _metric]
        for _name, _metric in _group['subsets']
    ]
    if _subsets != _group['subsets']:
        _columns.append([_group['name'], _group['metric']])
        tooleval_easytool_summary_groups.append(
            dict(name=f'{_group["name"]}-easytool', metric=_group['metric'], subsets=_subsets)
        )

tooleval_easytool_rows = [
    [f'{_row[0]}-easytool', _row[1]]
    for _row in [*tooleval_teval_rows, *tooleval_ultratool_rows]
    if [_row[0], _row[1]] in _columns
]
