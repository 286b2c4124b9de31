"""The messages on the page of troubleshooting are messages of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.conftest import ROOT

PAGE = ROOT / 'docs' / 'how-to' / 'troubleshooting.md'
MESSAGE = re.compile(r'^\| `([^`]+)` \|', re.M)
GAP = '\0'


def texts_of(tree: ast.AST) -> Iterator[str]:
    """Texts in a module; what is filled in is a gap. Texts side by side are one in Python."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield ''.join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@cache
def package_texts() -> str:
    files = sorted((ROOT / 'opencompass_tooleval').rglob('*.py'))
    return f'{GAP}\n'.join(text for file in files for text in texts_of(ast.parse(file.read_text(encoding='utf-8'))))


def is_said(message: str) -> bool:
    """Whether the package has a message; ``...`` on the page is something filled in."""
    parts = [re.escape(part.strip()) for part in message.split('...')]
    return re.search(rf'[ ,;:{GAP}]*{GAP}+[ ,;:]*'.join(parts), package_texts()) is not None


def test_the_page_quotes_messages_that_exist() -> None:
    messages = MESSAGE.findall(PAGE.read_text(encoding='utf-8'))
    assert len(messages) > 40 and not is_said('encoder ... is on the moon')
    assert [message for message in messages if not is_said(message)] == []
