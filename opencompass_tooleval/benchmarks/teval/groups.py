# T-Eval's table (arXiv 2312.14033, Table 1): for each ability the json and the str column and their mean, and Overall,
# the mean of the six abilities, as in the authors' convert_results.py. Review has one column and counts once.
_rru, _tables = 'reason_retrieve_understand_json', [v + s for v in ('v1', 'v2', 'v2_subset') for s in ('', '_zh')]
_columns = [
    ('instruct_json', [('instruct', 'json_format_metric'), ('instruct', 'json_args_em_metric')]),
    ('instruct_str', [('instruct', 'string_format_metric'), ('instruct', 'string_args_em_metric')]),
    ('plan_json', [('plan_json', 'f1_score')]),
    ('plan_str', [('plan_str', 'f1_score')]),
    ('reason_json', [(_rru, 'thought')]),
    ('reason_str', [('reason_str', 'thought')]),
    ('retrieve_json', [(_rru, 'name')]),
    ('retrieve_str', [('retrieve_str', 'name')]),
    ('understand_json', [(_rru, 'args')]),
    ('understand_str', [('understand_str', 'args')]),
    ('review', [('review_str', 'review_quality')]),
]
_abilities = ['instruct', 'plan', 'reason', 'retrieve', 'understand']

tooleval_teval_summary_groups = []
for _table in _tables:
    _name = f'tooleval-teval_{_table}'
    for _column, _parts in _columns:
        _subsets = [[f'tooleval-teval-{_subset}_{_table}', _metric] for _subset, _metric in _parts]
        tooleval_teval_summary_groups.append(dict(name=_name, metric=_column, subsets=_subsets))
    for _ability in _abilities:
        _subsets = [[_name, f'{_ability}_json'], [_name, f'{_ability}_str']]
        tooleval_teval_summary_groups.append(dict(name=_name, metric=_ability, subsets=_subsets))
    _subsets = [[_name, _ability] for _ability in [*_abilities, 'review']]
    tooleval_teval_summary_groups.append(dict(name=_name, metric='overall', subsets=_subsets))

tooleval_teval_rows = [
    [f'tooleval-teval_{_table}', _row]
    for _table in _tables
    for _row in ['overall', *_abilities, 'review', *[_column for _column, _ in _columns if _column != 'review']]
]
