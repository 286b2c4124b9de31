"""``tooleval easytool generate``: a scripted and a failing server, a tiny HF model, a kill, and the rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.preparing.easytool_generate import easytool_generate
from opencompass_tooleval.extras.preparing.validate import check_example
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions, load_instructions
from opencompass_tooleval.tool_docs.sources import load_docs
from tests.conftest import ModelServer, start_server

SCRIPT = Path(__file__).with_name('generation_script.py')


def parameter(name: str, kind: str = 'STRING') -> dict[str, str]:
    return {'name': name, 'type': kind, 'description': f'The {name}. See elsewhere.', 'default': ''}


def api(tool: str, name: str, *required: dict[str, str]) -> dict[str, Any]:
    described = {'category_name': 'Test', 'tool_name': tool, 'api_name': name, 'api_description': f'Do {name}. Or not.'}
    return {**described, 'required_parameters': list(required), 'optional_parameters': [parameter('note')]}


APIS = [
    *(api(f'Shop {number}', f'find {letter}', parameter('id', 'NUMBER')) for number in range(4) for letter in 'ab'),
    api('Clock', 'now'),
]
FUNCTIONS = len(APIS)
TOOLS = 5


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    file = tmp_path / 'toolbench.json'
    file.write_text(json.dumps([{'api_list': APIS}]), encoding='utf-8')
    return file


def config(path: Path, url: str, **more: Any) -> Path:
    model = {'abbr': 'api', 'path': 'tiny', 'key': 'none', 'openai_api_base': url, 'retry': 0, 'backoff': 0.01}
    model |= {'query_per_second': 1000, 'max_seq_len': 8192, 'max_out_len': 256, **more}
    text = f'models = [dict(type=ToolEvalOpenAI, **{model})]\n'
    path.write_text(f'from opencompass_tooleval.models.openai_model import ToolEvalOpenAI\n{text}')
    return path


@pytest.fixture(scope='module')
def server() -> Iterator[ModelServer]:
    started = start_server('--script', f'{SCRIPT}:right')
    yield started
    started.stop()


@pytest.fixture
def right(server: ModelServer) -> ModelServer:
    server.reset()
    return server


def run(docs: Path, model: Path, out: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    report = out.with_name('report.json')
    status = easytool_generate('toolbench', str(docs), str(model), out, json_out=str(report), **options)
    said: dict[str, Any] = json.loads(report.read_text(encoding='utf-8'))
    return status, said


def leftovers(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if 'journal' in file.name or file.name.endswith('.tmp')]


def test_a_perfect_model(right: ModelServer, docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / 'out.json'
    right.reset(latency=0.2)
    status, report = run(docs, config(tmp_path / 'cfg.py', right.url), out, prompt='2')
    assert status == 0 and not leftovers(tmp_path)
    expected = {'tools': TOOLS, 'functions': FUNCTIONS, 'examples': FUNCTIONS, 'calls': TOOLS + FUNCTIONS}
    assert report.items() >= (expected | {'from_earlier_run': 0}).items()
    assert (report['listed'], report['failed']) == ([], {})
    assert right.stats()['requests'] == TOOLS + FUNCTIONS and right.stats()['most_in_flight'] > 1
    made = load_instructions(out)
    for doc in load_docs('toolbench', docs):
        tool = made[doc.name]
        assert tool.description.startswith('This tool can help. This tool has ')
        for function in tool.functions:
            assert function.example and check_example(doc, function.name, function.example) == []
            assert function.description == f'Do {function.name}.'
            assert [one.description for one in function.optional] == ['The note.']
    captured = capsys.readouterr()
    assert f'{FUNCTIONS} functions, {FUNCTIONS} with an example' in captured.out
    assert 'descriptions: 100%' in captured.err and 'examples: 100%' in captured.err and 'tokens=' in captured.err
    with pytest.raises(DataError, match='already exists and is finished'):
        run(docs, tmp_path / 'cfg.py', out)
    assert right.stats()['requests'] == TOOLS + FUNCTIONS


def test_what_stays_wrong_is_listed(
    canned_server: ModelServer, docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'out.json'
    status, report = run(docs, config(tmp_path / 'cfg.py', canned_server.url, key='right'), out)
    assert status == 1 and report['examples'] == 0 and report['calls'] == 4 * TOOLS + 4 * FUNCTIONS
    assert {(one['tool'], one['function']) for one in report['listed']} == {
        *((one['tool_name'], one['api_name']) for one in APIS),
        *((one['tool_name'], '') for one in APIS),
    }
    assert {one['reason'] for one in report['listed'] if one['function']} == {'example:not_json'}
    assert {one['reason'] for one in report['listed'] if not one['function']} == {'description:unrelated'}
    printed = capsys.readouterr().out
    assert 'FAILED no reply of api could be used, so nothing is written' in printed
    assert not out.exists() and not leftovers(tmp_path)  # the same command asks again
    assert printed.count('LISTED ') == TOOLS + FUNCTIONS
    assert 'LISTED Clock: now: no example (example:not_json: ' in printed


def test_restbench_and_funcqa_documents(right: ModelServer, tmp_path: Path) -> None:
    spec = tmp_path / 'oas.json'
    movie = {'name': 'movie_id', 'in': 'path', 'required': True, 'schema': {'type': 'integer'}}
    query = {'name': 'query', 'in': 'query', 'required': True, 'schema': {'type': 'string'}}
    paths = {
        '/movie/{movie_id}/keywords': {'get': {'description': 'Get words.', 'parameters': [movie]}},
        '/search': {'get': {'parameters': [query]}},
    }
    spec.write_text(json.dumps({'openapi': '3.0.0', 'paths': paths}), encoding='utf-8')
    cfg, out = str(config(tmp_path / 'cfg.py', right.url)), tmp_path / 'tmdb.json'
    assert easytool_generate('openapi', str(spec), cfg, out, shape='restbench') == 0
    tools = load_instructions(out)
    assert dump_instructions(tools, 'restbench') == out.read_text(encoding='utf-8')
    examples = [tool.functions[0].example for tool in tools.values()]
    assert [one.parameters['input'] for one in examples if one] == ['GET /movie/3/keywords', 'GET /search?query=x']

    documented = [
        {'name': name, 'parameters': {'properties': {'input': {'type': kind}}, 'required': ['input']}}
        for name, kind in (('divide_', 'List'), ('sqrt_', 'array'))  # the script's samples: [4, 2] and []
    ]
    functions, out, report = tmp_path / 'functions.json', tmp_path / 'funcqa.json', tmp_path / 'report.json'
    functions.write_text(json.dumps(documented), encoding='utf-8')
    assert easytool_generate('function_schema', str(functions), cfg, out, shape='funcqa', json_out=str(report)) == 0
    (listed,) = json.loads(report.read_text(encoding='utf-8'))['listed']  # sqrt_ of nothing is an error
    assert (listed['function'], listed['reason']) == ('sqrt_', 'example:execution')
    assert load_instructions(out)['divide_'].functions[0].example is not None


def test_failures_are_no_instructions_and_are_asked_again(
    right: ModelServer, docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, cfg = tmp_path / 'out.json', config(tmp_path / 'cfg.py', right.url)
    right.reset("500@~'find a' in 'Shop 2'", '500@~"tool_name": "Clock"'.replace('"', '\\"'))
    status, report = run(docs, cfg, out)
    assert status == 1 and report['failed'] == {'Shop 2': 'infra:server', 'Clock': 'infra:server'}
    assert set(load_instructions(out)) == {'Shop 0', 'Shop 1', 'Shop 3'}
    printed = capsys.readouterr().out
    assert 'FAILED Shop 2: infra:server' in printed and '2 tools got no answer' in printed
    right.reset()
    status, report = run(docs, cfg, out)
    assert (status, report['calls'], report['from_earlier_run']) == (0, 3, TOOLS + FUNCTIONS - 3)
    assert right.stats()['requests'] == 3 and len(load_instructions(out)) == TOOLS and not leftovers(tmp_path)


@pytest.mark.long
def test_a_tiny_model_knows_nothing_and_what_its_library_raises_is_said(
    tiny_model: Path, docs: Path, tmp_path: Path
) -> None:
    cfg = tmp_path / 'cfg.py'
    text = (
        'from opencompass.models import HuggingFacewithChatTemplate\n'
        "models = [dict(type=HuggingFacewithChatTemplate, abbr='tiny', path='{}', {})]\n"
    )
    cfg.write_text(text.format(tmp_path / 'no_model', ''))
    with pytest.raises(DataError, match=r'cfg\.py: the model failed \(\w+Error: .*run again'):
        run(docs, cfg, tmp_path / 'out.json')
    settings = 'max_seq_len=8192, max_out_len=24, batch_size=16, run_cfg=dict(num_gpus=0)'
    cfg.write_text(text.format(tiny_model, settings))
    status, report = run(docs, cfg, tmp_path / 'out.json')
    assert status == 1 and (report['tools'], report['described'], report['examples']) == (TOOLS, 0, 0)
    assert sum(one['function'] != '' for one in report['listed']) == FUNCTIONS
    assert report['tokens'] > 1_000 and not (tmp_path / 'out.json').exists()


def test_faults_of_the_user(docs: Path, tmp_path: Path) -> None:
    out, cfg = tmp_path / 'out.json', tmp_path / 'cfg.py'
    cfg.write_text('datasets = []\n')
    for model, said in ((cfg, 'no models'), (tmp_path / 'none.py', 'the config is missing')):
        with pytest.raises(DataError, match=said):
            easytool_generate('toolbench', str(docs), str(model), out)
    with pytest.raises(ValueError, match='unknown prompt'):
        easytool_generate('toolbench', str(docs), 'template', out, prompt='4')
    with pytest.raises(ValueError, match='one function'):
        easytool_generate('toolbench', str(docs), str(cfg), out, shape='restbench')
    with pytest.raises(ValueError, match='leaves no space'):
        easytool_generate('toolbench', str(docs), str(config(cfg, 'http://127.0.0.1:9/v1')), out, max_out_len=8192)
    with pytest.raises(OSError, match=r'not a folder\. Fix it with: mkdir -p .*none'):
        easytool_generate('toolbench', str(docs), 'template', out, json_out=str(tmp_path / 'none' / 'report.json'))
    assert not out.exists()
    assert easytool_generate('toolbench', str(docs), 'template', tmp_path / 'new' / 'out.json') == 0  # makes its folder
