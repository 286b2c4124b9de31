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


@pytest.mark.parametrize('name', ['teval', 'ultratool', 'restbench', 'funcqa', 'toolbench', 'agents'])
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


def test_list_with_data(tooleval: Command, tmp_path: Path) -> None:
    listed = tooleval('list', 'teval').out.splitlines()
    rows = [line for line in listed if line.rstrip().endswith('  -')]
    counts = [sum(words in row for row in rows) for words in ('', 'v2_subset', '3213', '3540')]
    assert counts == [8 * 3 * 2, 16, 6, 2]
    tooleval('prepare', 'teval', '--from', DEMO)
    file = tmp_path / 'data-cache' / 'data' / 'teval' / 'EN' / 'review_str_v2.json'
    file.write_text('{')
    listed = tooleval('list', 'teval').out.splitlines()
    split = ([cell.strip() for cell in line.split('  ') if cell.strip()] for line in listed)
    found = {cells[0]: cells[1:] for cells in split if len(cells) == 3}
    assert found['plan_json v2 EN'] == ['-', '4 records, v1 has 553']
    assert found['plan_json v1 EN'] == ['553 records', '-']
    assert found['review_str v2 EN'] == ['-', 'damaged']
    assert found['instruct v2 ZH'] == ['-', '20 records, v1 has 2660']
    assert any(line.startswith(f'DAMAGED {file}') for line in listed)


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


def test_what_is_missing_or_misspelt_is_said_before_opencompass_is_imported(tmp_path: Path) -> None:
    """Its import takes seconds."""
    bad = tmp_path / 'bad.py'
    bad.write_text('models = (\n')
    server = ('--model', 'm', '--api-base', 'http://127.0.0.1:9/v1')
    cases = {
        ('plan', tmp_path / 'no.py'): 'no.py: no such file',
        ('plan', bad): 'bad.py:1: the config cannot be read (SyntaxError: ',
        ('plan', bad, '--nope'): 'No such option: --nope',
        ('run', 'teval', '--models', tmp_path / 'no.py'): 'no.py: no such file',
        ('run', 'tevall', *server): "no data sets 'tevall'",
        ('run', tmp_path / 'no.yaml', *server): 'no.yaml: not found',
        ('prompts', 'teval', 'nosub'): "T-Eval has no subset 'nosub'",
        ('tasks', 'check', tmp_path / 'no.yaml'): 'no.yaml: not found',
        ('report', tmp_path / 'no'): 'no: no such folder',
        ('report', tmp_path, '-o', bad / 'report'): 'choose another folder with -o',
    }
    (tmp_path / 'configs').mkdir()
    done = probe(*cases)
    lines = [line for line in done.stderr.splitlines() if line.startswith("['")]
    assert len(lines) == len(cases) and all(message in done.stderr for message in cases.values()), done.stderr
    imported = {line.rpartition('[')[2] for line in lines}
    assert imported <= {']', "'mmengine']"}, 'tooleval run reads its configs by mmengine alone'


NAMES = 'teval, ultratool, restbench, funcqa, toolbench, agents'


@pytest.mark.parametrize(
    ('words', 'code', 'message'),
    [
        ('--help', 0, 'T-Eval, UltraTool, EasyTool variants, RestBench, FuncQA, ToolBench'),
        ('score teval --help', 0, 'Usage: '),
        ('prepare --help', 0, 'Usage: '),
        ('--version', 0, f'opencompass-tooleval {version("opencompass-tooleval")}\n'),
        ('list gorilla', 1, f"tooleval: no benchmark 'gorilla'; there are {NAMES}\n"),
        ('nonsense', 2, 'Usage: '),
        ('score teval review_str', 2, 'Usage: '),
        ('score teval', 2, 'Usage: '),
    ],
)
def test_help_and_wrong_usage(tooleval: Command, words: str, code: int, message: str) -> None:
    outcome = tooleval(*words.split())
    shown, nothing = (outcome.out, outcome.err) if code == 0 else (outcome.err, outcome.out)
    assert (outcome.code, nothing) == (code, '') and message in shown


def test_entry_point() -> None:
    """The installed command, in a process of its own."""
    command = Path(sys.executable).with_name('tooleval')
    done = subprocess.run([command, 'config-dir'], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout == f'{Path(opencompass_tooleval.__file__).parent / "configs"}\n'
