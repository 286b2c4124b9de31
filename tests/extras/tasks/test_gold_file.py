"""``FILE.gold.json``: made by ``check`` and ``add``, read by a run, and refused where it no longer fits."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.tasks.adapter import ToolEvalTasksDataset
from opencompass_tooleval.extras.tasks.gold_file import read_golds
from opencompass_tooleval.extras.tasks.task_file import TaskFile, load_tasks
from tests.cli.conftest import Command
from tests.extras.mcp_servers.servers import QUICK_PYTHON
from tests.extras.tasks.shop import SERVER, write_shop
from tests.extras.tasks.test_adapter import evaluated

NOON = datetime(2026, 5, 4, 12, tzinfo=timezone.utc)
TASKS = """
tasks:
  - id: lamp
    request: Ms. Lind orders a lamp for 20.50.
    solution:
      - change: {sql: "INSERT INTO orders(customer, item, price) VALUES (8, 'lamp', 20.5)"}
  - id: note
    request: Write down that the fair is at 4:00.
    solution:
      - add_note: {text: "fair at 4:00"}
  - id: close
    request: Close one of the orders 42 and 44.
    solutions:
      - - change: {sql: "UPDATE orders SET status='closed' WHERE id=42"}
      - - change: {sql: "UPDATE orders SET status='closed' WHERE id=44"}
  - id: count
    request: How many orders are there?
    result: {type: number, value: 4}
    solution:
      - find: {sql: "SELECT count(*) FROM orders"}
