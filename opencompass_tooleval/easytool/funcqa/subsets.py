"""The subsets of FuncQA. Literals only: configs read this file inside ``read_base()``.

``file`` is a name below ``data/funcqa``, ``metrics`` are in fixed order, ``right_or_wrong`` those in which a sample has
0 or 1 and 1 is right, ``count`` is the number of records (EasyTool, Section 5.3, has the two numbers swapped),
``repaired`` the number of answers that ``gold='repaired'`` changes.
"""

SUBSETS = (
    {
        'name': 'one_hop',
        'file': 'funcqa_oh.json',
        'metrics': ('accuracy', 'strict_accuracy', 'tool_error_rate', 'tool_name_error_rate', 'parameter_error_rate'),
        'right_or_wrong': ('accuracy', 'strict_accuracy'),
        'count': 60,
        'repaired': 3,
    },
    {
        'name': 'multi_hop',
        'file': 'funcqa_mh.json',
        'metrics': ('accuracy', 'strict_accuracy', 'tool_error_rate', 'tool_name_error_rate', 'parameter_error_rate'),
        'right_or_wrong': ('accuracy', 'strict_accuracy'),
        'count': 68,
        'repaired': 16,
    },
)

METHODS = ('zero_shot', 'cot', 'react', 'easytool')
"""In the order of Table 6."""
