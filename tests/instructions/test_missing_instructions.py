"""Errors for missing or incomplete instructions: a command that runs unchanged, and is enough."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.adapter import ToolEvalAgentDataset
from opencompass_tooleval.benchmarks.restbench.task import ToolEvalRestBenchDataset
from opencompass_tooleval.benchmarks.toolbench.task import ToolEvalToolBenchDataset
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.instructions.adapter import ToolEvalTEvalEasyToolDataset, ToolEvalUltraToolEasyToolDataset
from tests.cli.conftest import Command, tooleval
from tests.instructions.shared_data import DEMO

__all__ = ['tooleval']  # a fixture
MADE = 'data/easytool/made.json'
Load = Callable[[], Any]

LOADS: dict[str, Load] = {
    'teval': lambda: ToolEvalTEvalEasyToolDataset.load(
        'data/teval/EN', 'plan_json_v2', instructions=MADE, check_encoder=False
    ),
    'ultratool': lambda: ToolEvalUltraToolEasyToolDataset.load('data/ultratool', 'tool_usage', 'zh', MADE),
    'restbench': lambda: ToolEvalRestBenchDataset.load('data/restbench', 'tmdb', instructions=MADE),
    'restbench by number': lambda: ToolEvalRestBenchDataset.load(
        'data/restbench', 'tmdb', instructions=MADE, method='easytool'
    ),
    'toolbench': lambda: ToolEvalToolBenchDataset.load('data/toolbench', 'calls_g2', instructions=MADE),
    'agents of teval': lambda: ToolEvalAgentDataset.load('data/teval', 'teval', 'v2', MADE),
    'agents of toolbench': lambda: ToolEvalAgentDataset.load('data/toolbench', 'toolbench_g3', instructions=MADE),
    'agents of ultratool': lambda: ToolEvalAgentDataset.load('data/ultratool', 'ultratool_en', instructions=MADE),
}


@pytest.fixture
def cache(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data below the working directory, or below ``$COMPASS_DATA_CACHE``; nothing of instructions."""
    below = getattr(request, 'param', '')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    monkeypatch.delenv('COMPASS_DATA_CACHE', raising=False)
    if below:
        monkeypatch.setenv('COMPASS_DATA_CACHE', below)
    for name in ('teval', 'ultratool', 'restbench', 'toolbench'):
        shutil.copytree(DEMO / name, tmp_path / below / 'data' / name)
    return tmp_path / below / 'data'


def run_what_is_said(load: Load, tooleval: Command) -> None:
    with pytest.raises(DataError) as caught:
        load()
    for command in str(caught.value).partition('Fix it with: ')[2].split(' && '):
        program, *arguments = shlex.split(command)
        if program == 'tooleval':
            done = tooleval(*arguments)
            assert done.code == 0, f'{command}\n{done.err}'
        else:
            subprocess.run(['bash', '-c', command], check=True)


PLACES = [*((name, '') for name in LOADS), ('teval', 'cache'), ('agents of toolbench', 'cache')]


@pytest.mark.parametrize(('name', 'cache'), PLACES, indirect=['cache'])
def test_the_command_makes_them(name: str, cache: Path, tooleval: Command) -> None:
    run_what_is_said(LOADS[name], tooleval)
    LOADS[name]()


def test_the_command_replaces_a_file_that_lacks_tools(cache: Path, tooleval: Command) -> None:
    run_what_is_said(LOADS['agents of ultratool'], tooleval)
    file = cache / 'easytool' / 'made.json'
    first = json.loads(file.read_text(encoding='utf-8'))[:1]
    file.write_text(json.dumps(first), encoding='utf-8')
    run_what_is_said(LOADS['agents of ultratool'], tooleval)
    LOADS['agents of ultratool']()
    assert json.loads(file.with_name('made.json.old').read_text(encoding='utf-8')) == first
