"""The subsets of T-Eval. Literals only: configs read this file inside ``read_base()``.

``kind`` names the scorer, ``metrics`` its metrics in OpenCompass's order, ``success`` the metrics that must all be 1 in
a correct sample (if empty, no such rule exists), ``encoder`` the protocols that need a sentence encoder, ``counts`` the
number of records per data version. The paper (arXiv 2312.14033, App. A) counts both formats of an ability together: its
6,426 are reason_str, or retrieve_str, and the json file, 3,213 each; its 6,753 are understand_str (3,540) and the json
file. No counts are published for v2 and v2_subset.

:data:`FUNCTION_CALLING` has the values that native calls change, for the subsets whose answers are calls.
"""

VERSIONS = ('v1', 'v2', 'v2_subset')

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
