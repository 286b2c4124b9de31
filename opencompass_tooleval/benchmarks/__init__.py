"""T-Eval, UltraTool, RestBench, FuncQA and ToolBench; none depends on another."""
