"""The kinds of twins, and the subsets that have them. Literals only: configs read this file inside ``read_base()``.

``order``: tools, parameters and options are in another order. ``names``: tools, parameters and returned fields have
names of random letters; ``plain``: of ordinary words. ``values``: values that are verbatim in request and gold are
replaced. ``more5``, ``more20``, ``more100``: that many tools of other records are added. ``faults``: an agent's first
call of a tool fails.
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
    'order': ('tool_creation', *_ULTRATOOL_AWARENESS, *_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
    'names': (*_ULTRATOOL_AWARENESS, *_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
    'plain': (*_ULTRATOOL_AWARENESS, *_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
    'values': _ULTRATOOL_USAGE,
    'more5': (*_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
    'more20': (*_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
    'more100': (*_ULTRATOOL_CHOICE, *_ULTRATOOL_USAGE),
}

_TOOLBENCH_CALLS = ('calls_g2', 'calls_g3')
_TOOLBENCH = ('selection_5', 'selection_10', 'selection_20', 'selection_50', *_TOOLBENCH_CALLS)

TOOLBENCH_TWINS: dict[str, tuple[str, ...]] = {
    'order': _TOOLBENCH,
    'names': _TOOLBENCH,
    'plain': _TOOLBENCH,
    'more5': _TOOLBENCH_CALLS,
    'more20': _TOOLBENCH_CALLS,
    'more100': _TOOLBENCH_CALLS,
}

RESTBENCH_TWINS: dict[str, tuple[str, ...]] = dict.fromkeys(('order', 'names', 'plain'), ('tmdb', 'spotify'))

FUNCQA_TWINS: dict[str, tuple[str, ...]] = {'values': ('one_hop', 'multi_hop')}

_AGENTS_OF_OTHERS = ('toolbench_g1', 'toolbench_g2', 'toolbench_g3', 'ultratool_zh', 'ultratool_en')
_AGENTS = ('teval', 'teval_zh', *_AGENTS_OF_OTHERS)

AGENT_TWINS: dict[str, tuple[str, ...]] = {
    'order': _AGENTS,
    'names': _AGENTS,
    'plain': _AGENTS,
    'more5': _AGENTS,
    'more20': _AGENTS,
    'more100': _AGENTS_OF_OTHERS,
    'faults': _AGENTS,
}

TWINS: dict[str, dict[str, tuple[str, ...]]] = {
    'teval': TEVAL_TWINS,
    'ultratool': ULTRATOOL_TWINS,
    'toolbench': TOOLBENCH_TWINS,
    'restbench': RESTBENCH_TWINS,
    'funcqa': FUNCQA_TWINS,
    'agents': AGENT_TWINS,
}
