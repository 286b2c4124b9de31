"""Reads git repositories as data.

In a repository that an agent has written, git would execute commands from settings and hooks. So git runs in an empty
repository of ours, which uses the objects and the index of the agent's repository.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

from opencompass_tooleval.core.errors import shorten
from opencompass_tooleval.extras.mcp_servers.fixture import find_files
from opencompass_tooleval.work_dir.data_files import read_plain

GIT = '.git'

_MAX_COMMITS, _MAX_REFERENCES = 20_000, 2_000
_MAX_ITEMS = 200_000
"""Maximum number of commits in all histories together; a commit counts once per reference that contains it."""
_MAX_BYTES, _SECONDS = 1 << 26, 30.0
_SHOWN, _MAX_ERROR = 10, 300
_LIMITED = f'ulimit -v {1 << 22} 2>/dev/null; exec git "$@"'
_SHA = re.compile(r'[0-9a-f]{40}')
_EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
_KINDS = {'heads': 'branch', 'tags': 'tag', 'remotes': 'remote'}
_DIFFERENCES = ('--raw', '-z', '--no-abbrev', '--no-renames')


def is_repository(folder: Path) -> bool:
    """Tests if a folder is the ``.git`` folder of a repository."""
    return folder.name == GIT and (folder / 'HEAD').is_file() and (folder / 'objects').is_dir()


def git_items(folder: Path) -> dict[str, Any]:
    """Reads a repository.

    Args:
        folder: The repository's ``.git`` folder.

    Returns:
        ``HEAD``: the branch; ``branch NAME``, ``tag NAME``, ``stash``, ...: the commits along first parents, the newest
        last, each with its message, the digests of the files that it changes, and the messages of merged commits;
        ``staged``: the files of the index that differ from ``HEAD``. Authors and times are left out.

    Raises:
        ValueError: The repository is damaged, too large or in an unknown format, or git is not installed.
    """
    try:
        special = [path for path in find_files(folder) if path.is_symlink() or not (path.is_file() or path.is_dir())]
        if special:
            raise ValueError(f'it has a link or a pipe: {special[0].relative_to(folder)}')
        if (folder / 'objects' / 'info' / 'alternates').exists():
            raise ValueError('it uses the objects of another repository')
        head, names = _text(folder / 'HEAD'), _references(folder)
        target = head.removeprefix('ref: ')
        names |= {} if target != head else {'HEAD commits': head}
        if len(names) > _MAX_REFERENCES or not all(map(_SHA.fullmatch, names.values())):
            raise ValueError(f'it has more than {_MAX_REFERENCES:,} references, or one that is not a digest')
        with TemporaryDirectory(prefix='tooleval-git-') as ours:
            git = _borrowing(folder.resolve(), Path(ours))
            newest = git('rev-parse', *(f'{sha}^{{commit}}' for sha in names.values())).split()
            commits = _commits(git, sorted({*newest}))
            tree = names.get(target) or names.get('HEAD commits') or _EMPTY_TREE
            staged = _changed(git('diff-index', '--cached', *_DIFFERENCES, tree))
        histories = {_shown(name): _history(sha, commits) for name, sha in zip(names, newest, strict=True)}
        if sum(map(len, histories.values())) > _MAX_ITEMS:
            raise ValueError(f'its references have more than {_MAX_ITEMS:,} commits')
    except (OSError, LookupError, ValueError) as error:
        raise ValueError(f'the repository cannot be read ({type(error).__name__}: {error})') from error
    return {
        'HEAD': target.removeprefix('refs/heads/') if target != head else 'a commit',
        **histories,
        'staged': [{'path': path, 'blob': blob} for path, blob in staged.items()],
    }


def _text(file: Path) -> str:
    return read_plain(file, 1 << 20).decode('utf-8', 'replace').strip()


def _references(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    if (folder / 'packed-refs').is_file():
        lines = map(str.split, _text(folder / 'packed-refs').splitlines())
        found = {line[1]: line[0] for line in lines if len(line) == 2 and _SHA.fullmatch(line[0])}
    for path in sorted((folder / 'refs').rglob('*')):
        if path.is_file() and not path.is_symlink():
            found[path.relative_to(folder).as_posix()] = _text(path)
    return {name: sha for name, sha in found.items() if not sha.startswith('ref: ')}


def _shown(name: str) -> str:
    kind, _, short = name.removeprefix('refs/').partition('/')
    return f'{_KINDS.get(kind, kind)} {short}'.strip()


def _borrowing(folder: Path, ours: Path) -> Callable[..., str]:
    """Returns a function that runs git in an empty repository with the objects and the index of ``folder``."""
    (ours / 'refs').mkdir()
    (ours / 'HEAD').write_text('ref: refs/heads/none\n')
    if (folder / 'shallow').is_file():
        (ours / 'shallow').write_text(_text(folder / 'shallow') + '\n')
    env = {name: value for name, value in os.environ.items() if not name.startswith('GIT_')}
    return partial(
        _run,
        env
        | {
            'GIT_DIR': str(ours),
            'GIT_OBJECT_DIRECTORY': str(folder / 'objects'),
            'GIT_INDEX_FILE': str(folder / 'index'),
            'GIT_CONFIG_NOSYSTEM': '1',
            'GIT_CONFIG_GLOBAL': os.devnull,
            'GIT_NO_REPLACE_OBJECTS': '1',
        },
    )


def _run(env: Mapping[str, str], *arguments: str) -> str:
    """Returns the output of a git command.

    Raises:
        ValueError: The command fails, prints too much or takes too long.
    """
    errors = Path(env['GIT_DIR'], 'errors')
    command = ('sh', '-c', _LIMITED, 'git', '-c', 'core.commitGraph=false', *arguments)
    with (
        errors.open('wb') as stream,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream, env=env, cwd=errors.parent) as git,
    ):
        assert git.stdout is not None
        timer = Timer(_SECONDS, git.kill)
        timer.start()
        content = git.stdout.read(_MAX_BYTES + 1)
        git.stdout.close()  # ends a process that would print more
        code = git.wait()
        timer.cancel()
    if code or len(content) > _MAX_BYTES:
        raise ValueError(
            shorten(errors.read_bytes()[:_MAX_ERROR].decode('utf-8', 'replace'), _MAX_ERROR) or 'it is too large'
        )
    return content.decode('utf-8', 'replace')


def _commits(git: Callable[..., str], newest: Sequence[str]) -> dict[str, tuple[list[str], str, dict[str, str]]]:
    """Returns commit -> parents, message and changed files, for the newest commits and all of their ancestors."""
    if not newest:
        return {}
    mark = secrets.token_hex(16)
    _, *parts = git(
        'log', *_DIFFERENCES, '--root', '--diff-merges=first-parent', f'-{_MAX_COMMITS + 1}',
        f'--format={mark}%H %P%n%B{mark}', *newest,
    ).split(mark)  # fmt: skip
    if len(parts) > 2 * _MAX_COMMITS:
        raise ValueError(f'it has more than {_MAX_COMMITS:,} commits')
    commits = {}
    for text, differences in zip(parts[::2], parts[1::2], strict=True):
        names, _, message = text.partition('\n')
        name, *parents = names.split()
        commits[name] = parents, message.strip(), _changed(differences)
    return commits


def _changed(differences: str) -> dict[str, str]:
    """Parses differences in git's raw format; returns file -> start of its new digest, or ``removed``."""
    fields = differences.lstrip('\0\n').split('\0')
    changed = {}
    for given, path in zip(fields[::2], fields[1::2], strict=False):
        *_, digest, kind = given.split()
        changed[path] = 'removed' if kind == 'D' else digest[:_SHOWN]
    return changed


def _history(sha: str, commits: Mapping[str, tuple[list[str], str, dict[str, str]]]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    while sha:
        if len(items) > len(commits):
            raise ValueError('a commit leads to itself')
        parents, message, files = commits[sha]
        merges = [commits[one][1] for one in parents[1:]]
        items.append({'message': message, 'files': files} | ({'merges': merges} if merges else {}))
        sha = parents[0] if parents else ''
    return items[::-1]
