"""T-Eval, UltraTool and EasyTool as ordinary OpenCompass configs."""

__version__ = '0.3.0'
