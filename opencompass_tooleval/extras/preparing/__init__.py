"""Data made before a run: EasyTool's instructions, UltraTool's sets, banks of recorded responses."""
