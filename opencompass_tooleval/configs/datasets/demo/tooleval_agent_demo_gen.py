# Demo tasks of agents with recorded responses, shipped with this package. For UltraTool the oracle is the simulator,
# and a replayed judge judges the answers to G1. ReAct in text has its own variable: it needs the extra `agent`.
from mmengine.config import read_base

from opencompass_tooleval.agents.judged_adapter import ToolEvalAgentJudgedEvaluator
from opencompass_tooleval.models import OracleModel, ReplayModel

with read_base():
    from opencompass_tooleval.agents.config_rows import tooleval_agent_rows

_simulator = dict(model=dict(type=OracleModel, abbr='oracle-simulator'))
_settings_by_path: dict[str, list[object]] = {
    'data/teval': ['tooleval:demo/agents/teval', 'tooleval:demo/agents/teval/EN', None],
    'data/toolbench': ['tooleval:demo/toolbench', 'tooleval:demo/agents/toolbench', None],
    'data/ultratool': ['tooleval:demo/ultratool', None, _simulator],
}
for _row in tooleval_agent_rows:
    _settings = _settings_by_path[f'{_row["path"]}']
    _row['path'] = _settings[0]
    _dialogues = _row['infer_cfg']['inferencer']['dialogues']  # type: ignore[index]
    _dialogues['bank'] = _settings[1]
    _dialogues['simulator'] = _settings[2]
    if 'instructions' in _row:
        _row['instructions'] = 'tooleval:demo/toolbench/instructions.json'
    if _row['name'] == 'toolbench_g1':
        _file = 'tooleval:demo/agents/judge_toolbench_g1.jsonl'
        _judge = dict(type=ReplayModel, abbr='replayed-judge', path=_file)
        _row['eval_cfg'] = dict(evaluator=dict(type=ToolEvalAgentJudgedEvaluator, name=_row['name'], judge_cfg=_judge))

_native = ['teval', 'toolbench_g1', 'toolbench_g2', 'toolbench_g3', 'ultratool_zh', 'ultratool_en']
_abbrs = [f'tooleval-{name}-agent-fc' for name in _native]
_abbrs += [f'tooleval-toolbench_g2-agent-{loop}' for loop in ['react', 'react-easytool', 'dfsdt', 'easytool']]
tooleval_agent_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs]
tooleval_agent_react_datasets = [row for row in tooleval_agent_rows if row['abbr'] == 'tooleval-teval-agent-react']
