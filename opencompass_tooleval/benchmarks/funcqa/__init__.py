"""FuncQA (Hao et al., 2023) as EasyTool uses it: arithmetic questions and 13 tools (EasyTool, Section 5.3)."""

from opencompass_tooleval.benchmarks.funcqa.tables import VERSION as VERSION
