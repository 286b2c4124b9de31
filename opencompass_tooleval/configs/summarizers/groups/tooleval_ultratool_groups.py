from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.ultratool.groups import (
        tooleval_ultratool_rows,
        tooleval_ultratool_summary_groups,
    )
