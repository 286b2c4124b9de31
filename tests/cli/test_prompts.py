"""``tooleval prompts`` shows the prompts of the pipeline: every benchmark, subset and variant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config, ConfigDict

from opencompass_tooleval.benchmarks.teval.data import split_stem
from opencompass_tooleval.benchmarks.toolbench.data import find_file
from opencompass_tooleval.benchmarks.toolbench.data import find_subset as find_toolbench
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.data_path import package_path
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask
from tests.cli.conftest import DEMO, Command

CONFIGS = DEMO.parents[1] / 'configs' / 'datasets'
NAMES = {'SYSTEM': 'system', 'HUMAN': 'user', 'BOT': 'assistant', 'TOOL': 'tool'}
Prompts = dict[str, list[dict[str, str]]]


class RecordingModel(OracleModel):
    """Keeps the first prompt of every record, as it arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: Prompts = {}

    def answers(self, inputs: list[Any], max_out_len: int, **kwargs: Any) -> list[Answer]:
        for prompt in inputs:
            messages = [{'role': NAMES[item['role']], 'content': item['prompt']} for item in prompt]
            self.sent.setdefault(prompt.record_id.partition('/')[0], messages)
        return super().answers(inputs, max_out_len, **kwargs)


def sent(dataset: Any, folder: Path) -> Prompts:
    model = RecordingModel()
    models = [ConfigDict(abbr='recording', type=RecordingModel)]
    cfg = ConfigDict(models=models, datasets=[[dataset]], work_dir=str(folder), is_scored=False)
    ToolEvalInferTask(cfg).run(model, 'recording')
    return model.sent


def datasets(config: str, *names: str) -> list[Any]:
    cfg = Config.fromfile(CONFIGS / f'{config}.py', format_python_code=False)
    return [dataset for name in names for dataset in cfg[name]]


def file_of(dataset: Any, *below: str) -> str:
    folder = package_path(dataset['path'])
    assert folder is not None
    return str(folder.joinpath(*below))


def arguments_of(dataset: Any) -> list[str]:
    """The command that should show a data set; with instructions, its folder is named, else its file."""
    _, benchmark, _ = dataset['abbr'].split('-', 2)
    name, said = dataset['name'], []
    inferencer = dataset['infer_cfg']['inferencer']
    instructions = dataset.get('instructions') or inferencer.get('dialogues', {}).get('instructions')
    if '-agent-' in dataset['abbr']:
        benchmark, below = 'agents', []
        said = ['--method', inferencer['dialogues']['loop']]
    elif benchmark == 'teval':
        stem, (name, version, language) = name, split_stem(name)
        said, below = ['--language', language, '--version', version], [f'{stem}.json']
        if not instructions:
            said = []  # the file's name says it
    elif benchmark == 'ultratool':
        folder = {'zh': 'Chinese-dataset', 'en': 'English-dataset'}[dataset['language']]
        said, below = ['--language', dataset['language']], [folder, 'test_set', f'{name}.json']
        said += ['--method', dataset['prompt_style']] if 'prompt_style' in dataset else []
    elif benchmark == 'restbench':
        below = [f'{name}.json']
        said = ['--method', dataset['method']] if 'method' in dataset else []
    elif benchmark == 'funcqa':
        below = [{'one_hop': 'funcqa_oh.json', 'multi_hop': 'funcqa_mh.json'}[name]]
        said = ['--method', inferencer['dialogues']['method']]
    else:
        subset = find_toolbench(name)
        below = [find_file(subset.data).file] if subset.data else []
        said = ['--method', dataset['method']] if 'method' in dataset else []
    if instructions:
        said += ['--instructions', str(package_path(instructions)), '--data', dataset['path']]
    else:
        said += ['--data', file_of(dataset, *below)]
    return [benchmark, name, *said]


def check(tooleval: Command, dataset: Any, folder: Path) -> None:
    done = tooleval('prompts', *arguments_of(dataset), '--json', '-')
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    loop = dataset['infer_cfg']['inferencer'].get('dialogues', {}).get('loop')
    is_native = dataset['abbr'].endswith('-fc') or loop in ('function_calling', 'toolbench_react', 'dfsdt')
    offered = ['tools'] if is_native else []
    assert all(list(row) == ['id', 'messages', *offered] for row in rows)
    shown = {row['id']: row['messages'] for row in rows}
    assert len(rows) == len(shown) > 0
    assert shown == sent(dataset, folder), dataset['abbr']


@pytest.mark.parametrize(
    ('names', 'count'),
    [
        pytest.param(('teval_en_v2', 'teval_zh_v2'), 16, marks=pytest.mark.long),
        (('easytool_teval_en', 'easytool_ultratool_zh'), 10),
        pytest.param(('ultratool_zh', 'ultratool_en'), 12, marks=pytest.mark.long),
        pytest.param(('restbench',), 4, marks=pytest.mark.long),
        (('toolbench',), 7),
    ],
)
def test_what_is_sent(
    tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], count: int
) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')  # finds ToolBench's candidates
    found = datasets('demo/tooleval_demo_gen', *(f'tooleval_{name}_datasets' for name in names))
    assert len(found) == count
    for dataset in found:
        check(tooleval, dataset, tmp_path / 'run')


