# Twins of T-Eval's and UltraTool's data sets, with the keys of the originals' rows; configs select from them.
from mmengine.config import read_base

from opencompass_tooleval.twins.adapter import ToolEvalTwinDataset

with read_base():
    from opencompass_tooleval.benchmarks.teval.configs import tooleval_teval_rows
    from opencompass_tooleval.benchmarks.ultratool.configs import tooleval_ultratool_rows
    from opencompass_tooleval.twins.subsets import TEVAL_TWINS, ULTRATOOL_TWINS

tooleval_teval_twin_rows = {
    key: [
        dict(row, abbr=f'{row["abbr"]}-twin-{kind}', type=ToolEvalTwinDataset, original=row['type'], twin=kind)
        for kind in TEVAL_TWINS
        for row in tooleval_teval_rows[key]
        if [subset for subset in TEVAL_TWINS[kind] if f'-{subset}_v' in str(row['abbr'])]
    ]
    for key in tooleval_teval_rows
}

tooleval_ultratool_twin_rows = {
    key: [
        dict(row, abbr=f'{row["abbr"]}-twin-{kind}', type=ToolEvalTwinDataset, original=row['type'], twin=kind)
        for kind in ULTRATOOL_TWINS
        for row in tooleval_ultratool_rows[key]
        if row['name'] in ULTRATOOL_TWINS[kind]
    ]
    for key in tooleval_ultratool_rows
}
