"""What EasyTool's variants are called: a data set `X` with documentation, `X-easytool` with instructions."""

from __future__ import annotations

from opencompass_tooleval.core.variants import VariantKind

EASYTOOL = VariantKind(
    '-easytool',
    'documentation',
    'instructions',
    'EasyTool instructions',
    'EasyTool',
    'what instructions gain',
    ('opencompass_tooleval.configs.summarizers.groups.tooleval_easytool_groups:tooleval_easytool_summary_groups',),
    methods_of=('funcqa',),
    methods=('-agent-easytool',),
)

SUFFIX = EASYTOOL.suffix
"""What the abbr of an instructed variant ends in."""
