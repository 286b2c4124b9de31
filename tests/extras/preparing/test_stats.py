"""Tokens before and after: the count, and the command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.embedding.locate import locate_encoder
from opencompass_tooleval.extras.preparing.tokens import load_counter, token_stats
from opencompass_tooleval.results.variants import reduction
from opencompass_tooleval.tool_docs.instruction import FunctionInstruction, ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions, load_instructions
from opencompass_tooleval.tool_docs.render import render_doc, render_instruction
from opencompass_tooleval.tool_docs.sources import load_docs
from opencompass_tooleval.tool_docs.template import template_instruction
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from tests.cli.conftest import Command, tooleval
from tests.instructions.shared_data import real

__all__ = ['tooleval']  # the fixture

DOCS = [ToolDoc(name, '', (FunctionDoc(name),), 'word ' * words) for name, words in (('a', 40), ('b', 60), ('c', 1))]
MADE = {name: ToolInstruction(name, 'word', (FunctionInstruction(name),)) for name in 'abd'}
PACKAGED = str(locate_encoder('offline').path)


def words(text: str) -> int:
    return len(text.split())


def test_tokens_of_what_is_rendered() -> None:
    stats = token_stats(DOCS, MADE, words)
    assert [(tool.name, tool.before, tool.after) for tool in stats.tools] == [('a', 40, 6), ('b', 60, 6)]
    assert render_instruction(MADE['a']) == '{"standardized_name": "a", "API_description": "word", "Usage": {}}'
    assert (stats.before, stats.after, stats.mean_before, stats.mean_after) == (100, 12, 50.0, 6.0)
    assert (stats.reduction, stats.tools[0].reduction) == (88.0, 85.0)
    assert (stats.only_documented, stats.only_instructed) == (('c',), ('d',))
    with pytest.raises(ValueError, match='no tool of the documentation'):
        token_stats(DOCS, {}, words)


def test_reduction_is_the_papers() -> None:
    """Table 3."""
    assert round(reduction(3881, 103) or 0, 2) == 97.35
    assert round(reduction(2530, 748) or 0, 2) == 70.43
    assert reduction(0, 3) is None


def test_published_tmdb_instructions_by_words() -> None:
    """Independent of any tokenizer: the instructions are a small part of the documentation."""
    docs = load_docs('openapi', real('restbench/specs/tmdb_oas.json'))
    stats = token_stats(docs, load_instructions(real('easytool/tmdb_tool.json')), words)
    assert len(stats.tools) == 54 and not stats.only_documented and not stats.only_instructed
    assert stats.reduction is not None and stats.reduction > 95


def prepare(folder: Path) -> tuple[Path, Path]:
    functions = [{'name': name, 'description': f'Rings {name}. ' + 'And so on. ' * 30} for name in ('tenor', 'treble')]
    documentation, instructions = folder / 'functions.json', folder / 'instructions.json'
    documentation.write_text(json.dumps([*functions, {'name': 'organ'}]), encoding='utf-8')
    made = [template_instruction(doc) for doc in load_docs('function_schema', documentation) if doc.name != 'organ']
    instructions.write_text(dump_instructions(made), encoding='utf-8')
    return documentation, instructions


def stats(tooleval: Command, folder: Path, *more: object) -> Any:
    documentation, instructions = prepare(folder)
    files = ('--input', documentation, '--instructions', instructions)
    source = () if '--source' in more else ('--source', 'function_schema')
    return tooleval('easytool', 'stats', *source, *files, *more)


def test_the_command(tooleval: Command, tmp_path: Path) -> None:
    out = tmp_path / 'stats.json'
    outcome = stats(tooleval, tmp_path, '--tokenizer', PACKAGED, '--json', out)
    assert outcome.code == 0, outcome.err
    result = json.loads(out.read_text(encoding='utf-8'))
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(PACKAGED)
    docs = load_docs('function_schema', tmp_path / 'functions.json')
    before = [len(tokenizer.tokenize(render_doc(doc))) for doc in docs[:2]]
    made = load_instructions(tmp_path / 'instructions.json')
    after = [len(tokenizer.tokenize(render_instruction(tool))) for tool in made.values()]
    assert [tool['before'] for tool in result['per_tool'].values()] == before
    assert (result['tools'], result['before'], result['after']) == (2, sum(before), sum(after))
    assert result['reduction'] == pytest.approx(100 * (1 - sum(after) / sum(before)))
    assert result['only_documented'] == ['organ']
    for said in ('tenor', 'treble', 'mean of 2', 'total', f'{result["reduction"]:.2f}%', 'organ'):
        assert said in outcome.out
    piped = stats(tooleval, tmp_path, '--tokenizer', PACKAGED, '--json', '-')
    assert json.loads(piped.out) == result


@pytest.mark.parametrize(
    ('source', 'tokenizer', 'says'),
    [
        ('function_schema', '.', 'contains no tokenizer'),
        ('function_schema', 'gpt2', 'neither cl100k_base, offline nor a folder'),
        ('yaml', PACKAGED, "unknown source 'yaml'"),
        ('openapi', PACKAGED, 'functions.json'),
    ],
)
def test_faults_of_the_user(tooleval: Command, tmp_path: Path, source: str, tokenizer: str, says: str) -> None:
    outcome = stats(tooleval, tmp_path, '--source', source, '--tokenizer', tokenizer)
    assert outcome.code == 1 and says in outcome.err and 'Traceback' not in outcome.err


@pytest.fixture
def without_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache and a proxy that is not there."""
    from tiktoken import registry

    monkeypatch.setenv('TIKTOKEN_CACHE_DIR', str(tmp_path))
    monkeypatch.setenv('HTTPS_PROXY', 'http://127.0.0.1:9')
    monkeypatch.setattr(registry, 'ENCODINGS', {})


