"""The tools of MCP servers as documentation, and the commands that read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.extras.mcp_servers.tool_source import tool_doc
from opencompass_tooleval.tool_docs.instruction import ABSENT
from opencompass_tooleval.tool_docs.sources import load_docs
from tests.cli.conftest import Command, home, tooleval  # noqa: F401
from tests.extras.mcp_servers.servers import NOTES, installed


def test_the_tools_of_a_server() -> None:
    docs = load_docs('mcp', NOTES)
    assert [doc.name for doc in docs][:3] == ['read_notes', 'add_note', 'clock'] and len(docs) == 16
    (function,) = docs[1].functions
    (text,), (mark,) = function.required, function.optional
    assert (text.name, text.type, text.description, text.default) == ('text', 'string', 'One line.', ABSENT)
    assert (mark.name, mark.type) == ('mark', 'string')
    assert docs[0].raw['outputSchema']['required'] == ['lines'], 'a model reads what comes back'  # type: ignore[index]


def schema(**properties: Any) -> dict[str, Any]:
    return {'name': 'a', 'inputSchema': {'type': 'object', 'properties': properties}}


def test_an_optional_parameter_of_pydantic() -> None:
    doc = tool_doc(schema(x={'anyOf': [{'type': 'integer'}, {'type': 'null'}], 'default': 3, 'description': 'Many.'}))
    (parameter,) = doc.functions[0].optional
    assert (parameter.type, parameter.default, parameter.description) == ('integer', 3, 'Many.')
    two = tool_doc(schema(x={'anyOf': [{'type': 'integer'}, {'type': 'string'}]})).functions[0].optional[0]
    assert 'anyOf' in two.extra


def test_schemas_that_cannot_be_read() -> None:
    with pytest.raises(ValueError, match='has no target'):
        tool_doc(schema(x={'$ref': '#/$defs/none'}))
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {'items': deep}
    with pytest.raises(ValueError, match='nested too deeply'):
        tool_doc(schema(x=deep))


def test_instructions_by_rule(tooleval: Command, tmp_path: Path) -> None:  # noqa: F811
    out = tmp_path / 'out.json'
    done = tooleval('easytool', 'generate', '--source', 'mcp', '--input', NOTES, '--model', 'template', '--out', out)
    assert done.code == 0 and '16 of 16 tools' in done.out, done.err
    assert json.loads(out.read_text())[1]['tool_name'] == 'add_note'
    done = tooleval('easytool', 'stats', '--source', 'mcp', '--input', NOTES, '--instructions', out, '--json', '-')
    stats = json.loads(done.out)
    assert stats['tools'] == 16 and stats['input'] == 'python' and stats['after'] < stats['before']


def test_a_server_that_is_not_there_is_one_line(tooleval: Command, tmp_path: Path) -> None:  # noqa: F811
    for source, said in (('no-such-server -k secret', 'no-such-server: it cannot be started'), ('', 'a command')):
        options = ('--source', 'mcp', '--input', source, '--model', 'template', '--out', tmp_path / 'out.json')
        done = tooleval('easytool', 'generate', *options)
        assert done.code == 1 and said in done.err and done.err.count('\n') == 1 and 'secret' not in done.err


def test_no_sdk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'opencompass-tooleval\[mcp\]'"):
        load_docs('mcp', NOTES)


@pytest.mark.long
def test_46_tools_of_a_published_server(tmp_path: Path) -> None:
    docs = load_docs('mcp', f'{installed("excel", tmp_path)} stdio')
    assert len(docs) > 40 and 'write_range' in [doc.name for doc in docs]
    assert all(doc.description for doc in docs) and {'path'} <= {p.name for p in docs[0].functions[0].required}
