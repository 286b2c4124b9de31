"""A file of tasks on the shop server of tests, and its fixture."""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

from opencompass_tooleval.extras.tasks.task_file import load_tasks
from tests.extras.mcp_servers.servers import NOTES_SERVER, QUICK_PYTHON

SERVER = shlex.join([*QUICK_PYTHON, str(NOTES_SERVER.with_name('shop_server.py'))])

SQL = """
CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE orders(
  id INTEGER PRIMARY KEY, customer INTEGER, item TEXT, status TEXT DEFAULT 'open', price REAL,
  placed TEXT DEFAULT CURRENT_TIMESTAMP
);
INSERT INTO customers VALUES (7, 'Okafor'), (8, 'Lind');
INSERT INTO orders VALUES
  (41, 7, 'lamp', 'returned', 20.5, '2026-01-01'), (42, 7, 'desk', 'shipped', 80, '2026-01-02'),
  (43, 7, 'pen', 'returned', 2, '2026-01-03'), (44, 8, 'mug', 'open', 9, '2026-01-03');
"""
TASKS = """
tasks:
  - id: return-42
    request: Order 42 came back damaged. Mark it as returned and say how many returns Ms. Okafor has now.
    needs: [change]
    forbidden: [write]
    result: {type: number, value: 3}
    effects:
      - {table: orders, where: {id: 42}, set: {status: returned}}
    solution:
      - change: {sql: "UPDATE orders SET status='returned' WHERE id=42"}
      - find: {sql: "SELECT count(*) FROM orders WHERE customer=7 AND status='returned'"}
  - id: order-a-lamp
    request: Ms. Lind orders a lamp for 20.50.
    effects:
      - {table: orders, insert: {customer: 8, item: lamp, price: 20.50}}
    solution:
      - change: {sql: "INSERT INTO orders(customer, item, price) VALUES (8, 'lamp', 20.5)"}
  - id: note
    request: Write down that the fair is at 4:00.
    effects:
      - {file: notes.json, at: notes, insert: {text: "fair at 4:00"}, free: [id]}
    solution:
      - add_note: {text: "fair at 4:00"}
  - id: which-order
    request: Cancel the order.
    asks: true
    solution: []
"""


def write_fixture(folder: Path) -> Path:
    """Writes the folder of the shop."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / 'shop.db')) as database:
        database.executescript(SQL)
    (folder / 'notes.json').write_text('{"notes": [{"id": 1, "text": "buy tea"}], "hours": 8, "open": true}')
    (folder / 'terms.txt').write_text('one\ntwo\nthree\n')
    return folder


def write_shop(folder: Path, tasks: str = TASKS, head: str = '', server: str = SERVER, trusted: bool = True) -> Path:
    """Writes the file of tasks with its fixture; returns the file."""
    if not (folder / 'shop').exists():
        write_fixture(folder / 'shop')
    file = folder / 'tasks.yaml'
    file.write_text(f'server: {server}\nfixture: shop\n{head}\n{tasks}', encoding='utf-8')
    if trusted:
        load_tasks(file).trustee.trust()
    return file
