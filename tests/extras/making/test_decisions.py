"""Decisions files: what they may say, what is carried out, and where reviewers disagree."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import MAX_MESSAGE, DataError
from opencompass_tooleval.extras.making.decisions import (
    MAX_COMMENT,
    MAX_NAME,
    MAX_TEXTS,
    Outcome,
    carry_out,
    read_decisions,
    set_digest,
    task_digest,
)
from opencompass_tooleval.extras.making.made_set import Dropped, MadeSet, load_set
from opencompass_tooleval.extras.making.made_task import MadeTask
from tests.extras.making.review_support import set_to_review, task_to_review

EDIT = {'query': 'And the price?', 'facts': ['4,200', 'VAT'], 'forbidden': ['drop_note', 'list_notes']}


@pytest.fixture
def made(tmp_path: Path) -> MadeSet:
    set_to_review(tmp_path / 'notes')
    return load_set(tmp_path / 'notes')


def row(made: MadeSet, task: str, choice: str, comment: str = '', edit: Any = None) -> dict[str, Any]:
    digest = next(task_digest(one) for one in made.tasks if one.task.id == task)
    return {'task': task, 'digest': digest, 'choice': choice, 'comment': comment, 'edit': edit}


def decisions_file(made: MadeSet, *rows: Any, reviewer: str = 'Ann', **changes: Any) -> Path:
    """A file of decisions as the page saves it, with changes."""
    file = made.folder.parent / f'{reviewer}.json'
    head = {'tooleval_decisions': 1, 'set': made.name, 'digest': set_digest(made), 'reviewer': reviewer}
    file.write_text(json.dumps({**head, 'decisions': list(rows), **changes}))
    return file


def applied(made: MadeSet, *files: Path) -> Outcome:
    """The set as it is on disk after decisions were carried out and written."""
    outcome = carry_out(made, [read_decisions(file, made) for file in files])
    outcome.made.write()
    return outcome


def by_id(made: MadeSet) -> Mapping[str, MadeTask]:
    return {task.task.id: task for task in made.tasks}


def contents(folder: Path) -> Mapping[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_decisions_are_carried_out_once(made: MadeSet) -> None:
    file = decisions_file(
        made,
        row(made, 't0', 'accept', 'fine\nindeed \ud800'),
        row(made, 't1', 'edit', 'clearer', EDIT),
        row(made, 'worst', 'drop', 'it leaks'),
        row(made, 't2', '', 'not sure'),
    )
    outcome = applied(made, file)
    assert dict(outcome.counts) == {'accept': 1, 'edit': 1, 'drop': 1} and outcome.undecided == 1
    again = load_set(made.folder)
    tasks = by_id(again)
    assert list(tasks) == ['t0', 't1', 't2']
    assert again.dropped == (*made.dropped, Dropped('worst', 'review', 'review:dropped', 'Ann: it leaks'))
    assert tasks['t0'].is_reviewed and tasks['t0'].comment == 'Ann: fine\nindeed \\ud800'
    assert tasks['t2'] == by_id(made)['t2'] and not tasks['t2'].is_reviewed
    edited, before = tasks['t1'], by_id(made)['t1']
    assert edited.is_reviewed and edited.comment == 'Ann changed query, facts, forbidden: clearer'
    assert (edited.task.query, list(edited.goal.facts), list(edited.goal.forbidden)) == tuple(EDIT.values())
    assert (edited.task.gold, edited.goal.calls, edited.solutions) == (
        before.task.gold,
        before.goal.calls,
        before.solutions,
    )

    written = contents(made.folder)
    repeated = applied(again, file)
    assert repeated.counts == outcome.counts and repeated.undecided == 1
    assert contents(made.folder) == written


def test_a_later_review_adds_its_comment_and_may_drop(made: MadeSet) -> None:
    applied(made, decisions_file(made, row(made, 't0', 'edit', '', EDIT), row(made, 't1', 'accept', 'good')))
    second = load_set(made.folder)
    file = decisions_file(second, row(second, 't0', 'accept', 'yes'), row(second, 't1', 'drop'), reviewer='Bob')
    applied(second, file)
    third = load_set(made.folder)
    assert by_id(third)['t0'].comment == 'Ann changed query, facts, forbidden\nBob: yes'
    assert 't1' not in by_id(third) and third.dropped[-1].id == 't1'
    late = decisions_file(third, row(made, 't1', 'accept'), reviewer='Cid')
    with pytest.raises(DataError, match="'t1': it was dropped by an earlier review"):
        read_decisions(late, third)


def test_a_task_that_was_dropped_before_a_kill_is_dropped_once(made: MadeSet) -> None:
    file = decisions_file(made, row(made, 't0', 'drop', 'no'))
    tasks = (made.folder / 'tasks.jsonl').read_bytes()
    applied(made, file)
    (made.folder / 'tasks.jsonl').write_bytes(tasks)  # the kill: dropped.jsonl is written first
    after = applied(load_set(made.folder), file).made
    assert 't0' not in by_id(after) and [one.id for one in after.dropped] == ['d1', 't0']


def test_reviewers_who_disagree_leave_a_task_undecided(made: MadeSet) -> None:
    other = {**EDIT, 'query': 'How much?'}
    ann = decisions_file(
        made,
        row(made, 't0', 'accept'),
        row(made, 't1', 'edit', '', EDIT),
        row(made, 't2', 'drop', 'dull'),
        row(made, 'worst', 'drop', 'a leak'),
    )
    bob = decisions_file(
        made,
        row(made, 't0', 'accept', 'ok'),
        row(made, 't1', 'edit', '', other),
        row(made, 't2', 'accept'),
        row(made, 'worst', 'drop'),
        reviewer='Bob',
    )
    outcome = applied(made, ann, bob)
    assert (outcome.disagreements, outcome.other_texts) == (('t2',), ('t1',))
    tasks = by_id(load_set(made.folder))
    assert {name: task.is_reviewed for name, task in tasks.items()} == {'t0': True, 't1': False, 't2': False}
    assert outcome.undecided == 2 and tasks['t1'] == by_id(made)['t1'] and tasks['t0'].comment == 'Bob: ok'
    # Kept or dropped: Ann k k d d, Bob k k k d. Observed 3/4, by chance 2/4 * 3/4 + 2/4 * 1/4 = 1/2: kappa 1/2.
    (kappa,) = outcome.kappas
    assert (kappa.reviewers, kappa.tasks, kappa.value) == (('Ann', 'Bob'), 4, 0.5)
    written = contents(made.folder)
    assert applied(load_set(made.folder), ann, bob).kappas == outcome.kappas
    assert contents(made.folder) == written

    agreed = decisions_file(made, row(made, 't1', 'edit', '', EDIT), row(made, 't2', 'drop'), reviewer='Cid')
    assert applied(load_set(made.folder), ann, agreed).disagreements == ()
    assert list(by_id(load_set(made.folder))) == ['t0', 't1']
    with pytest.raises(ValueError, match="by 'Ann'"):
        carry_out(made, [read_decisions(ann, load_set(made.folder))] * 2)


def test_a_task_that_has_changed_is_refused(made: MadeSet) -> None:
    old = decisions_file(made, row(made, 't0', 'accept'), row(made, 't1', 'accept'), reviewer='Bob')
    applied(made, decisions_file(made, row(made, 't1', 'edit', '', EDIT)))
    with pytest.raises(DataError, match=r"'t1': the task has changed since .* tooleval make review"):
        read_decisions(old, load_set(made.folder))


BAD_ROWS: Mapping[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    'another id': (lambda row: row.update(task='nobody'), "'nobody': the set has no such task"),
    'a task that was dropped when it was made': (lambda row: row.update(task='d1'), "'d1': the set has no such task"),
    'no id': (lambda row: row.pop('task'), 'decision 1 names no task'),
    'an id that is none': (lambda row: row.update(task=['t0']), 'decision 1 names no task'),
    'no digest': (lambda row: row.pop('digest'), "'t0': the task has changed"),
    'a digest that is none': (lambda row: row.update(digest={'a': []}), "'t0': the task has changed"),
    'a choice': (lambda row: row.update(choice='delete'), "no choice 'delete'; there are accept, edit, drop"),
    'a choice that is none': (lambda row: row.update(choice=[]), r'no choice \[\]'),
    'a comment': (lambda row: row.update(comment=None), 'its comment is no text'),
    'a long comment': (lambda row: row.update(comment='x' * (MAX_COMMENT + 1)), 'its comment is no text of at most'),
    'no texts': (lambda row: row.update(edit=None), 'an edit lacks its texts'),
    'an empty query': (lambda row: row['edit'].update(query=' \n'), 'its query is empty'),
    'a query': (lambda row: row['edit'].update(query=7), 'its query is no text'),
    'facts': (lambda row: row['edit'].update(facts='4,200'), 'its facts are no list'),
    'many facts': (lambda row: row['edit'].update(facts=['VAT'] * (MAX_TEXTS + 1)), 'its facts are no list of at most'),
    'an empty fact': (lambda row: row['edit'].update(facts=['']), 'its facts are no texts'),
    'a fact that is none': (lambda row: row['edit'].update(facts=[None]), 'its facts are no texts'),
    'a fact that breaks the gold': (lambda row: row['edit'].update(facts=['420']), "does not hold the fact '420'"),
    'forbidden': (lambda row: row['edit'].update(forbidden={}), 'its forbidden are no list'),
    'another tool': (lambda row: row['edit'].update(forbidden=['x']), "the forbidden tool 'x' is not offered"),
    'a gold tool': (lambda row: row['edit'].update(forbidden=['read_note']), "'read_note' is one of the gold calls"),
}


@pytest.mark.parametrize('name', BAD_ROWS)
def test_a_bad_decision_is_refused_by_name(name: str, made: MadeSet) -> None:
    spoil, message = BAD_ROWS[name]
    bad = row(made, 't0', 'edit', '', dict(EDIT))
    spoil(bad)
    with pytest.raises(DataError, match=message) as caught:
        read_decisions(decisions_file(made, bad, row(made, 't1', 'accept')), made)
    assert len(str(caught.value)) <= MAX_MESSAGE


BAD_HEADS: Sequence[tuple[dict[str, Any], str]] = (
    ({'tooleval_decisions': 2}, 'its format is 2'),
    ({'tooleval_decisions': True}, 'no decisions file'),
    ({'digest': 'f' * 32}, 'another set'),
    ({'digest': None}, 'another set'),
    ({'reviewer': ' '}, 'no name'),
    ({'reviewer': ['Ann']}, 'no name'),
    ({'reviewer': 'a' * (MAX_NAME + 1)}, 'no name'),
    ({'decisions': {}}, 'no list'),
    ({'decisions': [None]}, 'decision 1 names no task'),
)


@pytest.mark.parametrize(('changes', 'message'), BAD_HEADS, ids=lambda value: value if isinstance(value, str) else '')
def test_a_bad_file_is_refused(changes: dict[str, Any], message: str, made: MadeSet) -> None:
    with pytest.raises(DataError, match=message):
        read_decisions(decisions_file(made, **{'reviewer': 'Ann', **changes}), made)


@pytest.mark.parametrize('content', ['', '[]', '7', '{"a": ' * 5_000, '[' * 200_000, '\ud800'])
def test_a_file_that_is_none_is_refused(content: str, made: MadeSet) -> None:
    file = made.folder.parent / 'x.json'
    file.write_bytes(content.encode('utf-8', 'surrogatepass'))
    with pytest.raises(DataError, match=r'x\.json'):
        read_decisions(file, made)


def test_a_task_is_decided_once(made: MadeSet) -> None:
    with pytest.raises(DataError, match="'t0': it is decided twice"):
        read_decisions(decisions_file(made, *[row(made, 't0', choice) for choice in ('accept', 'drop')]), made)


def test_any_text_of_a_task_is_read_as_it_was_written(tmp_path: Path) -> None:
    odd = task_to_review('odd\u2028id', 'a\x85b\x1cc\r\n', 'x\u2029y \ud800')
    set_to_review(tmp_path, odd)
    *_, again = load_set(tmp_path).tasks
    assert (again.task.id, again.task.query) == (odd.task.id, odd.task.query)
    assert again.solutions[0].calls[0].observation == 'x\u2029y \\ud800'
