# The metrics of agents' tasks, subset by loop, with documentation and with instructions.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.agents.subsets import LOOPS, SUBSETS

_judged = {'toolbench': ['solved_rate', 'pass_rate', 'win_rate', 'success_rate'], 'teval': [], 'ultratool': []}
tooleval_agent_rows = [
    [f'tooleval-{_subset["name"]}-agent-{_loop["name"]}{_variant}', _metric]
    for _subset in SUBSETS
    for _loop in LOOPS
    if _loop['format'] == _subset['format']
    for _variant in ['', '-easytool']
    if not (_variant and _loop['instructed'])
    for _metric in [*_subset['metrics'], *_judged[_subset['format']]]  # type: ignore[misc,index]
]
