"""The files and subsets of ToolBench, and its description. Literals only: configs read this file inside
``read_base()``.

``FILES``: ``records``, ``tools``, ``apis`` and ``errata`` count each file's requests, distinct tools and APIs in
``api_list``, and errors in the data. ``SUBSETS``: ``data`` is the file, ``candidates`` the number of tools to choose
from (Figure 3), ``instructions`` the path of the EasyTool instructions for the file's tools, ``metrics`` are in a fixed
order. The metrics are those of EasyTool's Figures 3 and 4, and Tables 4 and 5.
"""

VERSION = '4'
"""Raised when data, prompts, scoring or aggregation change."""


FILES = (
    {'name': 'G1', 'file': 'G1_instruction.json', 'records': 163, 'tools': 152, 'apis': 810, 'errata': 62},
    {'name': 'G2', 'file': 'G2_category.json', 'records': 124, 'tools': 234, 'apis': 433, 'errata': 58},
    {'name': 'G3', 'file': 'G3_instruction.json', 'records': 61, 'tools': 7, 'apis': 44, 'errata': 3},
)

_SELECTION: dict[str, object] = {
    'kind': 'selection',
    'data': 'G1',
    'metrics': ('accuracy', 'tool_name_error_rate'),
    'instructions': 'data/easytool/toolbench_G1.json',
}
_CALLS: dict[str, object] = {
    'kind': 'calls',
    'candidates': 0,
    'metrics': ('error_free_rate', 'tool_name_error_rate', 'parameter_error_rate'),
}

SUBSETS: tuple[dict[str, object], ...] = (
    *[{**_SELECTION, 'name': f'selection_{size}', 'candidates': size} for size in (5, 10, 20, 50)],
    {**_CALLS, 'name': 'calls_g2', 'data': 'G2', 'instructions': 'data/easytool/toolbench_G2.json'},
    {**_CALLS, 'name': 'calls_g3', 'data': 'G3', 'instructions': 'data/easytool/toolbench_G3.json'},
    {
        'name': 'success',
        'kind': 'success',
        'data': '',
        'candidates': 0,
        'metrics': ('success_rate',),
        'instructions': '',
    },
)

METHODS = {'selection': ('names', 'easytool'), 'calls': ('names', 'function_calling')}
"""Kind of subset -> kinds of answers: tool names (our prompts), tool numbers (EasyTool's prompt), or native calls."""

BENCHMARK = {
    'name': 'toolbench',
    'title': 'ToolBench',
    'paper': 'arXiv 2307.16789',
    'subsets': [row['name'] for row in SUBSETS],
    'metrics': [
        'accuracy',
        {
            'name': 'error_free_rate',
            'label': 'Error-free',
            'sentence': 'share of answers in which all calls are valid according to the documentation',
            'binary': True,
            'rank': 2,
        },
        'tool_name_error_rate',
        'parameter_error_rate',
        'success_rate',
        {
            'name': 'ndcg@1',
            'label': 'NDCG@1',
            'sentence': 'ranking quality of the needed tools at rank 1 (0 worst, 100 best)',
        },
        {
            'name': 'ndcg@5',
            'label': 'NDCG@5',
            'sentence': 'ranking quality of the needed tools in the first five ranks (0 worst, 100 best)',
        },
    ],
    'sizes': {(row['name'], None): file['records'] for row in SUBSETS for file in FILES if file['name'] == row['data']},
    'also_scored': ('trajectories',),
    'words': {'g1': 'G1', 'g2': 'G2', 'g3': 'G3', 'fc': 'function calling'},
}
