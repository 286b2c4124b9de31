"""Reports in real headless Chromium, opened from disk. Screenshots are kept in pytest's temporary folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

import opencompass_tooleval
from opencompass_tooleval.report.build import write_report
from tests.report.support import HOSTILE, hostile_run, plain_run

CHROMIUM, DRIVER = shutil.which('chromium'), shutil.which('chromedriver')
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason='Chromium or its driver is not installed: tools/install_chromium.sh'
)

REVIEW = 'tooleval-teval-review_str_v2'


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

    def look(self, width: int = 1280, dark: bool = False) -> None:
        metrics = {'width': width, 'height': 900, 'deviceScaleFactor': 1, 'mobile': width < 600}
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', metrics)
        scheme = {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': [scheme]})

    def open(self, page: Path, fragment: str = '') -> None:
        self.driver.get('about:blank')
        self.driver.get(page.as_uri() + fragment)

    def all(self, selector: str) -> list[WebElement]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def wait(self, script: str) -> None:
        WebDriverWait(self.driver, 60, 0.05).until(lambda driver: driver.execute_script(f'return {script}'))

    def shoot(self, name: str) -> None:
        assert self.driver.save_screenshot(str(self.screenshots / f'{name}.png'))

    def check_quiet(self) -> None:
        """No error on the console, nothing run, and nothing asked of a network."""
        assert not [entry for entry in self.driver.get_log('browser') if entry['level'] in ('SEVERE', 'WARNING')]
        asked = [json.loads(entry['message'])['message'] for entry in self.driver.get_log('performance')]
        urls = [it['params']['request']['url'] for it in asked if it['method'] == 'Network.requestWillBeSent']
        assert urls and all(url.startswith(('file:', 'data:', 'blob:', 'about:')) for url in urls)
        assert self.driver.execute_script('return window.ran') is None


@pytest.fixture(scope='module')
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp('screenshots'))
    yield browser
    browser.driver.quit()


@pytest.fixture(scope='module')
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('plain')
    return write_report([plain_run(folder / 'run')], folder / 'out')


def models(browser: Browser, board: str) -> list[str]:
    return [cell.text.split(' published')[0] for cell in browser.all(f'#board-{board} tbody th') if cell.is_displayed()]


def test_scores_are_sorted_filtered_and_drawn(browser: Browser, plain: Path) -> None:
    browser.look()
    browser.open(plain)
    headings = browser.all('#board-tooleval-teval_v2 thead th button')
    assert [heading.text for heading in headings] == ['model', 'overall', 'review']
    heading = headings[-1]
    assert models(browser, 'tooleval-teval_v2')[:2] == ['better', 'worse']
    heading.click()
    assert models(browser, 'tooleval-teval_v2')[0] == 'GPT-4-Turbo (Nov 2023)'
    heading.send_keys('\n')  # the keyboard does it too
    assert models(browser, 'tooleval-teval_v2')[0] == 'WizardLM-70B'
    browser.all('#published')[0].click()
    assert models(browser, 'tooleval-teval_v2') == ['worse', 'better']
    browser.all('#filter')[0].send_keys('BETT')
    assert models(browser, 'tooleval-teval_v2') == ['better']
    browser.driver.execute_script("document.getElementById('reasons').scrollIntoView()")
    browser.wait("document.querySelectorAll('#reasons .chart .bars path').length > 1")
    Select(browser.all('#reasons select')[0]).select_by_visible_text(REVIEW)
    browser.wait(f"document.querySelectorAll('[data-figure=reasons-{REVIEW}] .bars path').length > 3")
    browser.check_quiet()
    bars = browser.all(f'[data-figure=reasons-{REVIEW}] .trace.bars:last-of-type .point path')
    webdriver.ActionChains(browser.driver).move_to_element(bars[1]).pause(0.3).click().perform()
    browser.wait("location.pathname.endsWith('samples.html')")
    browser.wait("document.getElementById('status').textContent === '60 of 120 samples'")
    browser.check_quiet()


def test_samples_are_filtered_opened_and_compared(browser: Browser, plain: Path) -> None:
    browser.look()
    page = plain.with_name('samples.html')
    browser.open(page, f'#model=worse&dataset={REVIEW}')
    browser.wait("document.getElementById('status').textContent === '120 of 120 samples'")
    Select(browser.all('[name=reason]')[0]).select_by_visible_text('review:wrong')
    browser.wait("document.getElementById('status').textContent === '60 of 120 samples'")
    Select(browser.all('[name=domain]')[0]).select_by_visible_text('D0')
    browser.wait("document.getElementById('status').textContent === '0 of 120 samples'")
    Select(browser.all('[name=domain]')[0]).select_by_visible_text('all domains')
    browser.all('[name=text]')[0].send_keys('to R119')
    browser.wait("document.getElementById('status').textContent === '1 of 120 samples'")
    browser.all('#list button')[0].send_keys('\n')
    browser.wait("document.querySelector('#sample pre')?.textContent === 'answer of worse to r119'")
    browser.wait("document.querySelector('#sample .turn pre').textContent === 'Ask. r119'")
    browser.all('[name=text]')[0].clear()
    Select(browser.all('[name=other]')[0]).select_by_visible_text('better')
    browser.wait("document.getElementById('status').textContent === '40 of 120 samples'")
    browser.all('#list button')[0].click()
    browser.wait("document.querySelectorAll('#sample article').length === 2")
    assert [it.text for it in browser.all('#sample h3')] == ['worse', 'better']
    fragment = browser.driver.execute_script('return location.hash')
    browser.open(page, fragment)  # a view can be linked to
    browser.wait("document.querySelectorAll('#sample article').length === 2")
    browser.wait("document.getElementById('status').textContent === '40 of 120 samples'")
    browser.check_quiet()


@pytest.mark.parametrize(('width', 'dark'), [(1280, False), (1280, True), (390, False), (390, True)])
def test_pages_fit(browser: Browser, plain: Path, width: int, dark: bool) -> None:
    browser.look(width, dark)
    for name in ('index', 'samples', 'provenance'):
        browser.open(plain.with_name(f'{name}.html'))
        if name == 'samples':
            browser.wait("document.querySelectorAll('#list button').length > 1")
        browser.shoot(f'{name}-{width}-{"dark" if dark else "light"}')
        assert browser.driver.execute_script('return document.documentElement.scrollWidth') <= width
    back = browser.driver.execute_script('return getComputedStyle(document.body).backgroundColor')
    assert (back == 'rgb(255, 255, 255)') is not dark


def test_hostile_texts_run_nothing(browser: Browser, tmp_path: Path) -> None:
    page = write_report([hostile_run(tmp_path / 'run')], tmp_path / 'out')
    browser.look()
    browser.open(page)
    for figure in browser.all('figure[data-figure]'):
        browser.driver.execute_script('arguments[0].hidden = false; arguments[0].scrollIntoView()', figure)
        browser.driver.execute_script('return draw(arguments[0])', figure)  # waits for the promise
    browser.check_quiet()
    browser.open(page.with_name('samples.html'))
    browser.wait("document.querySelectorAll('#list button').length === 1")
    browser.all('#list button')[0].click()
    browser.wait("document.querySelector('#sample .turn pre') !== null")
    shown = browser.driver.execute_script("return JSON.stringify(document.querySelector('#sample pre').textContent)")
    assert json.loads(shown) == HOSTILE
    assert not browser.all('#sample img, #sample script')
    browser.check_quiet()
    browser.open(page.with_name('provenance.html'))
    browser.check_quiet()


@pytest.mark.long
def test_the_report_of_the_demo_sweep(browser: Browser, tmp_path: Path) -> None:
    config = Path(opencompass_tooleval.__file__).parent / 'configs' / 'eval_demo.py'
    command = [str(Path(sys.executable).with_name('opencompass')), str(config), '-w', str(tmp_path / 'demo')]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    page = write_report([tmp_path / 'demo'], tmp_path / 'out')
    browser.look()
    browser.open(page)
    browser.driver.execute_script("document.getElementById('ultratool').scrollIntoView()")
    browser.wait("document.querySelectorAll('#ultratool .chart .main-svg').length > 0")
    browser.shoot('demo')
    browser.check_quiet()
    wanted = 'model=oracle-noise-0.3&other=oracle&differ=1&dataset=tooleval-teval-instruct_v2'
    browser.open(page.with_name('samples.html'), f'#{wanted}')
    browser.wait("document.querySelectorAll('#list button').length > 1")
    browser.all('#list button')[0].click()
    browser.wait("document.querySelectorAll('#sample .diff').length === 2")
    browser.shoot('demo-samples')
    browser.check_quiet()
