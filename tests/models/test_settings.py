"""Settings that nobody reads, of a wrong type or with a name that is taken: refused by `tooleval plan` and by the run.

A run ends before its first request, whichever partitioner and runner it has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from opencompass_tooleval.findings.finding import merged
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.models.settings import component_faults, is_greedy, setting_faults
from tests.cli.conftest import Command, home, tooleval
from tests.conftest import ROOT, ModelServer
from tests.forked import run_opencompass

__all__ = ['home', 'tooleval']

CONFIGS = ROOT / 'opencompass_tooleval' / 'configs'

HEAD = """
from mmengine.config import read_base

from opencompass_tooleval.models import OracleModel, ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import tooleval_ultratool_en_datasets
    from opencompass_tooleval.configs.summarizers.tooleval import summarizer
    STAGES

datasets = [row for row in tooleval_ultratool_en_datasets if row['name'] in ('tool_usage', 'tool_selection')]
server = dict(type=ToolEvalOpenAI, path='x', key='right', openai_api_base='URL', query_per_second=100, batch_size=8,
              run_cfg=dict(num_gpus=0))
"""
OURS = 'from opencompass_tooleval.configs.tooleval_local import eval, infer'
FIXED = 'opencompass_tooleval.models.fixed_models'


def run_refuses(folder: Path, config: str, server: ModelServer, stages: str = OURS) -> str:
    """Runs a config; asserts that it ends with an error and no request, and returns what it says."""
    file = folder / 'sweep.py'
    file.write_text(HEAD.replace('STAGES', stages).replace('URL', server.url) + config, encoding='utf-8')
    done = run_opencompass(file, '-w', folder / 'out', cwd=folder)
    assert done.returncode == 1 and 'Traceback' not in done.stderr, done.stderr
    assert not list((folder / 'out').rglob('predictions')) and server.stats()['requests'] == 0
    return done.stderr


TWO_MODELS = "models = [dict(server, abbr='m', temperature=0.1), dict(server, abbr='m', temperature=0.9)]\n"
OTHER_MODELS = """
models += [dict(server, abbr='t', temprature=0.7, max_workers='16', openai_api_base='host:80'),
           dict(server, abbr='c', budget=dict(cost=5.0)),
           dict(type='opencompass_tooleval.models.OracelModel', abbr='o', batch_size=8)]
