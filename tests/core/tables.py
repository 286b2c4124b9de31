"""The subsets of all benchmarks."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval.agents.tasks.records import TABLE as AGENTS
from opencompass_tooleval.benchmarks.funcqa.records import TABLE as FUNCQA
from opencompass_tooleval.benchmarks.restbench.records import TABLE as RESTBENCH
from opencompass_tooleval.benchmarks.teval.native_calls import native_subset
from opencompass_tooleval.benchmarks.teval.records import TABLE as TEVAL
from opencompass_tooleval.benchmarks.teval.subsets import FUNCTION_CALLING
from opencompass_tooleval.benchmarks.toolbench.records import TABLE as TOOLBENCH
from opencompass_tooleval.benchmarks.ultratool.records import TABLE as ULTRATOOL

TABLES: dict[str, Any] = {
    'teval': TEVAL,
    'ultratool': ULTRATOOL,
    'restbench': RESTBENCH,
    'funcqa': FUNCQA,
    'toolbench': TOOLBENCH,
    'agents': AGENTS,
}
NATIVE = [native_subset(str(row['name'])) for row in FUNCTION_CALLING]
"""T-Eval's subsets with native calls."""
