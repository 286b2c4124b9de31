"""Subsets of T-Eval and UltraTool that can run with instructions. Literals only: configs read this in ``read_base()``.

The prompts of the other subsets contain no documentation (T-Eval's ``review_str``; UltraTool's ``planning`` and
``tool_usage_awareness``), or ask for new tools in the format of the documentation (UltraTool's ``tool_creation``).
"""

TEVAL_VARIANTS = (
    'instruct',
    'plan_json',
    'plan_str',
    'reason_str',
    'retrieve_str',
    'understand_str',
    'reason_retrieve_understand_json',
)

ULTRATOOL_VARIANTS = ('tool_creation_awareness', 'tool_selection', 'tool_usage')

ULTRATOOL_BUILT_VARIANTS = (
    'tool_usage_repaired',
    'tool_creation_awareness_32',
    'tool_creation_awareness_128',
    'tool_selection_32',
    'tool_selection_128',
)
