"""``tooleval export --bundle`` and ``tooleval leaderboard``: from a run to a site."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opencompass_tooleval.extras.leaderboard import command as leaderboard
from tests.cli.conftest import Command
from tests.report.support import plain_run


def test_from_a_run_to_a_site(tooleval: Command, tmp_path: Path) -> None:
    run = plain_run(tmp_path / 'out' / '20260101_120000')
    done = tooleval('export', run.parent, '--bundle', 'mine.bundle')
    assert done.code == 0 and done.out.startswith('mine.bundle: 4 results, sha256 '), done.err
    done = tooleval('export', run.parent, '--bundle', 'one.bundle', '--model', 'better', '--out', 'files')
    assert done.out.count(' rows') == 3
    for expected in ('added', 'is there already'):
        done = tooleval('leaderboard', 'add', 'board', 'mine.bundle', 'one.bundle')
        assert done.out.splitlines() == [f'board/{name}.bundle: {expected}' for name in ('mine', 'one')], done.err
    done = tooleval('leaderboard', 'build', 'board', '--out', 'site')
    assert done.code == 0 and done.out == 'leaderboard of 2 models from 2 bundles: site/index.html\n', done.err
    assert Path('site/index.html').is_file()


def test_a_bundle_that_fails_gives_status_1_unless_told_to_go_on(tooleval: Command, tmp_path: Path) -> None:
    tooleval('export', plain_run(tmp_path / 'out' / '20260101_120000').parent, '--bundle', 'board/a.bundle')
    Path('board/b.bundle').write_text('no bundle')
    done = tooleval('leaderboard', 'build', 'board', '--out', 'site')
    assert done.code == 1 and 'board/b.bundle' in done.err and 'first line' in done.err
    assert Path('site/index.html').is_file(), 'the others are shown'
    assert tooleval('leaderboard', 'build', 'board', '--out', 'site', '--keep-going').code == 0
    os.mkfifo('pipe.bundle')  # nobody writes into it
    for name, words in (('board/b.bundle', 'first line'), ('pipe.bundle', 'pipe.bundle: it is not a plain file')):
        done = tooleval('leaderboard', 'add', 'board', name)
        assert done.code == 1 and words in done.err


def test_what_is_missing_is_named(tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = plain_run(tmp_path / 'out')
    done = tooleval('export', run)
    assert done.code == 1 and 'needs --out DIR, --bundle FILE, or both' in done.err
    done = tooleval('leaderboard', 'build', tmp_path, '--out', 'site')
    assert done.code == 1 and 'there are 0 bundles' in done.err
    monkeypatch.setattr(leaderboard, 'NEEDED', 'no_such_library')
    done = tooleval('leaderboard', 'build', tmp_path, '--out', 'site')
    assert done.code == 1 and 'needs no_such_library' in done.err and 'opencompass-tooleval[report]' in done.err
