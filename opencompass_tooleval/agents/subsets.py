"""The subsets of agents' tasks. Literals only: configs read this file inside ``read_base()``.

``SUBSETS``: ``format`` names the reader, ``language`` is that of the requests, ``folder`` is below the data cache,
``file`` below the folder, ``bank`` is where our configs look for the recorded responses, ``instructions`` where they
look for EasyTool's, ``functions`` names the tools that are worked out, ``tasks`` is their number, ``calls`` that of
gold calls (0 where nobody knows them), ``metrics`` are in fixed order, ``right_or_wrong`` those in which a sample has 0
or 1 and 1 is right.

``LOOPS``: how our configs go about tasks of a format; ``name`` is what config and data set are called after,
``instructed`` whether it has EasyTool instructions in any case, ``options`` are those of the dialogues.
"""

_WASTE = ('repeated', 'unknown', 'invalid', 'repeated_after_error')
_AGAINST_TOOLS = ('finish_rate', 'call_recall', 'call_precision', 'call_f1', *_WASTE)
_AGAINST_CALLS = (
    'finish_rate',
    'call_recall',
    'call_precision',
    'call_f1',
    'call_order',
    'arguments',
    'all_calls_right',
    *_WASTE,
)

SUBSETS = (
    {
        'name': 'teval',
        'format': 'teval',
        'language': 'EN',
        'folder': 'data/teval',
        'file': 'EN/plan_json_v1.json',
        'bank': 'data/agents/teval.bank',
        'instructions': 'data/easytool/teval_en_v1.json',
        'functions': 'teval',
        'tasks': 553,
        'calls': 2660,
        'metrics': _AGAINST_CALLS,
        'right_or_wrong': ('finish_rate', 'all_calls_right'),
    },
    {
        'name': 'teval_zh',
        'format': 'teval',
        'language': 'ZH',
        'folder': 'data/teval',
        'file': 'ZH/plan_json_v1_zh.json',
        'bank': 'data/agents/teval_zh.bank',
        'instructions': 'data/easytool/teval_zh_v1.json',
        'functions': 'teval',
        'tasks': 0,
        'calls': 0,
        'metrics': _AGAINST_CALLS,
        'right_or_wrong': ('finish_rate', 'all_calls_right'),
    },
    {
        'name': 'toolbench_g1',
        'format': 'toolbench',
        'language': 'EN',
        'folder': 'data/toolbench',
        'file': 'G1_instruction.json',
        'bank': 'data/agents/toolbench.bank',
        'instructions': 'data/easytool/toolbench_G1.json',
        'functions': None,
        'tasks': 163,
        'calls': 0,
        'metrics': _AGAINST_TOOLS,
        'right_or_wrong': ('finish_rate',),
    },
    {
        'name': 'toolbench_g2',
        'format': 'toolbench',
        'language': 'EN',
        'folder': 'data/toolbench',
        'file': 'G2_category.json',
        'bank': 'data/agents/toolbench.bank',
        'instructions': 'data/easytool/toolbench_G2.json',
        'functions': None,
        'tasks': 124,
        'calls': 0,
        'metrics': _AGAINST_TOOLS,
        'right_or_wrong': ('finish_rate',),
    },
    {
        'name': 'toolbench_g3',
        'format': 'toolbench',
        'language': 'EN',
        'folder': 'data/toolbench',
        'file': 'G3_instruction.json',
        'bank': 'data/agents/toolbench.bank',
        'instructions': 'data/easytool/toolbench_G3.json',
        'functions': None,
        'tasks': 61,
        'calls': 0,
        'metrics': _AGAINST_TOOLS,
        'right_or_wrong': ('finish_rate',),
    },
    {
        'name': 'ultratool_zh',
        'format': 'ultratool',
        'language': 'ZH',
        'folder': 'data/ultratool',
        'file': 'Chinese-dataset/test.json',
        'bank': None,
        'instructions': 'data/easytool/ultratool_zh.json',
        'functions': None,
        'tasks': 1000,
        'calls': 2381,
        'metrics': _AGAINST_CALLS,
        'right_or_wrong': ('finish_rate', 'all_calls_right'),
    },
    {
        'name': 'ultratool_en',
        'format': 'ultratool',
        'language': 'EN',
        'folder': 'data/ultratool',
        'file': 'English-dataset/test.json',
        'bank': None,
        'instructions': 'data/easytool/ultratool_en.json',
        'functions': None,
        'tasks': 1000,
        'calls': 2381,
        'metrics': _AGAINST_CALLS,
        'right_or_wrong': ('finish_rate', 'all_calls_right'),
    },
)

LOOPS = (
    {'format': 'teval', 'name': 'react', 'instructed': False, 'options': {'loop': 'react', 'max_steps': 20}},
    {
        'format': 'teval',
        'name': 'fc',
        'instructed': False,
        'options': {'loop': 'function_calling', 'finish': 'text'},
    },
    {'format': 'toolbench', 'name': 'react', 'instructed': False, 'options': {'loop': 'toolbench_react'}},
    {'format': 'toolbench', 'name': 'dfsdt', 'instructed': False, 'options': {'loop': 'dfsdt'}},
    {
        'format': 'toolbench',
        'name': 'fc',
        'instructed': False,
        'options': {'loop': 'function_calling', 'finish': 'tool'},
    },
    {'format': 'toolbench', 'name': 'easytool', 'instructed': True, 'options': {'loop': 'easytool'}},
    {
        'format': 'toolbench',
        'name': 'easytool_retrieve',
        'instructed': True,
        'options': {'loop': 'easytool', 'retrieve': True},
    },
    {
        'format': 'ultratool',
        'name': 'fc',
        'instructed': False,
        'options': {'loop': 'function_calling', 'finish': 'text'},
    },
)
