"""The report of a sweep of ten models over all of T-Eval: what building it costs, and how soon a browser shows it.

Part of ``benchmark.py``. The sweep is made up (``synthetic_sweep.py``, some minutes at full size); the
browser is headless Chromium (``install_chromium.sh``), and what it takes is seen from outside, driver included.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.synthetic_sweep import make_sweep, run

MODELS = 10
LOOKS = 5
GOALS = {'first page': 1.0, 'a sample, from click to text': 0.1}


def browser_or_none() -> Any:
    """Headless Chromium, or None where it is not installed."""
    found, driver = shutil.which('chromium'), shutil.which('chromedriver')
    if not (found and driver):
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = found
    for flag in ('--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(driver))


def _seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def look(browser: Any, page: Path) -> dict[str, float]:
    """Step of a visit -> median seconds of a few visits."""
    from selenium.webdriver.support.ui import WebDriverWait

    def wait(script: str) -> None:
        WebDriverWait(browser, 60, 0.01).until(lambda driver: driver.execute_script(f'return {script}'))

    def first_page() -> None:
        browser.get(page.as_uri())
        wait("document.querySelector('.ranking tbody tr') !== null")

    def benchmark_page() -> None:
        browser.get(page.with_name('teval.html').as_uri())
        browser.execute_script("document.querySelector('.board thead th:last-child button').click()")
        wait("document.querySelector('.board thead th:last-child').hasAttribute('aria-sort')")

    def first_chart() -> None:
        browser.execute_script("document.querySelector('figure[data-figure]').scrollIntoView()")
        wait("document.querySelector('figure[data-figure] .main-svg') !== null")

    def list_of_samples() -> None:
        browser.get(page.with_name('samples.html').as_uri())
        wait("document.querySelectorAll('#list button').length > 1")

    def sample() -> None:
        browser.execute_script("document.querySelectorAll('#list button')[1].click()")
        wait("document.querySelector('#sample .turn pre') !== null")

    steps = {
        'first page': first_page,
        'page of a benchmark, sorted by a click': benchmark_page,
        'first chart, from scrolling to it': first_chart,
        'list of samples': list_of_samples,
        'a sample, from click to text': sample,
    }
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(LOOKS):
        browser.get('about:blank')
        for name, step in steps.items():
            taken[name].append(_seconds(step))
    return {name: statistics.median(values) for name, values in taken.items()}


def measure(scale: float) -> dict[str, Any]:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        work_dir = make_sweep(folder, MODELS, scale)
        out = folder / 'report'
        command: list[str | Path] = [
            '-c',
            'from opencompass_tooleval.cli.main import main; main()',
            'report',
            work_dir,
            '-o',
            out,
        ]
        built = run(command, folder / 'report.log', folder)
        files = [file.stat().st_size for file in out.rglob('*') if file.is_file()]
        size = sum(files) / 2**20
        print(f'report of {MODELS} models: {built} (goals < 45 s, < 1024 MiB); {len(files)} files, {size:.0f} MiB')
        browser = browser_or_none()
        if browser is None:
            print('the browser is skipped: Chromium or its driver is not installed: tools/install_chromium.sh')
            return {'report': vars(built)}
        try:
            seconds = look(browser, out / 'index.html')
        finally:
            browser.quit()
    for name, value in seconds.items():
        print(f'  {name}: {value:.2f} s' + (f' (goal < {GOALS[name]})' if name in GOALS else ''))
    return {'report': vars(built), 'browser': seconds}
