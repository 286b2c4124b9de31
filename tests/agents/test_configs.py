"""The configs of agents' tasks are the tables, and the loops take the options that they give."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from opencompass_tooleval.agents.loops.loops import make_loop
from opencompass_tooleval.agents.subsets import LOOPS
from opencompass_tooleval.agents.tasks.records import TABLE, find_subset
from opencompass_tooleval.agents.toolbench.judged_scores import metrics_of
from opencompass_tooleval.agents.toolbench.judgements import KINDS
from opencompass_tooleval.benchmarks.variant_kinds import EASYTOOL
from opencompass_tooleval.catalogue.variants import find_variant
from tests.instructions.shared_data import DEMO

LOOP_ROWS: tuple[dict[str, Any], ...] = LOOPS
CONFIGS = DEMO.parent / 'configs'
FOLDER = CONFIGS / 'datasets' / 'agents'
JUDGED = 'tooleval_toolbench_agent_judged'
NAMES = {
    'tooleval_teval_agent_react': ['teval-agent-react'],
    'tooleval_teval_agent_fc': ['teval-agent-fc'],
    'tooleval_teval_zh_agent_react': ['teval_zh-agent-react'],
    'tooleval_teval_zh_agent_fc': ['teval_zh-agent-fc'],
    'tooleval_teval_agent_instructions': ['teval-agent-react-easytool', 'teval-agent-fc-easytool'],
    'tooleval_ultratool_agent_fc': ['ultratool_zh-agent-fc', 'ultratool_en-agent-fc'],
    'tooleval_ultratool_agent_instructions': ['ultratool_zh-agent-fc-easytool', 'ultratool_en-agent-fc-easytool'],
    **{
        f'tooleval_toolbench_agent_{loop}': [f'toolbench_{group}-agent-{loop}' for group in ('g1', 'g2', 'g3')]
        for loop in ('react', 'dfsdt', 'fc', 'easytool', 'easytool_retrieve')
    },
    'tooleval_toolbench_agent_instructions': [
        f'toolbench_{group}-agent-{loop}-easytool' for loop in ('react', 'dfsdt', 'fc') for group in ('g1', 'g2', 'g3')
    ],
}


def read(file: Path) -> Config:
    return Config.fromfile(file, format_python_code=False)


def rows() -> dict[str, Any]:
    """Abbr -> the row of every data set."""
    return {row['abbr']: row for row in read(CONFIGS.parent / 'agents' / 'config_rows.py')['tooleval_agent_rows']}


def test_judged_data_sets_are_the_same_but_for_the_evaluator() -> None:
    plain = rows()
    judged = read(FOLDER / f'{JUDGED}_gen.py')[f'{JUDGED}_datasets']
    assert {row['abbr'] for row in judged} == {abbr for abbr in plain if 'toolbench' in abbr}
    for row in judged:
        expected = plain[row['abbr']].to_dict()
        assert row['eval_cfg']['evaluator']['name'] == expected.pop('eval_cfg')['evaluator']['name']
        assert {key: value for key, value in row.to_dict().items() if key != 'eval_cfg'} == expected


@pytest.mark.parametrize('name', NAMES)
def test_configs_pick_from_the_rows(name: str) -> None:
    data = re.sub(r'_(zh_)?agent_.*', '', name)
    config = read(FOLDER / f'{data}_agent_gen.py')
    found = {row['abbr']: row.to_dict() for row in config[f'{name}_datasets']}
    assert list(found) == [f'tooleval-{abbr}' for abbr in NAMES[name]]
    every = rows()
    assert found == {abbr: every[abbr].to_dict() for abbr in found}


def test_rows_are_the_tables() -> None:
    loops = {(row['format'], row['name']): row['options'] for row in LOOP_ROWS}
    found = rows()
    formats = [subset.format for subset in TABLE]
    assert len(found) == sum((1 if row['instructed'] else 2) * formats.count(row['format']) for row in LOOP_ROWS)
    for abbr, row in found.items():
        subset = find_subset(row['name'])
        _, name, _, loop, *variant = abbr.split('-')
        assert (name, variant) in [(subset.name, []), (subset.name, ['easytool'])]
        assert (row['path'], row['n'], row['k']) == (subset.folder, 1, 1)
        dialogues = row['infer_cfg']['inferencer']['dialogues'].to_dict()
        assert dialogues.pop('type').rpartition('.')[2] == 'AgentDialogues'
        expected = {'bank': subset.bank, 'stateful_tools': subset.stateful_tools, **loops[subset.format, loop]}
        corpus = {'corpus': subset.instructions} if loop == 'easytool_retrieve' else {}
        assert dialogues == {**expected, **corpus}
        assert row.get('instructions') == (subset.instructions if variant or loop.startswith('easytool') else None)
        assert row['eval_cfg']['evaluator']['name'] == subset.name


def test_loops_take_their_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    for row in LOOP_ROWS:
        given = {**row['options']}
        settings = make_loop(given.pop('loop'), **given).settings
        assert {key: settings[key] for key in given} == given, row


def test_the_summarizer_has_every_metric() -> None:
    config = read(CONFIGS / 'summarizers' / 'tooleval_agent.py')
    shown = {tuple(row) for row in config['summarizer']['dataset_abbrs']}
    judged = set(metrics_of(KINDS))
    for abbr, row in rows().items():
        subset = find_subset(row['name'])
        more = judged if subset.format == 'toolbench' else set()
        assert {metric for name, metric in shown if name == abbr} == {*subset.metrics, *more}
    means = {group['name'] for group in config['summarizer']['summary_groups']}
    assert {abbr for abbr, _ in shown} - means == set(rows())


def test_instructed_data_sets_and_native_calls_have_their_partners() -> None:
    abbrs = list(rows())
    pairs, alone = EASYTOOL.pair_up(abbrs)
    assert not alone and len(pairs) == sum(len(row) for name, row in NAMES.items() if 'instructions' in name) + 2
    pairs, alone = find_variant('function_calling').pair_up(abbrs)
    expected = [(f'tooleval-{name}-agent-react', f'tooleval-{name}-agent-fc') for name in ('teval', 'teval_zh')]
    assert list(pairs) == expected and not alone
