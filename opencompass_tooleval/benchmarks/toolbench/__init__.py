"""The offline part of ToolBench (Qin et al., 2023) in EasyTool: retrieval, selection, calls, judging."""

from opencompass_tooleval.benchmarks.toolbench.tables import VERSION as VERSION
