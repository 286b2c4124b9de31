# Rows of the records that this package ships, by kind: with the encoder of the extra `offline`, a replayed judge, and
# the oracle as the simulator of UltraTool's tools. Configs select from them.
from mmengine.config import read_base

from opencompass_tooleval.agents.judged_adapter import ToolEvalAgentJudgedEvaluator
from opencompass_tooleval.models import OracleModel, ReplayModel

with read_base():
    from opencompass_tooleval.agents.config_rows import tooleval_agent_rows
    from opencompass_tooleval.agents.funcqa_config_rows import tooleval_funcqa_rows
    from opencompass_tooleval.benchmarks.restbench.configs import tooleval_restbench_rows
    from opencompass_tooleval.benchmarks.teval.configs import tooleval_teval_fc_rows, tooleval_teval_rows
    from opencompass_tooleval.benchmarks.toolbench.configs import tooleval_toolbench_rows
    from opencompass_tooleval.benchmarks.ultratool.configs import tooleval_ultratool_rows
    from opencompass_tooleval.instructions.config_rows import (
        tooleval_teval_easytool_rows,
        tooleval_ultratool_easytool_rows,
    )

_toolbench = ['selection_5', 'calls_g2', 'calls_g3']  # there are too few tools for more candidates
tooleval_demo_rows = dict(
    teval_en_v2=tooleval_teval_rows['EN_v2'],
    teval_zh_v2=tooleval_teval_rows['ZH_v2'],
    teval_en_v2_fc=tooleval_teval_fc_rows['EN_v2'],
    teval_zh_v2_fc=tooleval_teval_fc_rows['ZH_v2'],
    easytool_teval_en=tooleval_teval_easytool_rows['en_v2'],
    easytool_teval_zh=tooleval_teval_easytool_rows['zh_v2'],
    ultratool_zh=tooleval_ultratool_rows['zh'][:6],
    ultratool_en=tooleval_ultratool_rows['en'][:6],
    easytool_ultratool_zh=tooleval_ultratool_easytool_rows['zh'],
    easytool_ultratool_en=tooleval_ultratool_easytool_rows['en'],
    restbench=[row for row in tooleval_restbench_rows if 'method' not in row],
    toolbench=[row for row in tooleval_toolbench_rows if row['name'] in _toolbench and 'method' not in row],
    funcqa=[*tooleval_funcqa_rows[:4], *tooleval_funcqa_rows[6:]],
    funcqa_react=tooleval_funcqa_rows[4:6],
)
_replayed = dict(type=ReplayModel, abbr='replayed-judge')
for _kind in tooleval_demo_rows:
    for _row in tooleval_demo_rows[_kind]:
        _row['path'] = f'tooleval:demo/{_row["path"][5:]}'  # type: ignore[index]
        _evaluator = _row['eval_cfg']['evaluator']  # type: ignore[index]
        if _kind[:9] == 'easytool_':
            _row['instructions'] = _evaluator['instructions'] = f'tooleval:demo/easytool/{_kind[9:]}.json'
        elif 'instructions' in _row:
            _file = f'{_row["name"]}_tool.json' if _kind == 'restbench' else 'instructions.json'
            _row['instructions'] = f'tooleval:demo/{_kind}/{_file}'
        elif _row['name'] in ['planning', 'tool_creation']:
            _file = f'tooleval:demo/ultratool/judge_{_row["name"]}_{_row["language"]}.jsonl'
            _evaluator['judge_cfg'] = dict(_replayed, path=_file)
        if 'teval' in _kind:
            _evaluator['encoder'] = 'offline'
        if 'teval' in _kind or _kind == 'toolbench':
            _row['encoder'] = 'offline'
for _row in tooleval_funcqa_rows[6:]:
    _row['infer_cfg']['inferencer']['dialogues']['instructions'] = 'tooleval:demo/funcqa/functions_data.json'  # type: ignore[index]

_simulator = dict(model=dict(type=OracleModel, abbr='oracle-simulator'))
_settings_by_path = {
    'data/teval': ['tooleval:demo/agents/teval', 'tooleval:demo/agents/teval/EN', None],
    'data/toolbench': ['tooleval:demo/toolbench', 'tooleval:demo/agents/toolbench', None],
    'data/ultratool': ['tooleval:demo/ultratool', None, _simulator],
}
for _row in tooleval_agent_rows:
    _dialogues = _row['infer_cfg']['inferencer']['dialogues']  # type: ignore[index]
    _row['path'], _dialogues['bank'], _dialogues['simulator'] = _settings_by_path[_row['path']]  # type: ignore[index, misc]
    if 'instructions' in _row:
        _row['instructions'] = 'tooleval:demo/toolbench/instructions.json'
    if _row['name'] == 'toolbench_g1':
        _judge = dict(_replayed, path='tooleval:demo/agents/judge_toolbench_g1.jsonl')
        _row['eval_cfg'] = dict(evaluator=dict(type=ToolEvalAgentJudgedEvaluator, name=_row['name'], judge_cfg=_judge))

_native = ['teval', 'toolbench_g1', 'toolbench_g2', 'toolbench_g3', 'ultratool_zh', 'ultratool_en']
_abbrs = [f'tooleval-{name}-agent-fc' for name in _native]
_abbrs += [f'tooleval-toolbench_g2-agent-{loop}' for loop in ['react', 'react-easytool', 'dfsdt', 'easytool']]
tooleval_demo_rows['agent'] = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs]
tooleval_demo_rows['agent_react'] = [row for row in tooleval_agent_rows if row['abbr'] == 'tooleval-teval-agent-react']

_abbrs = [
    *['tooleval-teval-plan_json_v2', 'tooleval-teval-plan_str_v2', 'tooleval-teval-review_str_v2'],
    *['tooleval-ultratool-tool_selection_en', 'tooleval-ultratool-tool_usage_awareness_en'],
    *['tooleval-ultratool-tool_usage_en', 'tooleval-restbench-tmdb', 'tooleval-restbench-tmdb-easytool'],
    *['tooleval-funcqa-multi_hop-zero_shot', 'tooleval-toolbench-selection_5', 'tooleval-toolbench-calls_g2'],
]
tooleval_demo_rows['demo'] = [
    dict(row, abbr=f'demo-{row["abbr"][9:]}')
    for kind in ['teval_en_v2', 'ultratool_en', 'restbench', 'funcqa', 'toolbench']
    for row in tooleval_demo_rows[kind]
    if row['abbr'] in _abbrs
]
