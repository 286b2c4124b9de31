"""The files and subsets of ToolBench. Literals only: configs read this file inside ``read_base()``.

``FILES``: ``records``, ``tools``, ``apis`` and ``errata`` are what the files hold: requests, distinct tools and APIs of
their ``api_list``, and faults of the data. ``SUBSETS``: ``data`` is the file, ``candidates`` how many tools a model
chooses from (Figure 3), ``instructions`` where the EasyTool instructions of the file's tools are looked for,
``metrics`` are in fixed order, ``right_or_wrong`` those in which a sample has 0 or 1 and 1 is right.
"""

FILES = (
    {'name': 'G1', 'file': 'G1_instruction.json', 'records': 163, 'tools': 152, 'apis': 810, 'errata': 62},
    {'name': 'G2', 'file': 'G2_category.json', 'records': 124, 'tools': 234, 'apis': 433, 'errata': 58},
    {'name': 'G3', 'file': 'G3_instruction.json', 'records': 61, 'tools': 7, 'apis': 44, 'errata': 3},
)

SUBSETS = (
    {
        'name': 'selection_5',
        'kind': 'selection',
        'data': 'G1',
        'candidates': 5,
        'metrics': ('accuracy', 'tool_name_error_rate'),
        'right_or_wrong': ('accuracy',),
        'instructions': 'data/easytool/toolbench_G1.json',
    },
    {
        'name': 'selection_10',
        'kind': 'selection',
        'data': 'G1',
        'candidates': 10,
        'metrics': ('accuracy', 'tool_name_error_rate'),
        'right_or_wrong': ('accuracy',),
        'instructions': 'data/easytool/toolbench_G1.json',
    },
    {
        'name': 'selection_20',
        'kind': 'selection',
        'data': 'G1',
        'candidates': 20,
        'metrics': ('accuracy', 'tool_name_error_rate'),
        'right_or_wrong': ('accuracy',),
        'instructions': 'data/easytool/toolbench_G1.json',
    },
    {
        'name': 'selection_50',
        'kind': 'selection',
        'data': 'G1',
        'candidates': 50,
        'metrics': ('accuracy', 'tool_name_error_rate'),
        'right_or_wrong': ('accuracy',),
        'instructions': 'data/easytool/toolbench_G1.json',
    },
    {
        'name': 'calls_g2',
        'kind': 'calls',
        'data': 'G2',
        'candidates': 0,
        'metrics': ('error_free_rate', 'tool_name_error_rate', 'parameter_error_rate'),
        'right_or_wrong': ('error_free_rate',),
        'instructions': 'data/easytool/toolbench_G2.json',
    },
    {
        'name': 'calls_g3',
        'kind': 'calls',
        'data': 'G3',
        'candidates': 0,
        'metrics': ('error_free_rate', 'tool_name_error_rate', 'parameter_error_rate'),
        'right_or_wrong': ('error_free_rate',),
        'instructions': 'data/easytool/toolbench_G3.json',
    },
    {
        'name': 'success',
        'kind': 'success',
        'data': '',
        'candidates': 0,
        'metrics': ('success_rate',),
        'right_or_wrong': ('success_rate',),
        'instructions': '',
    },
)
