"""T-Eval, UltraTool, RestBench, FuncQA and ToolBench, which know nothing of one another."""
