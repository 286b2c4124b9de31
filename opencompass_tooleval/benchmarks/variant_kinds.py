"""Kinds of variants that several benchmarks have."""

from __future__ import annotations

from opencompass_tooleval.catalogue.variants import VariantKind

EASYTOOL = VariantKind(
    '-easytool',
    'documentation',
    'instructions',
    'EasyTool instructions',
    'EasyTool',
    'what instructions gain',
    methods_of=('funcqa',),
    methods=('-agent-easytool',),
    published=('easytool_tokens', 'easytool_toolbench', 'easytool_retrieval'),
)

"""A data set `X` with documentation, and `X-easytool` with instructions."""

SUFFIX = EASYTOOL.suffix
"""Ending of the abbr of a variant with instructions."""

FUNCTION_CALLING = VariantKind(
    '-fc',
    'prompt',
    'calling',
    'native calls',
    'Function calling',
    'what native calls gain',
    methods_of=('tasks',),
    methods=('-agent-fc',),
    partners=tuple((f'-{data}-agent-fc', f'-{data}-agent-react') for data in ('teval', 'teval_zh')),
)
"""A data set `X` whose prompt documents the tools and requests written calls, and `X-fc` with native calls.

T-Eval's agents are named after their loops: `teval-agent-react` writes its calls. ToolBench's ReAct calls natively.
"""

TWIN = VariantKind(
    '-twin', 'original', 'twin', 'twin', 'Twins', 'what changed records cost', methods_of=('tasks',), several=True
)
"""A data set `X` as published, and `X-twin-order` and others with changed records."""
