"""T-Eval's version, subsets, metrics, description and tables of results.

Literals only: configs read this file inside ``read_base()``, and the catalogue builds its objects from them.
"""

VERSION = '3'
"""Raised when data handling, prompts, scoring or aggregation change a score."""

VERSIONS = {'v1': 'v1', 'v2': 'v2', 'v2_subset': 'v2'}
"""Data version -> the protocol of its published scores."""

LANGUAGES = (
    {'name': 'EN', 'suffix': ''},
    {'name': 'ZH', 'suffix': '_zh'},
)

SUBSETS = (
    {
        'name': 'instruct',
        'kind': 'instruct',
        'metrics': ('json_format_metric', 'json_args_em_metric', 'string_format_metric', 'string_args_em_metric'),
        'success': ('json_format_metric', 'json_args_em_metric', 'string_format_metric', 'string_args_em_metric'),
        'encoder': (),
        'counts': {'v1': 2660},
    },
    {
        'name': 'plan_json',
        'kind': 'plan',
        'metrics': ('precision', 'recall', 'f1_score', 'parse_rate'),
        'encoder': ('v1', 'v2'),
        'counts': {'v1': 553},
    },
    {
        'name': 'plan_str',
        'kind': 'plan',
        'metrics': ('precision', 'recall', 'f1_score', 'parse_rate'),
        'encoder': ('v1', 'v2'),
        'counts': {'v1': 553},
    },
    {
        'name': 'reason_str',
        'kind': 'reason',
        'metrics': ('thought', 'parse_rate'),
        'encoder': ('v1', 'v2'),
        'counts': {'v1': 3213},
    },
    {
        'name': 'retrieve_str',
        'kind': 'retrieve',
        'metrics': ('name', 'parse_rate'),
        'encoder': (),
        'counts': {'v1': 3213},
    },
    {
        'name': 'understand_str',
        'kind': 'understand',
        'metrics': ('args', 'parse_rate'),
        'encoder': ('v1',),
        'counts': {'v1': 3540},
    },
    {
        'name': 'reason_retrieve_understand_json',
        'kind': 'call',
        'metrics': ('thought', 'name', 'args', 'parse_rate'),
        'encoder': ('v1', 'v2'),
        'counts': {'v1': 3213},
    },
    {
        'name': 'review_str',
        'kind': 'review',
        'metrics': ('parse_rate', 'review_quality'),
        'encoder': (),
        'counts': {'v1': 487},
    },
)
"""The subsets.

``kind`` names the scorer, ``metrics`` its metrics in OpenCompass's order, ``success`` the metrics that must all be 1 in
a correct sample (if empty, no such rule exists), ``encoder`` the protocols that need a sentence encoder, ``counts`` the
number of records per data version. The paper (arXiv 2312.14033, App. A) counts both formats of an ability together: its
6,426 are reason_str, or retrieve_str, and the json file, 3,213 each; its 6,753 are understand_str (3,540) and the json
file. No counts are published for v2 and v2_subset.
"""

FUNCTION_CALLING = (
    {
        'name': 'instruct',
        'metrics': ('json_format_metric', 'json_args_em_metric'),
        'success': ('json_format_metric', 'json_args_em_metric'),
    },
    {
        'name': 'reason_retrieve_understand_json',
        'metrics': ('thought', 'name', 'args', 'parse_rate'),
    },
)
"""The values that native calls change, for the subsets whose answers are calls."""

_TWO_FORMATS = (
    {
        'name': 'instruct',
        'label': 'Instruct',
        'sentence': 'follows instructions for one call: its format, and the share of correct arguments',
        'rank': 2,
    },
    {
        'name': 'plan',
        'label': 'Plan',
        'sentence': 'plans all calls at once: F1 of the steps that match gold steps in order',
        'rank': 2,
    },
    {
        'name': 'reason',
        'label': 'Reason',
        'sentence': 'states the next step: similarity of its thought to the gold thought',
        'rank': 2,
    },
    {'name': 'retrieve', 'label': 'Retrieve', 'sentence': 'chooses the correct API', 'rank': 2},
    {
        'name': 'understand',
        'label': 'Understand',
        'sentence': 'gives the correct arguments: their similarity to the gold arguments',
        'rank': 2,
    },
)