@pytest.mark.parametrize('every', [3, pytest.param(1, marks=pytest.mark.long)])
def test_the_first_turn_of_dialogues_is_sent(
    tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    found = datasets('demo/tooleval_demo_gen', 'tooleval_funcqa_datasets', 'tooleval_funcqa_react_datasets')
    assert {dataset['infer_cfg']['inferencer']['dialogues']['method'] for dataset in found} >= {'easytool', 'react'}
    services = (f'tooleval_restbench_{service}_easytool_ids_datasets' for service in ('tmdb', 'spotify'))
    ids = datasets('restbench/tooleval_restbench_easytool_gen', *services)
    for dataset in ids:
        dataset['path'] = 'tooleval:demo/restbench'
        dataset['instructions'] = f'tooleval:demo/restbench/{dataset["name"]}_tool.json'
    selection = 'tooleval_toolbench_selection_easytool_ids_datasets'
    chosen_by_number = datasets('toolbench/tooleval_toolbench_easytool_gen', selection)[0]
    chosen_by_number['path'] = 'tooleval:demo/toolbench'
    chosen_by_number['instructions'] = 'tooleval:demo/toolbench/instructions.json'
    called = datasets('demo/tooleval_demo_gen', 'tooleval_fc_demo_datasets')
    assert len(called) == 6
    agents = datasets('demo/tooleval_demo_gen', 'tooleval_agent_datasets', 'tooleval_agent_react_datasets')
    assert {dataset['infer_cfg']['inferencer']['dialogues']['loop'] for dataset in agents} >= {'react', 'dfsdt'}
    for dataset in [*found, *ids, chosen_by_number, *called, *agents][::every]:
        check(tooleval, dataset, tmp_path / 'run')


def test_offered_tools_are_shown(tooleval: Command) -> None:
    data = ('--data', DEMO.parent / 'restbench')
    done = tooleval('prompts', 'restbench', 'tmdb', *data, '--method', 'function_calling', '--limit', 1, '--json', '-')
    (row,) = map(json.loads, done.out.splitlines())
    names = [tool['function']['name'] for tool in row['tools']]
    assert len(names) == 8 and names[1] == 'GET_search_plant'
    done = tooleval('prompts', 'restbench', 'tmdb', *data, '--method', 'function_calling', '--limit', 1)
    assert done.code == 0 and done.out.count('--- tool\n') == 8 and 'When does the quince bloom?' in done.out


def test_prompt_styles_are_sent(tooleval: Command, tmp_path: Path) -> None:
    gpt = datasets('ultratool/tooleval_ultratool_gpt_gen', 'tooleval_ultratool_zh_gpt_datasets')
    for dataset in gpt:
        dataset['path'] = 'tooleval:demo/ultratool'
    for dataset in gpt:
        check(tooleval, dataset, tmp_path / 'run')
    done = tooleval('prompts', *arguments_of(gpt[0]), '--limit', 1)
    assert done.out.splitlines()[1] == '--- system'


def test_to_be_read_and_a_limit(tooleval: Command, tmp_path: Path) -> None:
    data = ('--data', DEMO / 'EN' / 'plan_json_v2.json')
    done = tooleval('prompts', 'teval', 'plan_json', *data, '--limit', 2)
    assert (done.code, done.err) == (0, '')
    assert done.out.startswith('=== demo_museum\n--- system\nThese APIs are at your disposal')
    assert done.out.count('\n--- user\n') == done.out.count('=== ') == 2
    out = tmp_path / 'prompts.jsonl'
    assert tooleval('prompts', 'teval', 'plan_json', *data, '--limit', 1, '--json', out).out == ''
    (line,) = out.read_text(encoding='utf-8').splitlines()
    assert json.loads(line)['id'] == 'demo_museum'


PLAN_STR, METHODS = DEMO / 'EN' / 'plan_str_v2.json', "T-Eval only has the method function_calling, not 'x'"


@pytest.mark.parametrize(
    ('benchmark', 'subset', 'options', 'says'),
    [
        ('teval', 'plan_json', (), 'Fix it with: tooleval prepare teval'),
        ('toolbench', 'calls_g2', (), 'Fix it with: tooleval prepare toolbench'),
        ('gorilla', 'x', (), "no benchmark 'gorilla'; there are teval, ultratool"),
        ('teval', 'plan', (), "T-Eval has no subset 'plan'"),
        ('teval', 'plan_json', ('--language', 'fr'), "no language 'fr'"),
        ('teval', 'plan_json', ('--version', 'v3'), 'T-Eval has the versions v1, v2'),
        ('funcqa', 'one_hop', ('--method', 'magic'), 'no one_hop with method magic'),
        ('teval', 'plan_json', ('--method', 'x'), METHODS),
        ('teval', 'plan_json', ('--method', 'function_calling'), "no subset 'plan_json'"),
        ('toolbench', 'calls_g2', ('--method', 'easytool'), 'no calls_g2 with method easytool'),
        ('toolbench', 'selection_5', ('--method', 'x'), "easytool and function_calling, not 'x'"),
        ('toolbench', 'selection_5', ('--method', 'function_calling'), 'no selection_5 with method function_calling'),
        ('teval', 'review_str', ('--instructions', 'x.json'), 'no review_str with instructions'),
        ('teval', 'plan_json', ('--data', PLAN_STR), 'according to its name this is plan_str, v2, EN'),
        ('ultratool', 'planning', ('--data', 'a.json'), 'the path must end in Chinese-dataset/test_set/planning.json'),
    ],
)
def test_faults_are_one_line(
    tooleval: Command, benchmark: str, subset: str, options: tuple[object, ...], says: str
) -> None:
    done = tooleval('prompts', benchmark, subset, *options)
    (line,) = done.err.splitlines()
    assert (done.code, done.out) == (1, '') and says in line
