"""The small commands, and modules that a command must not import."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import opencompass_tooleval
from tests.cli.conftest import DEMO, Command, demo_file, gold_answers, write_json

HEAVY = ('torch', 'opencompass', 'mmengine', 'datasets', 'transformers', 'sentence_transformers')
PROBE = f"""
import json, sys
from opencompass_tooleval.cli.main import main
for command in json.loads(sys.argv[1]):
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as end:
        print(command, end.code, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
    if command == ['list']:
        print('numpy' in sys.modules, file=sys.stderr)
"""


def probe(*commands: tuple[object, ...]) -> subprocess.CompletedProcess[str]:
    """Runs commands, one after the other, in another process; stderr has each with its status and heavy modules."""
    words = json.dumps([[str(word) for word in command] for command in commands])
    return subprocess.run([sys.executable, '-c', PROBE, words], capture_output=True, text=True, timeout=6000)


def test_list_is_a_row_per_benchmark(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('COLUMNS', '80')
    tooleval('prepare', 'teval', '--from', DEMO)
    lines = tooleval('list').out.splitlines()
    assert all(len(line) <= 80 for line in lines if not line.startswith('searched below /'))  # no path is cut
    rows = {line.split()[0]: line.split()[1:] for line in lines if 'arXiv' in line}
    assert list(rows) == ['teval', 'ultratool', 'restbench', 'funcqa', 'toolbench', 'agents']
    assert rows['teval'] == ['T-Eval', 'arXiv', '2312.14033', '8', '16', 'of', '48']
    assert rows['toolbench'][-3:] == ['0', 'of', '3']


@pytest.mark.parametrize('name', ['teval', 'ultratool', 'restbench', 'funcqa', 'toolbench', 'conformance', 'agents'])
def test_list_says_what_datasets_takes(tooleval: Command, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv('COLUMNS', '80')
    done = tooleval('list', name)
    lines = [line for line in done.out.splitlines() if not line.startswith('searched below /')]  # no path is cut
    assert done.code == 0 and all(len(line) <= 80 for line in lines)
    configs = [*DEMO.parents[1].joinpath('configs', 'datasets').glob('*/*_gen.py')]
    named = {line.strip() for line in done.out.splitlines() if line.startswith('  ')}
    shipped = [file for file in configs if file.stem.startswith(f'tooleval_{name}') or file.parent.name == name]
    assert {text for text in named if not text.startswith('/')} == {file.stem for file in shipped} != set()
    variables = [re.findall(r'^(\w+_datasets) = ', file.read_text(), re.MULTILINE) for file in shipped]
    assert {text[1:] for text in named if text.startswith('/')} == {
        variable for several in variables if len(several) > 1 for variable in several
    }


def test_list_of_no_benchmark(tooleval: Command) -> None:
    done = tooleval('list', 'gorilla')
    names = 'teval, ultratool, restbench, funcqa, toolbench, agents, conformance'
    assert done.code == 1 and done.err == f"tooleval: no benchmark 'gorilla'; there are {names}\n"


def test_list_without_data(tooleval: Command) -> None:
    outcome = tooleval('list', 'teval')
    assert outcome.code == 0
    rows = [line for line in outcome.out.splitlines() if line.rstrip().endswith('  -')]
    assert len(rows) == 8 * 3 * 2
    assert sum('v2_subset' in row for row in rows) == 16
    assert sum('3213' in row for row in rows) == 6
    assert sum('3540' in row for row in rows) == 2


def test_list_with_data(tooleval: Command, tmp_path: Path) -> None:
    tooleval('prepare', 'teval', '--from', DEMO)
    folder = tmp_path / 'data-cache' / 'data' / 'teval' / 'EN'
    (folder / 'review_str_v2.json').write_text('{')
    rows = {}
    listed = tooleval('list', 'teval').out
    for line in listed.splitlines():
        cells = [cell.strip() for cell in line.split('  ') if cell.strip()]
        if len(cells) == 3:
            rows[cells[0]] = cells[1:]
    assert rows['plan_json v2 EN'] == ['-', '4 records, v1 has 553']
    assert rows['plan_json v1 EN'] == ['553 records', '-']
    assert rows['review_str v2 EN'] == ['-', 'damaged']
    assert f'DAMAGED {folder / "review_str_v2.json"}' in listed
    assert rows['instruct v2 ZH'] == ['-', '20 records, v1 has 2660']


@pytest.mark.parametrize('arguments', [('--help',), ('score', 'teval', '--help'), ('prepare', '--help')])
def test_help(tooleval: Command, arguments: tuple[str, ...]) -> None:
    outcome = tooleval(*arguments)
    assert (outcome.code, outcome.err) == (0, '')
    assert 'Usage: ' in outcome.out
    benchmarks = ('T-Eval', 'UltraTool', 'EasyTool', 'RestBench', 'FuncQA', 'ToolBench')
    assert arguments != ('--help',) or all(name in outcome.out for name in benchmarks)


def test_version(tooleval: Command) -> None:
    outcome = tooleval('--version')
    assert (outcome.code, outcome.out) == (0, f'opencompass-tooleval {version("opencompass-tooleval")}\n')


@pytest.mark.parametrize('arguments', [('nonsense',), ('score', 'teval', 'review_str'), ('score', 'teval')])
def test_wrong_usage(tooleval: Command, arguments: tuple[str, ...]) -> None:
    outcome = tooleval(*arguments)
    assert (outcome.code, outcome.out) == (2, '')
    assert 'Usage: ' in outcome.err


def test_commands_that_import_nothing_heavy(tooleval: Command, tmp_path: Path) -> None:
    """Nor does ``score`` without an encoder, or from a warm cache; what is asked first imports no numbers either."""
    (tmp_path / 'configs').mkdir()
    (tmp_path / 'configs' / 'a.py').write_text("models = [dict(abbr='m')]\ndatasets = [dict(abbr='d')]\n")
    scores = {}
    for stem in ('review_str_v2', 'reason_str_v2'):
        path = write_json(tmp_path / f'{stem}.json', gold_answers(stem))
        options = ('--data', demo_file(stem), '--predictions', path, '--encoder', 'offline', '--json', '-')
        scores[stem] = ('score', 'teval', stem.removesuffix('_v2'), *options)
    review, reason = scores.values()
    cold = tooleval(*reason)
    light = [('--help',), ('list',), ('config-dir',), ('prepare', 'teval', '--from', DEMO), ('status', tmp_path)]
    done = probe(*light, review, reason)
    told = [line for line in done.stderr.splitlines() if line.startswith(("['", 'False', 'True'))]
    assert told.pop(2) == 'False' and len(told) == len(light) + 2, done.stderr
    assert all(line.endswith('] 0 []') for line in told), done.stderr
    assert done.stdout.endswith(cold.out) and '"review_quality": 100.0' in done.stdout.removesuffix(cold.out)


def test_entry_point() -> None:
    """The installed command, in a process of its own."""
    command = Path(sys.executable).with_name('tooleval')
    done = subprocess.run([command, 'config-dir'], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout == f'{Path(opencompass_tooleval.__file__).parent / "configs"}\n'
