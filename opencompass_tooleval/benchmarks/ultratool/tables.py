"""UltraTool's version, subsets, prompt styles, metrics and tables: literals that configs execute in ``read_base()``.

In a row of :data:`SUBSETS`, ``file`` is below ``{folder}/test_set/``, ``kind`` names the scorer, ``reading`` the parser
of answers, ``metrics`` are in a fixed order, ``count`` is the number of rows per language (arXiv 2401.17167, section
4.1), ``toolset_size`` the size of the toolset with its distractors (0: as in the file), ``official`` is true if the
authors published the file; otherwise it is built from the annotated samples, and marked.
"""

VERSION = '5'
"""Raised when data handling, prompts, scoring or aggregation change a score."""

FOLDERS = {'zh': 'Chinese-dataset', 'en': 'English-dataset'}
"""Language -> the authors' folder."""

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

_STEP_COLUMNS = (
    ('creation_awareness', 'Creation awareness', 'recognizes the steps for which no tool exists'),
    ('usage_awareness', 'Usage awareness', 'recognizes the steps that need a tool'),
    ('selection', 'Selection', 'chooses the tool of each step'),
)
_WHOLE = 'share of plans in which every step is correct'
_READABLE = 'share of answers with readable JSON'

BENCHMARK = {
    'name': 'ultratool',
    'title': 'UltraTool',
    'paper': 'arXiv 2401.17167',
    'subsets': (*[row['name'] for row in SUBSETS],),
    'metrics': (
        {
            'name': 'planning',
            'label': 'Planning',
            'sentence': 'score of the judge for the plan, in six dimensions',
            'rank': 2,
        },
        *[
            {'name': f'{name}_global', 'label': f'{label}, whole', 'sentence': f'{sentence}; {_WHOLE}', 'rank': 2}
            for name, label, sentence in _STEP_COLUMNS
        ],
        {'name': 'creation', 'label': 'Creation', 'sentence': 'score of the judge for the created tools', 'rank': 2},
        {
            'name': 'usage',
            'label': 'Usage',
            'sentence': 'gives the arguments of each step: similarity of the texts',
            'rank': 2,
        },
        *[{'name': name, 'label': label, 'sentence': sentence} for name, label, sentence in _STEP_COLUMNS],
        *[
            {'name': f'{name}_local', 'label': f'{label}, steps', 'sentence': f'{sentence}; over single steps'}
            for name, label, sentence in _STEP_COLUMNS
        ],
        {'name': 'global_accuracy', 'label': 'Accuracy, whole', 'sentence': _WHOLE, 'binary': True, 'rank': 3},
        {'name': 'local_accuracy', 'label': 'Accuracy, steps', 'sentence': 'share of steps that are correct'},
        {
            'name': 'local_levenshtein',
            'label': 'Similarity, steps',
            'sentence': 'similarity of the arguments of each step, by edit distance',
            'rank': 5,
        },
        # Table 6 of the paper, and the share of answers that are JSON without repairs.
        {
            'name': 'json_rate',
            'label': 'JSON',
            'sentence': f'{_READABLE}, after the published repairs',
            'binary': True,
        },
        {
            'name': 'json_rate_unrepaired',
            'label': 'JSON, unrepaired',
            'sentence': f'{_READABLE}, without repairs',
            'binary': True,
        },
        *[
            {'name': name, 'label': label, 'sentence': sentence, 'by_judge': True, 'rank': rank}
            for name, label, sentence, rank in (
                ('accuracy', 'Accuracy', 'share of correct answers', 4),
                ('completeness', 'Completeness', 'judge: nothing that the task needs is missing', 0),
                ('executability', 'Executability', 'judge: the steps can be executed', 0),
                ('syntactic_soundness', 'Syntax', 'judge: each step is a correct sentence', 0),
                ('structural_rationality', 'Structure', 'judge: order and division of the steps make sense', 0),
                ('efficiency', 'Efficiency', 'judge: no step is unnecessary', 0),
                ('format_compliance', 'Format', 'judge: the answer has the requested format', 0),
                ('content_reasonableness', 'Content', 'judge: the content makes sense', 0),
                ('richness', 'Richness', 'judge: the tools are described completely', 0),
            )
        ],
    ),
    'sizes': {(row['name'], None): row['count'] for row in SUBSETS},
    'words': {'zh': 'Chinese', 'en': 'English'},
}
"""The benchmark's description (:class:`~opencompass_tooleval.catalogue.benchmark.Benchmark`)."""

_COLUMNS = (
    ('planning', 'planning', 'overall'),
    ('creation_awareness_global', 'tool_creation_awareness', 'global_accuracy'),
    ('creation_awareness_local', 'tool_creation_awareness', 'local_accuracy'),
    ('creation', 'tool_creation', 'overall'),
    ('usage_awareness_global', 'tool_usage_awareness', 'global_accuracy'),
    ('usage_awareness_local', 'tool_usage_awareness', 'local_accuracy'),
    ('selection_global', 'tool_selection', 'global_accuracy'),
    ('selection_local', 'tool_selection', 'local_accuracy'),
    ('usage', 'tool_usage', 'local_levenshtein'),
)
"""Columns of Table 2 (arXiv 2401.17167), each with its subset and metric; ``overall`` is their mean."""

tooleval_ultratool_summary_groups = [
    {'name': f'tooleval-ultratool_{language}', 'metric': column, 'subsets': subsets}
    for language in ['zh', 'en']
    for column, subsets in [
        *[(column, [[f'tooleval-ultratool-{task}_{language}', metric]]) for column, task, metric in _COLUMNS],
        ('overall', [[f'tooleval-ultratool_{language}', column] for column, _, _ in _COLUMNS]),
    ]
]

tooleval_ultratool_rows = [
    [f'tooleval-ultratool_{language}', column]
    for language in ['zh', 'en']
    for column in ['overall', *[column for column, _, _ in _COLUMNS]]
]
