"""Texts of a service's tools in prompts, and rejected instructions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.data import open_toolbox
from opencompass_tooleval.benchmarks.restbench.prompts import build_prompt
from opencompass_tooleval.core.errors import DataError
from tests.benchmarks.restbench.support import DEMO

DOCUMENT = DEMO / 'specs' / 'spotify_oas.json'
INSTRUCTIONS = DEMO / 'spotify_tool.json'


def changed(folder: Path, change: Callable[[list[dict[str, Any]]], Any]) -> Path:
    entries = json.loads(INSTRUCTIONS.read_text(encoding='utf-8'))
    change(entries)
    file = folder / 'tool.json'
    file.write_text(json.dumps(entries), encoding='utf-8')
    return file


def test_documentation() -> None:
    tools = open_toolbox(DOCUMENT)
    assert len(tools.texts) == len(tools.inventory.names) == 8
    assert tools.texts[tools.inventory.names.index('PUT /me/bookings/{booking_id}')] == (
        'PUT /me/bookings/{booking_id}\n'
        'Description: Move a booking to another day, under the same rules as a new one.\n'
        'Parameters:\n'
        '  - booking_id (integer, required): Number of the booking. E.g. 9.\n'
        '  - day (string, required): The new day.'
    )
    assert tools.texts[tools.inventory.names.index('GET /me')].count('\n') == 1
    assert {key: len(value) for key, value in tools.shown.items() if key.endswith('sha256')} == {'document_sha256': 64}
    assert tools.shown['tools'] == 'documentation'


def test_instructions() -> None:
    tools = open_toolbox(DOCUMENT, INSTRUCTIONS)
    assert len(tools.texts) == 8
    assert json.loads(tools.texts[0])['tool_usage'] == tools.inventory.names[0] == 'GET /tools'
    assert 'ID' not in json.loads(tools.texts[0])
    assert (tools.shown['tools'], tools.shown['instructions']) == ('instructions', 'spotify_tool.json')
    assert len(tools.shown['instructions_sha256']) == 64


def test_prompts_differ_in_the_tools_only() -> None:
    query = 'Book {item_id} "now" {tools}'
    shown = [open_toolbox(DOCUMENT), open_toolbox(DOCUMENT, INSTRUCTIONS)]
    prompts = [build_prompt(tools.texts, query) for tools in shown]
    cut = [prompt.replace('\n\n'.join(tools.texts), '') for prompt, tools in zip(prompts, shown, strict=True)]
    assert cut[0] == cut[1] != prompts[0]
    assert all(prompt.endswith(f'Request: {query}\nAnswer:') for prompt in prompts)
    assert all(name in prompt for prompt in prompts for name in shown[0].inventory.names)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda e: e.pop(), r'1 tools without an instruction: PUT /me/wishes'),
        (
            lambda e: e.append({**e[0], 'ID': 9, 'tool_name': 'x', 'tool_usage': 'GET /saws'}),
            r'1 instructions for unknown tools: GET /saws',
        ),
        (lambda e: e.append({**e[0], 'ID': 9, 'tool_name': 'x'}), r'1 tools with several instructions: GET /tools'),
    ],
)
def test_instructions_of_other_tools_are_refused(
    change: Callable[[list[dict[str, Any]]], Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        open_toolbox(DOCUMENT, changed(tmp_path, change))
    assert f'tooleval easytool generate --source openapi --input {DOCUMENT}' in str(caught.value)


def test_a_missing_document_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'none\.json: the OpenAPI document is missing.*tooleval prepare restbench'):
        open_toolbox(tmp_path / 'none.json')
