"""The subsets of FuncQA, its description and its tables. Literals only: configs read this file inside ``read_base()``.

``file`` is below ``data/funcqa``, ``metrics`` are in a fixed order, ``count`` is the number of records (EasyTool,
Section 5.3, swaps the two numbers), ``repaired`` the number of answers that ``gold='repaired'`` changes.
"""

VERSION = '6'
"""Raised when data, prompts, scoring or aggregation change."""


_METRICS = ('accuracy', 'strict_accuracy', 'tool_error_rate', 'tool_name_error_rate', 'parameter_error_rate')

SUBSETS = (
    {'name': 'one_hop', 'file': 'funcqa_oh.json', 'metrics': _METRICS, 'count': 60, 'repaired': 3},
    {'name': 'multi_hop', 'file': 'funcqa_mh.json', 'metrics': _METRICS, 'count': 68, 'repaired': 16},
)

METHODS = ('zero_shot', 'cot', 'react', 'easytool')
"""The methods, in the order of Table 6."""

_COLUMNS = (
    ('one_hop', 'One-hop', 'share of correct answers to questions with one calculation'),
    ('multi_hop', 'Multi-hop', 'share of correct answers to questions with several calculations'),
)
_ERRORS = (
    ('error', 'tool_error_rate', 'Tool errors', 'share of questions with a call that failed'),
    ('name_error', 'tool_name_error_rate', 'Name errors', 'share with a call of a tool that does not exist'),
    ('parameter_error', 'parameter_error_rate', 'Parameter errors', 'share with a call with wrong parameters'),
)

BENCHMARK = {
    'name': 'funcqa',
    'title': 'FuncQA',
    'paper': 'arXiv 2305.11554',
    'subsets': [row['name'] for row in SUBSETS],
    'metrics': [
        *[{'name': name, 'label': label, 'sentence': sentence, 'rank': 2} for name, label, sentence in _COLUMNS],
        *[
            {
                'name': f'{name}_strict',
                'label': f'{label}, strict',
                'sentence': f'{sentence}; only final numbers within 0.1% of gold',
            }
            for name, label, sentence in _COLUMNS
        ],
        'accuracy',
        {
            'name': 'strict_accuracy',
            'label': 'Accuracy, strict',
            'sentence': 'share of answers whose final number is within 0.1% of the gold number',
            'binary': True,
        },
        *[
            {'name': names[place], 'label': label, 'sentence': sentence, 'higher_is_better': False}
            for place in (1, 0)
            for *names, label, sentence in _ERRORS
        ],
    ],
    'sizes': {(row['name'], None): row['count'] for row in SUBSETS},
    'are_dialogues': True,
    'words': {'cot': 'chain of thought', 'react': 'ReAct', 'easytool': 'EasyTool', 'fc': 'function calling'},
}

# EasyTool's Table 6: accuracy on both subsets, also by the strict rule, and the share of all 60 + 68 questions with a
# tool-related error. We add a row for native function calling beside ReAct.
_ROWS = ('zero_shot', 'cot', 'react', 'react-fc', 'easytool')

tooleval_funcqa_summary_groups: list[object] = [
    *[
        {
            'name': f'tooleval-funcqa-{method}',
            'metric': subset + ending,
            'subsets': [[f'tooleval-funcqa-{subset}-{method}', metric]],
        }
        for method in _ROWS
        for subset, *_ in _COLUMNS
        for ending, metric in (('', 'accuracy'), ('_strict', 'strict_accuracy'))
    ],
    *[
        {
            'name': f'tooleval-funcqa-{method}',
            'metric': column,
            'subsets': [[f'tooleval-funcqa-{subset}-{method}', rate] for subset, *_ in _COLUMNS],
            'weights': {f'tooleval-funcqa-{row["name"]}-{method}': row['count'] for row in SUBSETS},
        }
        for method in _ROWS[2:]
        for column, rate, *_ in _ERRORS
    ],
]

tooleval_funcqa_rows = [
    [f'tooleval-funcqa-{method}', row]
    for method in _ROWS
    for row in (
        *('one_hop', 'one_hop_strict', 'multi_hop', 'multi_hop_strict'),
        *('error', 'name_error', 'parameter_error'),
    )
]
