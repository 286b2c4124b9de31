"""Imports the names of a package when they are first used.

OpenCompass and torch take seconds to import, and few ``tooleval`` commands need them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any


def lazy_getattr(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns a package's ``__getattr__`` (PEP 562).

    Args:
        package: The package's ``__name__``.
        modules: Name -> the module of the package that defines it, such as ``{'ToolEvalOpenAI': 'openai_model'}``.
    """

    def get(name: str) -> Any:
        if name not in modules:
            near = get_close_matches(name, modules, n=1)
            advice = f'; did you mean {near[0]}?' if near else ''
            raise AttributeError(f'module {package!r} has no attribute {name!r}{advice}')
        return getattr(import_module(f'{package}.{modules[name]}'), name)

    return get
