"""What makers are tried on: the notes server with its state, and T-Eval's documented tools with functions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from opencompass_tooleval.cli.make_tasks import make_tasks
from opencompass_tooleval.environments.bank import Bank
from tests.conftest import ModelServer

SCRIPT = Path(__file__).with_name('maker_script.py')

NOTES_KEY: dict[str, Any] = {
    'read_notes': [['tell me what is written down', {}]],
    'add_note': [[f'write down that the {what} is due', {'text': f'{what} due'}] for what in ('rent', 'tax', 'fee')],
}


def run(folder: Path, model: Path, tasks: int = 8, **options: Any) -> tuple[int, dict[str, Any]]:
    """Runs the command; its status and its report."""
    report = folder.with_name(f'{folder.name}_report.json')
    status = make_tasks(model=model, tasks=tasks, out=folder, json_out=str(report), **options)
    return status, json.loads(report.read_text(encoding='utf-8'))


def teval_key(bank: Path) -> dict[str, Any]:
    """Clauses for T-Eval's tools: for each the calls that are recorded without an error, or that functions answer."""
    names = ('ann', 'bob', 'cyd', 'dan', 'eve')
    hours = [(f'{start:02}:00', f'{start + 1:02}:00') for start in range(8, 17)]
    key: dict[str, Any] = {
        'ReserveMeeting.get_empty_room_with_time': [
            [f'find the rooms that are free from {start} to {end}', {'start_time': start, 'end_time': end}]
            for start, end in hours
        ],
        'FileOperation.write_file': [
            [f'keep "{name} came" in {name}.txt', {'file_path': f'{name}.txt', 'text': f'{name} came'}]
            for name in names
        ],
        'Email.send': [
            [f'tell {name}@work.org that it is done', {'address': f'{name}@work.org', 'title': 'Done'}]
            for name in names
        ],
    }
    with Bank(bank) as opened:
        for number, call in enumerate(opened.calls()):
            stateful = call.name.partition('.')[0] in {'Email', 'FileOperation', 'PPT', 'ReserveMeeting', 'TimeTool'}
            if not stateful and not call.error and isinstance(call.arguments, dict):
                clause = f'look up item {number} ({", ".join(map(str, call.arguments.values()))[:60]})'
                key.setdefault(call.name, []).append([clause, call.arguments])
    return key


def write_model_config(path: Path, server: ModelServer, **more: Any) -> Path:
    """A config of the scripted maker."""
    model = {
        'abbr': 'maker',
        'path': 'tiny',
        'key': 'none',
        'openai_api_base': server.url,
        'retry': 0,
        'backoff': 0.01,
        'query_per_second': 1000,
        'max_seq_len': 65536,
        'max_out_len': 1024,
        **more,
    }
    path.write_text(
        f'from opencompass_tooleval.models import ToolEvalOpenAI\nmodels = [dict(type=ToolEvalOpenAI, **{model})]\n',
        encoding='utf-8',
    )
    return path


def write_key(path: Path, key: dict[str, Any]) -> Path:
    """The answers that the maker knows."""
    path.write_text(json.dumps(key), encoding='utf-8')
    return path


def make_repository(folder: Path) -> Path:
    """A repository with five commits, two branches, and a change that is not committed."""
    folder.mkdir(parents=True)

    def git(*words: str) -> None:
        who = ['-c', 'user.name=Ada Lovelace', '-c', 'user.email=ada@example.org']
        when = {f'GIT_{one}_DATE': '2026-01-01T00:00:00+0000' for one in ('AUTHOR', 'COMMITTER')}
        subprocess.run(['git', *who, *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **when})

    git('init', '-b', 'main')
    git('config', 'user.name', 'Ada Lovelace')
    git('config', 'user.email', 'ada@example.org')
    for number, name in enumerate(('engine.py', 'wheels.py', 'notes.md', 'test_engine.py', 'setup.cfg'), 1):
        (folder / name).write_text(f'# {name}, part {number}\nvalue = {number * 111}\n')
        git('add', name)
        git('commit', '-m', f'Add {name} with value {number * 111}')
    git('branch', 'feature/brakes')
    (folder / 'engine.py').write_text('# engine.py, part 1\nvalue = 4711\n')
    return folder


def git_key(repository: Path) -> dict[str, Any]:
    """Clauses for the tools of mcp-server-git, on :func:`make_repository`."""
    log = subprocess.run(['git', 'log', '--format=%H %s'], cwd=repository, capture_output=True, text=True, check=True)
    commits = [line.partition(' ') for line in log.stdout.splitlines()]
    at: dict[str, Any] = {'repo_path': '/fixture'}
    words = ('red', 'blue', 'green', 'grey', 'pink', 'gold', 'cyan', 'lime', 'plum', 'teal')
    return {
        'git_status': [['say what has changed since the last commit', at]],
        'git_diff_unstaged': [['show me the edit that is not staged', at]],
        'git_diff_staged': [['show me what is staged', at]],
        'git_diff': [
            [f'compare with the version "{subject}"', {**at, 'target': commit}] for commit, _, subject in commits
        ],
        'git_add': [['stage the edit of the engine', {**at, 'files': ['engine.py']}]],
        'git_reset': [['take everything off the stage', at]],
        'git_log': [[f'name the last {count} versions', {**at, 'max_count': count}] for count in (2, 3, 4)],
        'git_create_branch': [[f'open the line {word}', {**at, 'branch_name': word}] for word in words],
        'git_checkout': [['change over to the brakes', {**at, 'branch_name': 'feature/brakes'}]],
        'git_show': [[f'open the version "{subject}"', {**at, 'revision': commit}] for commit, _, subject in commits],
        'git_branch': [['list the lines of work', {**at, 'branch_type': 'local'}]],
    }
