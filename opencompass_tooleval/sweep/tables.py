"""The tables of this package, as its summarizers define them."""

from __future__ import annotations

from opencompass_tooleval.core.tables import Score, columns_of


def published_columns() -> dict[Score, dict[Score, float]]:
    """Table and column -> data set and metric -> share: T-Eval, UltraTool, FuncQA, and those with instructions."""
    from opencompass_tooleval.configs.summarizers.groups.tooleval_easytool_groups import (
        tooleval_easytool_summary_groups,
    )
    from opencompass_tooleval.configs.summarizers.groups.tooleval_funcqa_groups import tooleval_funcqa_summary_groups
    from opencompass_tooleval.configs.summarizers.groups.tooleval_teval_groups import tooleval_teval_summary_groups
    from opencompass_tooleval.configs.summarizers.groups.tooleval_ultratool_groups import (
        tooleval_ultratool_summary_groups,
    )

    tables = (
        tooleval_teval_summary_groups,
        tooleval_ultratool_summary_groups,
        tooleval_funcqa_summary_groups,
        tooleval_easytool_summary_groups,
    )
    return columns_of(group for groups in tables for group in groups)  # type: ignore[misc]
