# Metrics of agents' tasks, for each subset, loop and variant. The first column says whether the task is solved: as a
# judge decides, or by comparison with the gold calls. ToolBench's sets also have a mean.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.agents.subsets import LOOPS, SUBSETS

_judged = ['solved_rate', 'pass_rate', 'win_rate', 'win_rate_half_ties', 'tie_rate', 'success_rate']
_against_calls = ['all_calls_right', 'call_f1', 'finish_rate']
_first = {
    'toolbench': [*_judged, 'call_f1', 'finish_rate'],
    'teval': _against_calls,
    'ultratool': _against_calls,
}
_loops = [
    [_loop['format'], f'{_loop["name"]}{_variant}']
    for _loop in LOOPS
    for _variant in ['', '-easytool']
    if not (_variant and _loop['instructed'])
]
_sets = [_subset['name'] for _subset in SUBSETS if _subset['format'] == 'toolbench']
_names = [f'agent-{_loop}' for _format, _loop in _loops if _format == 'toolbench']
_means = [[_name, _m] for _name in _names for _m in [*_first['toolbench'], 'call_recall', 'call_precision']]
tooleval_agent_summary_groups = [
    dict(
        name=f'tooleval-toolbench-{_name}',
        metric=_m,
        subsets=[[f'tooleval-{_s}-{_name}', _m] for _s in _sets],
    )
    for _name, _m in _means
]
_rest = {_s['name']: [_m for _m in _s['metrics'] if _m not in _first[f'{_s["format"]}']] for _s in SUBSETS}  # type: ignore[attr-defined]
_rows = [
    [f'tooleval-{_subset["name"]}-agent-{_loop}', _m]
    for _subset in SUBSETS
    for _format, _loop in _loops
    if _format == _subset['format']
    for _m in [*_first[f'{_format}'], *_rest[_subset['name']]]
]
tooleval_agent_rows = [*_rows, *[[f'tooleval-toolbench-{_name}', _m] for _name, _m in _means]]
