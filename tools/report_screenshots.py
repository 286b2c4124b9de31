#!/usr/bin/env python3
"""The pictures in docs/: `python tools/report_screenshots.py REPORT_DIR`, of `make real`'s report. Needs Chromium."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.report.browser import Browser  # noqa: E402

INSTRUCT = 'model=smollm2-llamacpp&other=smollm2-transformers&dataset=tooleval-teval-instruct_v2-fc'
AGENT = 'model=smollm2-llamacpp&dataset=tooleval-teval-agent-fc'
AGENTS = 'model=gemma3-llamacpp&other=smollm2-transformers&dataset=tooleval-toolbench_g2-agent-fc'
DIALOGUE = 'model=smollm2-llamacpp&dataset=tooleval-funcqa-one_hop-easytool&reason=lost'
PICTURES = {
    'report-overview': ('index.html', '', 1280, False),
    'report-benchmark': ('ultratool.html', '', 1280, False),
    'report-easytool': ('easytool.html', '', 1280, True),
    'report-samples': ('samples.html', INSTRUCT, 1280, False),
    'report-sample': ('samples.html', f'{INSTRUCT}&sample=0', 1280, False),
    'report-agent': ('samples.html', f'{AGENT}&sample=0', 1280, False),
    'report-agents': ('samples.html', f'{AGENTS}&sample=0', 1280, False),
    'report-dialogue': ('samples.html', f'{DIALOGUE}&sample=1', 390, True),
}
"""Name -> page, fragment of its address, width in pixels, and whether it is dark."""


def main() -> None:
    """Writes every picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('report', type=Path, help='folder of the report of `make real`')
    parser.add_argument('names', nargs='*', help='pictures to make; all by default')
    arguments = parser.parse_args()
    report, wanted = arguments.report, arguments.names or list(PICTURES)
    browser = Browser(ROOT / 'docs')
    for name in wanted:
        page, fragment, width, dark = PICTURES[name]
        browser.look(width, dark)
        browser.open(report.resolve() / page, f'#{fragment}' if fragment else '')
        if 'sample=' in fragment:
            browser.wait("document.querySelector('#sample article') !== null")
        elif fragment:
            browser.wait("document.querySelectorAll('#list button').length > 1")
        elif page != 'index.html':
            browser.wait("document.querySelectorAll('.chart .main-svg').length > 1")
        time.sleep(1)  # a chart draws itself in more than one step
        browser.shoot(name)
    browser.driver.quit()


if __name__ == '__main__':
    main()
