"""The subsets of all benchmarks."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval.agents.tasks.records import TABLE as AGENTS
from opencompass_tooleval.benchmarks.funcqa.data import TABLE as FUNCQA
from opencompass_tooleval.benchmarks.restbench.data import TABLE as RESTBENCH
from opencompass_tooleval.benchmarks.teval.data import TABLE as TEVAL
from opencompass_tooleval.benchmarks.teval.data import native_subset
from opencompass_tooleval.benchmarks.teval.tables import FUNCTION_CALLING
from opencompass_tooleval.benchmarks.toolbench.data import TABLE as TOOLBENCH
from opencompass_tooleval.benchmarks.ultratool.data import TABLE as ULTRATOOL

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
