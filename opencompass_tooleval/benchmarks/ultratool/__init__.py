"""UltraTool: planning, tool creation and tool usage in real-world scenarios (arXiv 2401.17167)."""

from opencompass_tooleval.benchmarks.ultratool.tables import VERSION as VERSION
