"""The browser of the tests of pages."""

from tests.report.conftest import browser

__all__ = ['browser']
