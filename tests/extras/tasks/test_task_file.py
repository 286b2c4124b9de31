"""A file of tasks: every scalar is text, and what is damaged, hostile or untrusted is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.tasks.task_file import load_tasks
from opencompass_tooleval.work_dir.trust import UntrustedError
from tests.extras.tasks.shop import SERVER, TASKS, write_shop


def test_every_scalar_is_text(tmp_path: Path) -> None:
    tasks = """
tasks:
  - id: no
    request: no
    result: {type: text, value: 4:00}
    effects:
      - {table: orders, where: {id: 007}, set: {status: no, price: 1_000}}
    solution:
      - change: {sql: ~}
      - find
"""
    (task,) = load_tasks(write_shop(tmp_path, tasks)).tasks
    assert (task.id, task.request, task.results) == ('no', 'no', ('4:00',))
    assert task.effects == ({'table': 'orders', 'where': {'id': '007'}, 'set': {'status': 'no', 'price': '1_000'}},)
    assert task.solution == (('change', {'sql': '~'}), ('find', {}))


@pytest.mark.parametrize(
    ('result', 'form', 'results'),
    [
        ('{type: number, value: 3}', 'number', ('3',)),
        ('{type: text, value: [Okafor, Ms. Okafor]}', 'text', ('Okafor', 'Ms. Okafor')),
        ('{type: set, value: [a, b]}', 'set', ('["a", "b"]',)),
        ('{type: set, any_of: [[a, b], [a]]}', 'set', ('["a", "b"]', '["a"]')),
        ('{type: pairs, value: {Lind: 1}}', 'pairs', ('{"Lind": "1"}',)),
    ],
)
def test_results(tmp_path: Path, result: str, form: str, results: tuple[str, ...]) -> None:
    (task,) = load_tasks(write_shop(tmp_path, f'tasks:\n  - {{id: a, request: b, result: {result}}}\n')).tasks
    assert (task.form, task.results) == (form, results)


@pytest.mark.parametrize(
    ('tasks', 'says'),
    [
        ('tasks: [&a {id: x, request: y}, *a]', 'anchors are not supported'),
        ('tasks: [!!python/object:os.system {id: x}]', 'tags are not supported'),
        ('tasks: [{id: x, id: y}]', 'more than once'),
        (f'tasks: {"[" * 200}', 'nested too deeply'),
        ('tasks: 3', 'not a list'),
        ('extra: 3', "has no 'extra'"),
        ('tasks: [{id: x, request: y, needs: z}]', 'needs of a task is not a list of names'),
        ('tasks: [{id: "../x", request: y}]', 'its id is not made of'),
        ('tasks: [{id: x, request: ""}]', 'its request is empty'),
        ('tasks: [{id: x, request: y}, {id: x, request: y}]', "'task x': two tasks have this id"),
        ('tasks: [{id: x, request: y, result: {type: numbr, value: 3}}]', "the type 'numbr'; there are number, text"),
        ('tasks: [{id: x, request: y, result: {type: number, value: many}}]', "'many' cannot be read as number"),
        ('tasks: [{id: x, request: y, asks: maybe}]', 'neither true nor false'),
        ('tasks: [{id: x, request: y, effects: [{row: 3}]}]', "an effect has no 'row'"),
        ('tasks: [{id: x, request: y, solution: [{a: {}, b: {}}]}]', 'a call of its solution is a tool'),
        ('tasks: [{id: x, request: y, solution: [{a: "[1]"}]}]', 'are not an object'),
        ('tasks: [{id: x, request: y, effects: [{where: 42}]}]', 'where of an effect is not an object'),
        ('tasks: [{id: x, request: y, effects: [{text: {a: b}}]}]', 'text of an effect is not a list or a text'),
        ('url: http://127.0.0.1:1/mcp', 'one of server, url and module'),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, tasks: str, says: str) -> None:
    file = write_shop(tmp_path, tasks, trusted=False)
    with pytest.raises(DataError, match=says.replace('[', '\\[')) as caught:
        load_tasks(file)
    assert str(file) in str(caught.value) and '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('head', 'says'),
    [
        ('server: x\nfixture: /etc', 'not a path in the folder'),
        ('server: x\nfixture: a/../../b', 'not a path in the folder'),
        ('server: x\nfixture: link', 'not a path in the folder'),
        ('server: x\nfixture: nowhere', 'there is no nowhere'),
        ('module: ../x.py', 'not a path in the folder'),
        ('url: file:///etc/passwd', 'http://'),
        ('url: http://127.0.0.1:1/mcp\nfixture: here', 'has no fixture'),
        (f'server: {"x" * 5000}', 'more than 4,000 characters'),
        ('server: x\nenv: {A: [1]}', 'A of env is not a text'),
    ],
)
def test_paths_and_servers_are_checked(tmp_path: Path, head: str, says: str) -> None:
    (tmp_path / 'link').symlink_to('/home')
    (tmp_path / 'here').mkdir()
    file = tmp_path / 'tasks.yaml'
    file.write_text(f'{head}\ntasks: []\n')
    with pytest.raises(DataError, match=says):
        load_tasks(file)


def test_who_edits_requests_is_trusted_and_who_changes_what_is_executed_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('KEY', 'secret-value')
    head = 'env: {X: $KEY}'
    file = write_shop(tmp_path, head=head)
    load_tasks(file).trustee.check()
    edited = TASKS.replace('came back damaged', 'came back').replace('value: 3', 'value: 4')
    write_shop(tmp_path, edited, head, trusted=False)
    load_tasks(file).trustee.check()
    for change in (
        lambda: write_shop(tmp_path, TASKS.replace('WHERE id=42', ''), head, trusted=False),
        lambda: write_shop(tmp_path, TASKS, 'env: {X: $HOME}', trusted=False),
        lambda: write_shop(tmp_path, TASKS, head, f'{SERVER} keeps /x', trusted=False),
        lambda: (tmp_path / 'shop' / 'terms.txt').write_text('other'),
    ):
        change()
        with pytest.raises(UntrustedError) as caught:
            load_tasks(file).trustee.check()
        shown = str(caught.value)
        assert 'shop_server.py' in shown and 'secret-value' not in shown
    assert '4 calls of solutions: change, find, add_note' in shown


@pytest.mark.parametrize('head', ['server: python tools.py', 'module: tools.py'])
def test_code_that_is_executed_is_shown_and_counts(tmp_path: Path, head: str) -> None:
    (tmp_path / 'tools.py').write_text('import helper\nfrom parts import tax\n')
    (tmp_path / 'parts').mkdir()
    imported = [tmp_path / name for name in ('helper.py', 'parts/tax.py', 'deeper.py')]
    for path, text in zip(imported, ('from deeper import *', '', ''), strict=True):
        path.write_text(text)
    (tmp_path / 'other.py').write_text('')
    file = tmp_path / 'sums.yaml'
    file.write_text(f'{head}\ntasks: []\n')
    found = load_tasks(file)
    first = f'code: {tmp_path / "tools.py"}' if 'module' in head else 'command: python tools.py'
    assert found.name == 'sums' and first in found.trustee.shows
    assert 'code beside it: helper.py, parts/tax.py, deeper.py' in found.trustee.shows
    found.trustee.trust()
    (tmp_path / 'other.py').write_text('1')
    assert load_tasks(file).trustee.is_trusted
    for path in (tmp_path / 'tools.py', *imported):
        before = path.read_text()
        path.write_text(f'{before}\nimport os\n')
        assert not load_tasks(file).trustee.is_trusted, path
        path.write_text(before)
