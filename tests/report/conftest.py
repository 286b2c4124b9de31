"""The browser that the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report.browser import Browser


@pytest.fixture(scope='module')
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp('screenshots'))
    yield browser
    browser.driver.quit()
