"""The command and the browser, as in the tests of ``tests/cli`` and ``tests/report``."""

from tests.cli.conftest import home, tooleval
from tests.report.conftest import browser

__all__ = ['browser', 'home', 'tooleval']
