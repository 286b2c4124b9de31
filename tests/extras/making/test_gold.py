"""Gold of hostile makers: half of the queries are solved wrongly, the same in all attempts of one model or of both."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.tasks.goal import KINDS
from opencompass_tooleval.extras.making.commands.tasks import make_tasks
from opencompass_tooleval.extras.making.made_set import load_set
from opencompass_tooleval.extras.making.made_task import MadeTask
from tests.conftest import ROOT, ModelServer, start_server
from tests.extras.making import hostile_script, maker_script
from tests.extras.making.test_make import check_scripted
from tests.extras.making.worlds import SCRIPT, write_key, write_library, write_model_config

PAGE = ROOT / 'docs' / 'explanation' / 'made-sets.md'
HOSTILE = SCRIPT.with_name('hostile_script.py')


ALL_KINDS = [f'{kind}=1' for kind in KINDS]
ORDINARY = ['ordinary=1']
"""Of this kind the makers have 200 queries that are not alike."""


class Library:
    """The tools, makers that know them, and what is right."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options, self.key, self.answers = write_library(folder)
        self.servers: list[ModelServer] = []

    def config(self, maker: str, mistakes: tuple[str, ...] = ()) -> Path:
        """The config of a maker, right or hostile."""
        known = {'MAKER_KEY': str(write_key(self.folder / 'key.json', self.key)), 'MISTAKES': ' '.join(mistakes)}
        os.environ |= known
        try:
            script = f'{SCRIPT}:right' if maker == 'right' else f'{HOSTILE}:hostile'
            self.servers.append(start_server('--script', script))
        finally:
            for name in known:
                del os.environ[name]
        name = f'{maker}{len(self.servers)}'
        return write_model_config(self.folder / f'{name}.py', self.servers[-1], abbr=name)

    def wrong(self, made: MadeTask) -> str:
        """The mistake in a task's gold; ``''`` if it is right."""
        if made.goal.kind == 'no_tool':
            one, other = (int(word) for word in made.query.rstrip('?').split() if word.isdigit())
            return '' if made.goal.result == str(one + other) else 'sum'
        calls, values = hostile_script.truth(made.query, self.answers)
        gold = [(call.name, call.arguments) for call in made.task.gold or ()]
        is_right = gold == calls and made.goal.result == '; '.join(values)
        return '' if is_right or made.goal.kind == 'missing_parameter' else hostile_script.mistake(made.query) or '?'


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    found = Library(tmp_path)
    monkeypatch.setattr(maker_script, 'KEY', found.key)
    monkeypatch.setattr(hostile_script, 'KEY', found.key)
    yield found
    for server in found.servers:
        server.stop()


def run(library: Library, tasks: int, model: Path, **options: Any) -> tuple[tuple[MadeTask, ...], Counter[str]]:
    """The tasks that were made, and the reasons of dropped drafts."""
    report = library.folder / 'report.json'
    make_tasks(
        model=model, tasks=tasks, out=library.folder / 'books', json_out=str(report), **library.options, **options
    )
    dropped = Counter(json.loads(report.read_text(encoding='utf-8'))['dropped'])
    return load_set(library.folder / 'books').tasks, dropped


@pytest.mark.parametrize(
    ('tasks', 'kinds'),
    [
        (8, ALL_KINDS),
        pytest.param(30, ALL_KINDS, marks=pytest.mark.long),
        pytest.param(200, ORDINARY, marks=pytest.mark.long),
    ],
)
def test_no_gold_is_wrong_if_one_model_is_right(library: Library, tasks: int, kinds: list[str]) -> None:
    made, dropped = run(
        library, round(tasks * 1.2), library.config('hostile'), second=library.config('right'), kinds=kinds
    )
    assert len(made) >= tasks and {library.wrong(one) for one in made} == {''}
    assert dropped['agreement agreement:no_majority'] >= tasks // 6
    check_scripted(library.folder / 'books')


@pytest.mark.long
@pytest.mark.parametrize(('tasks', 'kinds'), [(30, ALL_KINDS), (200, ORDINARY)])
def test_no_gold_is_wrong_if_both_models_make_a_mistake_that_shows(
    library: Library, tasks: int, kinds: list[str]
) -> None:
    seen = hostile_script.SEEN
    library_of = [library.config('hostile', seen) for _ in range(2)]
    hostile_script.MISTAKES, before = seen, hostile_script.MISTAKES
    try:
        made, dropped = run(library, round(tasks * 1.2), library_of[0], second=library_of[1], kinds=kinds)
        assert len(made) >= tasks and {library.wrong(one) for one in made} == {''}
    finally:
        hostile_script.MISTAKES = before
    assert {'agreement agreement:other_tool', 'agreement agreement:too_few', 'execution execution:facts'} <= {*dropped}


@pytest.mark.long
def test_what_agreement_cannot_see_is_on_the_page(library: Library) -> None:
    unseen = hostile_script.UNSEEN
    models = [library.config('hostile', unseen) for _ in range(2)]
    made, _ = run(library, 60, models[0], second=models[1], kinds=['ordinary=1'])
    hostile_script.MISTAKES, before = unseen, hostile_script.MISTAKES
    try:
        assert {*map(library.wrong, made)} == {'', *unseen}
    finally:
        hostile_script.MISTAKES = before
    page = ' '.join(PAGE.read_text(encoding='utf-8').split())
    assert 'a wrong number, another value of the right response, an item left out, another order' in page
    assert 'the right tool with a wrong argument' in page