"""
SAID_OF_TWO = "several models have the name ('m': models[0] (temperature=0.1) and models[1] (temperature=0.9))"


@pytest.mark.parametrize(('stages', 'more'), [
    pytest.param(OURS, '', id='partitioner'),
    pytest.param(OURS, "infer['partitioner'] = dict(type='opencompass.partitioners.NaivePartitioner')\n", id='runner'),
    pytest.param('', '', id="OpenCompass's own"),
])  # fmt: skip
def test_a_run_with_faults_ends_at_once_and_says_all(
    tmp_path: Path, canned_server: ModelServer, stages: str, more: str
) -> None:
    said = run_refuses(tmp_path, TWO_MODELS + OTHER_MODELS + more, canned_server, stages)
    said_of_module = "module 'opencompass_tooleval.models' has no attribute"
    for words in (
        SAID_OF_TWO,
        'tooleval: t: ToolEvalOpenAI does not read temprature; did you mean temperature?',
        "tooleval: t: max_workers='16' of ToolEvalOpenAI should be int, not str",
        "tooleval: t: 'host:80' is not an address of a server: write the scheme and the host",
        'tooleval: c: a budget of cost needs prices: add prices=dict(input=..., output=...)',
        f"tooleval: o: {said_of_module} 'OracelModel'; did you mean OracleModel?",
    ):
        assert words in said


def test_a_plan_says_all_faults_and_counts_the_rest(
    tmp_path: Path, canned_server: ModelServer, tooleval: Command
) -> None:
    file = tmp_path / 'sweep.py'
    file.write_text(
        HEAD.replace('STAGES', OURS).replace('URL', canned_server.url)
        + TWO_MODELS
        + "models += [dict(server, abbr='n', max_worker=16), dict(server, abbr='fine')]\n"
        "datasets += [datasets[0]]\ndatasets[1]['infer_cfg']['inferencer']['temprature'] = 0.5\n",
        encoding='utf-8',
    )
    done = tooleval('plan', file)
    faults = [line.removeprefix('FAULT ') for line in done.out.splitlines() if line.startswith('FAULT ')]
    assert done.code == 1 and faults[0].startswith(SAID_OF_TWO)
    assert "'tooleval-ultratool-tool_selection_en': datasets[0] and datasets[2], which are the same" in faults[1]
    assert faults[2] == 'n: ToolEvalOpenAI does not read max_worker; did you mean max_workers?'
    assert faults[3].endswith(': ToolEvalGenInferencer does not read temprature; did you mean temperature?')
    assert len(faults) == 4
    rows = [line.split() for line in done.out.splitlines() if line.split()[:1] in (['m'], ['n'], ['fine'])]
    assert [row[0] for row in rows] == ['m', 'fine']  # the first of the two, and what is without a fault


API = {'type': 'opencompass_tooleval.models.ToolEvalOpenAI', 'abbr': 'm', 'path': 'x', 'key': 'none'}
ROLES = [{'role': 'HUMAN', 'api_role': 'HUMAN'}, {'role': 'BOT', 'api_role': 'BOT', 'generate': True}]
HF = {'type': 'opencompass_tooleval.models.ToolEvalHFChat', 'abbr': 'm', 'path': 'x'}
SERVED = {'type': 'opencompass_tooleval.models.ToolEvalServed', 'abbr': 'm', 'path': 'x'}
COMMAND = ['server', '{port}']


@pytest.mark.parametrize(('model', 'message'), [
    pytest.param({**API, 'retries': 3}, 'does not read retries; did you mean retry?', id='near'),
    pytest.param({**API, 'zzz': 3}, 'does not read zzz; docs/reference/models.md lists its options', id='far'),
    pytest.param({**API, 'base_url': 'http://a'}, 'read base_url; did you mean openai_api_base?', id='of a client'),
    pytest.param({'type': API['type'], 'abbr': 'm'}, 'ToolEvalOpenAI needs path', id='lacks one'),
    pytest.param({**API, 'key': 5}, 'key=... of ToolEvalOpenAI should be str or list', id='a key is not shown'),
    pytest.param({**API, 'timeout': '60'}, "timeout='60' of ToolEvalOpenAI should be float or None, not str",
        id='text'),
    pytest.param({**API, 'max_workers': True}, 'max_workers=True of ToolEvalOpenAI', id='a boolean is not a number'),
    pytest.param({**API, 'run_cfg': {'num_gpu': 1}}, 'run_cfg does not read num_gpu; did you mean num_gpus?', id='gpu'),
    pytest.param({**API, 'prices': {'input': 1}}, 'should be dict(input=..., output=...)', id='prices'),
    pytest.param({**API, 'budget': {'cost': 5}}, 'a budget of cost needs prices: add prices=', id='no prices'),
    pytest.param({**API, 'budget': {'token': 5}}, 'should be dict(cost=...) or dict(tokens=...)', id='budget'),
    pytest.param({**HF, 'budget': {'tokens': 5}, 'run_cfg': {'num_procs': 2}}, 'set num_procs=1',
        id='budget of processes'),
    pytest.param({**API, 'openai_api_base': ['http://a', 'b:1']}, "'b:1' is not an address", id='one of several'),
    pytest.param({**API, 'http_client_cfg': {'verfy': 0}}, 'unknown verfy', id='http client'),
    pytest.param({**HF, 'temprature': 1},
        'ToolEvalHFChat does not read temprature; did you mean generation_kwargs=dict(temperature=...)?', id='local'),
    pytest.param({**HF, 'tool_parser': 'hermess'}, "tool_parser is 'hermess'; there are", id='parser'),
    pytest.param({**SERVED, 'engine': {'command': COMMAND, 'helth': '/'}}, 'engine does not read helth', id='engine'),
    pytest.param({**SERVED, 'engine': {'command': ['server']}}, '{port} is missing', id='no port'),
    pytest.param({**SERVED, 'engine': {'command': COMMAND}, 'key': 'k'}, 'key: an engine that', id='key'),
    *(
        pytest.param({**API, 'meta_template': {'round': ROLES, **more}}, message, id=f'meta_template {message}')
        for more, message in (
            ({'begin': [{'role': 'SYSTEM', 'api_role': 'SYSTEM', 'prompt': 'Be brief.'}]}, 'begin is not sent'),
            ({'end': 'Go.'}, 'end is not sent'),
            ({'reserved_roles': [{'role': 'SYSTEM', 'api_role': 'HUMAN'}]}, "messages of 'SYSTEM' are sent as"),
        )
    ),
    pytest.param({'type': OracleModel, 'abbr': 'm', 'nois': 1}, 'OracleModel does not read nois; did', id='class'),
    pytest.param({'type': 'OracelModel', 'abbr': 'm'}, "type 'OracelModel'; did you mean OracleModel?", id='name'),
])  # fmt: skip
def test_a_model(model: dict[str, Any], message: str) -> None:
    (line,) = map(str, setting_faults([model], []))
    assert line.startswith('m: ') and message in line


def row(name: str) -> Any:
    rows = Config.fromfile(CONFIGS.parent / 'agents' / 'config_rows.py')['tooleval_agent_rows']
    return next(row for row in rows if row['abbr'] == name)


@pytest.mark.parametrize('name', ['m\x1b[2J', 'a\nb', 'm' * 201, 'm\u202e'])
def test_a_name_that_screens_cannot_show(name: str) -> None:
    (line,) = map(str, setting_faults([{**API, 'abbr': name}], []))
    assert 'more than 200 letters, or control characters: set another abbr' in line and line.isprintable()
    assert len(line) < 200 and not setting_faults([{**API, 'abbr': 'm' * 200}], [])


def test_what_is_no_fault() -> None:
    reserved = [{'role': 'SYSTEM', 'api_role': 'SYSTEM'}]
    for template in ({'round': ROLES, 'reserved_roles': reserved}, {'round': [{'role': 'HUMAN', 'begin': '<s>'}]}):
        assert setting_faults([{**API, 'meta_template': template}], []) == []
    others = [
        {'type': 'opencompass.models.OpenAISDK', 'path': 'x', 'abbr': 'a', 'anything': 1},
        {'type': 'their.package.Model', 'path': 'x', 'abbr': 'b', 'batch_size': '8'},
        {'type': 'TheirModel', 'path': 'x', 'abbr': 'c'},
    ]
    assert not setting_faults(others, [{'abbr': 'd', 'type': 'opencompass.datasets.GSM8KDataset', 'anything': 1}])


@pytest.mark.parametrize(('place', 'settings', 'message'), [
    ((), {'pth': 'x'}, 'ToolEvalAgentDataset does not read pth; did you mean path?'),
    ((), {'n': '3'}, "n='3' of ToolEvalAgentDataset should be int, not str"),
    (('reader_cfg',), {'test_rnage': '[:3]'}, 'reader_cfg does not read test_rnage; did you mean test_range?'),
    (('infer_cfg',), {'infrencer': {}}, 'infer_cfg does not read infrencer; did you mean inferencer?'),
    (('infer_cfg', 'inferencer'), {'batchsize': 3}, 'ToolEvalDialogueGenInferencer does not read batchsize'),
    (('infer_cfg', 'inferencer', 'dialogues'), {'max_stpes': 3}, 'AgentDialogues does not read max_stpes; did you'),
    (('infer_cfg', 'inferencer', 'dialogues'), {'loop': 'raect'}, "no loop 'raect'; there are react,"),
    (('infer_cfg', 'inferencer', 'dialogues'), {'simulator': {'model': API, 'chace': 'x'}}, 'does not read chace'),
    (('infer_cfg', 'inferencer', 'dialogues'), {'simulator': {'model': {**API, 'x': 1}}}, 'simulator m: ToolEval'),
    (('infer_cfg', 'inferencer', 'dialogues'), {'live': {'server': 's', 'alow': []}}, 'did you mean allow?'),
    (('eval_cfg', 'evaluator'), {'scorng': 'strict'}, 'ToolEvalAgentEvaluator does not read scorng'),
    (('eval_cfg',), {'num_gpu': 1}, 'eval_cfg does not read num_gpu; did you mean num_gpus?'),
])  # fmt: skip
def test_a_data_set(place: tuple[str, ...], settings: dict[str, Any], message: str) -> None:
    dataset = row('tooleval-teval-agent-react')
    assert not setting_faults([], [dataset])
    part = dataset
    for key in place:
        part = part[key]
    part.update(settings)
    lines = list(map(str, setting_faults([], [dataset])))
    assert any(message in line for line in lines), lines


def test_what_a_budget_could_not_count_is_refused() -> None:
    """Judges and simulators without prices, requests of OpenCompass's own inferencer, and its own tasks."""
    dataset = row('tooleval-teval-agent-react')
    api = {**API, 'prices': {'input': 1, 'output': 1}, 'budget': {'cost': 5}}
    dialogues, simulator = dataset['infer_cfg']['inferencer']['dialogues'], dict(API, abbr='sim')
    dialogues['simulator'] = {'model': simulator}
    (line,) = map(str, setting_faults([api], [dataset]))
    assert 'simulator sim has no prices, and the budget of the model pays for it: add prices=' in line
    assert not setting_faults([{**API, 'budget': {'tokens': 5}}], [dataset])
    for fine in ({'prices': api['prices']}, {'budget': {'tokens': 5}}):
        dialogues['simulator'] = {'model': {**simulator, **fine}}
        assert not setting_faults([api], [dataset])
    dialogues['simulator'] = {'model': {'type': f'{FIXED}.ReplayModel', 'abbr': 'sim', 'path': 'answers.json'}}
    assert not setting_faults([api], [dataset])
    gsm8k = {'abbr': 'd', 'type': 'opencompass.datasets.GSM8KDataset', 'infer_cfg': {'inferencer': {'type': 'x'}}}
    (line,) = map(str, setting_faults([api], [gsm8k]))
    assert line.startswith("d: the budget of a model does not count the requests of OpenCompass's own inferencer")
    cfg = Config.fromfile(CONFIGS / 'eval_demo.py', format_python_code=False)
    cfg['models'] = [api]
    assert not list(component_faults(cfg))
    cfg['eval']['runner']['task'] = {'type': 'OpenICLEvalTask'}
    (line,) = map(str, component_faults(cfg))
    fix = "set type='opencompass_tooleval.tasks.ToolEvalEvalTask'"
    assert line == f"eval.runner.task: OpenCompass's own task counts no budget: {fix}"


