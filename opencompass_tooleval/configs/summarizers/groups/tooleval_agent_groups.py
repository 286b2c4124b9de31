# The metrics of agents' tasks, subset by loop, with documentation and with instructions: what a judge says first, where
# one was asked, then F1 of calls. ToolBench's three sets together are their mean.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.agents.subsets import LOOPS, SUBSETS

_first = ['call_f1', 'finish_rate']
_judged = {'toolbench': ['solved_rate', 'pass_rate', 'win_rate', 'success_rate'], 'teval': [], 'ultratool': []}
_loops = [
    [_loop['format'], f'{_loop["name"]}{_variant}']
    for _loop in LOOPS
    for _variant in ['', '-easytool']
    if not (_variant and _loop['instructed'])
]
_sets = [_subset['name'] for _subset in SUBSETS if _subset['format'] == 'toolbench']
_means = [
    [f'agent-{_loop}', _metric]
    for _format, _loop in _loops
    if _format == 'toolbench'
    for _metric in [*_judged['toolbench'], *_first, 'call_recall', 'call_precision']
]
tooleval_agent_summary_groups = [
    dict(
        name=f'tooleval-toolbench-{_name}',
        metric=_metric,
        subsets=[[f'tooleval-{_s}-{_name}', _metric] for _s in _sets],
    )
    for _name, _metric in _means
]

_rest = {_subset['name']: [_name for _name in _subset['metrics'] if _name not in _first] for _subset in SUBSETS}  # type: ignore[attr-defined]
_rows = [
    [f'tooleval-{_subset["name"]}-agent-{_loop}', _metric]
    for _subset in SUBSETS
    for _format, _loop in _loops
    if _format == _subset['format']
    for _metric in [*_judged[f'{_format}'], *_first, *_rest[_subset['name']]]
]
tooleval_agent_rows = [*_rows, *[[f'tooleval-toolbench-{_name}', _metric] for _name, _metric in _means]]
