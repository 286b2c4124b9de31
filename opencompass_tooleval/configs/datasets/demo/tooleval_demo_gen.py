# Records shipped with this package, few and easy ones: their scores are not the benchmarks' scores. `tooleval run demo`
# asks 56 of five benchmarks, which need no judge and no native calls, in data sets named demo-...; `tooleval run
# funcqa-demo` those of FuncQA; also teval, ultratool, restbench, toolbench, agent, fc (native tools) and easytool.
from mmengine.config import read_base

from opencompass_tooleval.models import ReplayModel

with read_base():
    from opencompass_tooleval.agents.demo_config_rows import tooleval_demo_rows as _rows

    from ..funcqa.tooleval_funcqa_fc_gen import tooleval_funcqa_fc_datasets as _funcqa
    from ..restbench.tooleval_restbench_fc_gen import tooleval_restbench_spotify_fc_datasets as _spotify
    from ..restbench.tooleval_restbench_fc_gen import tooleval_restbench_tmdb_fc_datasets as _tmdb
    from ..toolbench.tooleval_toolbench_calls_fc_gen import tooleval_toolbench_calls_fc_datasets as _calls
    from ..toolbench.tooleval_toolbench_success_gen import tooleval_toolbench_success_datasets as _success

for _row in [*_tmdb, *_spotify, *_funcqa, *_calls, *_success]:
    _row['path'] = f'tooleval:demo/{_row["path"][5:]}'
_success[0]['eval_cfg']['evaluator']['judge_cfg'] = dict(  # type: ignore[index]
    type=ReplayModel, abbr='replayed-judge', path='tooleval:demo/toolbench/judge_success.jsonl'
)
tooleval_demo_datasets = _rows['demo']
tooleval_teval_en_v2_datasets = _rows['teval_en_v2']
tooleval_teval_zh_v2_datasets = _rows['teval_zh_v2']
tooleval_teval_en_v2_fc_datasets = _rows['teval_en_v2_fc']
tooleval_teval_zh_v2_fc_datasets = _rows['teval_zh_v2_fc']
tooleval_ultratool_zh_datasets = _rows['ultratool_zh']
tooleval_ultratool_en_datasets = _rows['ultratool_en']
tooleval_restbench_datasets = _rows['restbench']
tooleval_funcqa_datasets = _rows['funcqa']
tooleval_funcqa_react_datasets = _rows['funcqa_react']
tooleval_toolbench_datasets = [*_rows['toolbench'], *_success]
tooleval_agent_datasets = _rows['agent']
tooleval_agent_react_datasets = _rows['agent_react']
tooleval_fc_demo_datasets = [*_tmdb, *_spotify, *_funcqa, *_calls]
tooleval_easytool_teval_en_datasets = _rows['easytool_teval_en']
tooleval_easytool_teval_zh_datasets = _rows['easytool_teval_zh']
tooleval_easytool_ultratool_zh_datasets = _rows['easytool_ultratool_zh']
tooleval_easytool_ultratool_en_datasets = _rows['easytool_ultratool_en']
