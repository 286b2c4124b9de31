"""The subsets of FuncQA. Literals only: configs read this file inside ``read_base()``.

``file`` is below ``data/funcqa``, ``metrics`` are in a fixed order, ``count`` is the number of records (EasyTool,
Section 5.3, swaps the two numbers), ``repaired`` the number of answers that ``gold='repaired'`` changes.
"""

_METRICS = ('accuracy', 'strict_accuracy', 'tool_error_rate', 'tool_name_error_rate', 'parameter_error_rate')

SUBSETS = (
    {'name': 'one_hop', 'file': 'funcqa_oh.json', 'metrics': _METRICS, 'count': 60, 'repaired': 3},
    {'name': 'multi_hop', 'file': 'funcqa_mh.json', 'metrics': _METRICS, 'count': 68, 'repaired': 16},
)

METHODS = ('zero_shot', 'cot', 'react', 'easytool')
"""The methods, in the order of Table 6."""
