"""Description of agents for tables, commands and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.agents.metrics import METRICS
from opencompass_tooleval.agents.subsets import SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='agents',
    title='Agents',
    paper='arXiv 2312.14033, 2307.16789, 2401.17167',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], None): row['tasks'] for row in _ROWS if row['tasks']},
    are_agents=True,
    are_dialogues=True,
    words={'react': 'ReAct', 'dfsdt': 'DFSDT', 'fc': 'function calling', 'easytool': 'EasyTool'},
)
