# Demo tasks of agents, with recorded responses: shipped with this package. ReAct in text stands apart: it needs the
# extra `agent`.
from mmengine.config import read_base

with read_base():
    from ..agents.tooleval_agent_rows import tooleval_agent_rows

_places: dict[str, list[str | None]] = {
    'data/teval': ['tooleval:demo/agents/teval', 'tooleval:demo/agents/teval/EN'],
    'data/toolbench': ['tooleval:demo/toolbench', 'tooleval:demo/agents/toolbench'],
    'data/ultratool': ['tooleval:demo/ultratool', None],
}
for _row in tooleval_agent_rows:
    _place = _places[f'{_row["path"]}']
    _row['path'] = _place[0]
    _row['infer_cfg']['inferencer']['dialogues']['bank'] = _place[1]  # type: ignore[index]

_sets = ['teval', 'toolbench_g1', 'toolbench_g2', 'toolbench_g3', 'ultratool_zh', 'ultratool_en']
_native = [f'tooleval-{name}-agent-fc' for name in _sets]
tooleval_agent_react_datasets = [row for row in tooleval_agent_rows if row['abbr'] == 'tooleval-teval-agent-react']
tooleval_agent_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _native]
