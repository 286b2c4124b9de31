"""What OpenCompass and the configs may rely on, over every subset and config."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mmengine.config import Config

from opencompass_tooleval.agents.records import TABLE as AGENTS
from opencompass_tooleval.easytool.restbench.records import TABLE as RESTBENCH_TABLE
from opencompass_tooleval.easytool.toolbench.records import TABLE as TOOLBENCH_TABLE
from opencompass_tooleval.easytool.variants import TEVAL_VARIANTS, ULTRATOOL_BUILT_VARIANTS, ULTRATOOL_VARIANTS
from opencompass_tooleval.teval.records import SUFFIXES, TABLE, file_stem, split_stem
from opencompass_tooleval.teval.subsets import VERSIONS
from opencompass_tooleval.ultratool.presets import PRESETS as ULTRATOOL_PRESETS
from opencompass_tooleval.ultratool.records import FOLDERS as ULTRATOOL_LANGUAGES
from opencompass_tooleval.ultratool.records import TABLE as ULTRATOOL_TABLE
from tests.forked import run_python

CONFIGS = Path(__file__).resolve().parent.parent / 'opencompass_tooleval' / 'configs'
ALL = sorted(CONFIGS.rglob('*.py'))
TEVAL = [(language, version) for language in SUFFIXES for version in VERSIONS]


@pytest.mark.parametrize('file', ALL, ids=lambda file: str(file.relative_to(CONFIGS)))
def test_every_config_loads_and_dumps(file: Path, tmp_path: Path) -> None:
    config = Config.fromfile(file, format_python_code=False)
    config.dump(tmp_path / 'dumped.py')
    Config.fromfile(tmp_path / 'dumped.py', format_python_code=False)


def test_the_top_level_link_leads_to_the_same_tree() -> None:
    link = CONFIGS.parent.parent / 'configs'
    assert link.is_symlink()
    assert link.resolve() == CONFIGS


@pytest.mark.parametrize(('language', 'version'), TEVAL)
def test_teval_config_is_the_table(language: str, version: str) -> None:
    name = f'tooleval_teval_{language.lower()}_{version}'
    config = Config.fromfile(CONFIGS / 'datasets' / 'teval' / f'{name}_gen.py', format_python_code=False)
    assert [key for key in config if key.endswith('_datasets')] == [f'{name}_datasets']
    rows = config[f'{name}_datasets']
    stems = [file_stem(subset.name, version, language) for subset in TABLE]
    assert [row['abbr'] for row in rows] == [f'tooleval-teval-{stem}' for stem in stems]
    assert [row['name'] for row in rows] == stems
    for row, subset in zip(rows, TABLE, strict=True):
        assert split_stem(row['name']) == (subset.name, version, language)
        assert (row['n'], row['k']) == (1, 1)
        assert row['path'] == f'data/teval/{language}'
        assert row['infer_cfg']['inferencer']['max_out_len'] == 512
        assert row['infer_cfg']['prompt_template']['template'] == '{messages}'
        assert row['eval_cfg']['evaluator']['name'] == row['name']
        assert row['eval_cfg']['pred_postprocessor']['type'].__name__ == f'tooleval_teval_{version[:2]}'


@pytest.mark.parametrize('language', ULTRATOOL_LANGUAGES)
@pytest.mark.parametrize('built', [False, True])
def test_ultratool_config_is_the_table(language: str, built: bool) -> None:
    name = f'tooleval_ultratool_{language}' + ('_built' if built else '')
    config = Config.fromfile(CONFIGS / 'datasets' / 'ultratool' / f'{name}_gen.py', format_python_code=False)
    assert [key for key in config if key.endswith('_datasets')] == [f'{name}_datasets']
    rows = config[f'{name}_datasets']
    subsets = [subset for subset in ULTRATOOL_TABLE if (subset.name != subset.task) == built]
    assert [row['abbr'] for row in rows] == [f'tooleval-ultratool-{subset.name}_{language}' for subset in subsets]
    for row, subset in zip(rows, subsets, strict=True):
        evaluator = row['eval_cfg']['evaluator']
        assert (row['name'], row['language'], row['n'], row['k']) == (subset.name, language, 1, 1)
        assert (evaluator['name'], evaluator['language']) == (subset.name, language)
        assert row['infer_cfg']['inferencer']['max_out_len'] == 512


@pytest.mark.parametrize('language', ULTRATOOL_LANGUAGES)
@pytest.mark.parametrize('preset', ULTRATOOL_PRESETS)
def test_ultratool_preset_config_is_the_plain_one_but_for_the_preset(language: str, preset: str) -> None:
    folder = CONFIGS / 'datasets' / 'ultratool'
    name = f'tooleval_ultratool_{language}'
    plain = Config.fromfile(folder / f'{name}_gen.py', format_python_code=False)[f'{name}_datasets']
    config = Config.fromfile(folder / f'{name}_{preset}_gen.py', format_python_code=False)
    assert [key for key in config if key.endswith('_datasets')] == [f'{name}_{preset}_datasets']
    rows = config[f'{name}_{preset}_datasets']
    assert len(rows) == len(plain) == 6
    for row, expected in zip(rows, plain, strict=True):
        settings = {key: ULTRATOOL_PRESETS[preset][key] for key in ('max_out_len', 'temperature')}
        infer_cfg = expected['infer_cfg'].to_dict()
        infer_cfg['inferencer'].update(settings)
        assert row['infer_cfg'].to_dict() == infer_cfg
        assert row['eval_cfg']['evaluator'].to_dict() == {
            **expected['eval_cfg']['evaluator'].to_dict(),
            'preset': preset,
        }
        changed = {'preset': preset, 'infer_cfg': infer_cfg, 'eval_cfg': row['eval_cfg'].to_dict()}
        assert row.to_dict() == {**expected.to_dict(), **changed}


@pytest.mark.parametrize(('language', 'version'), [pair for pair in TEVAL if pair[1] != 'v2_subset'])
def test_teval_instructed_config_is_the_plain_one_but_for_the_instructions(language: str, version: str) -> None:
    check_instructed('teval', f'tooleval_teval_{language.lower()}_{version}', TEVAL_VARIANTS, version)


@pytest.mark.parametrize('language', ULTRATOOL_LANGUAGES)
@pytest.mark.parametrize(('built', 'variants'), [('', ULTRATOOL_VARIANTS), ('_built', ULTRATOOL_BUILT_VARIANTS)])
def test_ultratool_instructed_config_is_the_plain_one_but_for_the_instructions(
    language: str, built: str, variants: tuple[str, ...]
) -> None:
    check_instructed('ultratool', f'tooleval_ultratool_{language}{built}', variants)


def check_instructed(benchmark: str, name: str, variants: tuple[str, ...], version: str = '') -> None:
    """Each row with instructions is a row without, but for abbr, type and the file, which the evaluator names too."""
    folder = CONFIGS / 'datasets'
    plain = Config.fromfile(folder / benchmark / f'{name}_gen.py', format_python_code=False)[f'{name}_datasets']
    config = Config.fromfile(folder / 'easytool' / f'{name}_easytool_gen.py', format_python_code=False)
    assert [key for key in config if key.endswith('_datasets')] == [f'{name}_easytool_datasets']
    by_abbr = {row['abbr']: row.to_dict() for row in plain}
    rows = [row.to_dict() for row in config[f'{name}_easytool_datasets']]
    assert len(rows) == len(variants)
    for row, variant in zip(rows, variants, strict=True):
        expected = by_abbr[row.pop('abbr').removesuffix('-easytool')]
        assert expected['name'].startswith(f'{variant}_{version}' if version else variant)
        file = row.pop('instructions')
        assert (
            file == f'data/easytool/{benchmark}_{row["language"]}.json' if benchmark == 'ultratool' else version in file
        )
        assert row['eval_cfg']['evaluator'].pop('instructions') == file
        kind = expected['type'].rpartition('.')[2]
        assert row.pop('type').rpartition('.')[2] == kind.replace('Dataset', 'EasyToolDataset')
        del expected['abbr'], expected['type']
        assert row == expected


@pytest.mark.parametrize('language', ULTRATOOL_LANGUAGES)
def test_each_ultratool_task_has_a_config(language: str) -> None:
    for subset in ULTRATOOL_TABLE:
        if subset.name == subset.task:
            name = f'tooleval_ultratool_{language}_{subset.name}'
            config = Config.fromfile(CONFIGS / 'datasets' / 'ultratool' / f'{name}_gen.py', format_python_code=False)
            assert [key for key in config if key.endswith('_datasets')] == [f'{name}_datasets']
            assert [row['name'] for row in config[f'{name}_datasets']] == [subset.name]


def test_ultratool_summarizer_is_table_2() -> None:
    config = Config.fromfile(CONFIGS / 'summarizers' / 'tooleval_ultratool.py', format_python_code=False)
    known = {f'tooleval-ultratool-{s.name}_{lang}': s.metrics for lang in ULTRATOOL_LANGUAGES for s in ULTRATOOL_TABLE}
    groups = {group['name'] for group in config['summarizer']['summary_groups']}
    assert groups == {f'tooleval-ultratool_{language}' for language in ULTRATOOL_LANGUAGES}
    for group in config['summarizer']['summary_groups']:
        assert len(group['subsets']) == (9 if group['metric'] == 'overall' else 1)
        for name, metric in group['subsets']:
            assert name in groups or metric in known[name], (name, metric)


@pytest.mark.parametrize('variant', ['', '_easytool', '_easytool_ids'])
def test_restbench_configs_are_the_table(variant: str) -> None:
    for subset in RESTBENCH_TABLE:
        name = f'tooleval_restbench_{subset.name}{variant}'
        config = Config.fromfile(CONFIGS / 'datasets' / 'easytool' / f'{name}_gen.py', format_python_code=False)
        assert [key for key in config if key.endswith('_datasets')] == [f'{name}_datasets']
        (row,) = config[f'{name}_datasets']
        assert row['abbr'] == name.replace('_', '-')
        assert (row['name'], row['gold'], row['n'], row['k']) == (subset.name, 'official', 1, 1)
        assert row.get('instructions') == (subset.instructions if variant else None)
        assert row['eval_cfg']['evaluator']['name'] == subset.name
        assert row['infer_cfg']['inferencer']['max_out_len'] == 512
        assert row.get('method') == ('easytool' if variant == '_easytool_ids' else None)


@pytest.mark.parametrize(
    ('called', 'written', 'original'),
    [
        ('restbench_tmdb_fc_gen', 'restbench_rows', 'tooleval_restbench_rows'),
        ('restbench_spotify_fc_gen', 'restbench_rows', 'tooleval_restbench_rows'),
        ('toolbench_calls_fc_gen', 'toolbench_rows', 'tooleval_toolbench_rows'),
        ('funcqa_fc_gen', 'funcqa_rows', 'tooleval_funcqa_rows'),
    ],
)
def test_a_data_set_with_native_calls_has_its_partner(called: str, written: str, original: str) -> None:
    folder = CONFIGS / 'datasets' / 'easytool'
    config = Config.fromfile(folder / f'tooleval_{called}.py', format_python_code=False)
    name = f'tooleval_{called.removesuffix("_gen")}_datasets'
    assert [key for key in config if key.endswith('_datasets')] == [name]
    rows = Config.fromfile(folder / f'tooleval_{written}.py', format_python_code=False)[original]
    by_abbr = {row['abbr']: row for row in rows}
    assert config[name]
    for row in config[name]:
        partner = by_abbr[row['abbr'].removesuffix('-fc')]
        same = ('type', 'path', 'name', 'n', 'k', 'reader_cfg')
        assert [row[key] for key in same] == [partner[key] for key in same]
        assert 'instructions' not in row


def test_restbench_summarizer_has_every_metric() -> None:
    config = Config.fromfile(CONFIGS / 'summarizers' / 'tooleval_restbench.py', format_python_code=False)
    rows = [
        (f'tooleval-restbench-{subset.name}{variant}', metric)
        for subset in RESTBENCH_TABLE
        for variant in ('', '-fc', '-easytool', '-easytool-ids')
        for metric in subset.metrics
    ]
    assert [tuple(row) for row in config['summarizer']['dataset_abbrs']] == rows


def test_easytool_summarizer_has_a_column_for_each_that_changes() -> None:
    config = Config.fromfile(CONFIGS / 'summarizers' / 'tooleval_easytool.py', format_python_code=False)
    groups = {(group['name'], group['metric']): group['subsets'] for group in config['summarizer']['summary_groups']}
    assert groups['tooleval-teval_v2-easytool', 'plan_json'] == [['tooleval-teval-plan_json_v2-easytool', 'f1_score']]
    abilities = ['instruct', 'plan', 'reason', 'retrieve', 'understand']
    assert groups['tooleval-teval_v1_zh-easytool', 'overall'] == [
        *[['tooleval-teval_v1_zh-easytool', ability] for ability in abilities],
        ['tooleval-teval_v1_zh', 'review'],
    ]
    changed = {'creation_awareness_global', 'creation_awareness_local', 'selection_global', 'selection_local', 'usage'}
    for language in ULTRATOOL_LANGUAGES:
        name = f'tooleval-ultratool_{language}'
        assert {metric for table, metric in groups if table == f'{name}-easytool'} == {*changed, 'overall'}
        parts = groups[f'{name}-easytool', 'overall']
        assert [metric for _, metric in parts] == [metric for _, metric in groups[name, 'overall']]
        assert {metric for table, metric in parts if table == f'{name}-easytool'} == changed
    rows = [tuple(row) for row in config['summarizer']['dataset_abbrs']]
    assert len(rows) == len(set(rows))
    assert set(rows) <= set(groups)


@pytest.mark.parametrize('variant', ['', '_easytool', '_easytool_ids'])
def test_toolbench_configs_are_the_table(variant: str) -> None:
    for kind in ('selection',) if variant == '_easytool_ids' else ('selection', 'calls'):
        name = f'tooleval_toolbench_{kind}{variant}'
        config = Config.fromfile(CONFIGS / 'datasets' / 'easytool' / f'{name}_gen.py', format_python_code=False)
        assert [key for key in config if key.endswith('_datasets')] == [f'{name}_datasets']
        subsets = [subset for subset in TOOLBENCH_TABLE if subset.kind == kind]
        for row, subset in zip(config[f'{name}_datasets'], subsets, strict=True):
            assert row['abbr'] == f'tooleval-toolbench-{subset.name}{variant.replace("_", "-")}'
            assert (row['name'], row['n'], row['k']) == (subset.name, 1, 1)
            assert row.get('instructions') == (subset.instructions if variant else None)
            assert row['eval_cfg']['evaluator']['name'] == subset.name
            assert row.get('method') == ('easytool' if variant == '_easytool_ids' else None)


TOOLBENCH_VARIANTS = {
    'selection': ('', '-easytool', '-easytool-ids'),
    'calls': ('', '-fc', '-easytool'),
    'success': ('',),
}


def test_toolbench_summarizer_has_every_metric() -> None:
    config = Config.fromfile(CONFIGS / 'summarizers' / 'tooleval_toolbench.py', format_python_code=False)
    rows = [
        (f'tooleval-toolbench-{subset.name}{variant}', metric)
        for subset in TOOLBENCH_TABLE
        for variant in TOOLBENCH_VARIANTS[subset.kind]
        for metric in subset.metrics
    ]
    assert [tuple(row) for row in config['summarizer']['dataset_abbrs']] == rows


def test_agents_summarizer_has_every_metric() -> None:
    config = Config.fromfile(CONFIGS / 'summarizers' / 'tooleval_agent.py', format_python_code=False)
    rows = [tuple(row) for row in config['summarizer']['dataset_abbrs']]
    for subset in AGENTS:
        own = [metric for name, metric in rows if name == f'tooleval-{subset.name}-agent-fc']
        measured = [metric for metric in own if metric in subset.metrics]
        assert sorted(measured) == sorted(subset.metrics) and measured[0] == 'call_f1'
    groups = {(group['name'], group['metric']) for group in config['summarizer']['summary_groups']}
    assert groups == {row for row in rows if row[0].startswith('tooleval-toolbench-agent')}
    for group in config['summarizer']['summary_groups']:
        assert len(group['subsets']) == 3 and {tuple(part) for part in group['subsets']} <= set(rows)


def test_summarizer_rows_name_every_table() -> None:
    config = Config.fromfile(CONFIGS / 'summarizers' / 'tooleval_teval.py', format_python_code=False)
    groups = {group['name'] for group in config['summarizer']['summary_groups']}
    assert groups == {f'tooleval-teval_{version}{suffix}' for suffix in SUFFIXES.values() for version in VERSIONS}
    known = {f'tooleval-teval-{file_stem(s.name, v, lang)}': s.metrics for lang, v in TEVAL for s in TABLE}
    for group in config['summarizer']['summary_groups']:
        for name, metric in group['subsets']:
            assert name in groups or metric in known[name], (name, metric)


def test_importing_us_changes_nothing_that_was_registered() -> None:
    code = """
