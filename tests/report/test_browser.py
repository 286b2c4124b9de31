"""Reports in real headless Chromium, opened from disk. Screenshots are kept in pytest's temporary folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.support.ui import Select

import opencompass_tooleval
from opencompass_tooleval.report.build import write_report
from tests.conftest import ROOT
from tests.report.browser import Browser, needs_chromium
from tests.report.support import HOSTILE, hostile_run, plain_run

pytestmark = needs_chromium

REVIEW = 'tooleval-teval-review_str_v2'


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
    browser.choose('reason', 'review:wrong')
    browser.wait("document.getElementById('status').textContent === '60 of 120 samples'")
    browser.choose('domain', 'D0')
    browser.wait("document.getElementById('status').textContent === '0 of 120 samples'")
    browser.choose('domain', 'all domains')
    browser.all('[name=text]')[0].send_keys('to R119')
    browser.wait("document.getElementById('status').textContent === '1 of 120 samples'")
    browser.all('#list button')[0].send_keys('\n')
    browser.wait("document.querySelector('#sample pre')?.textContent === 'answer of worse to r119'")
    browser.wait("document.querySelector('#sample .turn pre').textContent === 'Ask. r119'")
    browser.all('[name=text]')[0].clear()
    browser.choose('other', 'better')
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
        assert browser.faint() == []
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


@pytest.mark.long
def test_the_report_of_ten_models_at_full_size(browser: Browser, tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / 'tools' / 'synthetic_sweep.py', tmp_path / 'sweep'], check=True)
    page = write_report([tmp_path / 'sweep' / 'ours'], tmp_path / 'out')
    browser.look()
    browser.open(page)
    board = 'tooleval-teval_v1'
    browser.all('#published')[0].click()
    browser.all(f'#board-{board} thead th button')[1].click()
    names = [f'model_{i:02}' for i in range(10)]
    assert models(browser, board) == names  # the first answers right most of the time, the last one rarely
    browser.all('#filter')[0].send_keys('_07')
    assert models(browser, board) == ['model_07']
    browser.driver.execute_script("document.getElementById('reasons').scrollIntoView()")
    browser.wait("document.querySelectorAll('#reasons .chart .bars path').length > 10")
    browser.shoot('synthetic')
    browser.check_quiet()
    browser.open(page.with_name('samples.html'), '#model=model_02&dataset=tooleval-teval-reason_str_v1')
    browser.wait("document.getElementById('status').textContent === '6426 of 6426 samples'")
    browser.all('[name=from]')[0].send_keys('100')
    browser.wait("!document.getElementById('status').textContent.startsWith('6426')")
    right = int(browser.all('#status')[0].text.split()[0])
    assert 0 < right < 6426
    browser.all('#list button')[0].click()
    browser.wait("document.querySelector('#sample .turn pre') !== null")
    browser.all('[name=from]')[0].clear()
    browser.choose('other', 'model_08')
    browser.wait("document.querySelectorAll('#list th').length === 5")
    browser.all('#list button')[0].click()
    browser.wait("document.querySelectorAll('#sample article').length === 2")
    browser.shoot('synthetic-samples')
    browser.check_quiet()