_METRICS = (
    *_TWO_FORMATS,
    {
        'name': 'review',
        'label': 'Review',
        'sentence': 'reviews the result of a call: share of correct choices',
        'rank': 2,
    },
    *[
        {
            'name': f'{row["name"]}_{ending}',
            'label': f'{row["label"]}, {words}',
            'sentence': f'{row["sentence"]}; answers as {words}',
        }
        for ending, words in (('json', 'JSON'), ('str', 'text'))
        for row in _TWO_FORMATS
    ],
    {
        'name': 'precision',
        'label': 'Precision',
        'sentence': 'share of predicted steps that match a gold step in order',
    },
    {'name': 'recall', 'label': 'Recall', 'sentence': 'share of gold steps that the plan has in order'},
    {'name': 'f1_score', 'label': 'F1', 'sentence': 'harmonic mean of precision and recall', 'rank': 5},
    {
        'name': 'thought',
        'label': 'Thought',
        'sentence': 'similarity of the thought to the gold thought, by a sentence encoder',
        'rank': 7,
    },
    # Arguments come before the name in this order.
    {
        'name': 'args',
        'label': 'Arguments',
        'sentence': 'similarity of the arguments to the gold arguments',
        'rank': 4,
    },
    {'name': 'name', 'label': 'API', 'sentence': 'share of answers with the correct API', 'binary': True, 'rank': 4},
    {
        'name': 'parse_rate',
        'label': 'Parsed',
        'sentence': 'share of answers that can be parsed',
        'binary': True,
    },
    {
        'name': 'review_quality',
        'label': 'Review',
        'sentence': 'share of correct choices',
        'binary': True,
        'rank': 6,
    },
    {
        'name': 'json_format_metric',
        'label': 'Format, JSON',
        'sentence': 'share of answers in the requested JSON format',
        'binary': True,
    },
    {
        'name': 'json_args_em_metric',
        'label': 'Arguments, JSON',
        'sentence': 'share of API and arguments that equal the gold call',
        'rank': 3,
    },
    {
        'name': 'string_format_metric',
        'label': 'Format, text',
        'sentence': 'share of answers in the requested text format',
        'binary': True,
    },
    {
        'name': 'string_args_em_metric',
        'label': 'Arguments, text',
        'sentence': 'share of API and arguments that equal the gold call',
        'rank': 3,
    },
)

BENCHMARK = {
    'name': 'teval',
    'title': 'T-Eval',
    'paper': 'arXiv 2312.14033',
    'subsets': [row['name'] for row in SUBSETS],
    'metrics': _METRICS,
    'sizes': {
        (row['name'], version): row['counts'][version]  # type: ignore[index]
        for row in SUBSETS
        for version in row['counts']
    },
    'protocols': VERSIONS,
    'words': {'zh': 'Chinese', 'en': 'English', 'json': 'JSON', 'str': 'text', 'fc': 'function calling'},
}

_TABLES = [f'{version}{language["suffix"]}' for version in VERSIONS for language in LANGUAGES]
_CALL = '-reason_retrieve_understand_json'
_COLUMNS = {
    'instruct_json': [('-instruct', 'json_format_metric'), ('-instruct', 'json_args_em_metric')],
    'instruct_str': [('-instruct', 'string_format_metric'), ('-instruct', 'string_args_em_metric')],
    'plan_json': [('-plan_json', 'f1_score')],
    'plan_str': [('-plan_str', 'f1_score')],
    'reason_json': [(_CALL, 'thought')],
    'reason_str': [('-reason_str', 'thought')],
    'retrieve_json': [(_CALL, 'name')],
    'retrieve_str': [('-retrieve_str', 'name')],
    'understand_json': [(_CALL, 'args')],
    'understand_str': [('-understand_str', 'args')],
    'review': [('-review_str', 'review_quality')],
}
_ABILITIES = ('instruct', 'plan', 'reason', 'retrieve', 'understand')
_GROUPS = {
    **_COLUMNS,
    **{ability: [('', f'{ability}_json'), ('', f'{ability}_str')] for ability in _ABILITIES},
    'overall': [*[('', ability) for ability in _ABILITIES], ('', 'review')],
}

tooleval_teval_summary_groups = [
    {
        'name': f'tooleval-teval_{table}',
        'metric': column,
        'subsets': [[f'tooleval-teval{subset}_{table}', metric] for subset, metric in _GROUPS[column]],
    }
    for table in _TABLES
    for column in _GROUPS
]
"""T-Eval's table (arXiv 2312.14033, Table 1), for each data version and language.

It has for each ability the json and the str column and their mean, and Overall, the mean of the six abilities, as in
the authors' convert_results.py. Review has one column and counts once.
"""

tooleval_teval_rows = [
    [f'tooleval-teval_{table}', column]
    for table in _TABLES
    for column in ['overall', *_ABILITIES, 'review', *[column for column in _COLUMNS if column != 'review']]
]
"""The columns of the table, as rows of OpenCompass's summary."""
