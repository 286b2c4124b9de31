"""Guarantees to OpenCompass and to configs, over every subset and config."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config
from opencompass.cli import main as opencompass_main
from opencompass.utils import build_dataset_from_cfg
from opencompass.utils.run import get_config_from_arg

from opencompass_tooleval.agents.tasks.records import TABLE as AGENTS
from opencompass_tooleval.benchmarks.restbench.data import TABLE as RESTBENCH_TABLE
from opencompass_tooleval.benchmarks.teval.data import SUFFIXES, TABLE, file_stem, split_stem
from opencompass_tooleval.benchmarks.teval.tables import VERSIONS
from opencompass_tooleval.benchmarks.toolbench.data import TABLE as TOOLBENCH_TABLE
from opencompass_tooleval.benchmarks.ultratool.data import TABLE as ULTRATOOL_TABLE
from opencompass_tooleval.benchmarks.ultratool.tables import FOLDERS as ULTRATOOL_LANGUAGES
from opencompass_tooleval.benchmarks.ultratool.tables import PROMPT_STYLES as ULTRATOOL_PROMPT_STYLES
from opencompass_tooleval.instructions.groups import SUMMARY_GROUPS
from opencompass_tooleval.instructions.subsets import TEVAL_VARIANTS, ULTRATOOL_BUILT_VARIANTS, ULTRATOOL_VARIANTS
from opencompass_tooleval.plugin import MODULES, REGISTERED, load
from opencompass_tooleval.tasks.first_prompts import read_datasets
from opencompass_tooleval.tasks.read_config import registered_objects
from tests.conftest import ROOT

CONFIGS = ROOT / 'opencompass_tooleval' / 'configs'
ALL = sorted(CONFIGS.rglob('*.py'))
GENERATED = sorted(CONFIGS.glob('datasets/*/*_gen.py'))
TEVAL = [(language, version) for language in SUFFIXES for version in VERSIONS]


@cache
def loaded(file: Path) -> Any:
    return Config.fromfile(file, format_python_code=False)


def summarizer(name: str) -> Any:
    return loaded(CONFIGS / 'summarizers' / f'{name}.py')['summarizer']


def rows_shown(name: str) -> list[tuple[str, str]]:
    return [tuple(row) for row in summarizer(name)['dataset_abbrs']]


@cache
def data_sets(variable: str) -> list[Any]:
    """The data sets of a variable, which one file alone sets, as ``--datasets FILE/VARIABLE`` names it."""
    files = [file for file in CONFIGS.glob('datasets/*/*_gen.py') if f'\n{variable} = ' in file.read_text()]
    (file,) = (file for file in files if file.parent.name != 'demo')
    return read_datasets(file, variable)  # shared: a test copies what it changes


@pytest.mark.parametrize('file', ALL, ids=lambda file: str(file.relative_to(CONFIGS)))
def test_every_config_loads_and_dumps(file: Path, tmp_path: Path) -> None:
    loaded(file).dump(tmp_path / 'dumped.py')
    Config.fromfile(tmp_path / 'dumped.py', format_python_code=False)


def test_the_top_level_link_leads_to_the_same_tree() -> None:
    link = CONFIGS.parent.parent / 'configs'
    assert link.is_symlink() and link.resolve() == CONFIGS


@pytest.mark.parametrize('file', GENERATED, ids=lambda file: file.stem)
def test_a_file_holds_each_data_set_once_and_each_variable_is_named_alone(file: Path) -> None:
    """``--datasets FILE`` takes all variables; of ``FILE/VARIABLE`` OpenCompass compares the end of the name."""
    config = loaded(file)
    variables = [key for key in config if key.endswith('_datasets')]
    abbrs = [row['abbr'] for variable in variables for row in config[variable]]
    assert abbrs and len(abbrs) == len(set(abbrs))
    assert all(key == variable or not key.endswith(variable) for variable in variables for key in config)


@pytest.mark.parametrize(
    ('named', 'count'),
    [
        (['tooleval_teval_gen'], 16),
        (['tooleval_teval_gen/tooleval_teval_en_v2_datasets'], 8),
        (['tooleval_restbench_easytool_gen', 'tooleval_ultratool_gen/tooleval_ultratool_zh_datasets'], 4 + 6),
    ],
)
def test_opencompass_takes_a_file_or_one_of_its_variables(
    monkeypatch: pytest.MonkeyPatch, named: list[str], count: int
) -> None:
    more = ['--models', 'tooleval_oracle', '--summarizer', 'tooleval_teval']
    monkeypatch.setattr(sys, 'argv', ['opencompass', '--config-dir', str(CONFIGS), '--datasets', *named, *more])
    datasets = get_config_from_arg(opencompass_main.parse_args())['datasets']
    assert len({row['abbr'] for row in datasets}) == len(datasets) == count


@pytest.mark.parametrize(('language', 'version'), TEVAL)
def test_teval_config_is_the_table(language: str, version: str) -> None:
    name = f'tooleval_teval_{language.lower()}_{version}'
    rows = data_sets(f'{name}_datasets')
    stems = [file_stem(subset.name, version, language) for subset in TABLE]
    assert [row['abbr'] for row in rows] == [f'tooleval-teval-{stem}' for stem in stems]
    assert [row['name'] for row in rows] == stems
    for row, subset in zip(rows, TABLE, strict=True):
        assert split_stem(row['name']) == (subset.name, version, language)
        assert (row['n'], row['k']) == (1, 1)
        assert row['path'] == f'data/teval/{language}'
        assert row['infer_cfg']['inferencer']['published_max_out_len'] == 512
        assert row['infer_cfg']['prompt_template']['template'] == '{messages}'
        assert row['eval_cfg']['evaluator']['name'] == row['name']
        assert row['eval_cfg']['pred_postprocessor']['type'].__name__ == f'tooleval_teval_{version[:2]}'


@pytest.mark.parametrize('language', ULTRATOOL_LANGUAGES)
@pytest.mark.parametrize('built', [False, True])
def test_ultratool_config_is_the_table(language: str, built: bool) -> None:
    name = f'tooleval_ultratool_{language}' + ('_built' if built else '')
    rows = data_sets(f'{name}_datasets')
    subsets = [subset for subset in ULTRATOOL_TABLE if (subset.name != subset.task) == built]
    assert [row['abbr'] for row in rows] == [f'tooleval-ultratool-{subset.name}_{language}' for subset in subsets]
    for row, subset in zip(rows, subsets, strict=True):
        evaluator = row['eval_cfg']['evaluator']
        assert (row['name'], row['language'], row['n'], row['k']) == (subset.name, language, 1, 1)
        assert (evaluator['name'], evaluator['language']) == (subset.name, language)
        assert row['infer_cfg']['inferencer']['published_max_out_len'] == 512


@pytest.mark.parametrize('language', ULTRATOOL_LANGUAGES)
@pytest.mark.parametrize('prompt_style', ULTRATOOL_PROMPT_STYLES)
def test_ultratool_prompt_style_config_is_the_plain_one_but_for_the_style(language: str, prompt_style: str) -> None:
    name = f'tooleval_ultratool_{language}'
    plain, rows = data_sets(f'{name}_datasets'), data_sets(f'{name}_{prompt_style}_datasets')
    assert len(rows) == len(plain) == 6
    for row, expected in zip(rows, plain, strict=True):
        style = ULTRATOOL_PROMPT_STYLES[prompt_style]
        infer_cfg = expected['infer_cfg'].to_dict()
        infer_cfg['inferencer'].update(published_max_out_len=style['max_out_len'], temperature=style['temperature'])
        assert row['infer_cfg'].to_dict() == infer_cfg
        assert row['eval_cfg']['evaluator'].to_dict() == {
            **expected['eval_cfg']['evaluator'].to_dict(),
            'prompt_style': prompt_style,
        }
        changed = {'prompt_style': prompt_style, 'infer_cfg': infer_cfg, 'eval_cfg': row['eval_cfg'].to_dict()}
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
    by_abbr = {row['abbr']: row.to_dict() for row in data_sets(f'{name}_datasets')}
    rows = [row.to_dict() for row in data_sets(f'{name}_easytool_datasets')]
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
            assert [row['name'] for row in data_sets(f'{name}_datasets')] == [subset.name]


def test_ultratool_summarizer_is_table_2() -> None:
    known = {f'tooleval-ultratool-{s.name}_{lang}': s.metrics for lang in ULTRATOOL_LANGUAGES for s in ULTRATOOL_TABLE}
    found = summarizer('tooleval_ultratool')['summary_groups']
    groups = {group['name'] for group in found}
    assert groups == {f'tooleval-ultratool_{language}' for language in ULTRATOOL_LANGUAGES}
    for group in found:
        assert len(group['subsets']) == (9 if group['metric'] == 'overall' else 1)
        for name, metric in group['subsets']:
            assert name in groups or metric in known[name], (name, metric)


def test_tables_with_instructions_are_the_same_for_opencompass_and_for_us() -> None:
    groups = loaded(CONFIGS.parent / 'instructions' / 'config_groups.py')['tooleval_easytool_summary_groups']
    assert [dict(group) for group in groups] == SUMMARY_GROUPS


@pytest.mark.parametrize('variant', ['', '_easytool', '_easytool_ids'])
def test_restbench_and_toolbench_configs_are_the_table(variant: str) -> None:
    def check(row: Any, subset: Any) -> None:
        assert (row['name'], row['n'], row['k']) == (subset.name, 1, 1)
        assert row.get('instructions') == (subset.instructions if variant else None)
        assert row['eval_cfg']['evaluator']['name'] == subset.name
        assert row.get('method') == ('easytool' if variant == '_easytool_ids' else None)

    for subset in RESTBENCH_TABLE:
        name = f'tooleval_restbench_{subset.name}{variant}'
        (row,) = data_sets(f'{name}_datasets')
        assert (row['abbr'], row['gold']) == (name.replace('_', '-'), 'official')
        assert row['infer_cfg']['inferencer']['published_max_out_len'] == 512
        check(row, subset)
    for kind in ('selection',) if variant == '_easytool_ids' else ('selection', 'calls'):
        subsets = [subset for subset in TOOLBENCH_TABLE if subset.kind == kind]
        for row, part in zip(data_sets(f'tooleval_toolbench_{kind}{variant}_datasets'), subsets, strict=True):
            assert row['abbr'] == f'tooleval-toolbench-{part.name}{variant.replace("_", "-")}'
            check(row, part)


@pytest.mark.parametrize(
    ('called', 'file', 'original'),
    [
        ('restbench_tmdb_fc', 'benchmarks/restbench/configs.py', 'tooleval_restbench_rows'),
        ('restbench_spotify_fc', 'benchmarks/restbench/configs.py', 'tooleval_restbench_rows'),
        ('toolbench_calls_fc', 'benchmarks/toolbench/configs.py', 'tooleval_toolbench_rows'),
        ('funcqa_fc', 'agents/funcqa_config_rows.py', 'tooleval_funcqa_rows'),
    ],
)
def test_a_data_set_with_native_calls_has_its_partner(called: str, file: str, original: str) -> None:
    found = data_sets(f'tooleval_{called}_datasets')
    rows = loaded(CONFIGS.parent / file)[original]
    by_abbr = {row['abbr']: row for row in rows}
    assert found
    for row in found:
        partner = by_abbr[row['abbr'].removesuffix('-fc')]
        same = ('type', 'path', 'name', 'n', 'k', 'reader_cfg')
        assert [row[key] for key in same] == [partner[key] for key in same]
        assert 'instructions' not in row


def test_easytool_summarizer_has_a_column_for_each_that_changes() -> None:
    found = summarizer('tooleval_easytool')['summary_groups']
    groups = {(group['name'], group['metric']): group['subsets'] for group in found}
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
    rows = rows_shown('tooleval_easytool')
    assert len(rows) == len(set(rows))
    assert set(rows) <= set(groups)


VARIANTS_SHOWN = {
    'selection': ('', '-easytool', '-easytool-ids'),
    'calls': ('', '-fc', '-easytool'),
    'success': ('',),
    'path': ('', '-fc', '-easytool', '-easytool-ids'),
}


@pytest.mark.parametrize(('benchmark', 'table'), [('restbench', RESTBENCH_TABLE), ('toolbench', TOOLBENCH_TABLE)])
def test_a_summarizer_has_every_metric(benchmark: str, table: Sequence[Any]) -> None:
    assert rows_shown(f'tooleval_{benchmark}') == [
        (f'tooleval-{benchmark}-{subset.name}{variant}', metric)
        for subset in table
        for variant in VARIANTS_SHOWN[getattr(subset, 'kind', 'path')]
        for metric in subset.metrics
    ]


def test_agents_summarizer_has_every_metric() -> None:
    rows = rows_shown('tooleval_agent')
    for subset in AGENTS:
        of_subset = [metric for name, metric in rows if name == f'tooleval-{subset.name}-agent-fc']
        measured = [metric for metric in of_subset if metric in subset.metrics]
        main = 'call_f1' if subset.format == 'toolbench' else 'all_calls_right'
        assert sorted(measured) == sorted(subset.metrics) and measured[0] == main
    found = summarizer('tooleval_agent')['summary_groups']
    groups = {(group['name'], group['metric']) for group in found}
    assert groups == {row for row in rows if row[0].startswith('tooleval-toolbench-agent')}
    for group in found:
        assert len(group['subsets']) == 3 and {tuple(part) for part in group['subsets']} <= set(rows)


def test_summarizer_rows_name_every_table() -> None:
    found = summarizer('tooleval_teval')['summary_groups']
    groups = {group['name'] for group in found}
    assert groups == {f'tooleval-teval_{version}{suffix}' for suffix in SUFFIXES.values() for version in VERSIONS}
    known = {f'tooleval-teval-{file_stem(s.name, v, lang)}': s.metrics for lang, v in TEVAL for s in TABLE}
    for group in found:
        for name, metric in group['subsets']:
            assert name in groups or metric in known[name], (name, metric)


def test_importing_us_changes_nothing_that_was_registered() -> None:
    """A registry refuses a name that it has, unless it is forced."""
    for module in MODULES:
        load(module)
    for registry, names in REGISTERED.items():
        added = registered_objects()[registry].items()
        assert {name for name, kind in added if kind.__module__.startswith('opencompass_tooleval')} == set(names)
    forced = re.compile(r'\.register_module\([^)]*force')
    assert [file for file in (ROOT / 'opencompass_tooleval').rglob('*.py') if forced.search(file.read_text())] == []


SWEEPS = [file for file in ALL if file.stem.startswith('eval_') and file.stem != 'eval_demo']
"""The ready sweeps, without the one whose records are few."""


@pytest.mark.parametrize('sweep', SWEEPS, ids=lambda file: file.stem)
def test_one_variable_limits_the_records_of_a_ready_sweep(sweep: Path, tmp_path: Path) -> None:
    text = sweep.read_text(encoding='utf-8')
    assert text.count('\nlimit = 0  #') == 1
    (tmp_path / 'sweep.py').write_text(text.replace('\nlimit = 0', '\nlimit = 10'), encoding='utf-8')
    for file, wanted in ((sweep, None), (tmp_path / 'sweep.py', '[:10]')):
        rows = loaded(file)['datasets']
        assert rows and {row['reader_cfg'].get('test_range') for row in rows} == {wanted}


def test_every_data_set_says_how_many_records_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a part of them is known as one; of the demo, one data set of each class and method."""
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    config = Config.fromfile(CONFIGS / 'eval_demo.py', format_python_code=False)  # rows are changed below
    chosen = {(row['type'], row.get('method'), row['abbr'].rpartition('-')[2]): row for row in config['datasets']}
    for row in chosen.values():
        row['reader_cfg']['test_range'] = '[:1]'
        rows = build_dataset_from_cfg(row).test
        assert len(rows) == 1 and rows['of'][0] > 1, row['abbr']
