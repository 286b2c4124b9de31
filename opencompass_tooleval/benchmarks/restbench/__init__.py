"""RestBench (Song et al., 2023) as EasyTool uses it: the model chooses the tools of a web service, in order."""

from opencompass_tooleval.benchmarks.restbench.tables import VERSION as VERSION
