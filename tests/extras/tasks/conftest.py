"""The command of the tests."""

from tests.cli.conftest import tooleval

__all__ = ['tooleval']
