"""The subsets and prompt styles of UltraTool. Literals only: configs read this file inside ``read_base()``.

``file`` is below ``{folder}/test_set/``, ``kind`` names the scorer, ``reading`` the parser of answers, ``metrics`` are
in a fixed order, ``count`` is the number of rows per language (arXiv 2401.17167, section 4.1), ``toolset_size`` the
size of the toolset with its distractors (0: as in the file), ``official`` is true if the authors published the file;
otherwise it is built from the annotated samples, and marked.
"""

from __future__ import annotations

LANGUAGES = (
    {'name': 'zh', 'folder': 'Chinese-dataset'},
    {'name': 'en', 'folder': 'English-dataset'},
)

_JSON_RATES = ('json_rate', 'json_rate_unrepaired')
_ACCURACIES = ('global_accuracy', 'local_accuracy', *_JSON_RATES)

_PUBLISHED: dict[str, object] = {'count': 1000, 'toolset_size': 0, 'official': True}

_CREATION_AWARENESS: dict[str, object] = {
    'name': 'tool_creation_awareness',
    'task': 'tool_creation_awareness',
    'file': 'tool_creation_awareness.json',
    'kind': 'awareness',
    'reading': 'items',
    'metrics': _ACCURACIES,
    'count': 1000,
    'toolset_size': 8,
    'official': False,
}
_SELECTION: dict[str, object] = {
    **_CREATION_AWARENESS,
    'name': 'tool_selection',
    'task': 'tool_selection',
    'file': 'tool_selection.json',
    'kind': 'selection',
    'reading': 'names',
}
_USAGE: dict[str, object] = {
    **_PUBLISHED,
    'name': 'tool_usage',
    'task': 'tool_usage',
    'file': 'tool_usage.json',
    'kind': 'usage',
    'reading': 'calls',
    'metrics': ('local_levenshtein', *_JSON_RATES),
}

SUBSETS: tuple[dict[str, object], ...] = (
    {
        **_PUBLISHED,
        'name': 'planning',
        'task': 'planning',
        'file': 'planning.json',
        'kind': 'planning',
        'reading': 'plan',
        'metrics': (
            'accuracy',
            'completeness',
            'executability',
            'syntactic_soundness',
            'structural_rationality',
            'efficiency',
            'overall',
        ),
    },
    _CREATION_AWARENESS,
    {
        **_PUBLISHED,
        'name': 'tool_creation',
        'task': 'tool_creation',
        'file': 'tool_creation.json',
        'kind': 'creation',
        'reading': 'tools',
        'metrics': (
            'format_compliance',
            'accuracy',
            'content_reasonableness',
            'executability',
            'richness',
            'overall',
            *_JSON_RATES,
        ),
    },
    {
        **_PUBLISHED,
        'name': 'tool_usage_awareness',
        'task': 'tool_usage_awareness',
        'file': 'tool_usage_awareness.json',
        'kind': 'awareness',
        'reading': 'items',
        'metrics': _ACCURACIES,
    },
    _SELECTION,
    _USAGE,
    {**_USAGE, 'name': 'tool_usage_repaired', 'file': 'tool_usage_repaired.json', 'official': False},
    *[
        {**row, 'name': f'{row["name"]}_{size}', 'file': f'{row["name"]}_{size}.json', 'toolset_size': size}
        for row in (_CREATION_AWARENESS, _SELECTION)
        for size in (32, 128)
    ],
)

PROMPT_STYLES = {
    'gpt': {'system': '你是一个有帮助的AI助手。', 'max_out_len': 4096, 'temperature': 0, 'list_choice': 'span'},
    'open': {'system': '', 'max_out_len': 512, 'temperature': 0, 'list_choice': 'last'},
}
"""Prompts and readings of the published runs.

``system`` is the system prompt (``''`` for none), ``max_out_len`` the token limit of an answer, ``list_choice`` the
list that is scored if an answer has several. The published script runs open models at temperature 0 by default, its
shell script at 0.7.
"""

DEFAULT_PROMPT_STYLE = 'open'
"""The default prompt style of configs."""


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
