"""``tooleval make review`` and ``make apply``: from a set to its reviewed files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opencompass_tooleval.extras.making.made_set import load_set
from tests.cli.conftest import Command
from tests.extras.making.review_support import set_to_review
from tests.extras.making.test_decisions import decisions_file, row


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob('*') if file.is_file()}


def test_the_page_is_written_where_it_is_asked_for(tooleval: Command, tmp_path: Path) -> None:
    folder = set_to_review(tmp_path / 'notes').folder
    done = tooleval('make', 'review', folder)
    assert done.code == 0 and f'review: {folder / "review.html"}' in done.out and 'tooleval make apply' in done.out
    done = tooleval('make', 'review', folder, '--out', tmp_path / 'page.html')
    assert (tmp_path / 'page.html').read_bytes() == (folder / 'review.html').read_bytes()
    assert tooleval('make', 'review', tmp_path / 'nothing').code == 1


def test_decisions_are_applied_and_the_outputs_follow(tooleval: Command, tmp_path: Path) -> None:
    pytest.importorskip('opencompass_tooleval.extras.making.outputs')
    made = load_set(set_to_review(tmp_path / 'notes').folder)
    ann = decisions_file(made, row(made, 't0', 'accept'), row(made, 't1', 'drop'), row(made, 'worst', 'drop', 'a leak'))
    bob = decisions_file(made, row(made, 't0', 'accept'), row(made, 't1', 'accept'), reviewer='Bob')
    before = files_of(made.folder)
    bad = decisions_file(made, row(made, 't0', 'accept') | {'task': 'x'}, reviewer='Cid')
    done = tooleval('make', 'apply', made.folder, ann, bad)
    assert done.code == 1 and "'x': the set has no such task" in done.err
    assert files_of(made.folder) == before, 'nothing is carried out'

    done = tooleval('make', 'apply', made.folder, ann, bob, '--json', tmp_path / 'found.json')
    assert done.code == 1, 'they disagree'
    assert 'notes: accepted 1, edited 0, dropped 1, undecided 2' in done.out
    assert "Cohen's kappa of Ann and Bob: 0.000 on 2 tasks that both decided" in done.out
    assert 'disagreements, left undecided: t1' in done.out
    found = json.loads((tmp_path / 'found.json').read_text())
    assert found['kappas'] == [{'reviewers': ['Ann', 'Bob'], 'tasks': 2, 'kappa': 0.0}]
    assert (found['disagreements'], found['other_texts']) == (['t1'], [])
    card = (made.folder / 'README.md').read_text('utf-8')
    assert 'No person has looked at 2 tasks.' in card

    again = load_set(made.folder)
    last = decisions_file(again, *(row(again, name, 'accept') for name in ('t1', 't2')), reviewer='Cid')
    done = tooleval('make', 'apply', made.folder, last)
    assert done.code == 0 and 'kappa' not in done.out
    assert 'A person has looked at every task.' in (made.folder / 'README.md').read_text('utf-8')
    assert 'worst' not in (made.folder / 'tasks.jsonl').read_text('utf-8')
    written = files_of(made.folder)
    assert tooleval('make', 'apply', made.folder, last).code == 0
    assert files_of(made.folder) == written
