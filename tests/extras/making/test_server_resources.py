"""Resources of a real MCP server as grounding: text only, bounded, read twice; keys in a server's last words."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.extras.making.grounding import MAX_RESOURCE_CHARS, MAX_SERVER_RESOURCES, sample_resources
from opencompass_tooleval.extras.making.live_source import open_live_source
from opencompass_tooleval.extras.mcp_servers.open_live import open_live

LIBRARY = """
import sys
import time
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer('library')
KEPT = {'catalogue': 'Solaris stands on shelf L03.', 'rules': 'r' * 5000, 'empty': ''}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def find_books(author: str) -> str:
    return 'none'


def keep(name, text):
    @server.resource(f'library://{name}')
    def read() -> str:
        return text


for name, text in KEPT.items():
    keep(name, text)
for number in range(int(sys.argv[1])):
    keep(f'shelf/{number}', f'Shelf {number}.')


@server.resource('library://now')
def now() -> str:
    return str(time.time_ns())


@server.resource('library://folder')
def folder() -> str:
    return str(Path.cwd())


@server.resource('library://cover', mime_type='image/png')
def cover() -> bytes:
    return b'PNG'


@server.resource('library://broken')
def broken() -> str:
    raise ValueError('lost')


server.run()
"""


def library(folder: Path, shelves: int) -> str:
    """The command of the server, with so many further resources."""
    file = folder / 'library.py'
    file.write_text(LIBRARY, encoding='utf-8')
    return shlex.join([sys.executable, str(file), str(shelves)])


def test_resources_of_a_server_ground_queries(tmp_path: Path) -> None:
    fixture = tmp_path / 'set' / 'fixture'
    fixture.mkdir(parents=True)
    (fixture / 'books.json').write_text('[]')
    settings = {'server': library(tmp_path, 0), 'fixture': 'fixture'}
    source = open_live_source(tmp_path / 'set', settings, [], ['Opens at nine.'])
    with source.closing:
        files, *held, documents = source.resources
    assert files.startswith('File /fixture/books.json') and documents == 'Opens at nine.'
    catalogue, rules, folder = held  # neither the clock, the picture, the empty one nor the broken one
    assert catalogue == 'Resource library://catalogue holds:\nSolaris stands on shelf L03.'
    assert rules.startswith('Resource library://rules holds:\nrrr') and len(rules) < MAX_RESOURCE_CHARS + 100
    assert folder == 'Resource library://folder holds:\n/fixture'
    assert catalogue in sample_resources(source.resources, '0 task_1')


def test_resources_are_bounded_in_number(tmp_path: Path) -> None:
    with open_live(library(tmp_path, MAX_SERVER_RESOURCES)) as live, live.begin('task') as trial:
        texts = trial.resources(MAX_SERVER_RESOURCES)
        assert trial.resources(1) == {'library://catalogue': 'Solaris stands on shelf L03.'}
    assert len(texts) == MAX_SERVER_RESOURCES - 1  # the empty one
    assert 'library://now' not in texts


@pytest.mark.parametrize(
    ('arguments', 'env'),
    [
        ((), {'LIBRARY_TOKEN': 'tk-6f1c9e'}),
        (('--api-key', 'tk-6f1c9e'), {}),
        (('--api-key=tk-6f1c9e',), {}),
    ],
)
def test_a_key_in_the_last_words_of_a_server_is_not_shown(arguments: tuple[str, ...], env: dict[str, str]) -> None:
    script = 'import os, sys; sys.exit(f"refused: {sys.argv} {os.environ.get(\'LIBRARY_TOKEN\')}")'
    command = shlex.join([sys.executable, '-c', script, *arguments])
    with open_live(command, env=env) as live, pytest.raises(ServerError) as caught:
        _ = live.listed
    assert 'refused' in str(caught.value) and '[key]' in str(caught.value)
    assert '6f1c9e' not in str(caught.value)


def test_no_half_of_a_key_is_left_where_a_line_is_cut() -> None:
    script = 'import os, sys; sys.exit("x" * 100 + os.environ["LIBRARY_TOKEN"] + " " + "y" * 3_990)'
    with (
        open_live(shlex.join([sys.executable, '-c', script]), env={'LIBRARY_TOKEN': 'tk-6f1c9e'}) as live,
        pytest.raises(ServerError) as caught,
    ):
        _ = live.listed
    assert 'yyy' in str(caught.value) and '1c9e' not in str(caught.value)
