"""The command, as in the tests of ``tests/cli``."""

from __future__ import annotations

from tests.cli.conftest import tooleval

__all__ = ['tooleval']