from opencompass.datasets import TEvalDataset
import opencompass.models, opencompass.openicl, opencompass.partitioners, opencompass.runners
import opencompass.summarizers, opencompass.tasks
from importlib import import_module
from opencompass_tooleval.host.registry import MODULES, REGISTERED, snapshot
before = snapshot()
for registry, names in REGISTERED.items():
    assert not set(names) & set(before[registry]), (registry, names)
for module in MODULES:
    import_module(f'opencompass_tooleval.{module}')
after = snapshot()
for registry, names in REGISTERED.items():
    assert set(after[registry]) - set(before[registry]) == set(names), registry
    for name, value in before[registry].items():
        assert after[registry][name] is value, (registry, name)
print('unchanged')
"""
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert done.stdout.strip().endswith('unchanged'), done.stderr


@pytest.mark.parametrize('how', ['installed', 'config-dir'])
def test_configs_are_found_from_a_foreign_directory(how: str, tmp_path: Path) -> None:
    (tmp_path / 'mine.py').write_text(
        'from mmengine.config import read_base\n'
        'with read_base():\n'
        '    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_en_v2_gen import (\n'
        '        tooleval_teval_en_v2_datasets,\n'
        '    )\n'
        '    from opencompass_tooleval.configs.summarizers.tooleval_teval import summarizer\n'
        'datasets = [*tooleval_teval_en_v2_datasets]\n'
    )
    code = {
        'installed': (
            'from mmengine.config import Config\n'
            "config = Config.fromfile('mine.py', format_python_code=False)\n"
            "print(len(config['datasets']))\n"
        ),
        'config-dir': (
            'import subprocess\n'
            "folder = subprocess.run(['tooleval', 'config-dir'], capture_output=True, text=True).stdout.strip()\n"
            'from opencompass.utils.run import match_cfg_file\n'
            "print(len(match_cfg_file(folder + '/datasets', ['tooleval_teval_en_v2_gen'])) * 8)\n"
        ),
    }[how]
    environment = {**os.environ, 'PATH': f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}'}
    done = run_python('-c', code, cwd=tmp_path, env=environment)
    assert done.stdout.strip().splitlines()[-1:] == ['8'], done.stdout + done.stderr
