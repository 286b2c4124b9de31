# EasyTool's Table 6: accuracy on both subsets, also by the strict rule, and the share of all 60 + 68 questions with a
# tool-related error. We add a row for native function calling beside ReAct.
_methods = ['zero_shot', 'cot', 'react', 'react-fc', 'easytool']
_counts = [('one_hop', 60), ('multi_hop', 68)]

tooleval_funcqa_summary_groups: list[object] = []
for _method in _methods:
    _name = f'tooleval-funcqa-{_method}'
    for _subset, _count in _counts:
        for _row, _metric in [(_subset, 'accuracy'), (f'{_subset}_strict', 'strict_accuracy')]:
            _subsets = [[f'tooleval-funcqa-{_subset}-{_method}', _metric]]
            tooleval_funcqa_summary_groups.append(dict(name=_name, metric=_row, subsets=_subsets))
for _method in ['react', 'react-fc', 'easytool']:
    for _row, _metric in [('error', 'tool'), ('name_error', 'tool_name'), ('parameter_error', 'parameter')]:
        tooleval_funcqa_summary_groups.append(
            dict(
                name=f'tooleval-funcqa-{_method}',
                metric=_row,
                subsets=[[f'tooleval-funcqa-{_subset}-{_method}', f'{_metric}_error_rate'] for _subset, _ in _counts],
                weights={f'tooleval-funcqa-{_subset}-{_method}': _count for _subset, _count in _counts},
            )
        )

tooleval_funcqa_rows = [
    [f'tooleval-funcqa-{_method}', _row]
    for _method in _methods
    for _row in ['one_hop', 'one_hop_strict', 'multi_hop', 'multi_hop_strict', 'error', 'name_error', 'parameter_error']
]
