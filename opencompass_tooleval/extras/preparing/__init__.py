"""Makes data before a run: EasyTool's instructions, UltraTool's sets, banks of recorded responses."""
