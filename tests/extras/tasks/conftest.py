"""The command of the tests, and an empty home for each of them."""

from tests.cli.conftest import home, tooleval

__all__ = ['home', 'tooleval']
