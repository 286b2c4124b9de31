"""T-Eval: six abilities of tool use, step by step (arXiv 2312.14033)."""
