"""The leaderboard of two hundred models on 73 data sets: what building it costs, and how soon a browser shows it.

Part of ``benchmark.py``. The numbers are made up, the data sets those of the tables and configs; every fifth model has
two bundles, every tenth an earlier VERSION. Times in headless Chromium (``install_chromium.sh``) are the page's own:
from the start of the navigation to the load event, and to the first frame after it.
"""

from __future__ import annotations

import json
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from benchmark_report import LOOKS, browser_or_none

from opencompass_tooleval.catalogue.benchmark import find_description
from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.extras.exports.bundle import write_bundle
from opencompass_tooleval.extras.leaderboard.site import write_site
from opencompass_tooleval.report.names import family_of
from opencompass_tooleval.work_dir.work_dir import WorkDir

MODELS = 200
GOAL = 1.0
DOZEN = 12
"""Metrics of an agent, without those of judges."""
DRAWN = """
addEventListener('load', () => requestAnimationFrame(() => requestAnimationFrame(() => {
  window.drawn = document.querySelector('.board tbody tr').offsetHeight > 0 && performance.now();
})));
"""


def data_sets() -> dict[str, list[str]]:
    """Data set -> its metrics: 73, without T-Eval's other versions."""
    found: dict[str, list[str]] = {}
    for shares in published_columns().values():
        for dataset, metric in shares:
            if '_v1' not in dataset and '_subset' not in dataset and metric not in found.setdefault(dataset, []):
                found[dataset].append(metric)
    others = [f'restbench-{data}{method}' for data in ('tmdb', 'spotify') for method in ('', '-easytool', '-fc')]
    loops = ('react', 'dfsdt', 'easytool')
    others += [f'toolbench_{group}-agent-{loop}' for group in ('g1', 'g2', 'g3') for loop in loops]
    for name in (f'tooleval-{other}' for other in others):
        found[name] = [metric.name for metric in find_description(family_of(name)).metrics][:DOZEN]
    return {name: metrics for name, metrics in found.items() if metrics}


def write_run(folder: Path, model: str, version: str, seed: int) -> WorkDir:
    """Writes the results of a model on all data sets, as evaluators leave them, without samples."""
    random = Random(seed)
    (folder / 'configs').mkdir(parents=True)
    settings = f"models = [dict(type='ToolEvalOpenAI', abbr='{model}', path='org/{model}', temperature=0.0)]\n"
    (folder / 'configs' / 'run.py').write_text(settings, encoding='utf-8')
    for dataset, metrics in data_sets().items():
        provenance = {
            'benchmark': family_of(dataset),
            'subset': dataset,
            'version': version,
            'records_sha256': f'{hash_of(dataset):064x}',
            'opencompass_tooleval': '0.2.0',
        }
        result = {
            **{metric: random.uniform(20, 95) for metric in metrics},
            'standard_errors': {metric: random.uniform(0.5, 2) for metric in metrics},
            'reasons': {'ok': 400, 'parse:no_json': 100},
            'samples': {'all': 500, 'infra': 0},
            'provenance': provenance,
        }
        file = folder / 'results' / model / f'{dataset}.json'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(result), encoding='utf-8')
    return WorkDir(folder)


def hash_of(dataset: str) -> int:
    """A number that depends on the name only."""
    return Random(dataset).getrandbits(256)


def make_bundles(folder: Path, models: int) -> Iterator[Path]:
    """Writes bundles below ``folder``, and yields them."""
    (folder / 'bundles').mkdir()
    for number in range(models):
        for month in (1, 6)[: 1 + (number % 5 == 0)]:
            run = folder / f'run{number}' / f'2026{month:02}{1 + number % 28:02}_120000'
            work = write_run(run, f'model-{number:03}-instruct', '3' if number % 10 == 1 else '4', 10 * number + month)
            file = folder / 'bundles' / f'model-{number:03}-{month}.bundle'
            write_bundle(work, file, list(work.pairs()))
            yield file


def look(browser: Any, page: Path) -> dict[str, float]:
    """Median seconds of a few visits to a page: to the load event, and to the first frame after it."""
    from selenium.webdriver.support.ui import WebDriverWait

    taken = []
    for _ in range(LOOKS):
        browser.get('about:blank')
        browser.get(page.as_uri())
        WebDriverWait(browser, 60, 0.01).until(lambda driver: driver.execute_script('return window.drawn'))
        script = "return [performance.getEntriesByType('navigation')[0].loadEventEnd, window.drawn]"
        taken.append(browser.execute_script(script))
    load, drawn = (statistics.median(values) / 1000 for values in zip(*taken, strict=True))
    return {'load': load, 'drawn': drawn}


def measure(models: int = MODELS) -> dict[str, Any]:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        bundles = list(make_bundles(folder, models))
        started = time.perf_counter()
        write_site(folder / 'bundles', folder / 'site')
        seconds = time.perf_counter() - started
        pages = sorted((folder / 'site').glob('*.html'))
        size, sets = sum(page.stat().st_size for page in pages) / 2**20, len(data_sets())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f'leaderboard of {models} models x {sets} data sets, {len(bundles)} bundles: built in {seconds:.1f} s,')
        print(f'peak {peak:.0f} MiB; {len(pages)} pages, {size:.0f} MiB')
        content: dict[str, Any] = {'build': seconds, 'peak': peak, 'pages': len(pages), 'mib': size}
        browser = browser_or_none()
        if browser is None:
            print('the browser is skipped: Chromium or its driver is not installed: tools/install_chromium.sh')
            return {'leaderboard': content}
        try:
            browser.execute_cdp_cmd('Page.addScriptToEvaluateOnNewDocument', {'source': DRAWN})
            shown = [page for page in pages if page.name.startswith('model-')][:1]
            for page in [page for page in pages if not page.name.startswith(('model-', 'bundles'))] + shown:
                times = content[page.name] = look(browser, page)
                mib = page.stat().st_size / 2**20
                nodes = browser.execute_script("return document.querySelectorAll('*').length")
                print(
                    f'  {page.name}: {mib:.1f} MiB, {nodes} elements; load event {times["load"]:.2f} s, '
                    f'drawn {times["drawn"]:.2f} s (goal < {GOAL})'
                )
        finally:
            browser.quit()
    return {'leaderboard': content}
