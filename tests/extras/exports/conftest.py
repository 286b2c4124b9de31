"""The command, as in the tests of ``tests/cli``."""

from tests.cli.conftest import home, tooleval

__all__ = ['home', 'tooleval']
