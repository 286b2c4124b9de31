"""tests/mutations: every mutation can still be applied. ``check.py`` runs their tests."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LONGEST
from tests.mutations.check import longest_tests, random_mutations

ROOT = Path(__file__).resolve().parents[1]
MUTATIONS = json.loads(Path(__file__).with_name('mutations').joinpath('mutations.json').read_text(encoding='utf-8'))


def test_ids_are_unique() -> None:
    assert len({mutation['id'] for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize('mutation', MUTATIONS, ids=lambda mutation: mutation['id'])
def test_it_can_be_applied(mutation: dict[str, Any]) -> None:
    text = (ROOT / mutation['file']).read_text(encoding='utf-8')
    assert text.count(mutation['old']) == 1
    changed = ast.parse(text.replace(mutation['old'], mutation['new']))
    assert ast.dump(changed) != ast.dump(ast.parse(text))
    assert mutation['seen'] and mutation['tests']
    assert all((ROOT / test.partition('::')[0]).is_file() for test in mutation['tests'])


@cache
def drawn() -> list[dict[str, Any]]:
    return random_mutations(20, 1)


def test_random_ones_leave_the_longest_tests_out() -> None:
    assert longest_tests() == {f'tests/{name}' for name in LONGEST.split()}
    assert not any(longest_tests().intersection(mutation['tests']) for mutation in drawn())


def test_random_ones_change_one_expression_each() -> None:
    assert drawn() == random_mutations(20, 1)
    for mutation in drawn():
        before = (ROOT / mutation['file']).read_text(encoding='utf-8')
        assert ast.dump(ast.parse(mutation['text'])) != ast.dump(ast.parse(before))
        lines, changed = before.splitlines(), mutation['text'].splitlines()
        number = int(mutation['id'].rpartition(':')[2])
        assert lines[: number - 1] == changed[: number - 1]
        assert all((ROOT / test).is_file() for test in mutation['tests'])
