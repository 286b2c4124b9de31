"""The tutorials run from beginning to end, and print what their pages say.

A block with a ``title`` is a file, ``bash`` blocks are commands, and a ``text`` block is what the commands before it
print: its lines have to come in their order, with anything for ``...``, and anything between them after a line of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT, ModelServer, start_server
from tests.test_documentation import NOT_RUN, Place, commands, run

TUTORIALS = ROOT / 'docs' / 'tutorials'
SCRIPT = Path(__file__).with_name('tutorial_script.py')
PORTS = {'large': '8000', 'small': '8001'}
SDK = 'from mcp.server import MCPServer\nfrom mcp_types import ToolAnnotations\n'
"""In its place, in the server that a tutorial starts again and again."""
BLOCK = re.compile(r'^```(\w+)(?: title="([^"\n]+)")?\n(.*?)^```$', re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A block of a page."""

    kind: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall(page.read_text(encoding='utf-8'))]


def pattern_of(output: str) -> re.Pattern[str]:
    """What has to be printed: ``...`` within a line is anything in it, a line of it any lines."""
    lines = []
    for line in output.splitlines():
        if line.strip() == '...':
            lines.append(r'(?:.*\n)*?')
        else:
            words = [r'[ \t]+'.join(map(re.escape, part.split())) for part in line.split('...')]
            lines.append(r'[ \t]*' + r'.*'.join(words) + r'[ \t]*\n')
    return re.compile(''.join(lines))


def in_output(output: str, printed: str) -> bool:
    return pattern_of(output).search('\n'.join(line.strip() for line in printed.splitlines()) + '\n') is not None


@pytest.fixture(scope='module')
def servers() -> Iterator[dict[str, ModelServer]]:
    started = {name: start_server('--name', name, '--script', f'{SCRIPT}:{name}') for name in PORTS}
    yield started
    for server in started.values():
        server.stop()


@pytest.mark.long
@pytest.mark.parametrize(
    'page', sorted({*TUTORIALS.glob('*.md')} - {TUTORIALS / 'index.md'}), ids=lambda page: page.stem
)
def test_a_tutorial_runs_and_prints_what_its_page_says(
    page: Path, servers: dict[str, ModelServer], tmp_path: Path, tiny_model: Path
) -> None:
    folder = tmp_path / 'work'
    folder.mkdir()
    replaced = {f'http://127.0.0.1:{port}/v1': servers[name].url for name, port in PORTS.items()}
    replaced['Qwen/Qwen2.5-0.5B-Instruct'] = str(tiny_model)
    place = Place(folder, replaced)
    printed, compared, ran = '', 0, 0
    for block in blocks(page):
        if block.title:
            text = block.text
            for written, filled_in in replaced.items():
                text = text.replace(written, filled_in)
            (folder / block.title).write_text(text, encoding='utf-8')
        elif block.kind == 'bash':
            printed = ''
            for command in commands(block.text):
                if command in NOT_RUN:
                    continue
                done = run(command, place)
                assert done.returncode == 0 and 'Traceback' not in done.stderr, (
                    f'{command}\n{done.stdout}\n{done.stderr}'
                )
                printed += done.stdout
                ran += 1
        elif block.kind == 'text':
            assert in_output(block.text, printed), f'the page says\n{block.text}\nprinted is\n{printed}'
            compared += 1
    assert ran >= 5 and compared >= 3