@pytest.mark.usefixtures('without_network')
def test_without_its_file_the_packaged_tokenizer_counts_and_is_named(
    monkeypatch: pytest.MonkeyPatch, tooleval: Command, tmp_path: Path
) -> None:
    outcome = stats(tooleval, tmp_path)
    assert outcome.code == 0, outcome.err
    assert 'tokens of offline' in outcome.out
    assert "NOTE counted with the packaged encoder's tokenizer, not the paper's: the file of cl100k_base" in outcome.out
    piped = stats(tooleval, tmp_path, '--json', '-')
    assert json.loads(piped.out)['tokenizer'] == 'offline' and 'NOTE counted' in piped.err
    with pytest.raises(ValueError, match=r'cl100k_base is missing.*TIKTOKEN_CACHE_DIR.*--tokenizer offline'):
        load_counter('cl100k_base')
    monkeypatch.setattr('opencompass_tooleval.embedding.locate.importlib.util.find_spec', lambda name: None)
    without = stats(tooleval, tmp_path)
    assert without.code == 1 and 'cl100k_base is missing' in without.err


@pytest.mark.usefixtures('without_network')
def test_cl100k_of_a_package_that_carries_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its folder is looked for; the package is not imported."""
    package = tmp_path / 'litellm'
    package.mkdir()
    (package / '__init__.py').write_text('raise RuntimeError', encoding='utf-8')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv('TIKTOKEN_CACHE_DIR')
    with pytest.raises(ValueError, match='is missing'):
        load_counter('cl100k_base')
    assert os.environ['TIKTOKEN_CACHE_DIR'] == str(package / 'litellm_core_utils' / 'tokenizers')


def test_tmdb_beside_the_paper() -> None:
    """Table 3 has 3,881 and 103 tokens (97.35%); measured on 54 tools."""
    try:
        count = load_counter('cl100k_base')
    except ValueError as error:
        pytest.skip(str(error))
    docs = load_docs('openapi', real('restbench/specs/tmdb_oas.json'))
    found = token_stats(docs, load_instructions(real('easytool/tmdb_tool.json')), count)
    assert (round(found.mean_before), round(found.mean_after), round(found.reduction or 0, 2)) == (3876, 91, 97.65)
