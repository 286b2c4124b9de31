"""The files and subsets of ToolBench. Literals only: configs read this file inside ``read_base()``.

``FILES``: ``records``, ``tools``, ``apis`` and ``errata`` count each file's requests, distinct tools and APIs in
``api_list``, and errors in the data. ``SUBSETS``: ``data`` is the file, ``candidates`` the number of tools to choose
from (Figure 3), ``instructions`` the path of the EasyTool instructions for the file's tools, ``metrics`` are in a fixed
order.
"""

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
