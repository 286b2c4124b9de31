#!/usr/bin/env python3
"""Pictures in docs/ of another report: `python tools/report_screenshots.py NAME REPORT_DIR`. Needs Chromium."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.report.browser import Browser  # noqa: E402


@dataclass(frozen=True)
class Picture:
    """A page as it is photographed.

    Attributes:
        page: Its file.
        fragment: Fragment of its address.
        width: Width of the window in pixels.
        height: Its height.
        dark: True for the dark theme.
        published: True to show the models from the papers too.
    """

    page: str
    fragment: str = ''
    width: int = 1280
    height: int = 900
    dark: bool = False
    published: bool = False


AGENTS = 'model=gemma3-llamacpp&other=smollm2-transformers&dataset=tooleval-toolbench_g2-agent-fc'
PICTURES = {
    'report-easytool': Picture('easytool.html', height=970, dark=True),
    'report-agents': Picture('samples.html', f'{AGENTS}&sample=0'),
}
"""The first one is of `make demo`'s report, the second one of `make real`'s; `make showcase` makes all others."""


def take_pictures(report: Path, pictures: Mapping[str, Picture], folder: Path) -> None:
    """Writes a PNG file for each picture into a folder."""
    browser = Browser(folder)
    for name, picture in pictures.items():
        browser.look(picture.width, picture.dark, picture.height)
        browser.open(report.resolve() / picture.page, f'#{picture.fragment}' if picture.fragment else '')
        if 'sample=' in picture.fragment:
            browser.wait("document.querySelector('#sample article') !== null")
        elif picture.fragment:
            browser.wait("document.querySelectorAll('#list button').length > 1")
        elif picture.page != 'index.html':
            browser.wait("document.querySelectorAll('.chart .main-svg').length > 1")
        if picture.published:
            browser.all('#published')[0].click()
        time.sleep(1)  # a chart draws itself in more than one step
        browser.shoot(name)
        file = folder / f'{name}.png'
        Image.open(file).convert('RGB').quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
    browser.driver.quit()


def main() -> None:
    """Writes one picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('name', choices=PICTURES)
    parser.add_argument('report', type=Path, help='folder of the report')
    arguments = parser.parse_args()
    take_pictures(arguments.report, {arguments.name: PICTURES[arguments.name]}, ROOT / 'docs')


if __name__ == '__main__':
    main()