def test_a_fault_of_many_is_one_line_and_parts_of_a_sweep_have_some() -> None:
    models = [{**API, 'abbr': f'm{number}', 'retries': 1} for number in range(5)]
    (line,) = map(str, merged(setting_faults(models, []), most=1))
    assert line == 'm0 and 4 more: ToolEvalOpenAI does not read retries; did you mean retry?'
    cfg = Config.fromfile(CONFIGS / 'eval_demo.py', format_python_code=False)
    cfg['infer']['runner']['max_num_worker'] = 3
    cfg['summarizer']['dataset_abrs'] = []
    assert sorted(map(str, component_faults(cfg))) == [
        'infer.runner: ToolEvalLocalRunner does not read max_num_worker; did you mean max_num_workers?',
        'summarizer: ToolEvalVariantSummarizer does not read dataset_abrs; did you mean dataset_abbrs?',
    ]


@pytest.mark.parametrize('file', [*CONFIGS.glob('eval_*.py'), *CONFIGS.glob('models/*.py')], ids=lambda file: file.stem)
def test_shipped_configs_have_none(file: Path) -> None:
    cfg = Config.fromfile(file, format_python_code=False)
    assert not setting_faults(cfg.get('models', []), cfg.get('datasets', [])) and not list(component_faults(cfg))


@pytest.mark.parametrize(('changes', 'temperature', 'greedy'), [
    ({}, None, True),
    ({'temperature': 0.7}, None, False),
    ({}, 0.7, False),
    ({}, 0, True),
    ({'path': 'gpt-5-mini', 'openai_api_base': 'https://api.openai.com/v1/'}, None, False),
    ({'type': 'ToolEvalHFChat'}, None, True),
    ({'type': 'ToolEvalHFChat', 'generation_kwargs': {'do_sample': True}}, None, False),
    ({'type': 'opencompass.models.OpenAI'}, None, False),
    ({'type': 'opencompass_tooleval.models.OracleModel'}, 0.7, True),
])  # fmt: skip
def test_answers_that_do_not_vary_are_known_from_the_configs(
    changes: dict[str, Any], temperature: float | None, greedy: bool
) -> None:
    model = {'type': 'opencompass_tooleval.models.ToolEvalOpenAI', 'path': 'm', 'openai_api_base': 'http://h/v1'}
    assert is_greedy({**model, **changes}, temperature) == greedy
