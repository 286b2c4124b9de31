"""The subsets of agents' tasks. Literals only: configs read this file inside ``read_base()``.

``SUBSETS``: ``format`` names the reader, ``language`` is the language of the requests, ``folder`` is below the data
cache, ``file`` below the folder, ``bank`` is the path of recorded responses that the configs use, ``instructions`` the
path of EasyTool's instructions, ``stateful_tools`` names the emulated tools, ``tasks`` is the number of tasks,
``calls`` the number of gold calls (0 if unknown), ``metrics`` are in a fixed order.

``LOOPS``: the loops that the configs run for each format; ``name`` is part of the names of config and data set,
``instructed`` is true if the loop always uses EasyTool instructions, ``options`` are the options of the dialogues.
"""

_WASTE = ('repeated_call_rate', 'unknown_tool_rate', 'invalid_call_rate', 'repeated_after_error_rate')
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

_TEVAL: dict[str, object] = {
    'name': 'teval',
    'format': 'teval',
    'language': 'EN',
    'folder': 'data/teval',
    'file': 'EN/plan_json_v1.json',
    'bank': 'data/agents/teval.bank',
    'instructions': 'data/easytool/teval_en_v1.json',
    'stateful_tools': 'teval',
    'tasks': 553,
    'calls': 2660,
    'metrics': _AGAINST_CALLS,
}
_TOOLBENCH: dict[str, object] = {
    'format': 'toolbench',
    'language': 'EN',
    'folder': 'data/toolbench',
    'bank': 'data/agents/toolbench.bank',
    'stateful_tools': None,
    'calls': 0,
    'metrics': _AGAINST_TOOLS,
}
_ULTRATOOL: dict[str, object] = {
    'name': 'ultratool_zh',
    'format': 'ultratool',
    'language': 'ZH',
    'folder': 'data/ultratool',
    'file': 'Chinese-dataset/test.json',
    'bank': None,
    'instructions': 'data/easytool/ultratool_zh.json',
    'stateful_tools': None,
    'tasks': 1000,
    'calls': 2381,
    'metrics': _AGAINST_CALLS,
}

SUBSETS: tuple[dict[str, object], ...] = (
    _TEVAL,
    {
        **_TEVAL,
        'name': 'teval_zh',
        'language': 'ZH',
        'file': 'ZH/plan_json_v1_zh.json',
        'bank': 'data/agents/teval_zh.bank',
        'instructions': 'data/easytool/teval_zh_v1.json',
        'tasks': 0,
        'calls': 0,
    },
    *[
        {
            **_TOOLBENCH,
            'name': f'toolbench_{name}',
            'file': file,
            'instructions': f'data/easytool/toolbench_{level}.json',
            'tasks': tasks,
        }
        for name, level, file, tasks in (
            ('g1', 'G1', 'G1_instruction.json', 163),
            ('g2', 'G2', 'G2_category.json', 124),
            ('g3', 'G3', 'G3_instruction.json', 61),
        )
    ],
    _ULTRATOOL,
    {
        **_ULTRATOOL,
        'name': 'ultratool_en',
        'language': 'EN',
        'file': 'English-dataset/test.json',
        'instructions': 'data/easytool/ultratool_en.json',
    },
)

LOOPS = (
    {'format': 'teval', 'name': 'react', 'instructed': False, 'options': {'loop': 'react', 'max_steps': 20}},
    {
        'format': 'teval',
        'name': 'fc',
        'instructed': False,
        'options': {'loop': 'function_calling', 'stop_on': 'text'},
    },
    {'format': 'toolbench', 'name': 'react', 'instructed': False, 'options': {'loop': 'toolbench_react'}},
    {'format': 'toolbench', 'name': 'dfsdt', 'instructed': False, 'options': {'loop': 'dfsdt'}},
    {
        'format': 'toolbench',
        'name': 'fc',
        'instructed': False,
        'options': {'loop': 'function_calling', 'stop_on': 'tool'},
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
        'options': {'loop': 'function_calling', 'stop_on': 'text'},
    },
)
