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
import sys
from opencompass_tooleval.cli.main import main
try:
    main()
except SystemExit as end:
    code = end.code
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def probe(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a command in a process of its own; the last line of stderr names the heavy modules that it imported."""
    command = [sys.executable, '-c', PROBE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=6000)


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


def test_config_dir(tooleval: Command) -> None:
    outcome = tooleval('config-dir')
    assert (outcome.code, outcome.err) == (0, '')
    folder = Path(outcome.out.rstrip('\n'))
    assert folder == Path(opencompass_tooleval.__file__).parent / 'configs'
    assert (folder / 'eval_demo.py').is_file()


@pytest.mark.parametrize('arguments', [('--help',), ('score', 'teval', '--help'), ('prepare', '--help')])
def test_help(tooleval: Command, arguments: tuple[str, ...]) -> None:
    outcome = tooleval(*arguments)
    assert (outcome.code, outcome.err) == (0, '')
    assert 'Usage: ' in outcome.out


def test_help_names_every_benchmark(tooleval: Command) -> None:
    said = tooleval('--help').out
    assert [
        name for name in ('T-Eval', 'UltraTool', 'EasyTool', 'RestBench', 'FuncQA', 'ToolBench') if name not in said
    ] == []


def test_version(tooleval: Command) -> None:
    outcome = tooleval('--version')
    assert (outcome.code, outcome.out) == (0, f'opencompass-tooleval {version("opencompass-tooleval")}\n')


def test_status_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / 'configs').mkdir()
    (tmp_path / 'configs' / 'a.py').write_text("models = [dict(abbr='m')]\ndatasets = [dict(abbr='d')]\n")
    done = probe('status', tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == '[]'


@pytest.mark.parametrize('arguments', [('nonsense',), ('score', 'teval', 'review_str'), ('score', 'teval')])
def test_wrong_usage(tooleval: Command, arguments: tuple[str, ...]) -> None:
    outcome = tooleval(*arguments)
    assert (outcome.code, outcome.out) == (2, '')
    assert 'Usage: ' in outcome.err


@pytest.mark.parametrize('arguments', [('--help',), ('list',), ('config-dir',), ('prepare', 'teval', '--from', DEMO)])
def test_imports_nothing_heavy(arguments: tuple[object, ...]) -> None:
    done = probe(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == '[]'


@pytest.mark.parametrize('command', ['--help', 'list'])
def test_what_is_asked_first_imports_no_numbers(command: str) -> None:
    code = f"import sys; sys.argv = ['tooleval', '{command}']; from opencompass_tooleval.cli.main import app"
    code += "; app(standalone_mode=False); print('numpy' in sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, 'False\n')


def test_score_without_an_encoder_imports_nothing_heavy(tmp_path: Path) -> None:
    path = write_json(tmp_path / 'answers.json', gold_answers('review_str_v2'))
    data = demo_file('review_str_v2')
    done = probe('score', 'teval', 'review_str', '--data', data, '--predictions', path, '--json', '-')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['metrics']['review_quality'] == 100.0
    assert done.stderr.splitlines()[-1] == '[]'


def test_score_from_a_warm_cache_imports_no_torch(tooleval: Command, tmp_path: Path) -> None:
    stem = 'reason_str_v2'
    path = write_json(tmp_path / 'answers.json', gold_answers(stem))
    arguments = ('--data', demo_file(stem), '--predictions', path, '--encoder', 'offline', '--json', '-')
    cold = tooleval('score', 'teval', 'reason_str', *arguments)
    warm = probe('score', 'teval', 'reason_str', *arguments)
    assert warm.stdout == cold.out
    assert warm.stderr.splitlines()[-1] == '[]'


def test_entry_point() -> None:
    """The installed command, in a process of its own."""
    command = Path(sys.executable).with_name('tooleval')
    done = subprocess.run([command, 'config-dir'], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, '')
    assert Path(done.stdout.strip()).name == 'configs'
