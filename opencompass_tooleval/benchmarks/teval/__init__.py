"""T-Eval: six abilities of tool use, step by step (arXiv 2312.14033)."""

from opencompass_tooleval.benchmarks.teval.tables import VERSION as VERSION
