# UltraTool's Table 2 (arXiv 2401.17167): nine columns, and their mean, Overall.
_columns = [
    ('planning', 'planning', 'overall'),
    ('creation_awareness_global', 'tool_creation_awareness', 'global_accuracy'),
    ('creation_awareness_local', 'tool_creation_awareness', 'local_accuracy'),
    ('creation', 'tool_creation', 'overall'),
    ('usage_awareness_global', 'tool_usage_awareness', 'global_accuracy'),
    ('usage_awareness_local', 'tool_usage_awareness', 'local_accuracy'),
    ('selection_global', 'tool_selection', 'global_accuracy'),
    ('selection_local', 'tool_selection', 'local_accuracy'),
    ('usage', 'tool_usage', 'local_levenshtein'),
]

tooleval_ultratool_summary_groups = []
for _language in ['zh', 'en']:
    _name = f'tooleval-ultratool_{_language}'
    for _column, _task, _metric in _columns:
        _subsets = [[f'tooleval-ultratool-{_task}_{_language}', _metric]]
        tooleval_ultratool_summary_groups.append(dict(name=_name, metric=_column, subsets=_subsets))
    _subsets = [[_name, _column] for _column, _, _ in _columns]
    tooleval_ultratool_summary_groups.append(dict(name=_name, metric='overall', subsets=_subsets))

tooleval_ultratool_rows = [
    [f'tooleval-ultratool_{_language}', _row]
    for _language in ['zh', 'en']
    for _row in ['overall', *[_column for _column, _, _ in _columns]]
]
