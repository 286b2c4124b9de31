"""Headless Chromium for tests, which are skipped if it is not installed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import axe_core_python
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

AXE = Path(axe_core_python.__file__).parent / 'axe.min.js'
CHROMIUM, DRIVER = shutil.which('chromium'), shutil.which('chromedriver')
needs_chromium = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason='Chromium or its driver is not installed: tools/install_chromium.sh'
)

LOOKS = [
    (390, True),
    *(pytest.param(*look, marks=pytest.mark.long) for look in ((1280, False), (1280, True), (390, False))),
]
"""Width of a window, and whether it is dark."""


class Browser:
    """Chromium, and what it logged since the last look."""

    def __init__(self, screenshots: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in ('--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'):
            options.add_argument(flag)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        self.driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
        self.screenshots = screenshots

    def look(self, width: int = 1280, dark: bool = False, height: int = 900) -> None:
        metrics = {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': width < 600}
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', metrics)
        scheme = {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'media': '', 'features': [scheme]})

    def open(self, page: Path, fragment: str = '') -> None:
        self.driver.get('about:blank')
        self.driver.get(page.as_uri() + fragment)

    def all(self, selector: str) -> list[WebElement]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def wait(self, script: str) -> None:
        WebDriverWait(self.driver, 300, 0.05).until(lambda driver: driver.execute_script(f'return {script}'))

    def choose(self, name: str, text: str) -> None:
        """Chooses from a list of the sample browser, by what is shown or by its value."""
        self.driver.execute_script("document.querySelector('#filters .more').open = true")
        box = Select(self.all(f'[name={name}]')[0])
        values = [option.get_attribute('value') for option in box.options]
        (box.select_by_value if text in values else box.select_by_visible_text)(text)

    def choose_of(self, name: str, value: str) -> None:
        """Chooses from the list of this id."""
        Select(self.all(f'#{name}')[0]).select_by_value(value)

    def faults(self) -> list[str]:
        """What axe-core finds against WCAG 2, levels A and AA, on the page, contrast included."""
        self.driver.execute_script(AXE.read_text(encoding='utf-8'))
        found: list[str] = self.driver.execute_async_script(
            """const done = arguments[arguments.length - 1];
            const told = (one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(' | ')}`;
            axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})
                .then((found) => done(found.violations.map(told)))"""
        )
        return found

    def shoot(self, name: str) -> None:
        assert self.driver.save_screenshot(str(self.screenshots / f'{name}.png'))

    def check_quiet(self) -> None:
        """No error on the console, nothing run, and nothing asked of a network."""
        assert not [entry for entry in self.driver.get_log('browser') if entry['level'] in ('SEVERE', 'WARNING')]
        asked = [json.loads(entry['message'])['message'] for entry in self.driver.get_log('performance')]
        urls = [it['params']['request']['url'] for it in asked if it['method'] == 'Network.requestWillBeSent']
        assert urls and all(url.startswith(('file:', 'data:', 'blob:', 'about:')) for url in urls)
        assert self.driver.execute_script('return window.ran') is None
