"""Agents on the command line: list, prepare and prompts, with the files of the demo and the published ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from opencompass_tooleval.agents.files import configured
from opencompass_tooleval.agents.tasks.records import TABLE
from tests.cli.conftest import Command, home, tooleval
from tests.instructions.shared_data import DATA, DEMO

__all__ = ['home', 'tooleval']
CONFIGS = DEMO.parent / 'configs' / 'datasets'


def test_list_prepare_and_the_bank_that_is_the_next_step(tooleval: Command, tmp_path: Path) -> None:
    """The plans alone record no call: prepare brings what does, or says that it is missing."""
    done = tooleval('prepare', 'agents', '--from', DEMO / 'agents')
    assert done.code == 0 and '4 tasks, 12 gold calls, 4 recorded calls, 0 errata' in done.out
    bank = tmp_path / 'data-cache' / 'data' / 'agents' / 'teval.bank'
    assert f'no {bank}' in done.out
    (command,) = (line.split() for line in done.out.splitlines() if 'bank build' in line)
    built = tooleval(*command[1:])
    assert built.code == 0 and f'{bank}: 4 calls' in built.out
    lines = [' '.join(line.split()) for line in tooleval('list', 'agents').out.splitlines()]
    assert 'teval 553 tasks, 2660 gold calls 4 tasks, 12 gold calls, 4 recorded calls, 0 errata' in lines
    assert 'bank teval - 4 recorded calls, 3 tasks' in lines and 'toolbench_g1 163 tasks -' in lines
    bank.unlink()
    (tmp_path / 'data-cache' / 'data' / 'teval' / 'EN' / 'review_str_v1.json').unlink()
    empty = tooleval(*command[1:])
    assert empty.code == 1 and 'the sources contain no recorded calls' in empty.err and not bank.exists()
    plans = tmp_path / 'plans' / 'EN'
    plans.mkdir(parents=True)
    shutil.copy(DEMO / 'agents' / 'teval' / 'EN' / 'plan_json_v1.json', plans)
    done = tooleval('prepare', 'agents', '--from', plans.parent)
    assert done.code == 0 and 'review_str_v1.json is missing' in done.out and 'bank build' not in done.out


def test_prepare_says_where_the_tasks_come_from(tooleval: Command) -> None:
    done = tooleval('prepare', 'agents')
    assert done.code == 1 and '\n  tooleval prepare toolbench\n' in done.out
    assert '\n  tooleval agents bank build --from data/teval/EN --out data/agents/teval.bank\n' in done.out


@pytest.mark.skipif(not (DATA / 'teval').is_dir(), reason='no published data at hand')
def test_prepare_takes_the_published_files(tooleval: Command) -> None:
    done = tooleval('prepare', 'agents', '--from', DATA / 'teval')
    assert done.code == 0 and 'DAMAGED' not in done.out
    assert '553 tasks, 2660 gold calls, 487 recorded calls, 37 errata (unfit_gold 12, gold_type 25)' in done.out


def test_every_subset_has_a_config() -> None:
    for name in (subset.name for subset in TABLE):
        for place in (configured(name), configured(name, method='function_calling')):
            (config,) = place.configs
            assert (CONFIGS / f'{config.partition(":")[0]}.py').is_file() and place.name == name
    with pytest.raises(ValueError, match='has the loops'):
        configured('teval', method='chess')


def test_prompts_need_no_bank(tooleval: Command) -> None:
    options = ('--data', DEMO / 'agents' / 'teval', '--method', 'function_calling', '--limit', '1')
    done = tooleval('prompts', 'agents', 'teval', *options, '--json', '-')
    assert done.code == 0, done.err
    (row,) = map(json.loads, done.out.splitlines())
    assert row['id'] == 'demo_ferry' and row['tools'][0]['function']['name'] == 'TimeTool_get_curr_time'
    options = ('--data', DEMO / 'teval', '--version', 'v2', '--method', 'function_calling')
    assert '=== demo_museum' in tooleval('prompts', 'agents', 'teval', *options).out


def test_prompts_with_instructions(tooleval: Command) -> None:
    options = ('--data', DEMO / 'ultratool', '--limit', '1', '--instructions')
    done = tooleval('prompts', 'agents', 'ultratool_en', *options, DEMO / 'easytool' / 'ultratool_en.json')
    assert done.code == 0 and 'Example: ' in done.out, done.err
    done = tooleval('prompts', 'agents', 'ultratool_en', *options, DEMO / 'toolbench' / 'instructions.json')
    assert done.code == 1 and 'have no instruction' in done.err
