"""Each Chinese page has what its English page has: headings, code, commands, numbers, links and rows of tables.

The pages below ``docs/zh_cn`` are the list: a page that is there is held to its English one. Comments in code are text.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

DOCS = ROOT / 'docs'
CHINESE = DOCS / 'zh_cn'
PAGES = [*sorted(CHINESE.rglob('*.md')), *ROOT.glob('README_zh-CN.md')]
BLOCK = re.compile(r'^```.*?^```', re.M | re.S)
COMMENT = re.compile(r'(?:^|\s)#\s.*$', re.M)
HEADING = re.compile(r'^(#+) .*$', re.M)
INLINE = re.compile(r'`([^`\n]+)`')
LINK = re.compile(r'\]\(([^)\s]+)\)')
NUMBER = re.compile(r'\d(?:[\d,.]*\d)?')


@dataclass(frozen=True)
class Section:
    """What both languages of a section have in common."""

    level: str
    blocks: list[str]
    inline: set[str]
    numbers: Counter[str]
    links: set[str]
    rows: int


def english_of(page: Path) -> Path:
    """The English page of a Chinese one; any other file as it is."""
    if page.is_relative_to(CHINESE):
        return DOCS / page.relative_to(CHINESE)
    return ROOT / 'README.md' if page.name == 'README_zh-CN.md' else page


def chinese_of(page: Path) -> Path:
    """The Chinese page of an English one, whether it is there or not."""
    return ROOT / 'README_zh-CN.md' if page == ROOT / 'README.md' else CHINESE / os.path.relpath(page, DOCS)


def files_of(page: Path, text: str) -> list[Path | str]:
    """Where the links of a text lead: addresses, and files without anchors."""
    paths = [target.partition('#')[0] for target in LINK.findall(text)]
    return [path if '://' in path else Path(os.path.normpath(page.parent / path)) for path in paths if path]


def without_comments(block: str) -> str:
    """A block of code without its comments, and without blanks at the ends of lines."""
    return '\n'.join(line.rstrip() for line in COMMENT.sub('', block).splitlines())


def sections_of(page: Path) -> list[Section]:
    """The sections of a page, in order; the text before the first heading is the line with the links of languages."""
    text = page.read_text(encoding='utf-8')
    blocks = BLOCK.findall(text)
    text = BLOCK.sub('\0', text)
    levels = HEADING.findall(text)
    left = iter(blocks)
    sections = []
    for level, part in zip(levels, HEADING.split(text)[2::2], strict=True):
        links = {str(english_of(file) if isinstance(file, Path) else file) for file in files_of(page, part)}
        prose = LINK.sub(']', INLINE.sub('', part))
        rows = len(re.findall(r'^ *(?:\||- |\d+\. )', part, re.M))
        code = [without_comments(next(left)) for _ in range(part.count('\0'))]
        sections.append(Section(level, code, set(INLINE.findall(part)), Counter(NUMBER.findall(prose)), links, rows))
    return sections


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_translated_page_has_what_the_english_one_has(page: Path) -> None:
    english, chinese = sections_of(english_of(page)), sections_of(page)
    assert [section.level for section in chinese] == [section.level for section in english]
    for expected, section in zip(english, chinese, strict=True):
        assert section == expected


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_languages_are_linked(page: Path) -> None:
    """The first line of both pages leads to the other; further links of a Chinese page to Chinese pages."""
    english = english_of(page)
    for one, other in ((english, page), (page, english)):
        first, _, rest = one.read_text(encoding='utf-8').partition('\n')
        assert files_of(one, first) == [other]
    assert [file for file in files_of(page, rest) if isinstance(file, Path) and chinese_of(file).is_file()] == []