"""


def test_check_makes_the_golds_and_a_run_is_scored_by_them(tmp_path: Path, tooleval: Command) -> None:
    file = write_shop(tmp_path / 'shop', TASKS)
    checked = tooleval('tasks', 'check', file)
    assert checked.code == 0 and '4 tasks, 0 faults' in checked.out, checked.out
    free = 'lamp: its gold leaves free: shop.db:orders id (any number), placed (any time)'
    assert free in ' '.join(checked.out.split())
    golds = read_golds(load_tasks(file)).entries
    assert {name: len(entry['golds']) for name, entry in golds.items()} == {'lamp': 1, 'note': 1, 'close': 2}
    written = file.with_name('tasks.yaml.gold.json').read_bytes()
    assert tooleval('tasks', 'check', file).code == 0, 'the golds are still trusted'
    assert file.with_name('tasks.yaml.gold.json').read_bytes() == written
    assert evaluated(file)['solved'] == 100


@pytest.mark.parametrize('other', ["(8, 'lamp', 20.51)", pytest.param("(7, 'lamp', 20.5)", marks=pytest.mark.long)])
def test_an_agent_with_another_state_is_wrong(tmp_path: Path, tooleval: Command, other: str) -> None:
    file = write_shop(tmp_path / 'shop', TASKS)
    assert tooleval('tasks', 'check', file).code == 0
    golds = read_golds(load_tasks(file))
    agent = TASKS.replace("(8, 'lamp', 20.5)", other).replace('fair at 4:00', 'fair at 5:00')
    write_shop(tmp_path / 'shop', agent.replace('id=44', 'id=41'))
    write_golds(load_tasks(file), golds.entries)
    result = evaluated(file)
    assert result['reasons'] == {'goal:effects': 2, 'ok': 2}
    wrong = {one['reason']: one['goal']['wrong_effects'] for one in result['details'] if one['reason'] != 'ok'}
    assert 'notes.json:notes' in wrong['goal:effects'] or 'not added' in wrong['goal:effects']['shop.db:orders']


def write_golds(file: TaskFile, entries: dict[str, Any]) -> None:
    """Writes earlier golds for tasks whose solutions were replaced by what an agent does."""
    golds = read_golds(file)
    for task in file.tasks:
        if task.id in entries:
            golds.add(task, entries[task.id]['golds'], NOON)
    golds.write()


LONG = partial(pytest.param, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ('change', 'says'),
    [
        (lambda folder: (folder / 'shop' / 'terms.txt').write_text('other'), 'the fixture changed since'),
        LONG(lambda folder: (folder / 'more.py').write_text('1'), 'a file of its folder changed since'),
        LONG(lambda folder: write_shop(folder, TASKS, server=f'{SERVER} x'), 'the command of the server changed since'),
        LONG(lambda folder: write_shop(folder, TASKS.replace('20.5)', '21)')), 'the request, the solution, free or'),
        LONG(
            lambda folder: (folder / 'tasks.yaml.gold.json').unlink(), 'the state that its solution leaves is not known'
        ),
    ],
)
def test_a_gold_of_something_else_is_refused_and_the_command_makes_it_again(
    tmp_path: Path, tooleval: Command, change: Callable[[Path], object], says: str
) -> None:
    folder = tmp_path / 'a folder'
    file = write_shop(folder, TASKS)
    assert tooleval('tasks', 'check', file).code == 0
    change(folder)
    load_tasks(file).trustee.trust()
    with pytest.raises(DataError) as caught:
        ToolEvalTasksDataset.load(str(file))
    message = str(caught.value)
    assert says in message and '\n' not in message
    done = tooleval(*shlex.split(message.partition('Fix it with: tooleval ')[2]))
    assert done.code == 0, done.out + done.err
    assert len(ToolEvalTasksDataset.load(str(file))) == 4


def test_a_gold_of_somebody_else_is_data_that_is_trusted_first(tmp_path: Path, tooleval: Command) -> None:
    file = write_shop(tmp_path, TASKS)
    assert tooleval('tasks', 'check', file).code == 0
    gold = file.with_name('tasks.yaml.gold.json')
    gold.write_text(gold.read_text().replace('lamp', 'lump'))
    assert not load_tasks(file).trustee.is_trusted
    for text in ('{', '[]', '{"tasks": {"lamp": {}}}', gold.read_text().replace('"added": [', '"added": 3, "x": [')):
        gold.write_text(text)
        load_tasks(file).trustee.trust()
        with pytest.raises(DataError, match=r'cannot be read .*Fix it with: rm '):
            ToolEvalTasksDataset.load(str(file))


@pytest.mark.long
def test_a_server_that_changed_leaves_another_state_and_the_old_gold_stays(tmp_path: Path, tooleval: Command) -> None:
    """What is installed is not covered: its change shows only in the state."""
    file = write_shop(tmp_path / 'shop', TASKS, server=SERVER)
    assert tooleval('tasks', 'check', file).code == 0
    golds = file.with_name('tasks.yaml.gold.json')
    text = golds.read_text()
    lamp = '"item": "lamp",\n        "status": '
    golds.write_text(text.replace(f'{lamp}"open"', f'{lamp}"x"'))
    assert golds.read_text() != text
    load_tasks(file).trustee.trust()
    done = tooleval('tasks', 'check', file)
    assert done.code == 1 and 'lamp: its solution leaves another state than that of ' in done.out
    assert f'rm {golds}' in done.out.replace('\n', '') and '"status": "x"' in golds.read_text()


def test_no_server_is_started_for_an_agent_without_calls(tmp_path: Path, tooleval: Command) -> None:
    starts = tmp_path / 'starts'
    (tmp_path / 'shop').mkdir()
    (tmp_path / 'shop' / 'counting.py').write_text(
        f'open({str(starts)!r}, "a").write(".")\nimport runpy, sys\n'
        f'sys.path.insert(0, {str(Path(shlex.split(SERVER)[-1]).parent)!r})\n'
        f'runpy.run_path({shlex.split(SERVER)[-1]!r}, run_name="__main__")\n'
    )
    server = shlex.join([*QUICK_PYTHON, 'counting.py'])
    one_task = TASKS.partition('  - id: note')[0]
    file = write_shop(tmp_path / 'shop', one_task, server=server)
    assert tooleval('tasks', 'check', file).code == 0
    # the state at the start, twice; the solution, twice, and twice with a change; the agent that calls everything
    assert len(starts.read_text()) == 7
