"""The kinds of twins, and the subsets that have them. Literals only: configs read this file inside ``read_base()``.

``order``: tools, parameters and options are in another order. ``names``: tools, parameters and returned fields have
names of random letters; ``plain``: of ordinary words. ``values``: values that stand verbatim in request and gold are
others. ``more5`` and so on: so many tools of other records are added. ``faults``: an agent's first call of a tool
fails.
"""

KINDS = ('order', 'names', 'plain', 'values', 'more5', 'more20', 'more100', 'faults')

_TEVAL_CALLS = (
    'plan_json',
    'plan_str',
    'reason_str',
    'retrieve_str',
    'understand_str',
    'reason_retrieve_understand_json',
)
_ULTRATOOL_USAGE = ('tool_usage', 'tool_usage_repaired')
_ULTRATOOL_CHOICE = ('tool_selection', 'tool_selection_32', 'tool_selection_128')
_ULTRATOOL_AWARENESS = ('tool_creation_awareness', 'tool_creation_awareness_32', 'tool_creation_awareness_128')

TEVAL_TWINS: dict[str, tuple[str, ...]] = {
    'order': ('instruct', *_TEVAL_CALLS, 'review_str'),
    'names': ('instruct', *_TEVAL_CALLS),
    'plain': ('instruct', *_TEVAL_CALLS),
    'values': ('plan_json', 'plan_str'),
    'more5': _TEVAL_CALLS,
    'more20': _TEVAL_CALLS,
}

ULTRATOOL_TWINS: dict[str, tuple[str, ...]] = {
    'order': (*_ULTRATOOL_AWARENESS, *_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
    'names': (*_ULTRATOOL_AWARENESS, *_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
    'plain': (*_ULTRATOOL_AWARENESS, *_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
    'values': _ULTRATOOL_USAGE,
    'more5': (*_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
    'more20': (*_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
    'more100': (*_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
}

TOOLBENCH_TWINS: dict[str, tuple[str, ...]] = {
    'order': ('selection_5', 'selection_10', 'selection_20', 'selection_50', 'calls_g2', 'calls_g3'),
    'names': ('calls_g2', 'calls_g3'),
    'plain': ('calls_g2', 'calls_g3'),
    'more5': ('calls_g2', 'calls_g3'),
    'more20': ('calls_g2', 'calls_g3'),
    'more100': ('calls_g2', 'calls_g3'),
}

RESTBENCH_TWINS: dict[str, tuple[str, ...]] = {'order': ('tmdb', 'spotify')}

FUNCQA_TWINS: dict[str, tuple[str, ...]] = {'values': ('one_hop',)}

_AGENTS_TEVAL = ('teval', 'teval_zh')
_AGENTS_TOOLBENCH = ('toolbench_g1', 'toolbench_g2', 'toolbench_g3')

AGENT_TWINS: dict[str, tuple[str, ...]] = {
    'order': (*_AGENTS_TEVAL, *_AGENTS_TOOLBENCH),
    'names': _AGENTS_TEVAL,
    'plain': _AGENTS_TEVAL,
    'more5': (*_AGENTS_TEVAL, *_AGENTS_TOOLBENCH),
    'more20': (*_AGENTS_TEVAL, *_AGENTS_TOOLBENCH),
    'more100': _AGENTS_TOOLBENCH,
    'faults': (*_AGENTS_TEVAL, *_AGENTS_TOOLBENCH, 'ultratool_zh', 'ultratool_en'),
}

TWINS: dict[str, dict[str, tuple[str, ...]]] = {
    'teval': TEVAL_TWINS,
    'ultratool': ULTRATOOL_TWINS,
    'toolbench': TOOLBENCH_TWINS,
    'restbench': RESTBENCH_TWINS,
    'funcqa': FUNCQA_TWINS,
    'agents': AGENT_TWINS,
}
